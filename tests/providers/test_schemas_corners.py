"""The schema compiler in its corners: what nothing fits, equal names, references that are not plain."""

import pytest

from pegboard.providers.schemas import Loss, compile_schema
from pegboard.providers.targets import Target
from tests.providers.rules import problems

MODELS = [target for target in Target if target is not Target.MCP]
TEXT = {"type": "string"}


def of(**members):
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


@pytest.mark.parametrize(
    ("declared", "losses"),
    [
        ({"anyOf": [False, False]}, {"false", "type"}),
        ({"allOf": [TEXT, {"type": "integer"}]}, {"false", "type"}),
        ({"anyOf": [{"enum": ["a"]}, TEXT], "enum": ["b"]}, set()),
        ({"type": "array", "items": False}, {"items", "type"}),
        ({"allOf": [{"type": "string", "pattern": "a"}, {"pattern": "b"}]}, {"pattern"}),
        ({"oneOf": [{"const": f"{n}"} for n in range(61)]}, {"oneOf"}),
        ({"allOf": [{"type": "string", "title": "A"}, {"title": "B"}]}, set()),
        ({"$ref": "#/$defs/Never"}, {"false", "type"}),
        ({"$ref": "#/$defs/No"}, {"false", "type"}),
        ({"type": "string", "not": {"enum": ["x" * 300]}}, {"not"}),
    ],
)
def test_a_corner_is_closed_and_its_loss_named(declared, losses):
    whole = {**of(a=declared), "$defs": {"Never": {"allOf": [TEXT, {"type": "integer"}]}, "No": False}}
    found = compile_schema(whole, Target.OPENAI_STRICT)
    assert problems(found.schema, Target.OPENAI_STRICT) == []
    assert {one.what for one in found.losses} == losses


def test_a_long_value_is_not_told_since_half_of_it_would_say_another_thing():
    found = compile_schema(of(a={"type": "string", "not": {"enum": ["x" * 300]}}), Target.OPENAI_STRICT)
    assert found.schema["properties"]["a"] == TEXT


def test_a_property_that_may_never_come_is_left_out_where_nothing_undeclared_may():
    found = compile_schema({**of(a=False, b=TEXT), "required": ["b"]}, Target.OPENAI_STRICT)
    assert (found.schema["required"], found.losses) == (["b"], ())
    assert compile_schema(of(a=False), Target.ANTHROPIC_STRICT).losses == (Loss("/required", "required"),)


def test_an_optional_property_that_nothing_fits_can_only_be_left_out():
    declared = {**of(a={"allOf": [TEXT, {"type": "integer"}]}), "required": []}
    assert "null" in compile_schema(declared, Target.OPENAI_STRICT).schema["properties"]["a"]["type"]


def test_two_definitions_of_one_name_stay_two():
    declared = {
        **of(a={"$ref": "#/$defs/F"}, b={"$ref": "#/definitions/F"}),
        "$defs": {"F": TEXT},
        "definitions": {"F": {"type": "integer"}},
    }
    assert compile_schema(declared, Target.OPENAI).schema["$defs"] == {"F": TEXT, "F_2": {"type": "integer"}}


@pytest.mark.parametrize("target", MODELS)
def test_a_reference_inside_an_embedded_resource_is_a_loss_and_never_another_schema(target):
    declared = {**of(a={"$ref": "#/$defs/F"}), "$defs": {"F": TEXT, "G": {"$id": "https://brackenfold.example/g"}}}
    found = compile_schema(declared, target)
    assert "$ref" in {one.what for one in found.losses}
    assert problems(found.schema, target) == []


def test_a_root_may_name_itself():
    declared = {**of(a={"$ref": "#/$defs/F"}), "$id": "https://brackenfold.example/t", "$defs": {"F": TEXT}}
    assert compile_schema(declared, Target.OPENAI).schema["$defs"] == {"F": TEXT}


@pytest.mark.parametrize("link", [lambda ref: ref, lambda ref: {"allOf": [ref]}, lambda ref: {"anyOf": [ref, TEXT]}])
@pytest.mark.parametrize("target", MODELS)
def test_a_chain_of_references_longer_than_can_be_followed_has_no_schema_and_fails_nobody(link, target):
    links = {f"d{n}": link({"$ref": f"#/$defs/d{n + 1}"}) for n in range(1_000)}
    found = compile_schema({**of(a={"$ref": "#/$defs/d0"}), "$defs": {**links, "d1000": TEXT}}, target)
    assert found.schema is None or problems(found.schema, target) == []
