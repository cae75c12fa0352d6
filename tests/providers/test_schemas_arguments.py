"""Arguments come back in the shape that the tool declared."""

import copy

import jsonschema_rs
import pytest
from hypothesis import given

from pegboard.engine.schemas import check_arguments
from pegboard.engine.schemas import compile_schema as compile_gate
from pegboard.providers.schemas import compile_schema
from pegboard.providers.targets import Target
from tests.strategies import json_values

TEXT = {"type": "string"}
NULL = {"type": ["string", "null"]}
STRICT, PARAMETERS = Target.OPENAI_STRICT, Target.GEMINI_PARAMETERS


def of(*required, **members):
    return {"type": "object", "properties": members, "required": list(required), "additionalProperties": False}


TREE = {
    **of("root", root={"$ref": "#/$defs/Node"}),
    "$defs": {"Node": of("name", name=TEXT, children={"type": "array", "items": {"$ref": "#/$defs/Node"}})},
}
EITHER = of(
    "to",
    to={
        "anyOf": [
            of("kind", kind={"const": "mail"}, subject=TEXT),
            of("kind", "room", kind={"const": "chat"}, room=TEXT),
        ]
    },
)


@pytest.mark.parametrize(
    ("declared", "target", "sent", "restored"),
    [
        # Null for what is optional.
        (of("a", a=TEXT, b=TEXT), STRICT, {"a": "x", "b": None}, {"a": "x"}),
        (of("a", a=TEXT, b=TEXT), STRICT, {"a": None, "b": "x"}, {"a": None, "b": "x"}),
        (of("a", a=TEXT, b=TEXT), Target.OPENAI, {"a": "x", "b": None}, {"a": "x", "b": None}),
        (
            TREE, STRICT,
            {"root": {"name": "a", "children": [{"name": "b", "children": None}]}},
            {"root": {"name": "a", "children": [{"name": "b"}]}},
        ),
        (EITHER, STRICT, {"to": {"kind": "mail", "subject": None}}, {"to": {"kind": "mail"}}),
        (EITHER, STRICT, {"to": {"kind": "fax", "subject": None}}, {"to": {"kind": "fax", "subject": None}}),
        # Values as text.
        (of(n={"enum": [1, 2]}), PARAMETERS, {"n": "2"}, {"n": 2}),
        (of(n={"enum": [1, 2]}), PARAMETERS, {"n": 2}, {"n": 2}),
        (of(n={"enum": [1, 2]}), PARAMETERS, {"n": "3"}, {"n": "3"}),
        (of(n={"type": "array", "items": {"const": True}}), PARAMETERS, {"n": ["true"]}, {"n": [True]}),
        (of(n={"enum": [1, "a", None]}), PARAMETERS, {"n": "1"}, {"n": 1}),
        (of(n={"anyOf": [of(a=TEXT), of(a=NULL, b={"const": 7})]}), PARAMETERS, {"n": {"b": "7"}}, {"n": {"b": 7}}),
        (of(n={"anyOf": [TEXT, of(a=NULL, b={"const": 7})]}), PARAMETERS,
         {"n": {"a": None, "b": "7"}}, {"n": {"a": None, "b": 7}}),
        (of(n={"anyOf": [of(a={"type": "string", "pattern": "(?=x)x"}, b={"const": 7}), NULL]}), PARAMETERS,
         {"n": {"a": "x", "b": "7"}}, {"n": {"a": "x", "b": 7}}),
        # What the first alternative does not take is the second's.
        (of(n={"anyOf": [{"type": "string", "pattern": "^[ab]+$"}, {"const": 7}]}), PARAMETERS, {"n": "7"}, {"n": 7}),
        (of(n={"anyOf": [{"type": "string", "format": "date-time"}, {"const": 7}]}), PARAMETERS, {"n": "7"}, {"n": 7}),
        # A pattern that the linear engine does not know: no alternative is chosen, and the gate decides.
        (of("n", n={"anyOf": [of(a={"type": "string", "pattern": r"(x)\1"}, b=TEXT), NULL]}), STRICT,
         {"n": {"a": "xx", "b": None}}, {"n": {"a": "xx", "b": None}}),
        # Names that a target refuses.
        (of(**{"$top": TEXT}), Target.ANTHROPIC, {"top_qg7zrzajj4": "x"}, {"$top": "x"}),
        (of(**{"$top": TEXT}), Target.ANTHROPIC_STRICT, {"top_qg7zrzajj4": "x"}, {"$top": "x"}),
        (of(a=of(**{"b c": TEXT})), Target.GEMINI, {"a": {"b_c_i7mkjkdmo5": "x"}}, {"a": {"b c": "x"}}),
        # A root of alternatives.
        ({"anyOf": [of("a", a=TEXT), of("b", b=TEXT)]}, Target.ANTHROPIC, {"arguments": {"b": "x"}}, {"b": "x"}),
        ({"anyOf": [of("a", a=TEXT), of("b", b=TEXT)]}, Target.ANTHROPIC, {"b": "x"}, {"b": "x"}),
        ({"anyOf": [of("a", a=TEXT), of("b", b=TEXT)]}, Target.ANTHROPIC, {"arguments": "{}"}, {"arguments": "{}"}),
        (of(arguments=of(a=TEXT)), Target.ANTHROPIC, {"arguments": {"a": "x"}}, {"arguments": {"a": "x"}}),
        # All at once.
        (
            {"anyOf": [of("a b", **{"a b": {"enum": [1]}}), of("c", c=TEXT)]}, PARAMETERS,
            {"arguments": {"a_b_zbuhucfkl7": "1"}}, {"a b": 1},
        ),
    ],
)  # fmt: skip
def test_arguments_get_their_declared_shape_back(declared, target, sent, restored):
    mapping = compile_schema(declared, target).mapping
    before = copy.deepcopy(sent)
    assert mapping.restore(sent) == restored
    assert sent == before


