"""A call's arguments for Cedar: what a schema types as one kind of Cedar's is given, and all else is left out, told."""

from typing import Any

import cedarpy
import pytest
from hypothesis import given as cases_of
from hypothesis import strategies as st

from pegboard.policy.cedar import Cedar
from pegboard.policy.cedar_input import given, input_of, kind_text
from pegboard.policy.cedar_model import schema_text
from tests.crm import line, tool
from tests.policy.made import CALLS, SAM
from tests.strategies import cases, json_values

DEFS = {"F": {"type": "string"}, "Loop": {"type": "object", "properties": {"more": {"$ref": "#/$defs/Loop"}}}}

# A parameter's schema and its type for Cedar; None: it has none.
TYPES: tuple[tuple[Any, str | None], ...] = (
    ({"type": "string"}, "String"),
    ({"type": "boolean"}, "Bool"),
    ({"type": "integer"}, "Long"),
    ({"type": "number"}, "decimal"),
    ({"type": ["integer", "number"]}, "decimal"),
    ({"type": ["string", "null"]}, "String"),
    ({"type": ["string", "integer"]}, None),
    ({"type": "null"}, None),
    ({"type": "array", "items": {"type": "integer"}}, "Set<Long>"),
    ({"type": "array", "items": {"type": "array", "items": {"type": "string"}}}, "Set<Set<String>>"),
    ({"type": "array"}, None),
    ({"type": "array", "items": {}}, None),
    ({"type": "array", "items": {"type": "string"}, "prefixItems": [{"type": "integer"}]}, None),
    ({"type": "object"}, "{  }"),
    (
        {"type": "object", "properties": {"a": {"type": "string"}, "b": {}, "c": True}, "required": ["a", "b"]},
        '{ "a": String }',
    ),
    ({"type": "object", "properties": {"a": {"type": "boolean"}}}, '{ "a"?: Bool }'),
    ({"enum": ["a", "b"]}, "String"),
    ({"enum": ["a", None]}, "String"),
    ({"enum": ["a", 1]}, None),
    ({"enum": [1.5]}, None),
    ({"const": True}, "Bool"),
    ({"type": "string", "enum": ["a"]}, "String"),
    ({"$ref": "#/$defs/F"}, "String"),
    ({"$ref": "#/$defs/F", "description": "x"}, "String"),
    ({"$ref": "#/$defs/Missing"}, None),
    ({"$ref": "https://example.com/F"}, None),
    ({"allOf": [{"$ref": "#/$defs/F"}]}, "String"),
    ({"type": "string", "allOf": [{"minLength": 3}]}, "String"),
    ({"allOf": [{"type": "string"}, {"type": "integer"}]}, None),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "String"),
    ({"oneOf": [{"type": "string"}, {"type": "string"}]}, "String"),
    ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, None),
    ({"anyOf": [{"type": "string"}, {}]}, None),
    ({"type": "string", "anyOf": [{"minLength": 3}, {"maxLength": 1}]}, "String"),
    ({"anyOf": []}, None),
    ({}, None),
    (True, None),
    ({"type": "strin"}, None),
)


@pytest.mark.parametrize(("schema", "kind"), TYPES)
def test_a_schema_gives_a_type_where_it_admits_one_kind(schema: Any, kind: str | None):
    found = input_of({"type": "object", "properties": {"x": schema}, "$defs": DEFS})
    assert (kind_text(found.fields["x"]) if "x" in found.fields else None) == kind
    cedarpy.Schema.from_str(schema_text(kind_text(found)))


# A parameter's schema, a value, and what is given; Ellipsis: it is left out.
NUMBER, WHOLE, TEXT = {"type": "number"}, {"type": "integer"}, {"type": "string"}


def decimal(text: str) -> dict[str, Any]:
    return {"__extn": {"fn": "decimal", "arg": text}}


