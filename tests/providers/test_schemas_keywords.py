"""What becomes of each keyword at each target: the rows of `targets.py`, told the other way round."""

import jsonschema_rs
import pytest

from pegboard.core.keywords import SUBSCHEMAS
from pegboard.providers.schemas import Loss, compile_schema
from pegboard.providers.targets import TABLE, TESTED_FORMATS, Target

STRICT, CLAUDE, PARAMETERS = Target.OPENAI_STRICT, Target.ANTHROPIC_STRICT, Target.GEMINI_PARAMETERS
WHOLE = (Target.OPENAI, Target.ANTHROPIC, Target.MCP)

# A property for each keyword that is simply kept or lost.
PROPERTIES = {
    "minimum": {"type": "integer", "minimum": 2},
    "maximum": {"type": "integer", "maximum": 2},
    "exclusiveMinimum": {"type": "number", "exclusiveMinimum": 2},
    "exclusiveMaximum": {"type": "number", "exclusiveMaximum": 2},
    "multipleOf": {"type": "integer", "multipleOf": 2},
    "minLength": {"type": "string", "minLength": 2},
    "maxLength": {"type": "string", "maxLength": 2},
    "pattern": {"type": "string", "pattern": "^C-[0-9]{3}$"},
    "minItems": {"type": "array", "items": {"type": "string"}, "minItems": 2},
    "maxItems": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
    "uniqueItems": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    "contains": {"type": "array", "items": {"type": "string"}, "contains": {"const": "a"}},
    "minContains": {"type": "array", "items": {"type": "string"}, "contains": True, "minContains": 2},
    "maxContains": {"type": "array", "items": {"type": "string"}, "contains": True, "maxContains": 2},
    "unevaluatedItems": {"type": "array", "items": {"type": "string"}, "unevaluatedItems": False},
    "minProperties": {"type": "object", "properties": {}, "minProperties": 0},
    "maxProperties": {"type": "object", "properties": {}, "maxProperties": 2},
    "patternProperties": {"type": "object", "properties": {}, "patternProperties": {"^a": {"type": "string"}}},
    "propertyNames": {"type": "object", "properties": {}, "propertyNames": {"pattern": "^a"}},
    "dependentRequired": {"type": "object", "properties": {}, "dependentRequired": {"a": ["b"]}},
    "dependentSchemas": {"type": "object", "properties": {}, "dependentSchemas": {"a": {"required": ["b"]}}},
    "unevaluatedProperties": {"type": "object", "properties": {}, "unevaluatedProperties": {"type": "string"}},
    "not": {"type": "string", "not": {"const": "a"}},
    "if": {"type": "string", "if": {"const": "a"}, "then": {"maxLength": 1}},
    "then": {"type": "string", "if": {"const": "a"}, "then": {"maxLength": 1}},
    "else": {"type": "string", "if": {"const": "a"}, "else": {"maxLength": 1}},
}
_FEW = {"uniqueItems", "contains", "minContains", "maxContains", "patternProperties", "propertyNames"} | {
    "dependentRequired", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties", "not", "if", "then", "else",
}  # fmt: skip
LOST = {
    Target.OPENAI_STRICT: _FEW | {"minProperties", "maxProperties"},
    Target.ANTHROPIC_STRICT: set(PROPERTIES),
    Target.GEMINI: {"exclusiveMinimum", "exclusiveMaximum"},
    Target.GEMINI_PARAMETERS: _FEW | {"multipleOf", "exclusiveMinimum", "exclusiveMaximum"},
}


def compiled(declared, target, **root):
    return compile_schema(
        {"type": "object", "properties": {"x": declared}, "required": ["x"], "additionalProperties": False, **root},
        target,
    )


def written(declared, target):
    return compiled(declared, target).schema["properties"]["x"]


def lost(declared, target):
    return [str(one.what) for one in compiled(declared, target).losses]


@pytest.mark.parametrize("target", Target)
@pytest.mark.parametrize("keyword", PROPERTIES)
def test_a_keyword_is_kept_or_it_is_a_loss_that_is_named_and_told(keyword, target):
    found, part = compiled(PROPERTIES[keyword], target), written(PROPERTIES[keyword], target)
    is_lost = keyword in LOST.get(target, ())
    assert (keyword in part) is not is_lost
    assert (Loss(f"/properties/x/{keyword}", keyword) in found.losses) is is_lost
    assert (f"{keyword}: " in part.get("description", "")) is is_lost


@pytest.mark.parametrize(
    "keyword", ["title", "$schema", "$id", "$comment", "examples", "discriminator", "x-order", "no"]
)
@pytest.mark.parametrize("target", [one for one in Target if one is not Target.MCP])
def test_what_judges_no_argument_is_left_out_and_is_no_loss(keyword, target):
    values = {"$schema": "http://json-schema.org/draft-07/schema#", "examples": ["y"]}
    declared = {"type": "string", keyword: values.get(keyword, "y")}
    assert written(declared, target) == {"type": "string"}
    assert lost(declared, target) == []


