"""Rendering: what a model is shown of a tool."""

import pytest
from hypothesis import given

from pegboard.core.catalog import CatalogEntry, declare
from pegboard.core.names import compact_json
from pegboard.engine.intake import relate
from pegboard.engine.rendering import Renderings, served_tool
from tests.strategies import schemas


def entry(**parts: object) -> CatalogEntry:
    whole = {"tool_id": "crm.find", "namespace": "crm", "source_server": "crm", "name": "find", **parts}
    return relate([declare(**whole)], ["drop_user", "get_user"])[0]  # type: ignore[arg-type]


def served(schema: object, eligible: tuple[str, ...] = ("get_user",)) -> object:
    return served_tool(entry(input_schema=schema), eligible).input_schema


def test_texts_show_a_sibling_only_where_it_is_eligible_too():
    tool = entry(title="drop_user?", description="Use get_user, never drop_user.")
    assert served_tool(tool, {"get_user"}).title == "another tool?"
    assert served_tool(tool, {"get_user"}).description == "Use get_user, never another tool."
    assert served_tool(tool, {"get_user", "drop_user"}).description == "Use get_user, never drop_user."


def test_texts_are_cleaned_before_names_are_looked_for():
    assert served_tool(entry(description="drop\u200b_user\x1b[31m!"), ()).description == "another tool!"


@pytest.mark.parametrize(
    ("declared", "shown"),
    [
        ({"description": "see drop_user"}, {"description": "see another tool"}),
        ({"$comment": "drop_user", "x-note": ["drop_user"]}, {"$comment": "another tool", "x-note": ["another tool"]}),
        ({"enum": ["get_user", "drop_user"]}, {"enum": ["get_user"]}),
        ({"type": "string", "enum": ["drop_user"]}, {"type": "string"}),
        ({"enum": []}, {"enum": []}),
        ({"const": "drop_user"}, {}),
        ({"default": {"tool": "drop_user"}}, {}),
        ({"default": {"drop_user": 1}}, {}),
        ({"examples": ["first drop_user", 3]}, {"examples": [3]}),
        ({"pattern": "^(drop_user|get_user)$"}, {}),
        ({"pattern": "[^\u200b]"}, {"pattern": "[^\u200b]"}),
        ({"enum": ["a", "b\u200b"]}, {"enum": ["a"]}),
        ({"x-labels": {"drop_user": "gone", "get_user": "stays"}}, {"x-labels": {"get_user": "stays"}}),
        ({"items": [{"title": "drop_user"}, True]}, {"items": [{"title": "another tool"}, True]}),
        ({"format": "drop_user", "contentMediaType": "a/drop_user", "id": "drop_user"}, {}),
        ({"$anchor": "drop_user"}, {}),
        ({"additionalItems": "drop_user", "type": "array"}, {"additionalItems": "another tool", "type": "array"}),
        ({"additionalItems": {"required": ["drop_user"]}}, {"additionalItems": {"required": ["another tool"]}}),
        ({"dependencies": {"a": {"x": ["drop_user"]}}}, {"dependencies": {"a": {"x": ["another tool"]}}}),
    ],
)
def test_a_value_that_names_a_hidden_sibling_is_left_out_and_a_text_is_redacted(declared, shown):
    for place in (
        lambda inside: inside,
        lambda inside: {"properties": {"a": inside}},
        lambda inside: {"anyOf": [{"$defs": {"A": {"not": inside}}}]},
    ):
        assert served(place(declared)) == place(shown)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"drop_user": {"type": "boolean"}}, "required": ["drop_user"]},
        {"$ref": "#/$defs/drop_user", "$defs": {"drop_user": {"type": "object"}}},
        {"$ref": "#/x-types/drop_user", "x-types": {"drop_user": {"required": ["drop_user"]}}},
        {"properties": {"default": {"type": "string"}, "enum": True, "description": {"type": "string"}}},
        {"anyOf": [{"$ref": "#/$defs/none"}, {"$ref": "#/anyOf/2"}, {"required": ["drop_user"]}]},
        {"$ref": "#drop_user", "$defs": {"a": {"$anchor": "drop_user"}}},
        {"$ref": "#/$defs/drop_user%20a", "$defs": {"drop_user a": {"type": "object"}}},
        {"dependentRequired": {"a": ["drop_user"]}, "dependencies": {"a": ["drop_user"], "b": {"type": "object"}}},
    ],
)
def test_what_the_schema_needs_to_work_stays_as_declared(schema):
    assert served(schema, ()) == schema


def test_a_reference_into_an_unknown_keyword_finds_a_schema_with_redacted_texts():
    schema = {"$ref": "#/x/y~1z", "x": {"y/z": {"description": "drop_user", "required": ["drop_user"]}}}
    assert served(schema, ()) == {
        "$ref": "#/x/y~1z",
        "x": {"y/z": {"description": "another tool", "required": ["drop_user"]}},
    }


def test_only_the_keys_that_a_reference_goes_through_are_names():
    schema = {"$ref": "#/x/a", "x": {"a": True, "drop_user": True, "b": {"$ref": "#/x/b/drop_user", "drop_user": 1}}}
    assert served(schema, ()) == {"$ref": "#/x/a", "x": {"a": True, "b": {"$ref": "#/x/b/another tool"}}}


@given(schemas)
def test_a_schema_with_nothing_to_change_is_served_byte_for_byte(schema):
    tool = entry(input_schema=schema, output_schema=schema)
    shown = served_tool(tool, ("get_user", "drop_user"))
    again = served_tool(entry(input_schema=shown.input_schema, output_schema=shown.output_schema), ())
    assert compact_json(again.input_schema) == compact_json(shown.input_schema)
    if "\\u" not in tool.input_schema_json and tool.input_schema_json.isascii() and not _has_short_escape(tool):
        assert compact_json(shown.input_schema) == tool.input_schema_json


def _has_short_escape(tool: CatalogEntry) -> bool:
    return "\\b" in tool.input_schema_json or "\\f" in tool.input_schema_json or "\x7f" in tool.input_schema_json


def test_the_order_of_keys_is_the_declared_one():
    schema = {"required": ["b"], "properties": {"b": {"type": "string"}, "a": {}}, "type": "object"}
    assert compact_json(served(schema, ())) == compact_json(schema)


def test_what_was_rendered_before_is_the_same_for_the_same_siblings_and_shared_with_nobody():
    kept = Renderings(capacity=1)
    entry = declare(
        tool_id="crm.refund",
        namespace="crm",
        source_server="crm",
        name="refund",
        description="First call `get_payment`.",
        input_schema={
            "type": "object",
            "properties": {"id": {"type": "string", "description": "As get_payment says."}},
        },
        output_schema={"type": "object"},
        mentions=("get_payment",),
    )
    for eligible in ({"get_payment"}, set(), {"get_payment"}):
        first, again = kept.served_tool(entry, eligible), kept.served_tool(entry, eligible)
        assert first == again == served_tool(entry, eligible)
        first.input_schema.clear()
        assert kept.served_tool(entry, eligible) == again
