"""The gate's later rows: what a call is held back for by what its caller did before.

Each takes how far the walk has come, and returns either that with more, or the verdict.

Source: DESIGN section 8, steps 5 to 9.
"""

from dataclasses import replace

from pegboard.core.catalog import Flow, Risk
from pegboard.engine.approvals import Situation, Why, asks_of, covering, worded
from pegboard.engine.flow import FlowAction, flow_action
from pegboard.engine.judged import Judged, denied, unavailable
from pegboard.engine.ledger import Past
from pegboard.engine.limits import EMPTY_STANDING, exceeded
from pegboard.engine.verdict import Cause, Internal, Verdict, VerdictKind

__all__ = ["allow", "approved", "contained", "limited", "on_record", "repeated"]

_OTHER_CALL = "this key was used for another call; nothing was run; give each call a key of its own"
_STILL_OPEN = "the call under this key was sent and no answer came; it may have run; nothing was sent again"
_REPEAT = (
    "the same call ran a short while ago or may have run; nothing was sent again; look whether it ran; "
    "where it is meant once more, the application gives it a key, or someone approves it"
)


def on_record(judged: Judged) -> Judged | Verdict:
    """Ask that the ledger is there, and find out what the call needs by it.

    Without one a read passes where that is configured, unless it could carry data out, or its key asks for a record.
    """
    standing, line, facts = judged.standing, judged.line, judged.facts
    if standing is None:
        harmless = line.risk is Risk.READ and Flow.SENDS_OUT not in line.flow and judged.call.key is None
        if not (facts.limits.reads_without_ledger and harmless):
            return unavailable(Internal(cause=Cause.NO_LEDGER, tool_id=line.tool))
        standing = EMPTY_STANDING
    situation = Situation(
        rules=facts.approvals,
        line=line,
        arguments=judged.arguments,
        environment=facts.context.environment,
        keyed=judged.call.key is not None,
        standing=standing,
    )
    needs, approval = asks_of(situation), None
    if needs.reasons:
        approval = covering(needs.reasons, standing.granted, judged.question.binding, facts.now, judged.call.approval)
    return replace(judged, standing=standing, needs=needs, approval=approval)


def contained(judged: Judged) -> Judged | Verdict:
    """Hold back what could carry private data out, once untrusted content may have steered it."""
    if Why.FLOW not in judged.asks.reasons or _recorded(judged) is not None:
        return judged
    if flow_action(judged.facts.approvals.flow, judged.facts.context.environment) is FlowAction.DENY:
        return denied(Internal(cause=Cause.DENIED, tool_id=judged.line.tool, reasons=(Why.FLOW,)))
    return judged if judged.approval is not None else _approval_required(judged)


def repeated(judged: Judged) -> Judged | Verdict:
    """Answer from the record what ran under an application's key, and hold back what may be a repeat without one."""
    recorded, tool_id = _recorded(judged), judged.line.tool
    if recorded is None:
        if Why.REPEAT not in judged.asks.reasons or judged.approval is not None:
            return judged
        kind, like = VerdictKind.CONFIRM_REPEAT, judged.record.like
        return Verdict(kind=kind, tool_id=tool_id, message=_REPEAT, asks=judged.asks, repeats=like)
    if (recorded.line.tool_id, recorded.line.arguments) != (tool_id, judged.digest):
        kind = VerdictKind.INVALID_ARGUMENTS
        return Verdict(kind=kind, tool_id=tool_id, message=_OTHER_CALL, path="", constraint="key")
    if recorded.unknown:
        return Verdict(kind=VerdictKind.OUTCOME_UNKNOWN, tool_id=tool_id, message=_STILL_OPEN)
    if not recorded.line.flow - {Flow.SENDS_OUT} <= judged.record.touched.keys():
        # What it brought then would come into a conversation of which the ledger does not know that it has it.
        recorded = replace(recorded, result=None)
    return Verdict(kind=VerdictKind.ALLOWED, tool_id=tool_id, recorded=recorded)


def limited(judged: Judged) -> Judged | Verdict:
    """Refuse what goes beyond a limit of this caller's."""
    facts, tool_id = judged.facts, judged.line.tool
    name = exceeded(facts.limits, judged.record, facts.costs.get(tool_id, 0.0))
    if name is None:
        return judged
    return Verdict(
        kind=VerdictKind.LIMIT_EXCEEDED,
        tool_id=tool_id,
        message=f"this goes beyond what this caller may have ({name}); nothing was run; try again later",
        constraint=name,
        internal=Internal(cause=Cause.DENIED, tool_id=tool_id, reasons=(name,)),
    )


def approved(judged: Judged) -> Judged | Verdict:
    """Hold back what may only run after someone else's approval."""
    return judged if not judged.asks.reasons or judged.approval is not None else _approval_required(judged)


def allow(judged: Judged) -> Judged | Verdict:
    """Allow what nothing objected to; an approval that it needs is used up by it."""
    uses = None if judged.approval is None else judged.approval.approval_id
    return Verdict(kind=VerdictKind.ALLOWED, tool_id=judged.entry.tool_id, uses=uses)


def _recorded(judged: Judged) -> Past | None:
    """Return what ran under the application's key; where there is something, nothing is sent."""
    return None if judged.call.key is None else judged.record.recorded


def _approval_required(judged: Judged) -> Verdict:
    message = f"this call needs an approval because {worded(judged.asks.reasons)}; nothing was run"
    if judged.call.approval is not None:
        message += "; the one that was named is not granted for just this call, was used, or has expired"
    kind = VerdictKind.APPROVAL_REQUIRED
    return Verdict(kind=kind, tool_id=judged.line.tool, message=message, asks=judged.asks)
