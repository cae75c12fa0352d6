"""Guards: what a namespace must show before more callers are given it, and what takes it back at once.

Each guard turns what was observed into samples that are good or bad. A promotion needs enough samples and a share of
good ones that reaches the minimum; one that could not be measured blocks. A breach does not wait for a full window:
it is there as soon as so many samples are bad that the window can no longer reach the minimum.

Source: DESIGN section 11.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from math import floor
from typing import Any

from pegboard.core.names import Json

__all__ = [
    "CALL",
    "END",
    "GUARDS",
    "OFFER",
    "Called",
    "Guard",
    "Guarded",
    "Guards",
    "Observed",
    "Tally",
    "breach",
    "guarded",
    "observed_of",
    "tallies",
]

# What is recorded: what was offered, a call after it, and how a call ended that the application ran itself.
OFFER, CALL, END = "offer", "call", "end"

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """What must be reached: shares of good samples, and how many samples make one judgment."""

    sample: float = 1.0
    """Which share of selections is observed at all."""
    samples: int = 50
    recall: float = 0.95
    validity: float = 0.9
    latency: float = 0.95
    completion: float = 0.9
    latency_ms: float = 500.0
    """What a selection may take; `latency` is the share of selections that keep to it."""
    exposure: float = 1.0
    """Not configurable: one offered tool that policy denies is one too many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A tool that was really called; `valid` and `completed` are None where nobody said."""

    tool_id: str
    namespace: str
    valid: bool | None
    completed: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One selection as operators observe it, with what was called after it. For operators alone."""

    selection_id: str
    at: float
    ms: float
    offered: Mapping[str, str]
    """Tool -> namespace: what Pegboard offered or would have offered, and what the conversation had loaded before."""
    served: frozenset[str]
    """The namespaces in which it was really served."""
    exposed: frozenset[str]
    """What of it policy denied when each tool was judged alone."""
    tokens: int
    listed: int | None
    """How many tools the production path listed beside it; None: it did not say."""
    listed_tokens: int | None
    listed_denied: Mapping[str, int]
    """How many of them policy denied, by namespace."""
    calls: tuple[Called, ...]

    namespaces: frozenset[str]
    """Those that it is about. Kept, since the guards of many namespaces ask for it."""

    def within(self, namespaces: AbstractSet[str]) -> "Observed | None":
        """Return what of it is about these namespaces; None where nothing is."""
        if self.namespaces.isdisjoint(namespaces):
            return None
        offered = {tool: path for tool, path in self.offered.items() if path in namespaces}
        calls = tuple(call for call in self.calls if call.namespace in namespaces)
        denied = {path: count for path, count in self.listed_denied.items() if path in namespaces}
        return replace(self, offered=offered, calls=calls, listed_denied=denied)

    @property
    def served_calls(self) -> tuple[Called, ...]:
        """Return the calls of what was really served."""
        return tuple(call for call in self.calls if call.namespace in self.served)


