"""What a call came to: the answer to its caller, its record, and the result that is kept under a key."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json, canonical_json
from pegboard.core.text import well_formed
from pegboard.engine.judged import Judged
from pegboard.engine.ledger import Ended, Line, Past
from pegboard.engine.verdict import ProposedCall, Verdict, VerdictKind

__all__ = ["CallAnswer", "kept_of", "line_of", "record_of", "with_recorded"]

# A result that is larger is not kept under its key: an answer this long is no receipt, and the store would fill.
KEPT_BYTES = 1024 * 1024
# What a caller gives beside the arguments is on record as far as any of it is taken.
_RECORDED = 256
_NOT_KEPT = "its result is larger than 1 MiB and is not kept: asked again under this key, only its outcome is told"
_RAN_BEFORE = "it ran before under this key, and was not run again"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAnswer:
    """What a call came to. `result` is the server's answer untouched, None where nothing was sent or came back.

    `error` is the protocol error that the server answered with in place of a result, as it sent it. `call_id` names
    the call in the ledger; an application that runs the tool itself closes it with `report`. `approval_id` names the
    request for an approval that the call waits for.
    """

    verdict: Verdict
    trace_id: str
    call_id: str | None = None
    approval_id: str | None = None
    result: Mapping[str, Json] | None = None
    error: Mapping[str, Json] | None = None

    @property
    def succeeded(self) -> bool:
        """Say whether the call was allowed, now or before under the same key, and its tool reported no error."""
        past = self.verdict.recorded
        if self.verdict.kind is not VerdictKind.ALLOWED or (past is not None and past.ended is not Ended.DONE):
            return False
        return self.error is None and not (self.result or {}).get("isError", False)

    def to_json(self) -> dict[str, Json]:
        """Return the answer of `call`."""
        ids: dict[str, Json] = {"trace_id": self.trace_id, "approval_id": self.approval_id}
        answer = {**self.verdict.to_json(), "result": self.result, **ids}
        return answer if self.error is None else {**answer, "error": self.error}


def kept_of(answer: CallAnswer) -> tuple[bytes | None, CallAnswer]:
    """Return what is kept of an answer under its call's key, and the answer, which says where that is too much."""
    kept: dict[str, Json] = {"result": answer.result} if answer.error is None else {"error": answer.error}
    try:
        body = canonical_json(kept)
    except ValueError:
        return None, answer
    if len(body) <= KEPT_BYTES:
        return body, answer
    return None, replace(answer, verdict=replace(answer.verdict, message=_NOT_KEPT))


def with_recorded(answer: CallAnswer, past: Past) -> CallAnswer:
    """Answer with what is on record of a call under the same key."""
    kept = json.loads(past.result) if past.result is not None else {}
    message = _RAN_BEFORE if kept else f"{_RAN_BEFORE}; it ended as '{past.ended}', and its result is not told again"
    verdict = replace(answer.verdict, message=message)
    return replace(answer, verdict=verdict, result=kept.get("result"), error=kept.get("error"))


def record_of(call: ProposedCall, context: RuntimeContext, answer: CallAnswer, now: float) -> dict[str, Json]:
    """Put a call on record: the tool only where the caller may know it, the arguments only as a digest."""
    return {
        "kind": "call",
        "trace_id": answer.trace_id,
        "at": now,
        "principal": context.principal,
        "conversation": _text(call.conversation),
        "caller": str(call.caller),
        "selection_id": _text(call.selection_id),
        "tool_id": answer.verdict.tool_id,
        "arguments": call.digest,
        "key": _text(call.key),
        "verdict": str(answer.verdict.kind),
        "path": answer.verdict.path,
        "constraint": answer.verdict.constraint,
        "recorded": answer.verdict.recorded is not None,
        "log_only": list(answer.verdict.noted),
        "call_id": answer.call_id,
        "approval_id": answer.approval_id or answer.verdict.uses,
    }


def line_of(answer: CallAnswer, judged: Judged, now: float) -> Line:
    """Write the ledger's line of an allowed call."""
    context, line = judged.facts.context, judged.line
    assert answer.call_id is not None
    return Line(
        call_id=answer.call_id,
        trace_id=answer.trace_id,
        identity=context.identity,
        principal=context.principal,
        conversation=judged.call.conversation,
        at=now,
        tool_id=line.tool,
        schema_hash=judged.entry.schema_hash,
        arguments=judged.digest,
        key=judged.call.key,
        risk=line.risk,
        flow=line.flow,
        cost=judged.facts.costs.get(line.tool, 0.0),
        approval_id=answer.verdict.uses,
    )


def _text(value: object) -> str | None:
    return well_formed(value[:_RECORDED]) if isinstance(value, str) else None
