"""Schemas: which are taken in, and what arguments must keep to; the oracle is the `jsonschema` package."""

from typing import Any

import jsonschema
import pytest
import referencing
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import declare
from pegboard.engine.schemas import (
    Validators,
    check_arguments,
    compile_schema,
    output_schema_problem,
    schema_problem,
    still_takes,
)
from tests.engine.test_paths import doubling
from tests.strategies import cases, json_values

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def check(schema: dict[str, Any], arguments: Any) -> tuple[str, str, str] | None:
    problem = check_arguments(compile_schema(schema), arguments)
    return None if problem is None else (problem.path, problem.constraint, problem.message)


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": ["object", "null"]},
        {"properties": {"x": True, "y": False}},
        {"type": "object", "x-unknown": {"type": "int"}, "unknown": 3},
        {"properties": {"when": {"format": "next-tuesday"}}},
        {"properties": {"f": {"$ref": "#/$defs/F"}}, "$defs": {"F": {"type": "string"}}},
        {"properties": {"a": {"$ref": "#/properties/b"}, "b": {"type": "string"}}},
        {"properties": {"child": {"$ref": "#"}}},
        {"$ref": "#top", "$defs": {"A": {"$anchor": "top", "const": {}}}},
        {"$ref": "#/$defs/A/anyOf/0", "$defs": {"A": {"anyOf": [{"type": "object"}]}}},
        {"$schema": DRAFT_7, "properties": {"t": {"items": [{"type": "string"}], "additionalItems": False}}},
        {"$schema": DRAFT_7, "definitions": {"A": {"type": "object"}}, "$ref": "#/definitions/A"},
        {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"properties": {"a": {"type": "string", "default": None}}},
        {"properties": {"a": {"pattern": r"^(?!.*\.\.)[a-z.]+$"}}},
        {"properties": {"a": {"default": {"$ref": "https://example.com/data"}}}},
    ],
)
def test_valid_but_odd_schemas_are_taken_in(schema):
    assert schema_problem(schema) is None


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (None, "a schema is a JSON object, not null"),
        (True, "a schema is a JSON object, not a boolean"),
        ([], "a schema is a JSON object, not an array"),
        ({"type": "int"}, 'it is not valid JSON Schema at /type: "int" is not valid'),
        ({"properties": {"a/b": {"minLength": "x"}}}, "it is not valid JSON Schema at /properties/a~1b/minLength"),
        ({"items": [{"type": "string"}]}, "it is not valid JSON Schema at /items"),
        ({"properties": []}, "it is not valid JSON Schema at /properties"),
        ({"properties": {"a": {"pattern": "(a"}}}, "it is not valid JSON Schema at /properties/a/pattern"),
        ({"properties": {"a": {"pattern": "(a{1000}){1000}"}}}, "it is not valid JSON Schema at"),
        (
            {"properties": {"a": {"not": {"pattern": "(?=x)"}}}},
            "it is not valid JSON Schema at /properties/a/not/pattern",
        ),
        ({"patternProperties": {"(?=x)": {}}}, "it is not valid JSON Schema at /patternProperties"),
        ({"$ref": "#/$defs/none"}, "Pointer '/$defs/none' does not exist"),
        ({"$schema": "https://example.com/mine"}, "Unknown meta-schema"),
        ({"properties": {"a": {"$ref": "https://example.com/s"}}}, "'https://example.com/s' is not local"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "'file:///etc/passwd' is not local"),
        ({"$id": "https://example.com/a", "$ref": "b"}, "'b' is not local"),
        ({"$dynamicRef": "https://example.com/s"}, "'https://example.com/s' is not local"),
        ({"type": "string"}, "its root admits no object"),
        ({"const": 3}, "its root admits no object"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"enum": [1]}}}, "its root admits no object"),
        ({"enum": ["a", "b"]}, "its root admits no object"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "array"}}}, "its root admits no object"),
        ({"$ref": "#/$defs/A", "$defs": {"A": False}}, "its root admits no object"),
        (doubling(30), "more than 100,000 ways"),
        ({"allOf": [{"$ref": "#"}]}, "it refers to itself"),
        (nested(65), "nested more than 64 levels"),
        (nested(20_000), "nested more than 64 levels"),
        ({"description": "x" * 300_000}, "larger than 262,144 bytes"),
        ({"description": "\x00" * 60_000}, "larger than 262,144 bytes"),
        ({"enum": list(range(10_000))}, "more than 10,000 parts"),
        ({"minimum": float("nan")}, "not finite"),
        ({"title": "\ud800"}, "half a surrogate pair"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_its_reason(schema, problem):
    found = schema_problem(schema)
    assert found is not None
    assert problem in found
    assert len(found) < 400


def test_an_output_schema_may_describe_anything():
    assert output_schema_problem({"type": "array"}) is None
    assert output_schema_problem({"type": "int"}) is not None


ORDER = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^o-", "maxLength": 8},
        "state": {"enum": ["open", "sent"]},
        "amount": {"type": "integer", "minimum": 1, "default": 1},
        "to": {"type": "string", "format": "email"},
        "lines": {"type": "array", "items": {"type": "object", "required": ["sku"]}, "maxItems": 2},
        "target": {"anyOf": [{"type": "integer"}, {"type": "object", "required": ["name"]}]},
    },
    "required": ["id"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "path", "constraint", "message"),
    [
        ({}, "", "required", 'the arguments: the required property "id" is missing'),
        ({"id": 7}, "/id", "type", "/id: must be of type string"),
        ({"id": "SECRET"}, "/id", "pattern", '/id: must match the pattern "^o-"'),
        ({"id": "o-123456789"}, "/id", "maxLength", "/id: must have at most 8 characters"),
        ({"id": "o-1", "state": "SECRET"}, "/state", "enum", '/state: must be one of "open", "sent"'),
        ({"id": "o-1", "amount": 0}, "/amount", "minimum", "/amount: must be at least 1"),
        ({"id": "o-1", "to": "SECRET"}, "/to", "format", '/to: must have the format "email"'),
        ({"id": "o-1", "lines": [{}]}, "/lines/0", "required", '/lines/0: the required property "sku" is missing'),
        ({"id": "o-1", "lines": [{"sku": 1}] * 3}, "/lines", "maxItems", "/lines: must have at most 2 items"),
        ({"id": "o-1", "x/y": 1}, "", "additionalProperties", 'the arguments: unknown property "x/y"'),
        (
            {"id": "o-1", "target": "SECRET"},
            "/target",
            "anyOf",
            "/target: fits none of the 2 alternatives (/target: must be of type integer | "
            "/target: must be of type object)",
        ),
        (7, "", "type", "arguments must be a JSON object, not a number"),
        (None, "", "type", "arguments must be a JSON object, not null"),
        (
            {"id": float("nan")},
            "/id",
            "json",
            "the arguments cannot be taken: it holds a number that is not finite, which is not JSON",
        ),
        ({"a": {"__entity": 1}}, "", "reserved", "the key '__entity' is reserved and cannot be sent"),
        ({"a": [{"__extn": 1}]}, "", "reserved", "the key '__extn' is reserved and cannot be sent"),
    ],
)
def test_a_refusal_says_where_which_rule_and_what_is_asked_for(arguments, path, constraint, message):
    assert check(ORDER, arguments) == (path, constraint, message)


