"""Gather what a call is judged on, at this moment: policy, revocations, the caller's own selection and its ledger.

The rules themselves are in `engine/gate.py`. Nothing is written here.
"""

from collections.abc import Mapping
from typing import Any

from pegboard.core.catalog import CatalogEntry
from pegboard.core.context import RuntimeContext
from pegboard.core.errors import StoreError
from pegboard.core.policy import Policy
from pegboard.core.text import well_formed
from pegboard.engine.facts import CallDecision, CallPolicy, GateFacts
from pegboard.engine.gate import examine
from pegboard.engine.judged import Judged
from pegboard.engine.ledger import Standing
from pegboard.engine.schemas import Validators
from pegboard.engine.verdict import ProposedCall, Verdict
from pegboard.service.ports import Ledger, TraceStore
from pegboard.service.published import Catalog, Published
from pegboard.service.rollout import Rollouts

__all__ = ["Judging"]


class Judging:
    """Reads what calls are judged on."""

    def __init__(self, catalog: Catalog, traces: TraceStore, ledger: Ledger, rollouts: Rollouts) -> None:
        self._catalog = catalog
        self._rollouts = rollouts
        self._traces = traces
        self._ledger = ledger
        self._validators = Validators()

    async def examined(self, call: ProposedCall, context: RuntimeContext, *, all_listed: bool) -> Judged | Verdict:
        """Judge a call on everything but the ledger.

        Raises:
            LockError: The lock cannot be read.
            StoreError: The store cannot be read.
        """
        return examine(call, await self._facts(call, context, all_listed))

    async def standing(self, judged: Judged) -> Standing | None:
        """Ask the ledger about an examined call; None where it cannot be reached."""
        try:
            return await self._ledger.standing(judged.question)
        except StoreError:
            return None

    async def _facts(self, call: ProposedCall, context: RuntimeContext, all_listed: bool) -> GateFacts:
        published, revocations = await self._catalog.current(), await self._catalog.revocations()
        selected = await self._selected(call, context)
        deployment = self._catalog.deployment
        # What the production path lists was never selected, and its calls are judged all the same.
        production = await self._rollouts.production(context, call.conversation, published.view)
        return GateFacts(
            context=context,
            snapshot=published.view.snapshot,
            policy=published.view.policy,
            revocations=revocations,
            now=self._catalog.clock.now(),
            selected=selected,
            listed=_listed(published, context, all_listed) | production,
            former=await self._former(published, selected),
            revocations_max_age_s=deployment.revocations_at_most_s,
            call_policy=_call_policy(published.view.policy),
            approvals=deployment.approvals,
            limits=deployment.limits,
            costs=deployment.costs,
            key_arguments=deployment.key_arguments,
            validators=self._validators,
        )

    async def _selected(self, call: ProposedCall, context: RuntimeContext) -> Mapping[str, tuple[str, str]] | None:
        """Fetch the caller's own selection; another's, an expired one and none at all are the same None."""
        if not isinstance(call.selection_id, str) or well_formed(call.selection_id) != call.selection_id:
            return None
        stored = await self._traces.selection(call.selection_id)
        if stored is None or stored.principal != context.identity:
            return None
        return stored.tools if stored.expires_at > self._catalog.clock.now() else None

    async def _former(
        self, published: Published, selected: Mapping[str, tuple[str, str]] | None
    ) -> dict[str, CatalogEntry]:
        """Fetch the selected contents that are no longer served, so that a compatible change refuses nothing."""
        former = {}
        for tool_id, schema_hash in (selected or {}).values():
            entry = published.view.snapshot.get(tool_id)
            if entry is not None and entry.schema_hash != schema_hash:
                before = await self._catalog.snapshots.find(tool_id, schema_hash, entry.source_server)
                if before is not None:
                    former[schema_hash] = before
        return former


def _call_policy(policy: Policy) -> CallPolicy | None:
    """Return what the second layer of policies says of calls; None where there is none."""
    layer = policy.layer
    if layer is None:
        return None

    def asked(entry: CatalogEntry, context: RuntimeContext, arguments: Mapping[str, Any]) -> CallDecision:
        ruling = layer.call(entry, policy.lock.lines[entry.tool_id], context, arguments)
        return CallDecision(allowed=ruling.allowed, reasons=ruling.rules, noted=ruling.noted)

    return asked


def _listed(published: Published, context: RuntimeContext, all_listed: bool) -> frozenset[str]:
    """Return the ids that may be called without a selection; the gate still asks whether each is eligible."""
    entries = published.view.snapshot.entries
    if all_listed:
        return frozenset(entry.tool_id for entry in entries)
    return frozenset(entries[row].tool_id for row in published.view.pinned_rows(context.stage))
