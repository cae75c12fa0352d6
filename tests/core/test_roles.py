"""Roles: what each part of a schema is there for."""

import pytest

from pegboard.core.roles import Role, Roles, all_strings

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema"
YEAR_2019 = "https://json-schema.org/draft/2019-09/schema"


@pytest.mark.parametrize(
    ("schema", "keyword", "role"),
    [
        ({"title": "a"}, "title", Role.TEXT),
        ({"x-note": {"properties": {}}}, "x-note", Role.TEXT),
        ({"enum": ["a"]}, "enum", Role.DATA),
        ({"format": "a"}, "format", Role.DATA),
        ({"required": ["a"]}, "required", Role.NAMES),
        ({"required": "a"}, "required", Role.TEXT),
        ({"required": {"a": ["b"]}}, "required", Role.TEXT),
        ({"dependentRequired": {"a": ["b"]}}, "dependentRequired", Role.NAMES),
        ({"dependentRequired": {"a": "b"}}, "dependentRequired", Role.TEXT),
        ({"$schema": DRAFT_7, "dependentRequired": {"a": ["b"]}}, "dependentRequired", Role.TEXT),
        ({"prefixItems": [{}]}, "prefixItems", Role.SCHEMAS),
        ({"$schema": YEAR_2019, "prefixItems": [{}]}, "prefixItems", Role.TEXT),
        ({"$schema": YEAR_2019, "additionalItems": {}}, "additionalItems", Role.SCHEMAS),
        ({"additionalItems": {}}, "additionalItems", Role.TEXT),
        ({"$schema": DRAFT_7, "if": {}}, "if", Role.SCHEMAS),
        ({"$schema": DRAFT_4, "if": {}}, "if", Role.TEXT),
        ({"$schema": "http://json-schema.org/schema#", "$defs": {}}, "$defs", Role.SCHEMAS),
        ({"$ref": "#"}, "$ref", Role.NAMES),
        ({"$ref": "#/$defs/a%20b", "$defs": {"a b": {}}}, "$ref", Role.NAMES),
        ({"$ref": "#/anyOf/0", "anyOf": [True]}, "$ref", Role.NAMES),
        ({"$ref": "#/anyOf/1", "anyOf": [True]}, "$ref", Role.TEXT),
        ({"$ref": "#/none"}, "$ref", Role.TEXT),
        ({"$ref": "#none"}, "$ref", Role.TEXT),
        ({"$ref": "other.json"}, "$ref", Role.TEXT),
        ({"$ref": 1}, "$ref", Role.TEXT),
        ({"$schema": DRAFT_7, "$dynamicRef": "#"}, "$dynamicRef", Role.TEXT),
        ({"$anchor": "a", "$ref": "#a"}, "$anchor", Role.NAMES),
        ({"$anchor": "a", "$ref": "#b"}, "$anchor", Role.DATA),
        ({"$schema": DRAFT_7, "$anchor": "a", "$ref": "#a"}, "$anchor", Role.DATA),
        ({"$schema": DRAFT_4, "id": "#a", "$ref": "#a"}, "id", Role.NAMES),
        ({"$id": "urn:a", "$ref": "#"}, "$id", Role.DATA),
    ],
)
def test_the_value_of_a_keyword_is_what_its_dialect_makes_of_it(schema, keyword, role):
    assert Roles(schema).of(schema, keyword) is role


def test_a_schema_that_references_are_looked_up_in_keeps_its_identifier():
    inner = {"$id": "urn:a", "properties": {"b": {"$ref": "#/$defs/c"}}, "$defs": {"c": {}}}
    alone = {"$id": "urn:b"}
    roles = Roles({"properties": {"inner": inner, "alone": alone}})
    assert roles.of(inner, "$id") is Role.NAMES
    assert roles.of(alone, "$id") is Role.DATA


def test_a_reference_makes_a_schema_of_what_it_points_at_and_names_of_the_keys_before_it():
    far = {"required": ["a_name"], "$anchor": "far"}
    near = {"properties": {"a_name": {"$ref": "#far"}}, "anyOf": [{"$ref": "#/x-b/c"}], "title": "text"}
    holder = {"near": near, "other": {"required": ["a_text"]}}
    root = {"$ref": "#/x-a/near", "x-a": holder, "x-b": {"c": far}}
    roles = Roles(root)
    assert roles.is_target(near)
    assert roles.is_target(far)
    assert not roles.is_target(holder)
    assert roles.is_on_the_way(root, "x-a")
    assert roles.is_on_the_way(holder, "near")
    assert not roles.is_on_the_way(holder, "other")
    assert list(roles.strings()) == ["title", "text", "other", "required", "a_text"]


def test_what_stands_in_a_text_is_no_reference():
    note = {"$ref": "#/x-note/here", "here": True}
    roles = Roles({"x-note": note, "properties": {"a": {"$ref": "#/x-b/c"}}, "x-b": {"c": True}})
    assert not roles.is_on_the_way(note, "here")
    assert list(roles.strings()) == ["x-note", "$ref", "#/x-note/here", "here"]


@pytest.mark.parametrize(
    ("schema", "strings"),
    [
        (None, []),
        ("text", ["text"]),
        ({"properties": {"name": "text"}}, ["text"]),
        ({"properties": "text"}, ["text"]),
        ({"items": [["text"], True]}, ["text"]),
        ({"not": 3}, []),
        ({"dependencies": {"a": ["name"], "b": {"title": "text"}, "c": ["text", 1]}}, ["title", "text", "text"]),
        ({"const": {"a": ["b", None]}}, ["a", "b"]),
    ],
)
def test_every_string_that_is_no_name_is_told(schema, strings):
    assert list(Roles(schema).strings()) == strings


def test_all_strings_of_a_value_are_its_keys_too():
    assert list(all_strings({"a": ["b", {"c": 1}], "d": None})) == ["a", "b", "c", "d"]