MEANT = {
    **{word: one for word, one in PROPERTIES.items() if word not in {"not", "if", "then", "else"}},
    **{word: {"type": "array", word: one} for word, one in (("items", True), ("prefixItems", [True]))},
    **{word: {"type": "object", word: one} for word, one in (("properties", {}), ("required", []))},
    "additionalProperties": {"type": "object", "additionalProperties": False},
}


@pytest.mark.parametrize("keyword", MEANT)
def test_a_keyword_names_the_type_that_it_judges_where_none_is_named(keyword):
    kind, value = MEANT[keyword]["type"], MEANT[keyword][keyword]
    assert written({keyword: value}, STRICT)["type"] == ("number" if kind == "integer" else kind)
    assert "type" in lost({keyword: value}, STRICT)


def test_every_keyword_that_holds_schemas_is_in_the_table_or_has_a_way_of_its_own():
    apart = {"properties", "items", "$defs", "definitions", "dependencies", "additionalItems", "contentSchema"}
    assert SUBSCHEMAS.keys() - apart <= TABLE.keys()


ROWS = [
    # default: said where it is refused.
    ({"type": "integer", "default": 20}, STRICT, {"type": "integer", "description": "(default: 20)"}, []),
    ({"type": "integer", "default": 20}, CLAUDE, {"type": "integer", "description": "(default: 20)"}, []),
    ({"type": "integer", "default": 20}, PARAMETERS, {"type": "integer", "default": 20}, []),
    ({"type": "integer", "default": 20}, Target.GEMINI, {"type": "integer", "default": 20}, []),
    # const: an enum of one value, and where these are texts, as text.
    ({"const": "a"}, STRICT, {"type": "string", "const": "a"}, []),
    ({"const": "a"}, CLAUDE, {"type": "string", "enum": ["a"]}, []),
    ({"const": "a"}, Target.GEMINI, {"enum": ["a"]}, []),
    ({"const": 7}, PARAMETERS, {"type": "string", "enum": ["7"]}, []),
    ({"type": "boolean", "const": True}, PARAMETERS, {"type": "string", "enum": ["true"]}, []),
    ({"enum": ["a", 1]}, Target.GEMINI, {"enum": ["a", 1]}, []),
    ({"enum": ["1", 1]}, PARAMETERS, {"anyOf": [{"type": "string", "enum": ["1"]}]}, ["enum"]),
    ({"const": None}, PARAMETERS, {"type": "null"}, []),
    ({"type": "number", "enum": [1, 2.5, "a"]}, STRICT, {"type": "number", "enum": [1, 2.5]}, []),
    ({"type": "string", "enum": [1]}, STRICT, {"type": "string"}, ["enum"]),
    ({"const": "a", "required": ["b"], "minimum": 1}, CLAUDE, {"type": "string", "enum": ["a"]}, []),
    ({"type": "string", "enum": ["a", 1]}, STRICT, {"type": "string", "enum": ["a"]}, []),
    # Several types.
    ({"type": ["string", "null"]}, STRICT, {"type": ["string", "null"]}, []),
    ({"type": ["string", "null"]}, CLAUDE, {"anyOf": [{"type": "string"}, {"type": "null"}]}, []),
    ({"type": ["string", "null"]}, Target.GEMINI, {"type": ["string", "null"]}, []),
    ({"type": ["string", "null"]}, PARAMETERS, {"nullable": True, "type": "string"}, []),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, PARAMETERS, {"type": "string", "nullable": True}, []),
    (
        {"type": ["string", "integer", "null"], "minimum": 1, "minLength": 2, "description": "D."},
        PARAMETERS,
        {"anyOf": [{"description": "D.", "type": "string", "minLength": 2, "nullable": True},
                   {"description": "D.", "type": "integer", "minimum": 1}]},
        [],
    ),
    # Exclusive bounds of integers have an inclusive form.
    ({"type": "integer", "exclusiveMinimum": 0}, Target.GEMINI, {"type": "integer", "minimum": 1}, []),
    ({"type": "integer", "exclusiveMaximum": 9, "maximum": 5}, PARAMETERS, {"type": "integer", "maximum": 5}, []),
    # Arrays.
    ({"type": "array", "items": {"type": "string"}, "minItems": 1}, CLAUDE,
     {"type": "array", "items": {"type": "string"}, "minItems": 1}, []),
    ({"type": "array"}, STRICT,
     {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}}, ["type"]),
    (
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
        PARAMETERS,
        {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
        ["prefixItems"],
    ),
    # Patterns and formats.
    ({"type": "string", "pattern": "(?!a)b"}, STRICT,
     {"type": "string", "description": '(pattern: "(?!a)b")'}, ["pattern"]),
    ({"type": "string", "pattern": "(?!a)b"}, PARAMETERS,
     {"type": "string", "description": '(pattern: "(?!a)b")'}, ["pattern"]),
    ({"type": "string", "pattern": r"\(?=b"}, STRICT, {"type": "string", "pattern": r"\(?=b"}, []),
    ({"type": "string", "format": "uri"}, STRICT, {"type": "string", "description": '(format: "uri")'}, ["format"]),
    ({"type": "string", "format": "uri"}, CLAUDE, {"type": "string", "format": "uri"}, []),
    ({"type": "string", "format": "color"}, CLAUDE, {"type": "string", "description": '(format: "color")'}, []),
    ({"type": "string", "format": "date"}, Target.GEMINI,
     {"type": "string", "description": '(format: "date")'}, ["format"]),
    ({"type": "string", "format": "date-time"}, PARAMETERS, {"type": "string", "format": "date-time"}, []),
    # Objects where nothing undeclared may come.
    ({"type": "object", "properties": {}}, STRICT,
     {"type": "object", "properties": {}, "required": [], "additionalProperties": False}, []),
    ({"type": "object"}, CLAUDE,
     {"type": "object", "properties": {}, "additionalProperties": False}, ["additionalProperties"]),
    ({"type": "object", "additionalProperties": {"type": "string"}}, PARAMETERS,
     {"type": "object", "properties": {}}, ["additionalProperties"]),
    # What no type is written for.
    (True, PARAMETERS,
     {"anyOf": [{"type": "string", "nullable": True}, {"type": "number"}, {"type": "boolean"}]}, ["type"]),
    ({"minLength": 1}, STRICT, {"type": "string", "minLength": 1}, ["type"]),
    (False, Target.OPENAI, {"not": {}}, []),
]  # fmt: skip


