"""Wording: every keyword's refusal in words that help."""

from dataclasses import replace

import pytest

from pegboard.engine.schemas import check_arguments, compile_schema
from pegboard.engine.wording import describe_without_values

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def items(**rules: object) -> dict[str, object]:
    return {"properties": {"a": rules}}


@pytest.mark.parametrize(
    ("schema", "arguments", "said"),
    [
        (items(minimum=2), {"a": 1}, "/a: must be at least 2"),
        (items(exclusiveMinimum=2), {"a": 2}, "/a: must be greater than 2"),
        (items(exclusiveMaximum=2), {"a": 2}, "/a: must be less than 2"),
        (items(maximum=2.5), {"a": 3}, "/a: must be at most 2.5"),
        (items(multipleOf=0.1), {"a": 0.25}, "/a: must be a multiple of 0.1"),
        (items(minLength=2), {"a": ""}, "/a: must have at least 2 characters"),
        (items(minItems=2), {"a": []}, "/a: must have at least 2 items"),
        (items(uniqueItems=True), {"a": [1, 1]}, "/a: must not hold the same item twice"),
        (items(contains={"const": 1}), {"a": []}, "/a: does not hold as many items of a kind as the schema asks for"),
        (items(const={"x": 1}), {"a": 1}, '/a: must be {"x":1}'),
        (items(type=["string", "null"]), {"a": 1}, "/a: must be of type null or string"),
        (
            items(prefixItems=[{}], unevaluatedItems=False),
            {"a": [1, 2]},
            "/a: has items that the schema does not accept",
        ),
        (
            {"$schema": DRAFT_7, **items(items=[{}], additionalItems=False)},
            {"a": [1, 2]},
            "/a: must have at most 1 items",
        ),
        ({"properties": {"a": False}}, {"a": 1}, "/a: is not accepted at all"),
        ({"not": {}}, {}, "the arguments: must not be what the schema excludes"),
        ({"minProperties": 1}, {}, "the arguments: must have at least 1 properties"),
        ({"maxProperties": 0}, {"a": 1}, "the arguments: must have at most 0 properties"),
        ({"unevaluatedProperties": False}, {"a": 1, "b": 1}, 'the arguments: unknown properties "a", "b"'),
        (
            {"propertyNames": {"maxLength": 1}},
            {"long": 1},
            "the arguments: has a property whose name the schema does not accept",
        ),
        ({"oneOf": [{}, {}]}, {}, "the arguments: fits several of the alternatives, and must fit exactly one"),
        (
            {"oneOf": [{"required": [name]} for name in "abcdef"]},
            {},
            "the arguments: fits none of the 6 alternatives ("
            + " | ".join(f'the arguments: the required property "{name}" is missing' for name in "abcd")
            + " | and 2 more)",
        ),
        (
            {"$schema": DRAFT_7, **items(contentEncoding="base64")},
            {"a": "!"},
            '/a: the value is not compliant with "base64" content encoding',
        ),
    ],
)
def test_a_refusal_says_what_the_schema_asks_for(schema, arguments, said):
    problem = check_arguments(compile_schema(schema), arguments)
    assert problem is not None
    assert problem.message == said


def test_a_list_of_options_is_cut_with_the_number_left_out():
    problem = check_arguments(compile_schema(items(enum=list(range(30)))), {"a": "x"})
    assert problem is not None
    assert problem.message.endswith("18, 19, and 10 more")


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"enum": ["secret"]}, "/a: is not one of the allowed values"),
        ({"const": "secret"}, "/a: is not the one allowed value"),
        ({"type": "string", "format": "email"}, "/a: does not have the format that the schema asks for"),
        ({"pattern": "secret"}, "/a: does not match the pattern that the schema asks for"),
        ({"contentEncoding": "base64"}, "/a: does not keep to 'contentEncoding'"),
        ({"minLength": 3}, "/a: must have at least 3 characters"),
        ({"anyOf": [{"const": "secret"}]}, "/a: fits none of the 1 alternatives (/a: is not the one allowed value)"),
    ],
)
def test_without_values_a_refusal_still_says_which_rule_is_broken(rules, said):
    compiled = replace(compile_schema({"$schema": DRAFT_7, **items(**rules)}), wording=describe_without_values)
    problem = check_arguments(compiled, {"a": "!"})
    assert problem is not None
    assert problem.message == said
