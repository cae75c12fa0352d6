"""A trace: everything a selection depended on, enough to run it again (law 8; `engine/comparing.py`).

It names versions by digest and holds the caller's context, the ranking input and the result. It never holds a
name, id or text of a tool that the caller could not see.

Source: DESIGN section 10.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json, compact_json, digest, digest_bytes, short
from pegboard.core.revocations import Revocations
from pegboard.engine.asking import Ask
from pegboard.engine.selection import Selection
from pegboard.engine.view import View

__all__ = ["Grade", "Naming", "Record", "Trace", "Versions", "answer_digest", "given", "named", "spellings", "trace_of"]


class Record(StrEnum):
    """How much of the ranking input is kept. `terms` is partly invertible: stems and vectors tell of the task."""

    TASK = "task"
    TERMS = "terms"
    DIGEST = "digest"


class Naming(StrEnum):
    """How the caller is named in a trace: by name, or by digests of its names, which are equal for the same caller.

    A digest hides a name from whoever reads along, not from whoever guesses it.
    """

    NAME = "name"
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
    """Of the lock, the templates, the switches and the Cedar policies together."""
    lock: str
    index: str | None
    settings: str
    revocations: str
    cedar: str | None = None
    """Of the Cedar policies alone; None where there are none."""
    packages: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    """By channel, which model the task's vectors are of: no other's can be compared with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One selection on record. Times are Unix seconds; `timings` are milliseconds by step."""

    trace_id: str
    selection_id: str
    at: float
    record: Record
    naming: Naming = Naming.NAME
    versions: Versions
    context: RuntimeContext
    """As it was, or with digests in place of the names of people and programs."""
    halted: bool = False
    """Whether a halt stopped this caller, which its digests alone could not say again."""
    revocations_as_of: float
    ask: Ask | None
    tasks: tuple[str, ...] | None
    ask_digest: str
    outcome: str
    cause: str | None
    view: str
    tools: tuple[Mapping[str, Json], ...]
    selection_digest: str
    log_only: Mapping[str, int] = field(default_factory=dict)
    """By id of a log-only policy, how many of the caller's own tools it would have taken away."""
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
            "naming": str(self.naming),
            "grade": str(self.grade),
            "versions": {name: getattr(self.versions, name) for name in Versions.__slots__},
            "principal": self.context.principal,
            "context": self.context.to_json(),
            "halted": self.halted,
            "revocations_as_of": self.revocations_as_of,
            "ask": None if self.ask is None else self.ask.to_json(),
            "tasks": None if self.tasks is None else list(self.tasks),
            "ask_digest": self.ask_digest,
            "outcome": self.outcome,
            "cause": self.cause,
            "view": self.view,
            "tools": list(self.tools),
            "selection_digest": self.selection_digest,
            "log_only": dict(self.log_only),
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
                naming=Naming(value["naming"]),
                versions=Versions(**value["versions"]),
                context=RuntimeContext.from_json(value["context"]),
                halted=value["halted"],
                revocations_as_of=value["revocations_as_of"],
                ask=None if value["ask"] is None else Ask.from_json(value["ask"]),
                tasks=None if value["tasks"] is None else tuple(value["tasks"]),
                ask_digest=value["ask_digest"],
                outcome=value["outcome"],
                cause=value["cause"],
                view=value["view"],
                tools=tuple(value["tools"]),
                selection_digest=value["selection_digest"],
                log_only=value.get("log_only", {}),
                timings=value["timings"],
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"a damaged record of a selection: {error}") from error


def named(context: RuntimeContext, naming: Naming) -> RuntimeContext:
    """Return the context as it is put on record.

    The tenant stays: policy reads it, and it names an organisation. What policy may read of the others (whether a halt
    names one of them) is put on record beside it.
    """
    if naming is Naming.NAME:
        return context
    return replace(
        context,
        user=None if context.user is None else _pseudonym(context.user),
        workload=None if context.workload is None else _pseudonym(context.workload),
        delegation=tuple(map(_pseudonym, context.delegation)),
    )


def spellings(principal: str) -> frozenset[str]:
    """Return how records may spell a caller's `principal`: as it is, or by digests of its parts."""
    who, at, tenant = principal.rpartition("@") if "@" in principal else (principal, "", "")
    return frozenset({principal, f"{'+'.join(map(_pseudonym, who.split('+')))}{at}{tenant}"})


def answer_digest(selection: Selection) -> str:
    """Return the digest of the very bytes of an answer, the order of its keys included."""
    return digest_bytes(compact_json(selection.to_json()).encode())


def given(selection: Selection) -> tuple[Mapping[str, Json], ...]:
    """Return what a trace keeps of each tool that was given."""
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


def trace_of(
    selection: Selection,
    ask: Ask,
    view: View,
    *,
    record: Record,
    naming: Naming = Naming.NAME,
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
        naming=naming,
        versions=versions,
        context=named(context, naming),
        halted=revocations.covers_caller(context),
        revocations_as_of=revocations.as_of,
        ask=None if record is Record.DIGEST else ask,
        tasks=tuple(tasks) if record is Record.TASK else None,
        ask_digest=digest(ask.to_json()),
        outcome=selection.outcome,
        cause=selection.cause,
        view=selection.view,
        tools=given(selection),
        selection_digest=answer_digest(selection),
        log_only=view.noted(context, seen),
        timings=timings,
    )


def _pseudonym(name: str) -> str:
    # Twelve hex digits tell a deployment's callers apart, and are as much as a person can compare.
    return f"sha256:{short(digest_bytes(name.encode()))}"