def test_a_renamed_property_has_its_new_name_wherever_it_is_named():
    names = {"a b": TEXT, "c": TEXT}
    declared = {**of("a b", **names), "dependentRequired": {"a b": ["c"], "c": ["a b"]}, "if": {"required": ["a b"]}}
    found = compile_schema(declared, Target.ANTHROPIC)
    assert "a b" not in str(found.schema)
    assert found.schema["dependentRequired"] == {"a_b_zbuhucfkl7": ["c"], "c": ["a_b_zbuhucfkl7"]}


@given(json_values)
def test_whatever_comes_is_answered_and_what_does_not_fit_stays_as_it_is(value):
    for target in (STRICT, PARAMETERS, Target.ANTHROPIC):
        for declared in (TREE, EITHER, of(**{"a b": {"enum": [1, None]}})):
            restored = compile_schema(declared, target).mapping.restore(value)
            assert isinstance(value, dict) or restored == value


@pytest.mark.parametrize("target", [one for one in Target if one is not Target.MCP])
def test_a_call_full_of_nulls_is_refused_by_the_gate_and_not_mended(target):
    found = compile_schema(of("a", a=TEXT, b=TEXT), target)
    nothing = dict.fromkeys(found.schema["properties"])
    assert check_arguments(compile_gate(of("a", a=TEXT, b=TEXT)), found.mapping.restore(nothing))


def test_arguments_beyond_the_gates_bounds_are_not_walked():
    deep = {"b": None}
    for _ in range(100):
        deep = {"a": deep}
    declared = {**of(a={"$ref": "#"}, b=TEXT)}
    assert compile_schema(declared, STRICT).mapping.restore(deep) is deep


def test_an_alternative_is_compiled_once_however_many_items_are_tried_on_it(monkeypatch):
    made, compiled = [], jsonschema_rs.validator_for
    found = compile_schema(of("all", all={"type": "array", "items": EITHER["properties"]["to"]}), STRICT)
    monkeypatch.setattr(jsonschema_rs, "validator_for", lambda *one, **how: made.append(one) or compiled(*one, **how))
    restored = found.mapping.restore({"all": [{"kind": "mail", "subject": None}, {"kind": "chat", "room": "a"}] * 50})
    assert restored == {"all": [{"kind": "mail"}, {"kind": "chat", "room": "a"}] * 50}
    assert len(made) == 2
