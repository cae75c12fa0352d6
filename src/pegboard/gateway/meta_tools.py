"""The gateway's own three tools: search, describe, call.

They need no rule of policy; whoever uses them is judged by the real tools' rules. Their texts name the caller's own
namespaces, since a model does not use a search whose description tells it nothing. The same namespaces give the same
texts.

Source: DESIGN section 12; MCP 2026-07-28, tools.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pegboard.core.names import Json, compact_json
from pegboard.core.text import one_line, well_formed
from pegboard.engine.selection import Candidate
from pegboard.providers.searching import CALL, SEARCH, SEARCH_SCHEMA, limit_of, search_text, task_of

__all__ = [
    "CALL",
    "DESCRIBE",
    "SEARCH",
    "Call",
    "Description",
    "Detail",
    "Problem",
    "Search",
    "as_call",
    "as_description",
    "as_search",
    "compact",
    "meta_tools",
    "signature",
]

DESCRIBE = "describe_tool"

# A signature is to be read at a glance.
_PARAMETERS = 24
_SUMMARY = 160
_VALUES = 4


class Detail(StrEnum):
    """How much a search says of each tool."""

    FULL = "full"
    COMPACT = "compact"


_SELECTION: dict[str, Json] = {
    "type": "string",
    "description": "The selection of the search that found the tool. Needed unless the tool is in the list itself.",
}
_SEARCH_SCHEMA: dict[str, Json] = {
    **SEARCH_SCHEMA,
    "properties": {
        **SEARCH_SCHEMA["properties"],  # type: ignore[dict-item]
        "detail": {
            "type": "string",
            "enum": [str(one) for one in Detail],
            "description": f"{Detail.COMPACT} gives signatures alone; {DESCRIBE} gives the rest.",
        },
    },
}
_DESCRIBE_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "tool": {"type": "string", "description": "The tool's name, as the search said it."},
        "selection": _SELECTION,
    },
    "required": ["tool"],
    "additionalProperties": False,
}
_CALL_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "tool": {"type": "string", "description": "The tool's name, as the search said it."},
        "arguments": {"type": "object", "description": "Its arguments, by the schema of this tool."},
        "selection": _SELECTION,
        "key": {
            "type": "string",
            "description": "A name for this very call: under one name it runs once, however often it is asked for.",
        },
    },
    "required": ["tool", "arguments"],
    "additionalProperties": False,
}
_LOOKS: dict[str, Json] = {"readOnlyHint": True, "openWorldHint": False}


def meta_tools(namespaces: Collection[str]) -> list[Mapping[str, Json]]:
    """Return the three as `tools/list` says them; *namespaces* are of tools that this caller may use."""
    return [
        {
            "name": SEARCH,
            "description": f"{search_text(namespaces)} Then use {CALL} with the name, the arguments and the selection "
            "that the answer gives.",
            "inputSchema": _SEARCH_SCHEMA,
            "annotations": _LOOKS,
        },
        {
            "name": DESCRIBE,
            "description": f"Give the whole description and schema of one tool that {SEARCH} has found.",
            "inputSchema": _DESCRIBE_SCHEMA,
            "annotations": _LOOKS,
        },
        {
            "name": CALL,
            "description": f"Call one tool that {SEARCH} has found.",
            "inputSchema": _CALL_SCHEMA,
            "annotations": {"readOnlyHint": False},
        },
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why the arguments of one of the three cannot be taken, and its schema."""

    message: str
    path: str
    schema: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What `search_tools` was asked."""

    task: str
    limit: int | None
    detail: Detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What `describe_tool` was asked."""

    tool: str
    selection: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What `call_tool` was asked."""

    tool: str
    arguments: Any
    selection: str | None
    key: str | None


def as_search(arguments: Mapping[str, Any]) -> Search | Problem:
    """Read a search; a limit that is no such number is passed over, since any number of tools is an answer."""
    task = task_of(arguments)
    if not task:
        return Problem(message="say in 'task' what is to be done", path="/task", schema=_SEARCH_SCHEMA)
    detail = arguments.get("detail") or Detail.FULL
    if detail not in list(Detail):
        return Problem(message="'detail' is full or compact", path="/detail", schema=_SEARCH_SCHEMA)
    return Search(task=task, limit=limit_of(arguments), detail=Detail(detail))


def as_description(arguments: Mapping[str, Any]) -> Description | Problem:
    """Read what is to be described."""
    if (problem := _texts(arguments, ("tool",), ("selection",), _DESCRIBE_SCHEMA)) is not None:
        return problem
    return Description(tool=well_formed(arguments["tool"]), selection=_text(arguments, "selection"))


def as_call(arguments: Mapping[str, Any]) -> Call | Problem:
    """Read a call. Its tool's own arguments are for the gate to judge, whatever they are."""
    if (problem := _texts(arguments, ("tool",), ("selection", "key"), _CALL_SCHEMA)) is not None:
        return problem
    return Call(
        tool=well_formed(arguments["tool"]),
        arguments={} if arguments.get("arguments") is None else arguments["arguments"],
        selection=_text(arguments, "selection"),
        key=_text(arguments, "key"),
    )


def compact(one: Candidate) -> dict[str, Json]:
    """Return one tool of a selection in a line: its signature and the first sentence of its description."""
    return {
        "name": one.alias,
        "signature": signature(one.alias, one.tool.input_schema),
        "summary": one_line(_first_sentence(one.tool.description), _SUMMARY),
    }


def signature(name: str, schema: Mapping[str, Any]) -> str:
    """Write a tool as `name(required: string, optional?: integer)`."""
    properties = schema.get("properties")
    found = properties if isinstance(properties, Mapping) else {}
    listed = schema.get("required")
    required = set(filter(_is_text, listed)) if isinstance(listed, Sequence) else set()
    # What must be given stands first, however many there are.
    order = sorted(found, key=lambda one: one not in required)
    shown = [f"{one}{'' if one in required else '?'}: {_kind(found[one])}" for one in order[:_PARAMETERS]]
    return f"{name}({', '.join([*shown, '…'] if len(order) > _PARAMETERS else shown)})"


def _kind(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    values, kind = schema.get("enum"), schema.get("type")
    if isinstance(values, list) and 0 < len(values) <= _VALUES:
        return one_line(" | ".join(map(compact_json, values)), 80)
    kinds = [kind] if isinstance(kind, str) else kind
    if isinstance(kinds, list) and kinds and all(map(_is_text, kinds)):
        return one_line(" | ".join(kinds), 80)
    return "any"


def _first_sentence(text: str) -> str:
    line = text.strip().partition("\n")[0]
    sentence, stop, _ = line.partition(". ")
    return f"{sentence}." if stop else line


def _texts(
    arguments: Mapping[str, Any], needed: Sequence[str], others: Sequence[str], schema: Mapping[str, Json]
) -> Problem | None:
    for name in needed:
        if not _is_text(arguments.get(name)):
            return Problem(message=f"{name!r} needs a text", path=f"/{name}", schema=schema)
    for name in others:
        # Null is how some models leave out what is optional.
        if not isinstance(arguments.get(name), str | None):
            return Problem(message=f"{name!r} needs a text, or is left out", path=f"/{name}", schema=schema)
    return None


def _text(arguments: Mapping[str, Any], name: str) -> str | None:
    found = arguments.get(name)
    # So is an empty text.
    return well_formed(found) if isinstance(found, str) and found else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)
