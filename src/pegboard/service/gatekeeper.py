"""Judge a proposed call, send it once if it is allowed, and record both.

What runs is decided in `engine/gate.py` on the policy and revocations of this moment, and on what the ledger knows of
the caller. The ledger's line is written before anything is sent, and only if the ledger still says what the call was
judged by; a call whose answer never came is `outcome_unknown` and is not sent again (law 10).

Source: DESIGN section 8.
"""

import copy
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from weakref import WeakValueDictionary

import anyio

from pegboard.core.catalog import Risk
from pegboard.core.context import RuntimeContext
from pegboard.core.errors import StoreError
from pegboard.core.names import Json, compact_json
from pegboard.engine.gate import conclude, looped
from pegboard.engine.judged import Judged, unavailable
from pegboard.engine.ledger import ApprovalState, Ended, Standing
from pegboard.engine.limits import Refusals, mark_of
from pegboard.engine.trace import named
from pegboard.engine.verdict import Cause, Internal, ProposedCall, Verdict, VerdictKind
from pegboard.service.answering import CallAnswer, kept_of, line_of, record_of, with_recorded
from pegboard.service.approver import Approver
from pegboard.service.audit import Audit, AuditKind
from pegboard.service.dispatching import Dispatcher, Permit
from pegboard.service.judging import Judging
from pegboard.service.observing import observed_call
from pegboard.service.ports import Ledger
from pegboard.service.published import Catalog
from pegboard.service.telemetry import QUIET, Telemetry
from pegboard.service.tracing import TraceWriter

__all__ = ["Gatekeeper"]

_NO_LEDGER = "the call could not be put on record; nothing was run; try again later"
_TOO_MUCH_ASKED = "too many calls of this caller wait for an approval; nothing was run"
# How often a call is judged again because the ledger moved meanwhile, by a call of the same caller in another process.
_TRIES = 10
# What the same call will be answered again, however often it is made: these end in the loop breaker.
_LOOPING = frozenset(
    {VerdictKind.UNKNOWN_OR_DENIED, VerdictKind.STALE_SCHEMA, VerdictKind.INVALID_ARGUMENTS, VerdictKind.DENIED}
)
# What policy refused, and operators read of in the audit.
_DENIALS = frozenset({VerdictKind.UNKNOWN_OR_DENIED, VerdictKind.DENIED, VerdictKind.LIMIT_EXCEEDED})