@pytest.mark.parametrize(("declared", "target", "made", "losses"), ROWS)
def test_a_keyword_takes_the_form_that_its_target_knows(declared, target, made, losses):
    assert written(declared, target) == made
    assert sorted(set(lost(declared, target))) == losses


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf", "allOf"])
@pytest.mark.parametrize("target", [*WHOLE, Target.GEMINI])
def test_alternatives_inside_are_kept_where_json_schema_is_taken(keyword, target):
    declared = {keyword: [{"type": "string"}, {"maxLength": 3}]}
    assert written(declared, target) == declared


@pytest.mark.parametrize("target", [STRICT, CLAUDE, PARAMETERS])
def test_all_of_becomes_one_schema_where_it_is_refused(target):
    declared = {"allOf": [{"type": "string", "enum": ["a", "b"]}, {"enum": ["b", "c"], "description": "D."}]}
    assert written(declared, target) == {"type": "string", "enum": ["b"], "description": "D."}
    assert lost(declared, target) == []


KIND = [{"type": "object", "properties": {"kind": {"const": one}}, "required": ["kind"]} for one in "ab"]


@pytest.mark.parametrize("target", [STRICT, CLAUDE, PARAMETERS])
@pytest.mark.parametrize(
    ("branches", "losses"),
    [
        (KIND, []),
        ([{"type": "string"}, {"type": "integer"}], []),
        ([{"enum": ["a"]}, {"enum": ["b", "c"]}], []),
        ([{"type": "number"}, {"type": "integer"}], ["oneOf"]),
        ([KIND[0], {"type": "object", "properties": {"kind": {"type": "string"}}}], ["oneOf"]),
    ],
)
def test_one_of_is_any_of_and_a_loss_unless_no_value_can_fit_two(branches, losses, target):
    declared = {"oneOf": branches}
    assert "anyOf" in written(declared, target)
    assert lost(declared, target) == losses


@pytest.mark.parametrize(
    ("declared", "written_as"),
    [
        ({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 3, "exclusiveMinimum": True}, 4),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 3, "exclusiveMinimum": False}, 3),
        ({"minimum": 3}, 3),
    ],
)
def test_an_old_draft_is_read_as_it_means(declared, written_as):
    dialect = {"$schema": declared["$schema"]} if "$schema" in declared else {}
    x = {"type": "integer", **{key: one for key, one in declared.items() if key != "$schema"}}
    found = compile_schema({"type": "object", "properties": {"x": x}, **dialect}, Target.GEMINI)
    assert found.schema["properties"]["x"] == {"type": "integer", "minimum": written_as}


def test_the_formats_that_are_tested_are_those_that_the_gate_tests():
    tested = {
        name
        for name in (*TESTED_FORMATS, "int32", "byte", "password", "color", "binary", "url", "float")
        if not jsonschema_rs.is_valid({"format": name}, "\x00 no [a( thing", validate_formats=True)
    }
    assert tested == TESTED_FORMATS
