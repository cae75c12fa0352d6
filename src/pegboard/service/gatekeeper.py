"""Judge a proposed call, send it once if it is allowed, and record both.

What runs is decided in `engine/gate.py` on the policy and revocations of this moment. The ledger is written before
anything is sent; a call whose answer never came is `outcome_unknown` and is not sent again (law 10).

Source: DESIGN section 8.
"""

import copy
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from pegboard.core.catalog import CatalogEntry
from pegboard.core.context import RuntimeContext
from pegboard.core.errors import (
    OutcomeUnknownError,
    RefusedByServerError,
    StoreError,
    UnreachableServerError,
    UpstreamError,
)
from pegboard.core.names import Json, canonical_json, digest
from pegboard.core.revocations import Revocations
from pegboard.core.text import well_formed
from pegboard.engine.gate import Cause, GateFacts, Internal, ProposedCall, Verdict, VerdictKind, judge
from pegboard.engine.schemas import Validators
from pegboard.service.ports import ToolServers, TraceStore
from pegboard.service.published import Catalog, Published

__all__ = ["CallAnswer", "Gatekeeper"]

_UNREACHED = "the tool's server could not be reached; nothing was run; try again later"
_NO_LEDGER = "the call could not be put on record; nothing was run; try again later"
_UNKNOWN_OUTCOME = "the call was sent and no answer came; it may have run; look before it is tried again"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAnswer:
    """What a call came to. `result` is the server's answer untouched, None where nothing was sent or came back.

    `error` is the protocol error that the server answered with in place of a result, as it sent it. `call_id` names
    the call in the ledger; an application that runs the tool itself closes it with `report`.
    """

    verdict: Verdict
    trace_id: str
    call_id: str | None = None
    result: Mapping[str, Json] | None = None
    error: Mapping[str, Json] | None = None

    @property
    def succeeded(self) -> bool:
        """Say whether the call was allowed and its tool reported no error."""
        return self.verdict.allowed and self.error is None and not (self.result or {}).get("isError", False)

    def to_json(self) -> dict[str, Json]:
        """Return the answer of `call`."""
        answer = {**self.verdict.to_json(), "result": self.result, "trace_id": self.trace_id, "approval_id": None}
        return answer if self.error is None else {**answer, "error": self.error}


