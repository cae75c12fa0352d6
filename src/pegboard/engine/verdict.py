"""A proposed call and the gate's answer to it, as values.

`Verdict.to_json` is what may leave; `internal` is for operators and the audit stream alone (law 2).

Source: DESIGN section 8.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pegboard.core.names import Json, digest
from pegboard.engine.bounds import ARGUMENTS, Broken, measure
from pegboard.engine.ledger import Past

__all__ = ["MEANINGS", "Asks", "Caller", "Cause", "Internal", "ProposedCall", "Verdict", "VerdictKind"]


class VerdictKind(StrEnum):
    """What a caller is told."""

    ALLOWED = "allowed"
    UNKNOWN_OR_DENIED = "unknown_or_denied"
    STALE_SCHEMA = "stale_schema"
    INVALID_ARGUMENTS = "invalid_arguments"
    DENIED = "denied"
    APPROVAL_REQUIRED = "approval_required"
    CONFIRM_REPEAT = "confirm_repeat"
    LIMIT_EXCEEDED = "limit_exceeded"
    UNAVAILABLE = "unavailable"
    OUTCOME_UNKNOWN = "outcome_unknown"


# One row a verdict: what it means, and what helps. The reference page is held to it.
MEANINGS: tuple[tuple[VerdictKind, str, str], ...] = (
    (
        VerdictKind.ALLOWED,
        "It was sent once and its server answered; `recorded`: it ran before under the same key, and this is what it "
        "answered then.",
        "nothing",
    ),
    (
        VerdictKind.UNKNOWN_OR_DENIED,
        "There is no such tool for this caller: it does not exist, may not be used, was not selected, or is halted. "
        "The caller cannot tell which; the operator's part says.",
        "select again, and call a tool of the new selection",
    ),
    (
        VerdictKind.STALE_SCHEMA,
        "The tool has changed since it was selected, and arguments made for it then may not fit.",
        "select again",
    ),
    (
        VerdictKind.INVALID_ARGUMENTS,
        "The arguments break the tool's schema, or the key was used for another call; `path` and `constraint` say "
        "where and which rule.",
        "correct them",
    ),
    (VerdictKind.DENIED, "Policy forbids this call with these arguments, here and now.", "other arguments, or nothing"),
    (
        VerdictKind.APPROVAL_REQUIRED,
        "Someone else has to approve this very call first; `approval_id` names the request.",
        "`pegboard approvals grant`, then the same call again",
    ),
    (
        VerdictKind.CONFIRM_REPEAT,
        "The same call ran a short while ago, or nobody knows whether it ran.",
        "look whether it ran; a key of the application's, or an approval",
    ),
    (VerdictKind.LIMIT_EXCEEDED, "This caller has had as much as it may; `constraint` names the limit.", "wait"),
    (VerdictKind.UNAVAILABLE, "It could not be judged, recorded or delivered. Nothing was run.", "try again later"),
    (
        VerdictKind.OUTCOME_UNKNOWN,
        "It was sent and no answer came: it may have run. It is never sent again.",
        "look whether it ran",
    ),
)


class Cause(StrEnum):
    """Why, for operators and the audit stream; a caller must not be able to tell these apart."""

    NOT_SELECTED = "not_selected"
    NO_SELECTION = "no_selection"
    NOT_IN_CATALOG = "not_in_catalog"
    AMBIGUOUS = "ambiguous"
    DENIED = "denied"
    REVOCATIONS_TOO_OLD = "revocations_too_old"
    NO_LEDGER = "no_ledger"
    LOOP = "loop"
    FAILED = "failed"


class Caller(StrEnum):
    """Who proposed a call: a model by itself, or a program that a model wrote. On record only: both pass one gate."""

    DIRECT = "direct"
    PROGRAM = "program"


@dataclass(frozen=True, slots=True, kw_only=True)
class Internal:
    """What operators may know of a refusal. `reasons` are the names of the rules that refused."""

    cause: Cause
    tool_id: str | None = None
    reasons: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedCall:
    """What a model asks to run: an alias of the selection, a tool id or `namespace/name`; and its arguments.

    `conversation`, `key` (for idempotency) and `approval` come from the application, never from the model.
    """

    tool: str
    arguments: Any
    selection_id: str | None = None
    conversation: str | None = None
    key: str | None = None
    approval: str | None = None
    caller: Caller = Caller.DIRECT

    @property
    def digest(self) -> str | None:
        """Name the arguments without their values; None where they are no JSON or beyond every bound."""
        return None if isinstance(measure(self.arguments, ARGUMENTS), Broken) else digest(self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asks:
    """What an approval of a call would have to cover: all reasons at once, and the calls that a flow is about."""

    reasons: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """May it run; if not, what the caller is told. `to_json` is what may leave; `internal` may not."""

    kind: VerdictKind
    tool_id: str | None = None
    message: str | None = None
    path: str | None = None
    constraint: str | None = None
    asks: Asks | None = None
    """The approval that would let it run."""
    uses: str | None = None
    """The approval that lets it run, and is used up by it."""
    recorded: Past | None = None
    """The call that ran before under the same key: there is nothing to run."""
    repeats: Past | None = None
    """The call that it may be a repeat of; for operators."""
    noted: tuple[str, ...] = ()
    """The log-only policies by which it would have come out the other way; for operators."""
    internal: Internal | None = None

    @property
    def allowed(self) -> bool:
        """Say whether the call may be run now: not where it ran before and its outcome is on record."""
        return self.kind is VerdictKind.ALLOWED and self.recorded is None

    def to_json(self) -> dict[str, Json]:
        """Return the caller's part of the shape of `call --json`."""
        said: dict[str, Json] = {"tool_id": self.tool_id, "message": self.message}
        more: dict[str, Json] = {"path": self.path, "constraint": self.constraint}
        return {"verdict": str(self.kind), **said, **more, "recorded": self.recorded is not None}
