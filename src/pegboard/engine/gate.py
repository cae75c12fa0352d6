"""The execution gate: may this proposed call run, for this caller, now.

`STEPS` is walked in order and the first row that objects gives the verdict; only the last row allows. A call that
passes every row without an answer, or a step that raises, is `unavailable`: nothing is ever allowed by omission.
Policy is the one handed in (today's), never the selection's or an index's (law 4).

A caller learns the same of a tool that does not exist, is not eligible, was not selected, or was selected by someone
else: one verdict, byte for byte (law 2). The difference is in `internal`, for operators only.

The walk pauses once. The `FIRST` rows need what is at hand, and find out which tool is meant (`examine`); then the
ledger is asked what it knows of the caller, and the `LATER` rows judge on that too (`conclude`). Writing the ledger's
line and the dispatch are the service's, after `allowed`.

Source: DESIGN section 8; NIST SP 800-162, policy enforcement point.
"""

from dataclasses import replace

from pegboard.engine.checking import current, fresh, known, permitted, valid
from pegboard.engine.facts import GateFacts
from pegboard.engine.holding import allow, approved, contained, limited, on_record, repeated
from pegboard.engine.judged import Judged, Row, unavailable
from pegboard.engine.ledger import Standing
from pegboard.engine.verdict import Cause, Internal, ProposedCall, Verdict, VerdictKind

__all__ = ["FIRST", "LATER", "STEPS", "conclude", "examine", "judge", "looped"]

# One row a step of DESIGN 8, in its order; the first that answers ends the walk. These need no ledger …
FIRST: tuple[Row, ...] = (
    ("fresh", fresh),
    ("known", known),
    ("schema current", current),
    ("arguments valid", valid),
    ("policy with arguments", permitted),
)
# … and these do.
LATER: tuple[Row, ...] = (
    ("ledger", on_record),
    ("flow", contained),
    ("recorded repeat", repeated),
    ("limits", limited),
    ("approval", approved),
    ("allowed", allow),
)
STEPS = (*FIRST, *LATER)


def examine(call: ProposedCall, facts: GateFacts) -> Judged | Verdict:
    """Judge a call by the rows that need no ledger. A refusal is a value; this never raises."""
    return _walk(Judged(call=call, facts=facts), FIRST)


def conclude(judged: Judged, standing: Standing | None) -> Verdict:
    """Judge an examined call by the other rows; *standing* is None where the ledger cannot be reached."""
    answer = _walk(replace(judged, standing=standing), LATER)
    if isinstance(answer, Verdict):
        return replace(answer, noted=judged.noted)
    return unavailable(Internal(cause=Cause.FAILED, error="no step gave a verdict"))


def judge(call: ProposedCall, facts: GateFacts, standing: Standing | None) -> Verdict:
    """Judge a proposed call against every row of `STEPS`."""
    judged = examine(call, facts)
    return judged if isinstance(judged, Verdict) else conclude(judged, standing)


def looped() -> Verdict:
    """Answer a call that was refused again and again: the same for every tool, whatever it was refused for."""
    name = "identical_refusals"
    return Verdict(
        kind=VerdictKind.LIMIT_EXCEEDED,
        message="the same call was refused again and again; change the arguments or the tool; nothing was run",
        constraint=name,
        internal=Internal(cause=Cause.LOOP, reasons=(name,)),
    )


def _walk(judged: Judged, rows: tuple[Row, ...]) -> Judged | Verdict:
    for _, step in rows:
        try:
            answer = step(judged)
        except Exception as error:  # noqa: BLE001 - fail closed: a step that fails allows nothing
            return unavailable(Internal(cause=Cause.FAILED, error=f"{type(error).__name__}: {error}"))
        if isinstance(answer, Verdict):
            return answer
        judged = answer
    return judged
