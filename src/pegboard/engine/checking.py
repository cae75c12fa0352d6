"""The gate's first rows: what a call is judged on before the ledger is asked.

Each takes how far the walk has come, and returns either that with more, or the verdict.

Source: DESIGN section 8, steps 1 to 4.
"""

from dataclasses import replace
from typing import Any

from pegboard.core.mentions import redact
from pegboard.core.names import digest
from pegboard.core.policy import decide_tool
from pegboard.core.text import clean, well_formed
from pegboard.engine.facts import CallDecision
from pegboard.engine.judged import Judged, denied, unavailable, unknown
from pegboard.engine.resolving import resolved
from pegboard.engine.schemas import Problem, check_arguments, still_takes
from pegboard.engine.verdict import Cause, Internal, ProposedCall, Verdict, VerdictKind

__all__ = ["current", "fresh", "known", "permitted", "valid"]

_STALE = "the tool has changed since it was selected; search again and call it as it is described then"
# What an application gives beside the arguments; a store keeps and compares it.
_LABELS = ("conversation", "key", "approval")
_LABEL_AT_MOST = 256


def fresh(judged: Judged) -> Judged | Verdict:
    """Refuse to judge on revocations that are too old, or from a clock that runs ahead of ours."""
    facts = judged.facts
    limit = facts.revocations_max_age_s
    # Written so that a time that is no number does not pass.
    if -limit <= facts.now - facts.revocations.as_of <= limit:
        return judged
    return unavailable(Internal(cause=Cause.REVOCATIONS_TOO_OLD))


def known(judged: Judged) -> Judged | Verdict:
    """Resolve the tool for this caller, and ask whether it is eligible now."""
    found = resolved(judged.call.tool, judged.facts)
    if isinstance(found, Cause):
        return unknown(Internal(cause=found))
    tool_id, schema_hash = found
    facts = judged.facts
    entry = facts.snapshot.get(tool_id)
    if entry is None:
        return unknown(Internal(cause=Cause.NOT_IN_CATALOG, tool_id=tool_id))
    decision = decide_tool(entry, facts.policy, facts.context, facts.revocations)
    if not decision.allowed:
        return unknown(Internal(cause=Cause.DENIED, tool_id=tool_id, reasons=(*decision.reasons, *decision.rules)))
    return Judged(call=judged.call, facts=facts, found=entry, selected_hash=schema_hash)


def current(judged: Judged) -> Judged | Verdict:
    """Refuse arguments made for a content that the present one does not take any more."""
    entry, selected = judged.entry, judged.selected_hash
    if selected is None or selected == entry.schema_hash:
        return judged
    former = judged.facts.former.get(selected)
    if former is not None and former.tool_id == entry.tool_id and still_takes(entry.input_schema, former.input_schema):
        return judged
    return Verdict(kind=VerdictKind.STALE_SCHEMA, tool_id=entry.tool_id, message=_STALE)


def valid(judged: Judged) -> Judged | Verdict:
    """Ask whether the arguments keep to the schema as the server declares it, and what goes with them to its form."""
    entry, facts = judged.entry, judged.facts
    problem = _label_problem(judged.call)
    if problem is None:
        arguments = _with_key(judged.call, facts.key_arguments.get(entry.tool_id))
        problem = check_arguments(facts.validators.of(entry), arguments)
        if problem is None:
            return replace(judged, arguments=arguments, digest=digest(judged.call.arguments))
    return Verdict(
        kind=VerdictKind.INVALID_ARGUMENTS,
        tool_id=entry.tool_id,
        # No value of the schema is in it where there are mentions, but names of properties, and keys that the caller
        # sent, may be. All that is mentioned is taken out, eligible or not: a message need not tell which.
        message=redact(clean(problem.message), entry.mentions),
        path=problem.path,
        constraint=problem.constraint,
    )


def permitted(judged: Judged) -> Judged | Verdict:
    """Ask the policy over arguments, where there is one; whatever it does but clearly allow denies."""
    facts, tool_id = judged.facts, judged.entry.tool_id
    if facts.call_policy is None:
        return judged
    try:
        decision = facts.call_policy(judged.entry, facts.context, judged.arguments)
    except Exception as error:  # noqa: BLE001 - fail closed: a policy that fails denies
        return denied(Internal(cause=Cause.FAILED, tool_id=tool_id, error=f"{type(error).__name__}: {error}"))
    if isinstance(decision, CallDecision):
        if decision.allowed is True:
            return replace(judged, noted=decision.noted)
        refusal = denied(Internal(cause=Cause.DENIED, tool_id=tool_id, reasons=decision.reasons))
        return replace(refusal, noted=decision.noted)
    return denied(Internal(cause=Cause.FAILED, tool_id=tool_id, error="the policy gave no decision"))


def _label_problem(call: ProposedCall) -> Problem | None:
    for name in _LABELS:
        label = getattr(call, name)
        if label is None:
            continue
        if not isinstance(label, str) or not 0 < len(label) <= _LABEL_AT_MOST or well_formed(label) != label:
            message = f"the {name} must be a text of 1 to {_LABEL_AT_MOST} characters"
            return Problem(path="", constraint=name, message=message)
    return None


def _with_key(call: ProposedCall, argument: str | None) -> Any:
    """Put the application's key where the tool's server takes one, unless the model has put something there."""
    if argument is None or call.key is None or not isinstance(call.arguments, dict) or argument in call.arguments:
        return call.arguments
    return {**call.arguments, argument: call.key}
