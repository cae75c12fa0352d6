"""The calls on record, for operators: which ended nobody knows how, how one did end, and which are old.

A call of unknown outcome stays so for ever, until a person has looked and says what came of it (law 10). What is old
is forgotten only where a configuration says how old, and never what a later call is still judged by.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pegboard.core.errors import ConfigError
from pegboard.core.names import Json
from pegboard.core.times import stamp
from pegboard.engine.ledger import Ended, Past
from pegboard.engine.limits import WINDOWS_S
from pegboard.service.audit import Audit, AuditKind
from pegboard.service.deployment import Deployment
from pegboard.service.ports import Clock, Forgotten, Ledger

__all__ = ["CallsPruned", "Outcome", "RecordedCalls"]

# A call without an end may still be running for so long beside what its server is given to answer: it waits for its
# turn and for a session, and for people who answer what the server asks.
_BESIDE_S = 3600.0


class Outcome(StrEnum):
    """What a person found out about a call."""

    DONE = "done"
    """It had its effect: under its key it is not run again."""
    NOT_DONE = "not_done"
    """It had none: its key and its approval are free again."""


_ENDED = {Outcome.DONE: Ended.DONE, Outcome.NOT_DONE: Ended.NOT_SENT}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsPruned:
    """What was removed of the ledger, or would be."""

    applied: bool
    before: float
    found: Forgotten

    def to_json(self) -> dict[str, Json]:
        """Return the answer of `calls prune`."""
        return {
            "applied": self.applied,
            "before": stamp(self.before),
            "calls": self.found.lines,
            "approvals": self.found.approvals,
            "unknown": self.found.unknown,
            "labels": self.found.labels,
        }


class RecordedCalls:
    """Reads, settles and forgets lines of the ledger."""

    def __init__(self, ledger: Ledger, audit: Audit, clock: Clock, deployment: Deployment) -> None:
        self._ledger = ledger
        self._audit = audit
        self._clock = clock
        self._deployment = deployment

    async def unknown(self, limit: int) -> Sequence[Past]:
        """Return the newest calls of unknown outcome, newest first. Raises StoreError."""
        return await self._ledger.unknown(limit)

    async def resolve(self, call_id: str, outcome: Outcome, *, by: str, why: str) -> Past:
        """Put on record how a call ended of which nobody knew, and why that is known now.

        Raises:
            ConfigError: There is no such call, its outcome is known, it may still be running, or there is no reason.
            StoreError: It could not be put on record.
        """
        if not why.strip():
            raise ConfigError("how a call ended is said for a reason", fix="say how that was found out")
        past, now = await self._ledger.call(call_id), self._clock.now()
        ended_by = 0.0 if past is None else past.line.at + self._deployment.longest_call_s + _BESIDE_S
        if past is not None and past.ended is None and now < ended_by:
            raise ConfigError(f"the call {call_id!r} may still be running", fix=f"look again at {stamp(ended_by)}")
        settled = await self._ledger.settle(call_id, now, _ENDED[outcome])
        if settled is None:
            there = None if past is None else (await self._ledger.call(call_id) or past).ended
            problem = f"the call {call_id!r} ended as '{there}'" if past else f"there is no call {call_id!r}"
            raise ConfigError(problem, fix="`pegboard calls list` names those of unknown outcome")
        line = settled.line
        about = {"call_id": call_id, "tool_id": line.tool_id, "principal": line.principal, "trace_id": line.trace_id}
        await self._audit.record(AuditKind.CALL_RESOLVED, **about, outcome=outcome, by=by, why=why)
        return settled

    async def prune(self, *, by: str, apply: bool) -> CallsPruned:
        """Remove calls that are older than the configuration keeps them; without *apply* only say what it would be.

        Raises:
            ConfigError: Nothing says how long calls are kept.
            StoreError: The store failed; what had been removed by then was removed whole.
        """
        kept_s, rules, limits = self._deployment.ledger_kept_s, self._deployment.approvals, self._deployment.limits
        if kept_s is None:
            raise ConfigError("every call is kept", fix="say `keep_days` under [ledger] in pegboard.toml")
        # What a call is judged by: repeats, limits of a day, and the flow of a caller that names no conversation.
        looked_back_s = max(limits.repeat_window_s, rules.conversation_s, *WINDOWS_S)
        before = self._clock.now() - max(kept_s, looked_back_s)
        found = await self._ledger.forget(before, apply=False)
        if apply and (found.lines or found.approvals):
            told = {"calls": found.lines, "approvals": found.approvals, "before": before}
            await self._audit.record(AuditKind.LEDGER_PRUNED, **told, by=by)
            await self._ledger.forget(before, apply=True)
        return CallsPruned(applied=apply, before=before, found=found)
