"""Wired tools: each tool of a selection as one API is to get it, and what is held back from that API.

One tool that an API cannot take never fails a request: it is held back and reported. So is one whose name an
application's own tool has, and what is beyond the API's cap; what is pinned or required is taken before that is full.

Source: DESIGN section 7.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pegboard.core.names import Json
from pegboard.engine.rendering import ServedTool
from pegboard.engine.selection import Candidate, Why
from pegboard.providers.capabilities import APIS, Api
from pegboard.providers.names import wire_name
from pegboard.providers.schemas import Compiled, Loss, best, compile_schema, counted
from pegboard.providers.targets import LIMITS, STRICT, TOGETHER, Limit, Target

__all__ = ["HOLDS", "Note", "Wired", "Wiring", "wire"]

# An operator or a workflow step named these one by one: they take what room there is before anything ranked.
_FIRST = frozenset({Why.PINNED, Why.REQUIRED, Why.SAFE_SET})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wired:
    """One tool for one API."""

    tool: ServedTool
    name: str
    compiled: Compiled

    @property
    def tool_id(self) -> str:
        """Return the id of the tool."""
        return self.tool.tool_id

    @property
    def schema(self) -> dict[str, Json]:
        """Return the input schema in the API's form."""
        # INVARIANT: a tool without one was held back.
        assert self.compiled.schema is not None
        return self.compiled.schema

    @property
    def strict(self) -> bool:
        """Say whether the provider is to hold the model to the schema."""
        return self.compiled.target in STRICT.values()

    def to_json(self) -> dict[str, Json]:
        """Return the tool as it was selected; its form for the API is made anew from it."""
        return {
            "tool_id": self.tool_id,
            "schema_hash": self.tool.schema_hash,
            "title": self.tool.title,
            "description": self.tool.description,
            "input_schema": self.tool.input_schema,
            "name": self.name,
            "target": str(self.compiled.target),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Wired":
        """Rebuild what `to_json` wrote.

        Raises:
            ValueError: Its schema has no form for its target.
        """
        fields = ("tool_id", "schema_hash", "title", "description", "input_schema")
        tool = ServedTool(**{name: value[name] for name in fields})
        compiled = compile_schema(tool.input_schema, Target(value["target"]))
        if compiled.schema is None:
            raise ValueError(f"the schema of {tool.tool_id!r} has no form for {compiled.target}")
        return cls(tool=tool, name=value["name"], compiled=compiled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What an application should know of one tool: what its schema lost, and why it was held back, if it was."""

    tool_id: str
    losses: tuple[Loss, ...] = ()
    held: str | None = None

    def to_json(self) -> dict[str, Json]:
        """Return one element of `report`."""
        loss: list[Json] = [{"path": one.path, "what": one.what} for one in self.losses]
        return {"tool_id": self.tool_id, "loss": loss, "held": self.held}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """What goes to the API, in the selection's order, and what there is to say of it."""

    tools: tuple[Wired, ...] = ()
    report: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One tool on its way, and what may stand against it."""

    tool_id: str
    name: str
    compiled: Compiled
    own: Collection[str]
    known: Mapping[str, str]
    room: int | None


# Why a tool is held back, in the order asked.
HOLDS: tuple[tuple[Callable[[Case], bool], str], ...] = (
    (lambda case: case.name in case.own, "one of the application's own tools has its name"),
    (
        lambda case: case.known.get(case.name, case.tool_id) != case.tool_id,
        "its name stood for another tool earlier in the conversation",
    ),
    (lambda case: case.compiled.schema is None, "its schema has no form that this API takes"),
    (lambda case: case.room is not None and case.room <= 0, "the API takes no more tools"),
)


def wire(
    candidates: Sequence[Candidate],
    api: Api,
    *,
    prefix: str = "",
    own: Collection[str] = (),
    before: Sequence[Wired] = (),
    known: Mapping[str, str] | None = None,
    room: int | None = None,
) -> Wiring:
    """Bring a selection's tools into the form of one API.

    Args:
        candidates: What the model may consider.
        api: For which API.
        prefix: What the client puts before every name; it counts in the name's length.
        own: The names of the application's own tools.
        before: What the API has of ours already.
        known: Wire name -> tool id of all that the conversation ever had, so that no name changes its meaning.
        room: How many tools more may go; None: as many as there are.
    """
    strict = _StrictRoom()
    for one in before:
        strict.take(one.compiled)
    found: dict[str, Wired] = {}
    notes: dict[str, Note] = {}
    for candidate in sorted(candidates, key=lambda one: one.why not in _FIRST):
        tool = candidate.tool
        compiled = strict.best(tool.input_schema, APIS[api].target)
        name = wire_name(tool.tool_id, APIS[api].target, prefix)
        left = None if room is None else room - len(found)
        case = Case(tool_id=tool.tool_id, name=name, compiled=compiled, own=own, known=known or {}, room=left)
        held = next((reason for stands_against, reason in HOLDS if stands_against(case)), None)
        if held is None:
            strict.take(compiled)
            found[tool.tool_id] = Wired(tool=tool, name=name, compiled=compiled)
        if held is not None or compiled.losses:
            notes[tool.tool_id] = Note(tool_id=tool.tool_id, losses=compiled.losses, held=held)
    order = [candidate.tool.tool_id for candidate in candidates]
    return Wiring(
        tools=tuple(found[tool_id] for tool_id in order if tool_id in found),
        report=tuple(notes[tool_id] for tool_id in order if tool_id in notes),
    )


@dataclass(slots=True)
class _StrictRoom:
    """How much strictness one request still takes, as its tools are brought one after another."""

    spent: Counter[Limit] = field(default_factory=Counter)

    def best(self, schema: dict[str, Json], target: Target) -> Compiled:
        """Compile strictly where nothing is lost and there is room for it."""
        compiled = best(schema, target)
        if compiled.target not in TOGETHER or self._fits(compiled):
            return compiled
        return compile_schema(schema, target)

    def take(self, compiled: Compiled) -> None:
        """Count a schema that goes."""
        if compiled.target in TOGETHER:
            self.spent += _counts(compiled)

    def _fits(self, compiled: Compiled) -> bool:
        together = self.spent + _counts(compiled)
        return all(together[limit] <= most for limit, most in LIMITS[compiled.target].items())


def _counts(compiled: Compiled) -> Counter[Limit]:
    return Counter(counted(compiled.schema or {}))
