"""Two schemas that judge one value become one that takes what both take."""

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.providers.dialect import Dialect, Words
from pegboard.providers.merging import are_apart, merge, type_of, types_of
from tests.strategies import json_values

A, B = {"type": "string"}, {"maxLength": 3}


@pytest.mark.parametrize(
    ("one", "two", "merged"),
    [
        ({"type": ["string", "null"]}, {"type": "string"}, {"type": "string"}),
        ({"type": "number"}, {"type": "integer"}, {"type": "integer"}),
        ({"type": ["integer", "null"]}, {"type": ["number", "null"]}, {"type": ["integer", "null"]}),
        ({"enum": [1, "a", None]}, {"enum": ["a", 1.0]}, {"enum": [1, "a"]}),
        ({"required": ["a", "b"]}, {"required": ["b", "c"]}, {"required": ["a", "b", "c"]}),
        ({"allOf": [A]}, {"allOf": [B]}, {"allOf": [A, B]}),
        ({"items": A}, {"items": B}, {"items": {"allOf": [A, B]}}),
        ({"items": A}, {"items": False}, {"items": False}),
        ({"minimum": 1}, {"minimum": 2}, {"minimum": 2}),
        ({"exclusiveMinimum": 1}, {"exclusiveMinimum": 2}, {"exclusiveMinimum": 2}),
        ({"minLength": 1}, {"minLength": 2}, {"minLength": 2}),
        ({"minItems": 1}, {"minItems": 2}, {"minItems": 2}),
        ({"minProperties": 1}, {"minProperties": 2}, {"minProperties": 2}),
        ({"maximum": 1}, {"maximum": 2}, {"maximum": 1}),
        ({"exclusiveMaximum": 1}, {"exclusiveMaximum": 2}, {"exclusiveMaximum": 1}),
        ({"maxLength": 1}, {"maxLength": 2}, {"maxLength": 1}),
        ({"maxItems": 1}, {"maxItems": 2}, {"maxItems": 1}),
        ({"maxProperties": 1}, {"maxProperties": 2}, {"maxProperties": 1}),
        ({"uniqueItems": False}, {"uniqueItems": True}, {"uniqueItems": True}),
        ({"description": "D."}, {"description": "E."}, {"description": "D."}),
        ({"if": A, "then": B}, {"else": False}, {"if": A, "then": B}),
        ({"then": B}, {"if": A}, {"if": A}),
        ({"contains": A}, {"minContains": 2}, {"contains": A}),
        ({"maxContains": 2}, {"contains": A}, {"contains": A}),
        # What one side forbids, the other cannot declare.
        (
            {"properties": {"a": A}, "additionalProperties": False},
            {"properties": {"a": B, "b": A}},
            {"properties": {"a": {"allOf": [A, B]}, "b": False}, "additionalProperties": False},
        ),
        (
            {"properties": {"a": A}}, {"additionalProperties": B},
            {"properties": {"a": {"allOf": [A, B]}}, "additionalProperties": B},
        ),
        ({"type": "string"}, {"type": "integer"}, None),
        ({"enum": [1]}, {"enum": [2]}, None),
    ],
)  # fmt: skip
def test_what_both_say_is_said_at_once(one, two, merged):
    found = merge(Words(one), Words(two))
    assert (None if found is None else found[0]) == merged
    assert found is None or found[1] == ()


@pytest.mark.parametrize(
    ("one", "two", "lost"),
    [
        ({"pattern": "a"}, {"pattern": "b"}, ("pattern",)),
        ({"anyOf": [A]}, {"anyOf": [B]}, ("anyOf",)),
        ({"prefixItems": [A]}, {"items": B}, ("prefixItems",)),
        ({"patternProperties": {"a": A}}, {"additionalProperties": False}, ("patternProperties",)),
    ],
)
def test_what_cannot_be_said_at_once_is_lost_by_name(one, two, lost):
    assert merge(Words(one), Words(two))[1] == lost


