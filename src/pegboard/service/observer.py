"""Observe what was offered and what was really called, for the report on a shadow and for the guards of a rollout.

Written behind and sampled: nobody waits for it, what there is no room for is dropped and counted, and a store that is
down costs no answer. After a write the guards look, so a breach is taken back within a second of being on record.
Observations are the operators' own records, apart from traces: they tell of tools that a caller may not see.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pegboard.core.context import RuntimeContext
from pegboard.core.errors import StoreError
from pegboard.core.names import Json
from pegboard.core.policy import decide_tool
from pegboard.core.revocations import Revocations
from pegboard.core.text import well_formed
from pegboard.engine.guards import CALL, END, OFFER
from pegboard.engine.ledger import Ended
from pegboard.engine.rollout import Phase, Sides, place
from pegboard.engine.selection import Selection
from pegboard.engine.verdict import ProposedCall, VerdictKind
from pegboard.engine.view import Seen, View
from pegboard.service.answering import CallAnswer
from pegboard.service.batching import Batches
from pegboard.service.published import Catalog
from pegboard.service.rollout import Rollouts
from pegboard.service.telemetry import QUIET, Key, Measure, Telemetry

__all__ = ["Observer", "Offered"]

# As traces are pruned: along with a batch, at most once a second and so many at a time.
LOOK_EVERY_S = 1.0
PRUNED_AT_ONCE = 500

# What a verdict says of a call. What is in neither set says nothing of it: limits and approvals are about the caller.
_FIT = frozenset({VerdictKind.ALLOWED, VerdictKind.OUTCOME_UNKNOWN})
_MISFIT = frozenset({VerdictKind.UNKNOWN_OR_DENIED, VerdictKind.STALE_SCHEMA, VerdictKind.INVALID_ARGUMENTS})

_Taken: TypeAlias = tuple[dict[str, Json], RuntimeContext | None]
"""A record, and of a call for whom it was, where the gate judged it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A whole selection, with what it was made of and for whom."""

    selection: Selection
    view: View
    context: RuntimeContext
    revocations: Revocations
    loaded: tuple[str, ...]
    seen: Seen
    ms: float

    def denied(self, tool_id: str) -> bool:
        """Say whether policy, asked of this tool alone, denies it: by other code than the selection was made with."""
        entry = self.view.snapshot.get(tool_id)
        return entry is None or not decide_tool(entry, self.view.policy, self.context, self.revocations).allowed


class Observer:
    """Takes what happens on a request's way, and writes it."""

    def __init__(self, rollouts: Rollouts, catalog: Catalog, telemetry: Telemetry = QUIET) -> None:
        self._rollouts = rollouts
        self._catalog = catalog
        self._looked_at = catalog.clock.now()
        self._to_look = False
        self.shadowing = False
        """Whether this process was asked for a shadow."""
        self._batches: Batches[_Taken] = Batches(
            self._write, lost=lambda count: telemetry.measure(Measure.DROPPED, count, {Key.STREAM: "observations"})
        )

    @property
    def dropped(self) -> int:
        """Say how many observations of this process were lost."""
        return self._batches.dropped

    def samples(self, selection_id: str) -> bool:
        """Say whether a selection is among those that are observed; its calls are then too."""
        return place(selection_id) < self._rollouts.guards.sample

    def offered(
        self, offered: Offered, *, sides: Sides | None, served: frozenset[str], listed: Sequence[str] | None = None
    ) -> None:
        """Take what was or would have been offered; *listed* is what the production path listed, where it said so.

        *served* holds the namespaces in which the caller was really given it.
        """
        if self.samples(offered.selection.selection_id):
            self._batches.offer((self._offer(offered, sides, served, listed), None))

    def called(
        self, selection_id: str, tool_id: str, *, valid: bool | None = None, completed: bool | None = None
    ) -> None:
        """Take a tool that was really called after a selection: what the measures take for the right one."""
        self._take(selection_id, tool_id, {"valid": valid, "completed": completed, "call_id": None}, None)

    def answered(
        self, selection_id: str | None, call: ProposedCall, answer: CallAnswer, context: RuntimeContext, *, sent: bool
    ) -> None:
        """Take what the gate said of a call after a selection, once anything is observed; *sent*: and how it ended.

        A tool that this caller may not use is nobody's label, and is passed over.
        """
        if selection_id is None or not (self.shadowing or self._rollouts.in_use):
            return
        verdict = answer.verdict
        tool_id = verdict.tool_id or (verdict.internal.tool_id if verdict.internal else None) or str(call.tool)
        valid = verdict.kind in _FIT if verdict.kind in _FIT | _MISFIT else None
        completed = answer.succeeded if valid and sent else None
        self._take(selection_id, tool_id, {"valid": valid, "completed": completed, "call_id": answer.call_id}, context)

    def ended(self, call_id: str, outcome: str) -> None:
        """Take how a call ended that the application ran itself."""
        if (self.shadowing or self._rollouts.in_use) and outcome != Ended.NOT_SENT:
            now = self._catalog.clock.now()
            ended: dict[str, Json] = {"kind": END, "at": now, "call_id": call_id, "completed": outcome == Ended.DONE}
            self._batches.offer((ended, None))

    def _take(self, selection_id: str, tool_id: str, said: dict[str, Json], context: RuntimeContext | None) -> None:
        if self.samples(selection_id):
            ids: dict[str, Json] = {"selection_id": well_formed(selection_id), "tool_id": well_formed(tool_id)}
            self._batches.offer(({"kind": CALL, "at": self._catalog.clock.now(), **ids, **said}, context))

    async def flush(self) -> None:
        """Write everything that was taken in, and let the guards look. Raises StoreError where that fails."""
        await self._batches.flush()
        if self._to_look:
            await self._look()

    def _offer(
        self, offered: Offered, sides: Sides | None, served: frozenset[str], listed: Sequence[str] | None
    ) -> dict[str, Json]:
        entries = {
            tool_id: entry
            for tool_id in dict.fromkeys((*(one.tool.tool_id for one in offered.selection.tools), *offered.loaded))
            if (entry := offered.view.snapshot.get(tool_id)) is not None
            and (sides is None or sides.watches(entry.namespace))
        }
        return {
            "kind": OFFER,
            "at": self._catalog.clock.now(),
            "selection_id": offered.selection.selection_id,
            "ms": offered.ms,
            "offered": {tool_id: entry.namespace for tool_id, entry in entries.items()},
            "served": sorted(served),
            # What was loaded earlier and is denied by now is withdrawn, and was not offered.
            "exposed": [one.tool.tool_id for one in offered.selection.tools if offered.denied(one.tool.tool_id)],
            "tokens": sum(one.tokens for one in offered.selection.tools),
            **_of_production(offered, sides, listed),
        }

    async def _write(self, taken: Sequence[_Taken]) -> None:
        view, rollout = (await self._catalog.current()).view, await self._rollouts.current()
        revocations = await self._catalog.revocations()
        written: list[tuple[float, Mapping[str, Json]]] = []
        for record, context in taken:
            at = float(str(record["at"]))
            if record["kind"] != CALL:
                written.append((at, record))
                continue
            entry = view.snapshot.get(str(record["tool_id"]))
            if entry is None or rollout.setting(entry.namespace).phase is Phase.OFF:
                continue
            if context is None or decide_tool(entry, view.policy, context, revocations).allowed:
                written.append((at, {**record, "namespace": entry.namespace}))
        await self._rollouts.store.observe(written)
        self._to_look = True
        try:
            await self._rollouts.count(record for _, record in written)
            if self._catalog.clock.now() - self._looked_at >= LOOK_EVERY_S:
                await self._look()
        except StoreError:
            return  # the observations are written; the next turn looks again

    async def _look(self) -> None:
        self._looked_at = self._catalog.clock.now()
        await self._rollouts.guard()
        self._to_look = False
        await self._rollouts.store.prune(self._looked_at - self._catalog.deployment.traces_kept_s, PRUNED_AT_ONCE)


def _of_production(offered: Offered, sides: Sides | None, listed: Sequence[str] | None) -> dict[str, Json]:
    """Return how many tools production listed, at what cost, and how many policy denies, by namespace."""
    if listed is None:
        return {"listed": None, "listed_tokens": None, "listed_denied": {}}
    snapshot, denied = offered.view.snapshot, dict[str, int]()
    rows = [row for tool_id in dict.fromkeys(listed) if (row := snapshot.position(tool_id)) is not None]
    for row in rows:
        path = snapshot.entries[row].namespace
        if not offered.seen.eligibility.mask[row] and (sides is None or sides.watches(path)):
            denied[path] = denied.get(path, 0) + 1
    tokens = int(offered.view.tokens[rows].sum()) if rows else 0
    return {"listed": len(rows), "listed_tokens": tokens, "listed_denied": dict(denied)}
