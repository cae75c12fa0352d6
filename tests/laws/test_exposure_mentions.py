"""Law 2 in served text: whatever a tool's texts say, a sibling that its caller may not see is not named in them.

Names of properties and definitions, and references, are the stated exception: the schema needs them.
"""

from collections.abc import Callable
from functools import reduce
from operator import or_

from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import declare
from pegboard.core.mentions import ToolNames
from pegboard.core.names import Json
from pegboard.engine.intake import relate
from pegboard.engine.rendering import ServedTool, served_tool
from tests.strategies import cases

HIDDEN = ("drop_user", "get-user", "sendMail", "crm.export", "v2", "purge")
SHOWN = ("find_user", "list_orders")

said = st.builds(
    "".join,
    st.lists(
        st.sampled_from(
            [*HIDDEN, "`purge`", *SHOWN, " ", ".", "()", "->", "\n", "Call ", "x", "_", "-", "\u200b", "\x1b[1m", "`"]
        ),
        min_size=1,
        max_size=8,
    ),
)
# Where a text or a value can stand in a schema, and where a schema can stand in another one.
PLACES: tuple[Callable[[str], dict[str, Json]], ...] = (
    lambda text: {"title": text},
    lambda text: {"description": text},
    lambda text: {"$comment": text},
    lambda text: {"enum": [1, text, [text]]},
    lambda text: {"enum": [text]},
    lambda text: {"const": {"a": [text]}},
    lambda text: {"default": {text: None}},
    lambda text: {"examples": [text, {"a": text}]},
    lambda text: {"pattern": text},
    lambda text: {"x-unknown": [text, {text: text}]},
    lambda text: {f"x-{text}": {"deep": {"description": text}}},
)
AROUND: tuple[Callable[[Json], dict[str, Json]], ...] = (
    lambda inner: {"properties": {"a": inner, "default": True}},
    lambda inner: {"patternProperties": {"^a": inner}},
    lambda inner: {"additionalProperties": inner},
    lambda inner: {"items": inner},
    lambda inner: {"items": [inner, False]},
    lambda inner: {"anyOf": [{"type": "null"}, inner]},
    lambda inner: {"not": inner},
    lambda inner: {"$defs": {"enum": inner}, "$ref": "#/$defs/enum"},
    lambda inner: {"x-types": {"A": inner}, "$ref": "#/x-types/A"},
    lambda inner: {"x-types": {"A": inner}},
)
fragments = st.builds(lambda place, text: place(text), st.sampled_from(PLACES), said)
schemas: st.SearchStrategy[dict[str, Json]] = st.builds(
    lambda parts, around: reduce(lambda inner, wrap: wrap(inner), around, reduce(or_, parts, {})),
    st.lists(fragments, max_size=3),
    st.lists(st.sampled_from(AROUND), max_size=3),
)


def _strings(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for key, child in value.items() for text in [key, *_strings(child)]]
    return [text for child in value for text in _strings(child)] if isinstance(value, list) else []


def _served_strings(tool: ServedTool) -> list[str]:
    return [tool.title or "", tool.description, *_strings(tool.input_schema), *_strings(tool.output_schema)]


@cases(200, 20_000)
@given(said, said, schemas, schemas | st.none())
def test_no_served_text_names_a_sibling_that_is_not_eligible(title, description, input_schema, output_schema):
    tool = declare(
        tool_id="crm.own_tool",
        namespace="crm",
        source_server="crm",
        name="own_tool",
        title=title,
        description=description,
        input_schema=input_schema,
        output_schema=output_schema,
    )
    (tool,) = relate([tool], [*HIDDEN, *SHOWN])
    found = ToolNames.of(HIDDEN)
    served = served_tool(tool, SHOWN)
    assert [text for text in _served_strings(served) if any(found.found(text))] == []


@cases(100, 5_000)
@given(said, schemas, st.sets(st.sampled_from(HIDDEN)))
def test_served_text_is_the_same_whatever_becomes_of_tools_that_it_does_not_show(description, schema, listed):
    tool = declare(
        tool_id="crm.own_tool",
        namespace="crm",
        source_server="crm",
        name="own_tool",
        description=description,
        input_schema=schema,
    )
    (tool,) = relate([tool], [*HIDDEN, *SHOWN])
    # What is eligible beside it, and is not mentioned, changes nothing either.
    others = {name for name in listed if name not in tool.mentions}
    assert served_tool(tool, {*SHOWN, *others}) == served_tool(tool, SHOWN)
