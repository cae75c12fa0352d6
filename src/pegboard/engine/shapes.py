"""Shapes: tools as each model API writes them, in the form that intake reads.

A tool is recognised by the fields it has, one row of `_SHAPES` a form; what is none of them goes on as it is and intake
says what it lacks. A tool whose arguments would be overlooked is refused: a schema is never silently none.

Source: OpenAI, `FunctionTool`, `NamespaceTool` and `ChatCompletionTool`; Anthropic, `Tool`; Gemini, `Tool`,
`FunctionDeclaration` and `Schema`; MCP 2026-07-28, `ListToolsResult`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pegboard.core.text import one_line
from pegboard.engine.bounds import SCHEMA, Broken, measure
from pegboard.engine.fields import Unfit

__all__ = ["SCHEMA_FIELDS", "plain", "spread"]

# Where a tool may declare its arguments; intake reads the first.
SCHEMA_FIELDS = ("inputSchema", "input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema")
_DECLARATIONS = ("functionDeclarations", "function_declarations")
# Of a tool's own kind, in the APIs that say it; any other kind is run by the API itself.
_DECLARED = frozenset({"function", "custom"})
# Lists within lists: a request holds namespaces, which hold functions.
_DEEPEST = 4

_Tool = dict[str, Any]
_Shape = tuple[Callable[[_Tool], bool], Callable[[_Tool], list[Any]]]


def spread(raw: Any, depth: int = 0) -> Iterator[Any]:
    """Yield the tools that a value holds, one after another; a value that holds none is yielded itself."""
    shape = next((made for applies, made in _SHAPES if applies(raw)), None) if isinstance(raw, dict) else None
    if shape is None or depth == _DEEPEST:
        yield raw
        return
    for one in shape(raw):
        yield from spread(one, depth + 1)


def plain(tool: _Tool) -> _Tool:
    """Return a tool with its arguments where intake looks for them.

    Raises:
        Unfit: It declares them twice, or is a tool of the model API's own.
    """
    declared = [field for field in SCHEMA_FIELDS if tool.get(field) is not None]
    if len(declared) > 1:
        raise Unfit(f"it declares its arguments twice, as {declared[0]!r} and as {declared[1]!r}")
    if not declared:
        _check_kind(tool)
        return tool
    schema = tool[declared[0]]
    if declared[0] == "parameters" and isinstance(schema, dict) and str(schema.get("type")).isupper():
        schema = _from_gemini(schema)
    return {field: value for field, value in tool.items() if field not in SCHEMA_FIELDS} | {"inputSchema": schema}


def _check_kind(tool: _Tool) -> None:
    """Refuse a tool that a model API brings along (`web_search`, `bash_20250124`): nobody else can call it."""
    kind = tool.get("type")
    if isinstance(kind, str) and kind not in _DECLARED and not tool.keys() & {"tool_id", "namespace", "source_server"}:
        raise Unfit(f"its type {one_line(kind, 60)!r} is a tool that a model API runs itself; no catalog holds it")


def _nested_function(tool: _Tool) -> list[Any]:
    outside = {field: value for field, value in tool.items() if field not in {"function", "type"}}
    return [{**outside, **tool["function"]}]


def _declarations(tool: _Tool) -> list[Any]:
    found = next(tool[field] for field in _DECLARATIONS if isinstance(tool.get(field), list))
    return [_declaration(one) if isinstance(one, dict) else one for one in found]


def _declaration(one: _Tool) -> _Tool:
    schema = one.get("parameters")
    return {**one, "parameters": _from_gemini(schema)} if isinstance(schema, dict) else one


def _listed(tool: _Tool) -> list[Any]:
    """Return the tools of a list; they belong to the server, or the namespace, that the list is of."""
    owner = tool.get("name") if tool.get("type") == "namespace" else tool.get("server")
    if owner is None:
        return list(tool["tools"])
    return [{"namespace": owner, **one} if isinstance(one, dict) else one for one in tool["tools"]]


_SHAPES: tuple[_Shape, ...] = (
    # Chat Completions: the function stands inside.
    (lambda tool: isinstance(tool.get("function"), dict), _nested_function),
    # Gemini: one tool holds all functions.
    (lambda tool: any(isinstance(tool.get(field), list) for field in _DECLARATIONS), _declarations),
    # An answer to `tools/list`, a saved listing, a whole request; and a namespace of the Responses API.
    (
        lambda tool: isinstance(tool.get("tools"), list) and (tool.get("type") == "namespace" or "name" not in tool),
        _listed,
    ),
)


def _from_gemini(schema: _Tool) -> _Tool:
    """Return a schema of Gemini's OpenAPI subset as JSON Schema. What cannot be walked is left to be refused."""
    return schema if isinstance(measure(schema, SCHEMA), Broken) else _json_schema(schema)


def _json_schema(schema: _Tool) -> _Tool:
    found: _Tool = {}
    for keyword, value in schema.items():
        word = _CAMEL.get(keyword, keyword)
        if word == "type" and isinstance(value, str):
            found[word] = value.lower()
        elif word == "properties" and isinstance(value, dict):
            found[word] = {name: _inner(one) for name, one in value.items()}
        elif word in {"items", "additionalProperties"}:
            found[word] = _inner(value)
        elif word == "anyOf" and isinstance(value, list):
            found[word] = [_inner(one) for one in value]
        elif word in _COUNTS and isinstance(value, str) and value.isdecimal():
            found[word] = int(value)
        elif word not in {"nullable", "propertyOrdering"} and (word, value) != ("format", "enum"):
            found[word] = value
    return _with_null(found) if schema.get("nullable") is True else found


def _inner(value: Any) -> Any:
    return _json_schema(value) if isinstance(value, dict) else value


def _with_null(schema: _Tool) -> _Tool:
    found = dict(schema)
    if isinstance(found.get("anyOf"), list):
        found["anyOf"] = [*found["anyOf"], {"type": "null"}]
    if isinstance(found.get("type"), str):
        found["type"] = [found["type"], "null"]
    if isinstance(found.get("enum"), list):
        found["enum"] = [*found["enum"], None]
    return found


# The Python client writes them so; JSON writes 64-bit counts as text.
_COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
_CAMEL: Mapping[str, str] = {
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "any_of": "anyOf",
    "additional_properties": "additionalProperties",
    "property_ordering": "propertyOrdering",
}