@dataclass(frozen=True, slots=True)
class Guard:
    """One row: a name that is also the minimum's in `Guards`, what it counts, and its samples: good or bad."""

    name: str
    definition: str
    samples: Callable[[Observed, Guards], Iterable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What one guard found. `value` is the share of good samples, None where there is none."""

    name: str
    value: float | None
    n: int
    minimum: float
    needed: int

    @property
    def missed(self) -> bool:
        """Say whether what was measured is too low, which nothing waives."""
        return self.value is not None and self.value < self.minimum

    @property
    def problem(self) -> str | None:
        """Say why it stops a promotion, None where it does not."""
        if self.value is not None and self.missed:
            return f"{self.name} is {self.value:.1%} of {self.n}, below {self.minimum:.1%}"
        return f"{self.name} has {self.n} of {self.needed} samples" if self.n < self.needed else None

    def to_json(self) -> dict[str, Json]:
        """Return the shape of one element of `guards`."""
        value = None if self.value is None else round(self.value, 4)
        return {"measure": self.name, "value": value, "n": self.n, "min": self.minimum, "problem": self.problem}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many samples of one guard a selection gave of what one setting governs, and how many of them are bad.

    Kept beside the records and counted anew whenever one more of a selection's is written, so that the newest samples
    of a namespace are found however much is observed of others.
    """

    namespace: str
    """The one that was set."""
    guard: str
    at: float
    selection_id: str
    n: int
    bad: int


def tallies(namespace: str, one: Observed, guards: Guards) -> tuple[Tally, ...]:
    """Count the samples of one selection, of which *namespace*'s setting governs what is left in it."""
    counted = ((row.name, list(row.samples(one, guards))) for row in GUARDS)
    return tuple(
        Tally(
            namespace=namespace,
            guard=name,
            at=one.at,
            selection_id=one.selection_id,
            n=len(samples),
            bad=samples.count(False),
        )
        for name, samples in counted
        if samples
    )


def guarded(seen: Iterable[Observed], guards: Guards) -> tuple[Guarded, ...]:
    """Return what each guard finds in the observations, in the order of `GUARDS`."""
    seen = tuple(seen)
    return tuple(_guarded(row, _samples(row, seen, guards), guards) for row in GUARDS)


def breach(newest: Mapping[str, Sequence[Tally]], guards: Guards) -> str | None:
    """Say which guard is broken, None where none is.

    Args:
        newest: Guard -> what the newest selections gave, newest first. Of one selection the bad samples come first.
        guards: The minimums.
    """
    for row in GUARDS:
        n = bad = 0
        for one in newest.get(row.name, ()):
            taken = min(one.n, guards.samples - n)
            n, bad = n + taken, bad + min(one.bad, taken)
        # A share such as 0.95 times a whole number misses another by a rounding error.
        if bad > floor((1 - getattr(guards, row.name)) * guards.samples + _ROUNDING):
            return f"{row.name}: {bad} of the newest {n} samples are bad"
    return None


def observed_of(records: Iterable[Mapping[str, Any]]) -> tuple[Observed, ...]:
    """Join what was recorded, oldest first: offers, the calls after them, and how those ended.

    A call of a selection that was not sampled, or is no longer on record, is passed over.
    """
    offers: dict[str, Mapping[str, Any]] = {}
    calls: dict[str, list[dict[str, Any]]] = {}
    by_id: dict[str, dict[str, Any]] = {}
    for record in records:
        if record["kind"] == OFFER:
            offers[record["selection_id"]] = record
        elif record["kind"] == CALL:
            call = {name: record[name] for name in Called.__slots__}
            calls.setdefault(record["selection_id"], []).append(call)
            by_id[record["call_id"]] = call
        elif record["call_id"] in by_id:
            by_id[record["call_id"]]["completed"] = record["completed"]
    return tuple(
        _observed(offer, [Called(**call) for call in calls.get(selection_id, ())])
        for selection_id, offer in offers.items()
    )


def _observed(offer: Mapping[str, Any], calls: Sequence[Called]) -> Observed:
    about = (*offer["offered"].values(), *(call.namespace for call in calls), *offer["listed_denied"])
    kept = {name: offer[name] for name in Observed.__slots__ if name not in {"calls", "namespaces"}}
    sets = {name: frozenset(offer[name]) for name in ("served", "exposed")}
    return Observed(**{**kept, **sets}, calls=tuple(calls), namespaces=frozenset(about))


def _samples(row: Guard, seen: Iterable[Observed], guards: Guards) -> list[bool]:
    return [sample for one in seen for sample in row.samples(one, guards)]


def _guarded(row: Guard, samples: Sequence[bool], guards: Guards) -> Guarded:
    value = samples.count(True) / len(samples) if samples else None
    minimum = getattr(guards, row.name)
    return Guarded(name=row.name, value=value, n=len(samples), minimum=minimum, needed=guards.samples)


# One row a guard, in the order in which they are shown and in which a breach is named. A new guard is a new row here
# and a minimum in `Guards`.
GUARDS: tuple[Guard, ...] = (
    Guard(
        "exposure",
        "share of offered tools that policy, asked of each alone, does not deny",
        lambda one, _: (tool not in one.exposed for tool in one.offered),
    ),
    Guard(
        "recall",
        "share of the tools really called that were offered",
        lambda one, _: (call.tool_id in one.offered for call in one.calls),
    ),
    Guard(
        "validity",
        "share of calls of served tools that the gate took: known, current and valid",
        lambda one, _: (call.valid for call in one.served_calls if call.valid is not None),
    ),
    Guard("latency", "share of selections within `latency_ms`", lambda one, guards: (one.ms <= guards.latency_ms,)),
    Guard(
        "completion",
        "share of calls of served tools that ended without an error",
        lambda one, _: (call.completed for call in one.served_calls if call.completed is not None),
    ),
)
