"""The schema compiler: roots, references, strict forms, and verdicts. Single keywords: `test_schemas_keywords.py`."""

import json

import pytest

from pegboard.providers.schemas import Fidelity, Loss, best, compile_schema
from pegboard.providers.targets import STRICT, Limit, Target
from tests.providers.rules import problems

MODELS = [target for target in Target if target is not Target.MCP]
CLOSING = [Target.OPENAI_STRICT, Target.ANTHROPIC_STRICT, Target.GEMINI_PARAMETERS]
INLINING = [Target.COMPATIBLE, Target.GEMINI_PARAMETERS]
TEXT = {"type": "string"}
NODE = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/$defs/Node"}},
    "required": ["tree"],
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"name": TEXT, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
            "required": ["name", "children"],
        }
    },
}


def of(**members):
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


# Field case 14: one night the root gets alternatives.

TWO_WAYS = {**of(a=TEXT, b=TEXT), "required": [], "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}


@pytest.mark.parametrize("target", MODELS)
def test_14_alternatives_of_the_root_are_folded_told_and_named_as_a_loss(target):
    found = compile_schema(TWO_WAYS, target)
    assert not {"anyOf", "oneOf", "allOf"} & found.schema.keys()
    assert list(found.schema["properties"]) == ["a", "b"]
    assert Loss("/anyOf", "anyOf") in found.losses
    assert '{"required":["b"]}' in found.schema["description"]


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
@pytest.mark.parametrize("target", MODELS)
def test_alternatives_of_whole_objects_are_wrapped_and_nothing_is_lost(target, keyword):
    declared = {
        "type": "object",
        "description": "D.",
        keyword: [of(kind={"const": "a"}), of(kind={"const": "b"}, n=TEXT)],
    }
    found = compile_schema(declared, target)
    assert found.fidelity is Fidelity.LOSSLESS
    assert list(found.schema["properties"]) == ["arguments"]
    assert found.schema["description"] == "D."
    assert found.mapping.restore({"arguments": {"kind": "a"}}) == {"kind": "a"}


def test_a_loss_inside_a_wrapped_root_has_its_declared_place():
    declared = {
        "anyOf": [{"$ref": "#/$defs/A"}, of(b=TEXT)],
        "$defs": {"A": of(a={"type": "array", "uniqueItems": True})},
    }
    found = compile_schema(declared, Target.GEMINI_PARAMETERS)
    assert {one.path.startswith("/anyOf/0/properties/a") for one in found.losses} == {True}
    assert {one.what for one in found.losses} == {"type", "uniqueItems"}


@pytest.mark.parametrize("target", MODELS)
@pytest.mark.parametrize(
    ("declared", "losses"),
    [
        ({}, set()),
        ({"type": ["object", "null"], "properties": {}}, set()),
        ({"allOf": [{"type": "object", "properties": {"a": TEXT}, "required": ["a"]}, {"required": ["a"]}]}, set()),
        ({"$ref": "#/$defs/A", "$defs": {"A": of(a=TEXT)}}, set()),
        ({**of(a=TEXT), "not": {"required": ["a"]}}, {Loss("/not", "not")}),
        ({**of(a=TEXT), "enum": [{"a": "b"}]}, {Loss("/enum", "enum")}),
    ],
)
def test_a_root_becomes_a_plain_object(declared, losses, target):
    found = compile_schema(declared, target)
    assert problems(found.schema, target) == []
    assert {one for one in found.losses if one.what != "additionalProperties"} == losses


# Field case 15: references are whole or gone, never half.


@pytest.mark.parametrize("target", MODELS)
@pytest.mark.parametrize(
    "declared",
    [
        {**of(f={"$ref": "#/$defs/F"}), "$defs": {"F": {"enum": ["a"]}}},
        {**of(f={"$ref": "#/definitions/F"}), "definitions": {"F": {"enum": ["a"]}}},
        {
            **of(f={"$ref": "#/$defs/F"}),
            "$defs": {"F": {"$ref": "#/definitions/G"}},
            "definitions": {"G": {"enum": ["a"]}},
        },
        of(f={"enum": ["a"]}, g={"$ref": "#/properties/f"}),
        {**of(f={"$ref": "#/$defs/a%20~1b"}), "$defs": {"a /b": {"enum": ["a"]}}},
        {**of(f={"$ref": "#here"}), "$defs": {"F": {"$anchor": "here", "enum": ["a"]}}},
        {**of(f={"$ref": "#/$defs/F", "description": "D."}), "$defs": {"F": {"enum": ["a"]}}},
    ],
)
def test_15_references_lead_somewhere_or_are_inlined(declared, target):
    found = compile_schema(declared, target)
    assert found.fidelity is Fidelity.LOSSLESS
    assert problems(found.schema, target) == []
    assert ("$ref" in str(found.schema)) is (target not in INLINING)


def test_definitions_that_nothing_refers_to_are_left_out():
    assert "$defs" not in compile_schema({**of(a=TEXT), "$defs": {"F": TEXT}}, Target.OPENAI).schema


def test_strict_openai_takes_nothing_beside_a_reference():
    declared = {**of(f={"$ref": "#/$defs/F", "description": "D.", "minLength": 2}), "$defs": {"F": TEXT}}
    assert compile_schema(declared, Target.OPENAI_STRICT).schema["properties"]["f"] == {
        "type": "string", "description": "D.", "minLength": 2,
    }  # fmt: skip
    del declared["properties"]["f"]["minLength"]
    assert compile_schema(declared, Target.OPENAI_STRICT).schema["properties"]["f"] == {
        "anyOf": [{"$ref": "#/$defs/F"}], "description": "D.",
    }  # fmt: skip


@pytest.mark.parametrize("target", MODELS)
def test_recursion_is_kept_or_cut_where_it_comes_back(target):
    found = compile_schema(NODE, target)
    assert problems(found.schema, target) == []
    cut = target in {Target.ANTHROPIC_STRICT, *INLINING}
    assert ("recursion" in {one.what for one in found.losses}) is cut
    assert (found.fidelity is Fidelity.LOSSLESS) is not cut


def test_a_root_that_comes_back_to_itself_is_kept():
    declared = {"type": "object", "properties": {"inner": {"$ref": "#"}}, "additionalProperties": False}
    found = compile_schema(declared, Target.OPENAI)
    assert found.schema["properties"]["inner"] == {"$ref": "#/$defs/root"}
    assert found.schema["$defs"]["root"]["properties"]["inner"] == {"$ref": "#/$defs/root"}


# Strict forms.


def test_an_optional_property_is_required_or_null_where_all_are_required():
    declared = {"type": "object", "properties": {"a": TEXT, "b": {"enum": ["x"]}, "c": {"anyOf": [TEXT, of(d=TEXT)]}}}
    found = compile_schema(declared, Target.OPENAI_STRICT)
    assert found.fidelity is Fidelity.LOSSLESS
    assert found.schema["required"] == ["a", "b", "c"]
    assert found.schema["properties"]["a"] == {"type": ["string", "null"]}
    assert found.schema["properties"]["b"] == {"type": ["string", "null"], "enum": ["x", None]}
    assert found.schema["properties"]["c"]["anyOf"][-1] == {"type": "null"}


@pytest.mark.parametrize(
    ("declared", "lost"),
    [
        ({"type": ["string", "null"], "default": None}, False),
        ({"type": ["string", "null"]}, True),
        ({"type": ["string", "null"], "default": "a"}, True),
        ({"anyOf": [TEXT, {"type": "null"}]}, True),
        ({"enum": ["a", None]}, True),
        ({"$ref": "#/$defs/N"}, True),
    ],
)
def test_null_that_is_a_value_of_its_own_is_lost_where_null_means_left_out(declared, lost):
    found = compile_schema({**of(a=declared), "required": [], "$defs": {"N": {"type": "null"}}}, Target.OPENAI_STRICT)
    assert [one.what for one in found.losses] == ["null"] * lost


@pytest.mark.parametrize(
    ("declared", "sent"),
    [
        (of(a=TEXT), {Target.OPENAI_STRICT, Target.ANTHROPIC_STRICT}),
        (of(a={"type": "integer", "minimum": 1}), {Target.OPENAI_STRICT, Target.ANTHROPIC}),
        (of(a={"type": "object", "additionalProperties": TEXT}), {Target.OPENAI, Target.ANTHROPIC}),
    ],
)
def test_the_strict_form_is_sent_where_it_loses_nothing(declared, sent):
    assert {best(declared, target).target for target in STRICT} == sent
    assert {best(declared, target).target for target in set(Target) - set(STRICT)} == set(Target) - set(STRICT)


@pytest.mark.parametrize(
    ("target", "declared", "limit"),
    [
        (Target.OPENAI_STRICT, of(a={"enum": [f"{n}" for n in range(1_001)]}), Limit.VALUES),
        (Target.OPENAI_STRICT, of(a={"enum": ["x" * 120_000]}), Limit.CHARACTERS),
        (Target.OPENAI_STRICT, {**of(**dict.fromkeys(map(str, range(5_001)), True)), "required": []}, Limit.PROPERTIES),
        (Target.ANTHROPIC_STRICT, {**of(**{f"p{n}": TEXT for n in range(25)}), "required": []}, Limit.OPTIONAL),
        (Target.ANTHROPIC_STRICT, of(**{f"p{n}": {"type": ["string", "null"]} for n in range(17)}), Limit.UNIONS),
    ],
)
def test_a_schema_past_a_limit_of_its_strict_form_is_sent_as_it_is(target, declared, limit):
    assert Loss("", limit) in compile_schema(declared, target).losses


def test_levels_are_counted_along_one_way_down():
    deep = TEXT
    for _ in range(11):
        deep = of(a=deep)
    assert compile_schema(deep, Target.OPENAI_STRICT).losses == (Loss("", Limit.LEVELS),)
    half = deep["properties"]["a"]["properties"]["a"]
    assert compile_schema(of(a=half, b=half), Target.OPENAI_STRICT).losses == ()


# Verdicts. Field case 16: valid but odd passes; what intake would refuse has no schema anywhere.


@pytest.mark.parametrize("target", Target)
@pytest.mark.parametrize("declared", [{}, {"type": "object", "properties": {"x": True}}, {"properties": {"x": {}}}])
def test_16_odd_but_valid_schemas_have_a_form_everywhere(declared, target):
    assert problems(compile_schema(declared, target).schema, target) == []


@pytest.mark.parametrize("target", Target)
@pytest.mark.parametrize(
    "declared",
    [
        {"type": "string"},
        of(a={"type": "int"}),
        of(a={"$ref": "https://schemas.brackenfold.example/a.json"}),
        {"$ref": "#"},
        {"type": "object", "properties": {"a": []}},
    ],
)
def test_16_a_schema_that_is_none_is_unrepresentable_with_its_reason(declared, target):
    found = compile_schema(declared, target)
    assert (found.schema, found.fidelity) == (None, Fidelity.UNREPRESENTABLE)
    assert found.losses[0].what


def test_a_schema_that_explodes_when_its_references_are_inlined_is_unrepresentable_there_alone():
    definitions = {f"D{n}": of(a={"$ref": f"#/$defs/D{n + 1}"}, b={"$ref": f"#/$defs/D{n + 1}"}) for n in range(14)}
    declared = {**of(a={"$ref": "#/$defs/D0"}), "$defs": {**definitions, "D14": TEXT}}
    assert {compile_schema(declared, target).fidelity for target in INLINING} == {Fidelity.UNREPRESENTABLE}
    assert compile_schema(declared, Target.OPENAI).fidelity is Fidelity.LOSSLESS


@pytest.mark.parametrize("target", MODELS)
def test_of_very_many_parts_that_must_all_hold_each_says_its_word(target):
    bounds = [{"properties": {"a": {"minLength": number}}} for number in range(1_500)]
    members = [{"properties": {f"p{number}": TEXT}} for number in range(500)]
    found = compile_schema({"type": "object", "properties": {"a": TEXT}, "allOf": [*bounds, *members]}, target)
    assert problems(found.schema, target) == []
    assert len(found.schema["properties"]) == 501
    kept = '"minLength": 1499' if target is not Target.ANTHROPIC_STRICT else "minLength: 1499"
    assert kept in json.dumps(found.schema)


@pytest.mark.parametrize("target", Target)
def test_a_schema_of_84_000_characters_has_a_form_everywhere(target):
    words = [f"value-{number:05}" for number in range(900)]
    members = {f"p{number}": {"type": "string", "description": "Which one. " * 20} for number in range(300)}
    declared = {**of(kind={"enum": words}), "properties": {"kind": {"enum": words}, **members}}
    assert len(json.dumps(declared)) > 84_000
    assert problems(compile_schema(declared, target).schema, target) == []


def test_mcp_takes_a_schema_as_it_is_with_its_roots_type():
    declared = {"properties": {"a b": {"oneOf": [TEXT]}}, "$schema": "http://json-schema.org/draft-07/schema#"}
    assert compile_schema(declared, Target.MCP).schema == {**declared, "type": "object"}


def test_the_declared_schema_is_not_touched():
    declared = {**TWO_WAYS, "properties": {"a b": TEXT, "n": NODE["properties"]["tree"]}, "$defs": NODE["$defs"]}
    before = str(declared)
    for target in Target:
        compile_schema(declared, target)
    assert str(declared) == before