def test_several_problems_are_said_at_once():
    problem = check(ORDER, {"state": "x", "amount": 0})
    assert problem is not None
    assert "/state: must be one of" in problem[2]
    assert "/amount: must be at least" in problem[2]
    assert '"id" is missing' in problem[2]


@given(st.text(min_size=4).map("SECRET{}".format))
def test_no_message_repeats_a_value(secret):
    for arguments in ({"id": secret}, {"id": "o-1", "target": {"a": secret}}, {"id": "o-1", "lines": [secret] * 3}):
        problem = check(ORDER, arguments)
        assert problem is not None
        assert "SECRET" not in problem[2]


@pytest.mark.parametrize(
    ("arguments", "constraint"),
    [
        (nested(20_000), "depth"),
        ({"a": "x" * 10_000_000}, "size"),
        ({"a": list(range(200_000))}, "size"),
        ({"a": "\ud800"}, "json"),
        ({"a": 10**5_000}, "json"),
    ],
)
def test_hostile_arguments_are_refused_before_the_validator(arguments, constraint):
    schema = {"properties": {"a": {"$ref": "#"}, "b": {"type": "string"}}}
    problem = check_arguments(compile_schema(schema), arguments)
    assert problem is not None
    assert problem.constraint == constraint
    assert len(problem.message) < 300


def test_defaults_are_never_filled_in():
    arguments: dict[str, Any] = {}
    schema = {"properties": {"a": {"type": "string", "default": None}}, "required": ["a"]}
    assert check(schema, arguments) == ("", "required", 'the arguments: the required property "a" is missing')
    assert check({"properties": {"a": {"type": "string", "default": None}}}, arguments) is None
    assert arguments == {}


def test_a_pattern_that_would_step_back_for_ever_refuses_the_call():
    schema = {"properties": {"a": {"pattern": r"^(?:(a|aa)+(?!c))+$"}}}
    assert check(schema, {"a": "aaab"}) is not None
    problem = check(schema, {"a": "a" * 5_000 + "b"})
    assert problem is not None
    assert problem[:2] == ("/a", "pattern")