simple = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "number", "object", ["string", "null"], ["object", "array"]]),
        "enum": st.lists(json_values, min_size=1, max_size=3, unique_by=repr),
        "minimum": st.integers(-2, 2),
        "minLength": st.integers(0, 2),
        "maxItems": st.integers(0, 2),
        "required": st.just(["a"]),
        "properties": st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from([True, False, A, {"type": "null"}])),
        "additionalProperties": st.sampled_from([True, False, A]),
        "items": st.sampled_from([True, False, A]),
    },
)
values = json_values | st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from(["", None, 1]), max_size=3)


@given(simple, simple, values)
def test_a_value_fits_both_exactly_where_it_fits_the_one(one, two, value):
    found = merge(Words(one), Words(two))
    fits_both = all(jsonschema_rs.is_valid(schema, value) for schema in (one, two))
    assert fits_both is (found is not None and jsonschema_rs.is_valid(found[0], value))


@given(simple, simple, values)
def test_what_is_apart_has_no_value_in_common(one, two, value):
    if are_apart(Words(one), Words(two)):
        assert not all(jsonschema_rs.is_valid(schema, value) for schema in (one, two))


def test_a_whole_number_is_an_integer_however_it_is_written():
    assert (type_of(1.0), type_of(1), type_of(1.5), type_of(True)) == ("integer", "integer", "number", "boolean")


@given(json_values)
def test_a_value_has_the_type_that_json_schema_gives_it(value):
    assert jsonschema_rs.is_valid({"type": type_of(value)}, value)
    assert types_of({"const": value}) == (type_of(value),)


DRAFT_4, DRAFT_7 = (f"http://json-schema.org/draft-0{number}/schema#" for number in (4, 7))


@pytest.mark.parametrize(
    ("draft", "schema", "words"),
    [
        (DRAFT_7, {"items": [A, B]}, {"prefixItems": [A, B]}),
        (DRAFT_7, {"items": [A], "additionalItems": False}, {"prefixItems": [A], "items": False}),
        (DRAFT_7, {"items": A, "additionalItems": False}, {"items": A}),
        (
            DRAFT_7, {"dependencies": {"a": ["b"], "c": A}},
            {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": A}},
        ),
        (DRAFT_7, {"dependencies": {"a": ["b"]}}, {"dependentRequired": {"a": ["b"]}}),
        (DRAFT_7, {"$ref": "#", "maxLength": 3, "description": "D."}, {"$ref": "#", "description": "D."}),
        (DRAFT_7, {"prefixItems": [A], "dependentRequired": {}}, {}),
        (DRAFT_4, {"maximum": 3, "exclusiveMaximum": True}, {"exclusiveMaximum": 3}),
        (DRAFT_4, {"minimum": 3, "exclusiveMinimum": True}, {"exclusiveMinimum": 3}),
        (DRAFT_4, {"if": A, "contains": A}, {}),
        (None, {"$ref": "#", "maxLength": 3}, {"$ref": "#", "maxLength": 3}),
        (None, {"prefixItems": [A], "additionalItems": False}, {"prefixItems": [A]}),
    ],
)  # fmt: skip
def test_a_schema_of_any_draft_is_read_in_the_words_of_2020_12(draft, schema, words):
    root = {"$schema": draft} if draft else {}
    assert Dialect(root).words(schema) == words


@pytest.mark.parametrize(
    ("root", "reference"),
    [
        ({}, "#/$defs/A"),
        ({"$defs": {"A": 1}}, "#/$defs/A"),
        ({"$defs": {"A": A}}, "https://brackenfold.example/#/$defs/A"),
        ({"$defs": {"A": A, "B": {"$id": "b"}}}, "#/$defs/A"),
        ({"allOf": [A]}, "#/allOf/1"),
        ({}, "#nowhere"),
        ({}, 7),
    ],
)
def test_a_reference_that_leads_nowhere_plain_is_none(root, reference):
    assert Dialect(root).target(reference) is None


@pytest.mark.parametrize("reference", ["#/allOf/0", "#here", "#/%24defs/B/allOf/0"])
def test_a_reference_is_followed_by_pointer_or_anchor(reference):
    found = {**A, "$anchor": "here"}
    root = {"allOf": [found], "$defs": {"B": {"allOf": [found]}}}
    assert Dialect(root).target(reference)[1] == found
