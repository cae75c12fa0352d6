"""Replay: make a traced selection again, on its own versions or on others, and say what comes out differently.

On its own versions it must be the same byte for byte (law 8). On another catalog, lock, policy, model or other
settings it says what would have been selected: which tools come in, drop out, move or have changed.

Source: DESIGN section 10.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pegboard.core.names import Json
from pegboard.core.revocations import Revocations
from pegboard.engine.asking import Ask, SelectionSettings
from pegboard.engine.select import select
from pegboard.engine.selection import Selection
from pegboard.engine.trace import Grade, Naming, Trace, answer_digest, given
from pegboard.engine.view import View

__all__ = ["Change", "Difference", "Replay", "Summary", "replay", "replay_against", "summarise"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that came out differently."""

    what: str
    was: Json
    now: Json

    def to_json(self) -> dict[str, Json]:
        """Return the shape of one element of a replay's `diff`."""
        return {"what": self.what, "was": self.was, "now": self.now}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What became of the tools of a selection, by id; `moved` gives both ranks, which count from 1."""

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Still there, with another content."""
    moved: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.added or self.dropped or self.changed or self.moved)

    def to_json(self) -> dict[str, Json]:
        """Return `tools` of one element of `traces`."""
        return {
            "added": list(self.added),
            "dropped": list(self.dropped),
            "changed": list(self.changed),
            "moved": [{"tool_id": tool, "was": was, "now": now} for tool, (was, now) in self.moved.items()],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What running a trace again showed.

    `equal` means byte for byte on its own versions, and the same outcome and tools on others; of a trace that can
    only be verified, that nothing contradicts it.
    """

    trace_id: str
    grade: Grade
    equal: bool
    diff: tuple[Difference, ...]
    outcome: str
    """The outcome now; of a trace that can only be verified, what it was."""
    tools: Change = Change()

    def to_json(self) -> dict[str, Json]:
        """Return one element of `traces` in the answer of `replay`."""
        return {
            "trace_id": self.trace_id,
            "grade": str(self.grade),
            "equal": self.equal,
            "diff": [one.to_json() for one in self.diff],
            "outcome": self.outcome,
            "tools": self.tools.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Many replays in numbers: by tool, how often it came in and dropped out; by outcome, how it moved."""

    total: int
    equal: int
    verifiable: int
    outcomes: Mapping[tuple[str, str], int]
    """(was, now) -> how many; where both are the same, the outcome stayed."""
    entering: Mapping[str, int]
    leaving: Mapping[str, int]

    def to_json(self) -> dict[str, Json]:
        """Return `summary` in the answer of `replay`."""
        return {
            "total": self.total,
            "equal": self.equal,
            "different": self.total - self.equal,
            "verifiable": self.verifiable,
            "outcomes": [{"was": was, "now": now, "traces": count} for (was, now), count in self.outcomes.items()],
            "entering": dict(self.entering),
            "leaving": dict(self.leaving),
        }


def replay(
    trace: Trace,
    view: View,
    revocations: Revocations,
    settings: SelectionSettings,
    packages: Mapping[str, str],
) -> Replay:
    """Run a trace again on its own catalog, policy, revocations and settings.

    A trace without its ranking input is verified instead: the eligible set is computed again, and every
    tool that was given must be in it with the content it had.
    """
    diff = [
        Difference(f"packages.{name}", trace.versions.packages.get(name), packages.get(name))
        for name in sorted({*trace.versions.packages, *packages})
        if trace.versions.packages.get(name) != packages.get(name)
    ]
    index = None if view.index is None else view.index.version
    if trace.ask is not None and trace.versions.index != index:
        diff.append(Difference("index", trace.versions.index, index))
    if trace.ask is None:
        found = _verified(trace, view, _as_met(trace, revocations))
        return _verdict(trace, equal=not found, diff=(*diff, *found))
    again = _again(trace, trace.ask, view, revocations, settings)
    equal = answer_digest(again) == trace.selection_digest
    differences = () if equal else _compared(trace, again)
    return replace(
        _verdict(trace, equal=equal, diff=(*diff, *differences)), outcome=again.outcome, tools=_change(trace, again)
    )


def replay_against(
    trace: Trace, ask: Ask | None, view: View, revocations: Revocations, settings: SelectionSettings
) -> Replay:
    """Say what a trace's request would have come to on another catalog, policy, model or other settings.

    Args:
        trace: What happened.
        ask: Its ranking input, or what its task comes to with another model; None where neither is known. Then it is
            only said which of its tools would not have been eligible, or would have been others.
        view: The catalog and policy to compare with.
        revocations: What was revoked then.
        settings: The settings to compare with.
    """
    if ask is None:
        return _checked(trace, view, _as_met(trace, revocations))
    again = _again(trace, ask, view, revocations, settings)
    change = _change(trace, again)
    pairs = (("outcome", trace.outcome, again.outcome.value), ("cause", trace.cause, again.cause and again.cause.value))
    diff = tuple(Difference(what, was, now) for what, was, now in pairs if was != now)
    verdict = _verdict(trace, equal=not diff and not change, diff=diff)
    return replace(verdict, outcome=again.outcome.value, tools=change)


def summarise(found: Iterable[tuple[Trace, Replay]]) -> Summary:
    """Count what many replays showed, the most frequent first."""
    pairs = list(found)
    outcomes = Counter((trace.outcome, one.outcome) for trace, one in pairs)
    entering = Counter(tool for _, one in pairs for tool in one.tools.added)
    leaving = Counter(tool for _, one in pairs for tool in one.tools.dropped)
    return Summary(
        total=len(pairs),
        equal=sum(one.equal for _, one in pairs),
        verifiable=sum(one.grade is Grade.VERIFIABLE for _, one in pairs),
        outcomes=dict(outcomes.most_common()),
        entering=dict(entering.most_common()),
        leaving=dict(leaving.most_common()),
    )


def _again(trace: Trace, ask: Ask, view: View, revocations: Revocations, settings: SelectionSettings) -> Selection:
    return select(
        ask,
        view,
        trace.context,
        _as_met(trace, revocations),
        settings,
        selection_id=trace.selection_id,
        trace_id=trace.trace_id,
    )


def _as_met(trace: Trace, revocations: Revocations) -> Revocations:
    """Return the revocations as this caller met them: a halt of a name does not find a digest of it."""
    if trace.naming is Naming.NAME:
        return revocations
    own = {f"principal:{trace.context.principal}"} if trace.halted else set()
    return replace(revocations, targets=revocations.targets | own)


def _checked(trace: Trace, view: View, revocations: Revocations) -> Replay:
    found = _given_again(trace, view, revocations)
    tools = [(str(one.was["tool_id"]), one.now) for one in found if isinstance(one.was, Mapping)]
    change = Change(
        dropped=tuple(tool for tool, now in tools if now is None),
        changed=tuple(tool for tool, now in tools if now is not None),
    )
    verdict = _verdict(trace, equal=not found, diff=tuple(found))
    return replace(verdict, grade=Grade.VERIFIABLE, tools=change)


def _verdict(trace: Trace, *, equal: bool, diff: tuple[Difference, ...]) -> Replay:
    return Replay(trace_id=trace.trace_id, grade=trace.grade, equal=equal, diff=diff, outcome=trace.outcome)


def _compared(trace: Trace, again: Selection) -> list[Difference]:
    pairs: list[tuple[str, Json, Json]] = [
        ("outcome", trace.outcome, again.outcome),
        ("cause", trace.cause, again.cause),
        ("view", trace.view, again.view),
        ("tools", list(trace.tools), list(given(again))),
    ]
    found = [Difference(what, was, now) for what, was, now in pairs if was != now]
    return found or [Difference("text", trace.selection_digest, answer_digest(again))]


def _change(trace: Trace, again: Selection) -> Change:
    was = {str(tool["tool_id"]): tool for tool in trace.tools}
    now = {str(tool["tool_id"]): tool for tool in given(again)}
    both = [tool for tool in now if tool in was]
    return Change(
        added=tuple(tool for tool in now if tool not in was),
        dropped=tuple(tool for tool in was if tool not in now),
        changed=tuple(tool for tool in both if was[tool]["schema_hash"] != now[tool]["schema_hash"]),
        moved={tool: (_rank(was[tool]), _rank(now[tool])) for tool in both if was[tool]["rank"] != now[tool]["rank"]},
    )


def _rank(tool: Mapping[str, Json]) -> int | None:
    rank = tool["rank"]
    return rank if isinstance(rank, int) else None


def _verified(trace: Trace, view: View, revocations: Revocations) -> list[Difference]:
    seen = view.see(trace.context, revocations)
    found = [] if seen.digest == trace.view else [Difference("view", trace.view, seen.digest)]
    return found + _given_again(trace, view, revocations)


def _given_again(trace: Trace, view: View, revocations: Revocations) -> list[Difference]:
    """Say which of the tools that were given are not eligible, or have another content."""
    seen = view.see(trace.context, revocations)
    found = []
    for tool in trace.tools:
        row = view.snapshot.position(str(tool["tool_id"]))
        eligible = row is not None and bool(seen.eligibility.mask[row])
        now = view.snapshot.entries[row].schema_hash if row is not None and eligible else None
        if now != tool["schema_hash"]:
            found.append(Difference("tools", dict(tool), now))
    return found