class Gatekeeper:
    """The enforcement point: nothing reaches a tool server but through here."""

    def __init__(
        self,
        catalog: Catalog,
        judging: Judging,
        dispatcher: Dispatcher,
        ledger: Ledger,
        approver: Approver,
        writer: TraceWriter,
        audit: Audit,
        telemetry: Telemetry = QUIET,
    ) -> None:
        self._catalog = catalog
        self._judging = judging
        self._dispatcher = dispatcher
        self._ledger = ledger
        self._approver = approver
        self._writer = writer
        self._audit = audit
        self._telemetry = telemetry
        self._refusals = Refusals()
        self._turns: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    async def check(self, call: ProposedCall, context: RuntimeContext, *, all_listed: bool = False) -> CallAnswer:
        """Judge a call and write the ledger, for an application that runs the tool itself."""
        with observed_call(self._telemetry, self._catalog.clock) as tell:
            answer, permit = await self._admitted(call, context, all_listed)
            await self._on_record(call, context, answer, permit)
            tell(answer)
        return answer

    async def report(self, call_id: str, outcome: str, result: Mapping[str, Json] | None = None) -> None:
        """Close the ledger of a call that the application ran; its result is kept where it has a key.

        Raises:
            ValueError: The outcome is none of `done`, `error`, `not_sent` and `outcome_unknown`.
            StoreError: There is no such call, it ended otherwise, or the store failed.
        """
        if outcome not in list(Ended):
            raise ValueError(f"an outcome is one of {', '.join(Ended)}, not {outcome!r}")
        past = await self._ledger.call(call_id)
        kept = None
        if result is not None and past is not None and past.line.key is not None:
            reported = CallAnswer(verdict=Verdict(kind=VerdictKind.ALLOWED), trace_id="", result=result)
            kept, _ = kept_of(reported)
        await self._ledger.close(call_id, self._catalog.clock.now(), Ended(outcome), kept)

    async def rehearse(self, call: ProposedCall, context: RuntimeContext, *, all_listed: bool = False) -> CallAnswer:
        """Judge a call without sending or recording anything."""
        judged = await self._judging.examined(call, context, all_listed=all_listed)
        if isinstance(judged, Judged):
            judged = conclude(judged, await self._judging.standing(judged))
        return CallAnswer(verdict=judged, trace_id=self._catalog.clock.new_id("tr"))

    async def call(self, call: ProposedCall, context: RuntimeContext, *, all_listed: bool = False) -> CallAnswer:
        """Judge a call and, where it is allowed, send it once to the server that owns the tool.

        Args:
            call: What is to run; its tool is an alias of the named selection, or an id.
            context: For whom.
            all_listed: Every eligible tool is in the caller's list, and may be named without a selection.
        """
        call = _held_still(call)
        with observed_call(self._telemetry, self._catalog.clock) as tell:
            answer, permit = await self._admitted(call, context, all_listed)
            if permit is not None:
                answer, judged, ended = await self._dispatcher.send(answer, permit)
                if ended is Ended.NOT_SENT:
                    answer = await self._refused(answer, judged)
                answer = await self._closed(answer, permit, ended)
            await self._on_record(call, context, answer, permit)
            tell(answer)
        return answer

    async def _admitted(
        self, call: ProposedCall, context: RuntimeContext, all_listed: bool
    ) -> tuple[CallAnswer, Permit | None]:
        """Judge a call and write its line, unless the same was refused again and again."""
        clock, most = self._catalog.clock, self._catalog.deployment.limits.identical_refusals
        trace_id = clock.new_id("tr")
        mark = mark_of(context.identity, call)
        if self._refusals.loops(mark, clock.ticks(), most):
            self._refusals.add(mark, clock.ticks(), most)
            return CallAnswer(verdict=looped(), trace_id=trace_id), None
        # One at a time for each caller: calls side by side in this process would only make each other judge again.
        async with self._turns.setdefault(context.identity, anyio.Lock()):
            answer, permit = await self._opened(call, context, all_listed, trace_id)
        if answer.verdict.kind in _LOOPING:
            self._refusals.add(mark, clock.ticks(), most)
        return answer, permit

    async def _opened(
        self, call: ProposedCall, context: RuntimeContext, all_listed: bool, trace_id: str
    ) -> tuple[CallAnswer, Permit | None]:
        for _ in range(_TRIES):
            judged = await self._judging.examined(call, context, all_listed=all_listed)
            if isinstance(judged, Verdict):
                return CallAnswer(verdict=judged, trace_id=trace_id), None
            standing = await self._judging.standing(judged)
            answer = CallAnswer(verdict=conclude(judged, standing), trace_id=trace_id)
            if not answer.verdict.allowed:
                return await self._refused(answer, judged), None
            try:
                if standing is not None:
                    answer = replace(answer, call_id=self._catalog.clock.new_id("call"))
                    if not await self._written(answer, judged, standing):
                        continue
            except StoreError as error:
                verdict = conclude(judged, None)
                if not verdict.allowed:
                    return CallAnswer(verdict=_not_on_record(judged, str(error)), trace_id=trace_id), None
                answer, standing = CallAnswer(verdict=verdict, trace_id=trace_id), None
            return answer, Permit(judged=judged, standing=standing, call_id=answer.call_id, all_listed=all_listed)
        moving = "the caller's ledger moved each time it was judged by"
        return CallAnswer(verdict=unavailable(Internal(cause=Cause.FAILED, error=moving)), trace_id=trace_id), None

    async def _written(self, answer: CallAnswer, judged: Judged, standing: Standing) -> bool:
        """Write the line before anything is sent; False where the ledger no longer says what was judged by."""
        assert answer.call_id is not None
        line = line_of(answer, judged, self._catalog.clock.now())
        record = compact_json(record_of(judged.call, judged.facts.context, answer, line.at)).encode()
        if not await self._ledger.open(line, record, after=standing.sequence):
            return False
        if line.approval_id is not None:
            try:
                await self._approver.used(line.approval_id, judged, line.call_id, answer.trace_id)
            except StoreError:
                await self._ledger.close(line.call_id, line.at, Ended.NOT_SENT)
                raise
        return True

    async def _refused(self, answer: CallAnswer, judged: Judged) -> CallAnswer:
        """Complete a refusal: ask for the approval that it lacks, or tell what ran before under its key."""
        verdict = answer.verdict
        if verdict.recorded is not None:
            return with_recorded(answer, verdict.recorded)
        if verdict.asks is None:
            return answer
        try:
            found = await self._approver.ask(judged, verdict.asks, answer.trace_id)
        except StoreError as error:
            return replace(answer, verdict=_not_on_record(judged, str(error)))
        if found is None:
            name = "approvals"
            internal = Internal(cause=Cause.DENIED, tool_id=verdict.tool_id, reasons=(name,))
            kind = VerdictKind.LIMIT_EXCEEDED
            full = replace(verdict, kind=kind, message=_TOO_MUCH_ASKED, constraint=name, internal=internal)
            return replace(answer, verdict=full)
        if found.state is ApprovalState.DENIED:
            message = f"{verdict.message}; it was denied, and can be asked for anew once that has expired"
            answer = replace(answer, verdict=replace(verdict, message=message))
        return replace(answer, approval_id=found.approval_id)

    async def _closed(self, answer: CallAnswer, permit: Permit, ended: Ended) -> CallAnswer:
        """Close the line; where that fails it stays open, which reads as an unknown outcome."""
        if permit.call_id is None:
            return answer
        kept = None
        if permit.judged.call.key is not None and ended in (Ended.DONE, Ended.ERROR):
            kept, answer = kept_of(answer)
        # The tool has run and its answer is here: losing the answer over a full disk would invite a repeat.
        with suppress(StoreError):
            await self._ledger.close(permit.call_id, self._catalog.clock.now(), ended, kept)
        return answer if ended is not Ended.NOT_SENT else _unsent(answer)

    async def _on_record(
        self, call: ProposedCall, context: RuntimeContext, answer: CallAnswer, permit: Permit | None
    ) -> None:
        """Write the trace, and tell operators of a denial. What may have had an effect stands in the ledger already."""
        now, verdict = self._catalog.clock.now(), answer.verdict
        told = answer if permit is None else replace(answer, call_id=permit.call_id)
        body = compact_json(record_of(call, named(context, self._catalog.deployment.naming), told, now)).encode()
        with suppress(StoreError):
            keep = permit is not None and permit.judged.line.risk is not Risk.READ
            await self._writer.put(answer.trace_id, now, body, keep=keep)
        if verdict.kind in _DENIALS:
            internal = verdict.internal or Internal(cause=Cause.DENIED)
            await self._audit.record(
                AuditKind.DENIAL,
                verdict=verdict.kind,
                principal=context.principal,
                asked=str(call.tool),
                tool_id=internal.tool_id,
                cause=internal.cause,
                reasons=internal.reasons,
                error=internal.error,
                trace_id=answer.trace_id,
            )


def _held_still(call: ProposedCall) -> ProposedCall:
    """Copy the arguments, so that what is sent is what was judged, whatever the caller does with its own."""
    try:
        return replace(call, arguments=copy.deepcopy(call.arguments))
    except Exception:  # noqa: BLE001 - what cannot be copied is no JSON or too deep, and the gate refuses it
        return call


def _unsent(answer: CallAnswer) -> CallAnswer:
    """Answer that nothing was sent: the line is closed, and the approval is free again."""
    return replace(answer, call_id=None, verdict=replace(answer.verdict, uses=None))


def _not_on_record(judged: Judged, error: str) -> Verdict:
    internal = Internal(cause=Cause.NO_LEDGER, tool_id=judged.line.tool, error=error)
    return Verdict(kind=VerdictKind.UNAVAILABLE, tool_id=judged.line.tool, message=_NO_LEDGER, internal=internal)