def test_arguments_too_deep_for_a_recursive_schema_are_refused():
    branch = {"properties": {"a": {"$ref": "#/$defs/c"}}}
    schema = {"type": "object", "$ref": "#/$defs/c", "$defs": {"c": {"anyOf": [branch, branch]}}}
    assert schema_problem(schema) is None
    assert check(schema, nested(10)) is None
    problem = check(schema, nested(40))
    assert problem is not None
    assert problem[1] == "depth"


def test_large_arguments_with_many_problems_get_one_of_them():
    problem = check({"properties": {"a": {"items": {"type": "string"}}}}, {"a": list(range(50_000))})
    assert problem == ("/a/0", "type", "/a/0: must be of type string")


def test_messages_are_bounded_whatever_the_schema_and_the_arguments_hold():
    schema = {
        "properties": {"a": {"enum": ["x" * 500] * 200}, "b" * 500: {"const": "y" * 5_000}},
        "additionalProperties": False,
    }
    arguments = {"a": 1, "b" * 500: 2, **{f"{'k' * 100}{number}": 1 for number in range(300)}}
    problem = check(schema, arguments)
    assert problem is not None
    assert len(problem[2]) < 6_000


# What the two libraries must agree on. `format` is left out: the oracle judges it only with extra packages.
FIXTURES: tuple[dict[str, Any], ...] = (
    {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}},
    {"properties": {"a": {"anyOf": [{"type": "string"}, {"items": {"type": "null"}}]}}, "maxProperties": 2},
    {"additionalProperties": {"type": ["string", "null"]}},
    {"propertyNames": {"maxLength": 1}, "minProperties": 1},
    {"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#/$defs/B"}}, "$defs": {"B": {"not": {"type": "null"}}}},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"properties": {"c": False}}},
    {"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False},
    {"$schema": DRAFT_7, "properties": {"a": {"items": [{"type": "number"}], "additionalItems": False}}},
    {"dependentRequired": {"a": ["b"]}, "properties": {"a": {"uniqueItems": True, "contains": {"const": 1}}}},
    {"patternProperties": {"^[ab]": {"enum": [1, "x", None]}}, "properties": {"c": {"multipleOf": 2, "maximum": 8}}},
)
small = st.recursive(
    st.sampled_from([None, True, 0, 1, 2, 1.0, 2.5, 8, "", "x", "xy"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c", "dd"]), inner),
    max_leaves=8,
)


@cases(150, 10_000)
@given(st.sampled_from(FIXTURES), st.dictionaries(st.sampled_from(["a", "b", "c", "dd"]), small, max_size=4))
def test_the_oracle_agrees_on_which_arguments_are_valid(schema, arguments):
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    oracle = kind(schema, registry=referencing.Registry())
    assert (check(schema, arguments) is None) == oracle.is_valid(arguments)


@given(json_values)
def test_anything_at_all_gets_a_verdict_as_schema_and_as_arguments(value):
    problem = schema_problem(value)
    assert problem is None or isinstance(problem, str)
    check(ORDER, value)


@pytest.mark.parametrize(
    ("new", "old", "takes"),
    [
        ({"type": "object"}, {"type": "object"}, True),
        ({"type": "object", "description": "new words"}, {"type": "object"}, True),
        ({"properties": {"a": {"type": ["string", "null"]}}}, {"properties": {"a": {"type": "string"}}}, True),
        ({"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": ["string", "null"]}}}, False),
        ({"required": ["a"]}, {}, False),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"type": "object"}, False),
        ({"properties": {"a": {"pattern": "(?=x)"}}}, {"properties": {"a": {"pattern": "(?=x)"}}, "x": 1}, False),
        ({"description": "x" * 300_000}, {}, False),
        ({"not": doubling(9)}, {"not": doubling(9), "title": "x"}, False),
    ],
)
def test_a_changed_schema_still_takes_the_old_arguments_only_where_that_is_proven(new, old, takes):
    assert still_takes(new, old) is takes


def test_validators_are_kept_by_content_and_bounded():
    tools = [
        declare(
            tool_id=f"crm.{name}",
            namespace="crm",
            source_server="crm",
            name=name,
            input_schema={"required": [name]},
        )
        for name in ("a", "b", "c")
    ]
    validators = Validators(capacity=2)
    first = validators.of(tools[0])
    assert validators.of(tools[0]) is first
    for tool in tools[1:]:
        validators.of(tool)
    assert len(validators) == 2
    assert validators.of(tools[0]) is not first


@pytest.mark.parametrize("schema", [doubling(30), {"$ref": "https://example.com/s"}, {"type": "int"}])
def test_what_intake_refuses_is_never_compiled(schema):
    with pytest.raises(ValueError):
        compile_schema(schema)