class Gatekeeper:
    """The enforcement point: nothing reaches a tool server but through here."""

    def __init__(self, catalog: Catalog, traces: TraceStore, servers: ToolServers) -> None:
        self._catalog = catalog
        self._traces = traces
        self._servers = servers
        self._validators = Validators()

    async def check(self, call: ProposedCall, context: RuntimeContext, *, operator: bool = False) -> CallAnswer:
        """Judge a call and write the ledger, for an application that runs the tool itself."""
        answer, _ = await self._judged(call, context, operator)
        return await self._recorded(call, context, answer)

    async def report(self, call_id: str, outcome: str) -> None:
        """Close the ledger of a call that the application ran."""
        await self._traces.close_call(call_id, self._catalog.clock.now(), outcome)

    async def rehearse(self, call: ProposedCall, context: RuntimeContext, *, operator: bool = False) -> CallAnswer:
        """Judge a call without sending or recording anything."""
        answer, _ = await self._judged(call, context, operator)
        return answer

    async def call(self, call: ProposedCall, context: RuntimeContext, *, operator: bool = False) -> CallAnswer:
        """Judge a call and, where it is allowed, send it once to the server that owns the tool.

        Args:
            call: What is to run; its tool is an alias of the named selection, or an id.
            context: For whom.
            operator: Every eligible tool may be named without a selection, as at the operator's command line.
        """
        call = _held_still(call)
        judged, entry = await self._judged(call, context, operator)
        answer = await self._recorded(call, context, judged)
        if entry is None or answer.call_id is None:
            return answer
        sent, outcome = await self._dispatched(answer, entry, call, context, operator)
        await self._close(answer.call_id, outcome)
        return sent

    async def _judged(
        self, call: ProposedCall, context: RuntimeContext, operator: bool
    ) -> tuple[CallAnswer, CatalogEntry | None]:
        published, revocations = await self._catalog.current(), await self._catalog.revocations()
        selected = await self._selected(call, context)
        deployment = self._catalog.deployment
        facts = GateFacts(
            context=context,
            snapshot=published.view.snapshot,
            policy=published.view.policy,
            revocations=revocations,
            now=self._catalog.clock.now(),
            selected=selected,
            listed=_listed(published, context, revocations, operator),
            former=await self._former(published, selected),
            revocations_max_age_s=deployment.revocations_at_most_s,
            ask_before=deployment.ask_before,
            ask_before_reach=deployment.ask_before_reach,
            validators=self._validators,
        )
        verdict = judge(call, facts)
        entry = published.view.snapshot.get(verdict.tool_id) if verdict.allowed and verdict.tool_id else None
        return CallAnswer(verdict=verdict, trace_id=self._catalog.clock.new_id("tr")), entry

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

    async def _recorded(self, call: ProposedCall, context: RuntimeContext, answer: CallAnswer) -> CallAnswer:
        """Write the ledger of an allowed call, and the trace of any; what cannot be put on record does not run."""
        now = self._catalog.clock.now()
        try:
            if answer.verdict.allowed:
                call_id = self._catalog.clock.new_id("call")
                await self._traces.open_call(call_id, now, canonical_json(_record(call, context, answer, now)))
                answer = replace(answer, call_id=call_id)
            await self._traces.save_trace(answer.trace_id, now, canonical_json(_record(call, context, answer, now)))
        except StoreError as error:
            internal = Internal(cause=Cause.FAILED, tool_id=answer.verdict.tool_id, error=str(error))
            verdict = Verdict(kind=VerdictKind.UNAVAILABLE, message=_NO_LEDGER, internal=internal)
            return replace(answer, verdict=verdict, call_id=None)
        return answer

    async def _dispatched(
        self, answer: CallAnswer, entry: CatalogEntry, call: ProposedCall, context: RuntimeContext, operator: bool
    ) -> tuple[CallAnswer, str]:
        """Send once. Returns the answer, and the outcome for the ledger.

        Reaching a server may take half a minute, so the call is judged again when it is there: a halt holds for
        whatever is not sent yet (law 4).
        """
        try:
            async with self._servers.connect(entry.source_server) as server:
                again, same = await self._judged(call, context, operator)
                if same is None:
                    return replace(answer, verdict=again.verdict, call_id=None), "not_sent"
                if same.source_server != entry.source_server:
                    moved = UnreachableServerError(entry.source_server, "another server owns the tool by now")
                    return _failed(answer, VerdictKind.UNAVAILABLE, _UNREACHED, moved), "not_sent"
                # Its content may have changed meanwhile; the arguments were judged by the one that is served now.
                result = await server.call_tool(same.name, call.arguments)
        except OutcomeUnknownError as error:
            return _failed(answer, VerdictKind.OUTCOME_UNKNOWN, _UNKNOWN_OUTCOME, error), "outcome_unknown"
        except RefusedByServerError as error:
            return replace(answer, error={"code": error.code, "message": error.message}), "error"
        except UpstreamError as error:
            return _failed(answer, VerdictKind.UNAVAILABLE, _UNREACHED, error), "not_sent"
        return replace(answer, result=result), "error" if result.get("isError") else "done"

    async def _close(self, call_id: str, outcome: str) -> None:
        """Close the ledger; where that fails the call stays open there, which reads as an unknown outcome."""
        try:
            await self._traces.close_call(call_id, self._catalog.clock.now(), outcome)
        except StoreError:
            # The tool has run and its answer is here: losing the answer over a full disk would invite a repeat.
            return


def _held_still(call: ProposedCall) -> ProposedCall:
    """Copy the arguments, so that what is sent is what was judged, whatever the caller does with its own."""
    try:
        return replace(call, arguments=copy.deepcopy(call.arguments))
    except Exception:  # noqa: BLE001 - what cannot be copied is no JSON or too deep, and the gate refuses it
        return call


def _listed(published: Published, context: RuntimeContext, revocations: Revocations, operator: bool) -> Collection[str]:
    """Return the ids that may be called without a selection; the gate still asks whether each is eligible."""
    entries = published.view.snapshot.entries
    if operator:
        return frozenset(entry.tool_id for entry in entries)
    return frozenset(entries[row].tool_id for row in published.view.pinned_rows(context.stage))


def _record(call: ProposedCall, context: RuntimeContext, answer: CallAnswer, now: float) -> dict[str, Json]:
    """Put a call on record: the tool only where the caller may know it, the arguments only as a digest."""
    try:
        arguments: str | None = digest(call.arguments)
    except (TypeError, ValueError):
        arguments = None
    return {
        "kind": "call",
        "trace_id": answer.trace_id,
        "at": now,
        "principal": context.principal,
        "selection_id": call.selection_id,
        "tool_id": answer.verdict.tool_id,
        "arguments": arguments,
        "verdict": str(answer.verdict.kind),
        "path": answer.verdict.path,
        "constraint": answer.verdict.constraint,
    }


def _failed(answer: CallAnswer, kind: VerdictKind, message: str, error: UpstreamError) -> CallAnswer:
    internal = Internal(cause=Cause.FAILED, tool_id=answer.verdict.tool_id, error=str(error))
    return replace(answer, verdict=replace(answer.verdict, kind=kind, message=message, internal=internal))
