"""Approvals: which calls someone else has to approve first, for which reasons, and which approval covers a call.

All reasons of a call are gathered into one request, since whoever approves must know all that they approve; an
approval covers a call only if it covers every reason that stands. It is bound to caller, tool, content and arguments,
good for one call, and expires. It is never given by a name of the requester's own.

Source: DESIGN section 8, steps 5, 6 and 8.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from pegboard.core.catalog import Reach, Risk
from pegboard.core.lock import LockLine
from pegboard.core.names import Json, canonical_json
from pegboard.core.text import escaped
from pegboard.engine.flow import FlowAction, FlowRow, earlier_calls, flow_action
from pegboard.engine.ledger import Approval, Standing
from pegboard.engine.verdict import Asks

__all__ = [
    "REASONS",
    "ApprovalRules",
    "ArgumentRule",
    "Situation",
    "Why",
    "asks_of",
    "covering",
    "may_decide",
    "shown",
    "worded",
]

_HOUR_S = 3600.0
# What an approver sees of one text, and of all arguments: enough to know what it is, and no flood.
_SHOWN_TEXT = 400
_SHOWN_PARTS = 200


class Why(StrEnum):
    """Why a call needs an approval."""

    RISK = "risk"
    REACH = "reach"
    ARGUMENTS = "arguments"
    FLOW = "flow"
    REPEAT = "repeat"


_WORDS = {
    Why.RISK: "of what it may do",
    Why.REACH: "it runs whatever it is given",
    Why.ARGUMENTS: "of its arguments",
    Why.FLOW: "it sends out after private data was read and untrusted content taken in",
    Why.REPEAT: "it may have run before",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentRule:
    """One `[[approvals.when]]`: calls of these tools whose arguments have, at each place, one of the listed values.

    `tools` are globs over tool ids. A place is a JSON pointer, or the plain name of an argument. What is left out of
    the arguments is none of the values: a tool whose default is the dangerous one needs a risk.
    """

    tools: tuple[str, ...]
    arguments: Mapping[str, tuple[Json, ...]] = field(default_factory=dict)

    def matches(self, tool_id: str, arguments: Any) -> bool:
        """Say whether this call is one of them."""
        return any(fnmatchcase(tool_id, glob) for glob in self.tools) and all(
            any(_same(found, value) for found in _at(arguments, place) for value in values)
            for place, values in self.arguments.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRules:
    """`[approvals]`: what asks, and how long a request and its approval are good for."""

    risk: frozenset[Risk] = frozenset({Risk.DESTRUCTIVE})
    reach: frozenset[Reach] = frozenset({Reach.OPEN})
    when: tuple[ArgumentRule, ...] = ()
    flow: tuple[FlowRow, ...] = ()
    lifetime_s: float = _HOUR_S
    conversation_s: float = _HOUR_S
    """How far back a conversation reaches where the application names none: it is then all that the caller ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A call as the reasons look at it: what the lock says of its tool, and what was before."""

    rules: ApprovalRules
    line: LockLine
    arguments: Any
    environment: str | None
    keyed: bool
    standing: Standing

    @property
    def earlier(self) -> tuple[str, ...]:
        """Name the calls because of which this one asks for its flow."""
        earlier = earlier_calls(self.standing.touched, self.line.flow)
        if earlier is None or flow_action(self.rules.flow, self.environment) is FlowAction.ALLOW:
            return ()
        return earlier


Asking: TypeAlias = Callable[[Situation], bool]

# One row a reason. A hint of the server's, `idempotentHint` for one, is none: it is its own word.
REASONS: tuple[tuple[Why, Asking], ...] = (
    (Why.RISK, lambda one: one.line.risk in one.rules.risk),
    (Why.REACH, lambda one: one.line.reach in one.rules.reach),
    (Why.ARGUMENTS, lambda one: any(rule.matches(one.line.tool, one.arguments) for rule in one.rules.when)),
    (Why.FLOW, lambda one: bool(one.earlier)),
    (Why.REPEAT, lambda one: not one.keyed and one.line.risk is not Risk.READ and one.standing.like is not None),
)


def asks_of(situation: Situation) -> Asks:
    """Gather every reason for which a call needs an approval; none: it needs none."""
    return Asks(reasons=tuple(why for why, asks in REASONS if asks(situation)), earlier=situation.earlier)


def covering(
    reasons: Collection[str],
    granted: Iterable[Approval],
    binding: tuple[str, str, str, str],
    now: float,
    named: str | None,
) -> Approval | None:
    """Return the approval that covers every reason of a call, the named one where one is named; None: there is none."""
    fitting = (one for one in granted if named in (None, one.approval_id) and one.good_for(binding, now))
    return next((one for one in fitting if set(reasons) <= set(one.reasons)), None)


def may_decide(approval: Approval, names: Iterable[str]) -> bool:
    """Say whether someone of these names may decide a request: none of them is one of the requester's own."""
    own = {_folded(name) for name in approval.principals}
    theirs = {_folded(name) for name in names}
    return bool(theirs) and "" not in theirs and own.isdisjoint(theirs)


def worded(reasons: Iterable[str]) -> str:
    """Say the reasons in words."""
    return " and because ".join(_WORDS[Why(reason)] for reason in reasons)


def shown(arguments: Json) -> Json:
    """Return what an approver sees of arguments: long texts cut, with their length, and the rest counted.

    A character that no reader can see is written as its code point: it is part of what is approved.
    """
    left = [_SHOWN_PARTS]

    def cut(value: Json) -> Json:
        left[0] -= 1
        if isinstance(value, str):
            return _legible(value)
        if isinstance(value, dict):
            kept = {_legible(key): cut(item) for key, item in value.items() if left[0] > 0}
            return kept if len(kept) == len(value) else {**kept, "…": f"{len(value) - len(kept):,} more"}
        if isinstance(value, list):
            items = [cut(item) for item in value if left[0] > 0]
            return items if len(items) == len(value) else [*items, f"… {len(value) - len(items):,} more"]
        return value

    return cut(arguments)


def _legible(text: str) -> str:
    if len(text) <= _SHOWN_TEXT:
        return escaped(text)
    return f"{escaped(text[:_SHOWN_TEXT])}… ({len(text):,} characters)"


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


def _same(one: Json, other: Json) -> bool:
    """Say whether two JSON values are one: 1 is 1.0 there, and true is no number."""
    return canonical_json(one) == canonical_json(other)


def _at(arguments: Any, place: str) -> list[Json]:
    """Return what stands at a place, in a list; an empty one where nothing does."""
    parts = place[1:].split("/") if place.startswith("/") else None
    names = [place] if parts is None else [part.replace("~1", "/").replace("~0", "~") for part in parts]
    found = arguments
    for name in names:
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            return []
    return [found]
