"""A trace: everything a selection depended on, and `replay`, which runs it again (law 8).

It names versions by digest and holds the caller's context, the ranking input and the result. It never holds a
name, id or text of a tool that the caller could not see.

Source: DESIGN section 10.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json, digest
from pegboard.core.revocations import Revocations
from pegboard.engine.asking import Ask, SelectionSettings
from pegboard.engine.select import select
from pegboard.engine.selection import Selection
from pegboard.engine.view import View

__all__ = ["Difference", "Grade", "Record", "Replay", "Trace", "Versions", "replay", "trace_of"]


class Record(StrEnum):
    """How much of the ranking input is kept. `terms` is partly invertible: stems and vectors tell of the task."""

    TASK = "task"
    TERMS = "terms"
    DIGEST = "digest"


class Grade(StrEnum):
    """Whether a trace can be run again, or only checked against its own catalog and policy."""

    REPLAYABLE = "replayable"
    VERIFIABLE = "verifiable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """What was in force, by name or digest: enough to fetch each of them again."""

    catalog: str
    policy: str
    lock: str
    index: str | None
    settings: str
    revocations: str
    packages: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One selection on record. Times are Unix seconds; `timings` are milliseconds by step."""

    trace_id: str
    selection_id: str
    at: float
    record: Record
    versions: Versions
    context: RuntimeContext
    revocations_as_of: float
    ask: Ask | None
    tasks: tuple[str, ...] | None
    ask_digest: str
    outcome: str
    cause: str | None
    view: str
    tools: tuple[Mapping[str, Json], ...]
    selection_digest: str
    timings: Mapping[str, float] = field(default_factory=dict)

    @property
    def grade(self) -> Grade:
        """Say what this trace allows."""
        return Grade.VERIFIABLE if self.ask is None else Grade.REPLAYABLE

    def to_json(self) -> dict[str, Json]:
        """Return the record that is kept."""
        return {
            "kind": "selection",
            "trace_id": self.trace_id,
            "selection_id": self.selection_id,
            "at": self.at,
            "record": str(self.record),
            "grade": str(self.grade),
            "versions": {name: getattr(self.versions, name) for name in Versions.__slots__},
            "principal": self.context.principal,
            "context": self.context.to_json(),
            "revocations_as_of": self.revocations_as_of,
            "ask": None if self.ask is None else self.ask.to_json(),
            "tasks": None if self.tasks is None else list(self.tasks),
            "ask_digest": self.ask_digest,
            "outcome": self.outcome,
            "cause": self.cause,
            "view": self.view,
            "tools": list(self.tools),
            "selection_digest": self.selection_digest,
            "timings": dict(self.timings),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Trace":
        """Rebuild a trace that `to_json` wrote.

        Raises:
            ValueError: It is not the record of a selection.
        """
        if value.get("kind") != "selection":
            raise ValueError("not the record of a selection")
        try:
            return cls(
                trace_id=value["trace_id"],
                selection_id=value["selection_id"],
                at=value["at"],
                record=Record(value["record"]),
                versions=Versions(**value["versions"]),
                context=RuntimeContext.from_json(value["context"]),
                revocations_as_of=value["revocations_as_of"],
                ask=None if value["ask"] is None else Ask.from_json(value["ask"]),
                tasks=None if value["tasks"] is None else tuple(value["tasks"]),
                ask_digest=value["ask_digest"],
                outcome=value["outcome"],
                cause=value["cause"],
                view=value["view"],
                tools=tuple(value["tools"]),
                selection_digest=value["selection_digest"],
                timings=value["timings"],
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"a damaged record of a selection: {error}") from error


def trace_of(
    selection: Selection,
    ask: Ask,
    view: View,
    *,
    record: Record,
    tasks: Sequence[str],
    versions: Versions,
    context: RuntimeContext,
    revocations: Revocations,
    at: float,
    timings: Mapping[str, float],
) -> Trace:
    """Put a selection that *view* gave on record, keeping as much of its input as *record* says.

    Of what may name a tool, `terms` keeps only what did name an eligible one: a short task would otherwise be
    kept word for word, since it may be a tool's name.
    """
    seen = view.see(context, revocations)
    if record is Record.TERMS:
        ask = replace(ask, query=replace(ask.query, names=view.known_names(ask.query.names, seen)))
    return Trace(
        trace_id=selection.trace_id,
        selection_id=selection.selection_id,
        at=at,
        record=record,
        versions=versions,
        context=context,
        revocations_as_of=revocations.as_of,
        ask=None if record is Record.DIGEST else ask,
        tasks=tuple(tasks) if record is Record.TASK else None,
        ask_digest=digest(ask.to_json()),
        outcome=selection.outcome,
        cause=selection.cause,
        view=selection.view,
        tools=_result(selection),
        selection_digest=digest(selection.to_json()),
        timings=timings,
    )


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
class Replay:
    """What running a trace again showed.

    `equal` means byte for byte; of a trace that can only be verified, that nothing contradicts it.
    """

    trace_id: str
    grade: Grade
    equal: bool
    diff: tuple[Difference, ...]

    def to_json(self) -> dict[str, Json]:
        """Return one element of `traces` in the answer of `replay`."""
        return {
            "trace_id": self.trace_id,
            "grade": str(self.grade),
            "equal": self.equal,
            "diff": [one.to_json() for one in self.diff],
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
        found = _verified(trace, view, revocations)
        return Replay(trace_id=trace.trace_id, grade=trace.grade, equal=not found, diff=(*diff, *found))
    again = select(
        trace.ask,
        view,
        trace.context,
        revocations,
        settings,
        selection_id=trace.selection_id,
        trace_id=trace.trace_id,
    )
    equal = digest(again.to_json()) == trace.selection_digest
    return Replay(
        trace_id=trace.trace_id,
        grade=trace.grade,
        equal=equal,
        diff=(*diff, *(() if equal else _compared(trace, again))),
    )


def _result(selection: Selection) -> tuple[Mapping[str, Json], ...]:
    return tuple(
        {
            "tool_id": one.tool.tool_id,
            "rank": one.rank,
            "score": one.score,
            "why": str(one.why),
            "schema_hash": one.tool.schema_hash,
        }
        for one in selection.tools
    )


def _compared(trace: Trace, again: Selection) -> list[Difference]:
    pairs: list[tuple[str, Json, Json]] = [
        ("outcome", trace.outcome, again.outcome),
        ("cause", trace.cause, again.cause),
        ("view", trace.view, again.view),
        ("tools", list(trace.tools), list(_result(again))),
    ]
    found = [Difference(what, was, now) for what, was, now in pairs if was != now]
    return found or [Difference("text", trace.selection_digest, digest(again.to_json()))]


def _verified(trace: Trace, view: View, revocations: Revocations) -> list[Difference]:
    seen = view.see(trace.context, revocations)
    found = [] if seen.digest == trace.view else [Difference("view", trace.view, seen.digest)]
    for tool in trace.tools:
        row = view.snapshot.position(str(tool["tool_id"]))
        eligible = row is not None and bool(seen.eligibility.mask[row])
        now = view.snapshot.entries[row].schema_hash if row is not None and eligible else None
        if now != tool["schema_hash"]:
            found.append(Difference("tools", dict(tool), now))
    return found
