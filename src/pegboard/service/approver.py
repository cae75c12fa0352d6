"""Approvals: put a request on record, list what waits, and grant or deny it.

A request is bound to one call (`engine/approvals.py`). It is decided here by someone whose names the door vouches for,
never by a name of the requester's own and never through a call: no door that a model can reach leads here.

Source: DESIGN section 8, step 8.
"""

from collections.abc import Collection

from pegboard.core.errors import ConfigError
from pegboard.core.names import Json
from pegboard.core.times import stamp
from pegboard.engine.approvals import may_decide, shown
from pegboard.engine.judged import Judged
from pegboard.engine.ledger import Approval, ApprovalState
from pegboard.engine.verdict import Asks
from pegboard.service.audit import Audit, AuditKind
from pegboard.service.ports import Clock, Ledger

__all__ = ["STATES", "Approver"]

# So many open requests of one caller, among its newest, are answered before it may ask for more: whoever approves must
# be able to read what is asked, and a model that varies its arguments must not be able to drown it.
OPEN_AT_MOST = 50
_NEWEST = 200
# What a request is shown as: its state, or that its time is past. Looked for among so many of the newest.
_EXPIRED, _ALL = "expired", "all"
STATES = (*map(str, ApprovalState), _EXPIRED)
_LOOKED_AT = 1_000


class Approver:
    """Asks for approvals, and takes a person's word on them."""

    def __init__(self, ledger: Ledger, audit: Audit, clock: Clock) -> None:
        self._ledger = ledger
        self._audit = audit
        self._clock = clock

    async def ask(self, judged: Judged, asks: Asks, trace_id: str) -> Approval | None:
        """Return the request for this call, a new one where none stands; None where this caller asks for too much.

        Raises:
            StoreError: It could not be put on record.
        """
        context, now = judged.facts.context, self._clock.now()
        identity, tool_id, schema_hash, arguments = judged.question.binding
        waiting = await self._ledger.approvals(_NEWEST, state=ApprovalState.ASKED, identity=identity)
        asked = Approval(
            approval_id=self._clock.new_id("ap"),
            identity=identity,
            principal=context.principal,
            principals=context.principals,
            tool_id=tool_id,
            schema_hash=schema_hash,
            arguments=arguments,
            shown=shown(judged.arguments),
            reasons=asks.reasons,
            earlier=asks.earlier,
            asked_at=now,
            expires_at=now + judged.facts.approvals.lifetime_s,
        )
        mine = [one for one in waiting if one.alive(now)]
        if len(mine) >= OPEN_AT_MOST and not any(one.answers(asked) for one in mine):
            return None
        found = await self._ledger.ask(asked)
        if found.approval_id == asked.approval_id:
            await self._tell(AuditKind.APPROVAL_ASKED, found, trace_id=trace_id)
        return found

    async def requests(self, limit: int, state: ApprovalState | None = None) -> tuple[Approval, ...]:
        """Return the newest requests, newest first."""
        return await self._ledger.approvals(limit, state=state)

    async def listed(self, state: str, limit: int) -> list[dict[str, Json]]:
        """Return the newest requests in a state of `STATES`, or in any (`all`), as whoever approves is shown them."""
        newest = await self._ledger.approvals(_LOOKED_AT)
        now = self._clock.now()
        found = [one for one in newest if state in (_ALL, _state(one, now))][:limit]
        return [await self.told(one) for one in found]

    async def told(self, one: Approval) -> dict[str, Json]:
        """Return a request as it is shown: what is asked, why, by whom, and what became of it."""
        calls = [await self._ledger.call(call_id) for call_id in one.earlier]
        earlier: list[Json] = [
            {"call_id": past.line.call_id, "tool_id": past.line.tool_id, "at": stamp(past.line.at)}
            for past in calls
            if past is not None
        ]
        return {
            "approval_id": one.approval_id,
            "state": _state(one, self._clock.now()),
            "tool_id": one.tool_id,
            "schema_hash": one.schema_hash,
            "arguments": one.shown,
            "principal": one.principal,
            "reasons": list(one.reasons),
            "earlier": earlier,
            "asked_at": stamp(one.asked_at),
            "expires_at": stamp(one.expires_at),
            "by": one.by,
            "decided_at": None if one.decided_at is None else stamp(one.decided_at),
            "used_by": one.used_by,
        }

    async def grant(self, approval_id: str, *, by: str, names: Collection[str] = ()) -> Approval:
        """Approve one call, once.

        Args:
            approval_id: The request.
            by: Who approves, as it is put on record.
            names: Every further name of theirs.

        Raises:
            ConfigError: There is no such request, it is no longer open, or it is the approver's own.
            StoreError: It could not be put on record.
        """
        if not may_decide(await self._found(approval_id), (by, *names)):
            raise ConfigError(
                problem=f"{by!r} cannot grant {approval_id!r}: it was asked for under the same name",
                fix="let someone else grant it, or give the caller a name of its own: `workload` in its profile",
            )
        granted = await self._decided(approval_id, ApprovalState.GRANTED, by)
        await self._tell(AuditKind.APPROVAL_GRANTED, granted, by=by)
        return granted

    async def deny(self, approval_id: str, *, by: str, why: str | None = None) -> Approval:
        """Deny one call; the same is not asked for again until the request has expired.

        Raises:
            ConfigError: There is no such request, or it is no longer open.
            StoreError: It could not be put on record.
        """
        await self._found(approval_id)
        denied = await self._decided(approval_id, ApprovalState.DENIED, by)
        await self._tell(AuditKind.APPROVAL_DENIED, denied, by=by, why=why)
        return denied

    async def used(self, approval_id: str, judged: Judged, call_id: str, trace_id: str) -> None:
        """Put on record that a call has used an approval up."""
        tool_id, principal = judged.line.tool, judged.facts.context.principal
        what = {"approval_id": approval_id, "tool_id": tool_id, "principal": principal}
        await self._audit.record(AuditKind.APPROVAL_USED, **what, call_id=call_id, trace_id=trace_id)

    async def _found(self, approval_id: str) -> Approval:
        found = await self._ledger.approval(approval_id)
        if found is None:
            raise ConfigError(
                problem=f"there is no request {approval_id!r}", fix="`pegboard approvals list` names those that wait"
            )
        return found

    async def _decided(self, approval_id: str, state: ApprovalState, by: str) -> Approval:
        now = self._clock.now()
        decided = await self._ledger.decide(approval_id, state, by=by, at=now)
        if decided is None:
            found = await self._found(approval_id)
            now_is = "has expired" if found.state is ApprovalState.ASKED else f"is {found.state} already"
            raise ConfigError(problem=f"the request {approval_id!r} {now_is}", fix="make the call again to ask anew")
        return decided

    async def _tell(self, kind: AuditKind, approval: Approval, **more: str | None) -> None:
        await self._audit.record(
            kind,
            approval_id=approval.approval_id,
            tool_id=approval.tool_id,
            principal=approval.principal,
            reasons=approval.reasons,
            earlier=approval.earlier,
            **more,
        )


def _state(one: Approval, now: float) -> str:
    open_ = one.state in (ApprovalState.ASKED, ApprovalState.GRANTED)
    return _EXPIRED if open_ and one.expires_at <= now else str(one.state)