VALUES: tuple[tuple[Any, Any, Any], ...] = (
    (TEXT, "a", "a"),
    (TEXT, "", ""),
    (TEXT, None, ...),
    (TEXT, 1, ...),
    (WHOLE, 2**63 - 1, 2**63 - 1),
    (WHOLE, -(2**63), -(2**63)),
    (WHOLE, 2**63, ...),
    (WHOLE, -(2**63) - 1, ...),
    (WHOLE, 5.0, 5),
    (WHOLE, 5.5, ...),
    (WHOLE, 1e300, ...),
    (WHOLE, True, ...),
    (NUMBER, 5, decimal("5.0000")),
    (NUMBER, -0.5, decimal("-0.5000")),
    (NUMBER, 12.3456, decimal("12.3456")),
    (NUMBER, 12.34567, ...),
    (NUMBER, 0.1 + 0.2, ...),
    (NUMBER, 1e14, decimal("100000000000000.0000")),
    (NUMBER, 1e15, ...),
    (NUMBER, 10**400, ...),
    (NUMBER, float("nan"), ...),
    (NUMBER, float("inf"), ...),
    (NUMBER, True, ...),
    ({"type": "boolean"}, False, False),
    ({"type": "boolean"}, 0, ...),
    ({"type": "array", "items": WHOLE}, [], []),
    ({"type": "array", "items": WHOLE}, [1, 2, 1], [1, 2, 1]),
    ({"type": "array", "items": WHOLE}, [1, 2.5], ...),
    ({"type": "array", "items": WHOLE}, [1, None], ...),
    ({"type": "array", "items": NUMBER}, [1, 2.5], [decimal("1.0000"), decimal("2.5000")]),
    ({"type": "array", "items": {"type": "object", "properties": {"a": TEXT}}}, [{"a": "x"}], [{"a": "x"}]),
    ({"type": "array", "items": {"type": "object", "properties": {"a": TEXT}}}, [{"a": "x"}, {"b": 1}], ...),
    ({"type": "array", "items": WHOLE}, {"0": 1}, ...),
    ({"type": "object", "properties": {"a": TEXT}}, {"a": "x"}, {"a": "x"}),
    ({"type": "object", "properties": {"a": TEXT}}, "a", ...),
    ({}, "a", ...),
)


@pytest.mark.parametrize(("schema", "value", "wanted"), VALUES)
def test_a_value_is_given_as_its_schema_types_it(schema: Any, value: Any, wanted: Any):
    found, left = given(input_of({"type": "object", "properties": {"x": schema}}), {"x": value})
    assert (found, left) == (({}, (("x",),)) if wanted is ... else ({"x": wanted}, ()))


def test_what_is_left_out_is_told_by_its_path_and_leaves_the_rest():
    schema = {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": TEXT}}, "c": TEXT}}
    found, left = given(input_of(schema), {"a": {"b": "x", "d": 1}, "c": None, "e": "x"})
    assert found == {"a": {"b": "x"}}
    assert left == (("a", "d"), ("c",), ("e",))


def test_a_schema_that_leads_into_itself_has_types_as_deep_as_they_are_followed():
    found = input_of({"type": "object", "properties": {"x": {"$ref": "#/$defs/Loop"}}, "$defs": DEFS})
    assert kind_text(found).count("more") < 20


def test_a_schema_with_more_paths_than_can_be_read_has_fewer_types():
    defs = {
        f"d{n}": {"type": "object", "properties": {k: {"$ref": f"#/$defs/d{n + 1}"} for k in "abcd"}} for n in range(12)
    }
    found = input_of({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": {**defs, "d12": TEXT}})
    assert len(kind_text(found)) < 1_000_000


def test_a_root_of_alternatives_that_only_require_keeps_its_types():
    """Field case 14: a root with `anyOf` of `required`."""
    schema = {
        "type": "object",
        "properties": {"a": TEXT, "b": TEXT},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    assert set(input_of(schema).fields) == {"a", "b"}


schemas = st.sampled_from([schema for schema, _ in TYPES])
values = st.sampled_from([value for _, value, _ in VALUES]) | json_values
ANY_CALL = Cedar.of({"a": f"permit(principal, {CALLS}, resource);"})


@cases(60, 20_000)
@cases_of(st.dictionaries(st.sampled_from(["", "x", "a b", "in", "é\u2028\u0000"]), st.tuples(schemas, values)))
def test_whatever_is_given_the_engine_takes(parts: dict[str, tuple[Any, Any]]):
    """No value of any schema ends in a request that Cedar cannot read: a decision comes, and without errors."""
    properties = {name: schema for name, (schema, _) in parts.items()}
    entry = tool("billing.refund", "Refund.", {"type": "object", "properties": properties, "$defs": DEFS})
    assert ANY_CALL.call(entry, line(entry), SAM, {name: value for name, (_, value) in parts.items()}).allowed
