"""Rendering: a selection in the shape that one model API takes, with a report of what that costs.

For a single request. Over many turns, what was sent before may not change: `conversation.py`.

Source: SURFACE "Commands", `select --for`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pegboard.core.names import Json
from pegboard.engine.selection import Selection
from pegboard.providers import anthropic, chat, gemini, mcp, openai
from pegboard.providers.calls import arguments_of
from pegboard.providers.capabilities import APIS, Api
from pegboard.providers.wired import Note, Wired, wire

__all__ = ["SHAPES", "Rendered", "Shape", "entries", "render", "taken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How one API declares tools: one of them, the names that an application's own take, and all of them together."""

    function: Callable[[Wired], dict[str, Json]]
    own_names: Callable[[Iterable[Any]], Iterator[str]]
    together: Callable[[Sequence[Json], Sequence[Json]], list[Json]]


def _one_after_another(own: Sequence[Json], declared: Sequence[Json]) -> list[Json]:
    return [*own, *declared]


def _in_one_entry(own: Sequence[Json], declared: Sequence[Json]) -> list[Json]:
    return [*own, {"functionDeclarations": list(declared)}] if declared else list(own)


SHAPES: dict[Api, Shape] = {
    Api.OPENAI: Shape(function=openai.function, own_names=openai.own_names, together=_one_after_another),
    Api.CHAT: Shape(function=chat.function, own_names=chat.own_names, together=_one_after_another),
    Api.COMPATIBLE: Shape(function=chat.function, own_names=chat.own_names, together=_one_after_another),
    Api.ANTHROPIC: Shape(function=anthropic.function, own_names=anthropic.own_names, together=_one_after_another),
    Api.GEMINI: Shape(function=gemini.function, own_names=gemini.own_names, together=_in_one_entry),
    Api.MCP: Shape(function=mcp.function, own_names=anthropic.own_names, together=_one_after_another),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A selection for one API. `payload` is what to put into the request, the application's own tools first in it."""

    api: Api
    selection: Selection
    payload: dict[str, Json]
    report: tuple[Note, ...]
    tools: tuple[Wired, ...]

    def call(self, name: str, arguments: Any) -> tuple[str, Json] | None:
        """Return the id of the tool that a model calls by this name, and its arguments in the tool's own shape.

        None where the name is none of ours. The gate judges both, with this selection.
        """
        for tool in self.tools:
            if tool.name == name:
                return tool.tool_id, tool.compiled.mapping.restore(arguments_of(arguments))
        return None

    def to_json(self, operator: Mapping[str, Json] | None = None) -> dict[str, Json]:
        """Return the answer of `select --for`; each alias is the name in the payload, null for what is held back."""
        names = {tool.tool_id: tool.name for tool in self.tools}
        tools: list[Json] = [
            {**candidate.to_json(), "alias": names.get(candidate.tool.tool_id)} for candidate in self.selection.tools
        ]
        selection: dict[str, Json] = {**self.selection.to_json(operator), "tools": tools}
        return {"selection": selection, "payload": self.payload, "report": [note.to_json() for note in self.report]}


def render(selection: Selection, api: Api, *, own: Sequence[Json] = (), prefix: str = "") -> Rendered:
    """Render a selection.

    Args:
        selection: What the model may consider.
        api: For which API.
        own: The application's own tools, in the API's shape: left as they are, and first.
        prefix: What the client puts before every name; it counts in the name's length.
    """
    shape, most = SHAPES[api], APIS[api].tools_at_most
    names = taken(api, own)
    wiring = wire(
        selection.tools, api, prefix=prefix, own=names, room=None if most is None else most - entries(api, own)
    )
    declared = [shape.function(tool) for tool in wiring.tools]
    payload: dict[str, Json] = {"tools": shape.together(own, declared)}
    return Rendered(api=api, selection=selection, payload=payload, report=wiring.report, tools=wiring.tools)


def taken(api: Api, own: Iterable[Any]) -> frozenset[str]:
    """Return the names that an application's own tools take."""
    return frozenset(SHAPES[api].own_names(own))


def entries(api: Api, own: Sequence[Any]) -> int:
    """Return how much room an application's own tools take: one for each name, or for each entry without one."""
    return max(len(own), len(taken(api, own)))
