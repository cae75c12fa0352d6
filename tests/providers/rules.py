"""What each provider says that it takes, written down as schemas of schemas and apart from the compiler's table.

Source: OpenAI, "Structured outputs", "Supported schemas"; Anthropic, "Structured outputs", "JSON Schema limitations",
and the pattern of its own answer 400; Google, `Schema` and `FunctionDeclaration`; MCP 2026-07-28, "Tool".
"""

from collections.abc import Iterator

import jsonschema_rs

from pegboard.providers.targets import Target

__all__ = ["problems"]

TEXT, NUMBER, COUNT, FALSE = {"type": "string"}, {"type": "number"}, {"type": "integer", "minimum": 0}, {"const": False}
PART = {"$ref": "#/$defs/part"}
PARTS = {"type": "array", "minItems": 1, "items": PART}
SCALAR = {"type": ["string", "number", "boolean", "null"]}
TYPE = {"enum": ["string", "number", "integer", "boolean", "object", "array", "null"]}
NINE = {"enum": ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]}
NO_LOOK = {"type": "string", "not": {"pattern": r"\(\?<?[=!]"}}
TEN = {"enum": [*NINE["enum"], "uri"]}
SAFE, IDENTIFIER = r"^[a-zA-Z0-9_.-]{1,64}$", r"^[a-zA-Z_][a-zA-Z0-9_]{0,63}$"
DEFINITION = r"^#/\$defs/[A-Za-z0-9_-]+$"
REFERENCE = {
    "type": "object",
    "required": ["$ref"],
    "properties": {"$ref": {"type": "string", "pattern": DEFINITION}},
    "additionalProperties": False,
}


def members(name):
    return {"type": "object", "propertyNames": {"pattern": name}, "additionalProperties": PART}


def strict(form, alternatives):
    """A dialect whose every part is a reference, alternatives, or a typed form; the root is an object."""
    form = {**form, "$defs": {"type": "object", "additionalProperties": PART}}
    return {
        "$ref": "#/$defs/typed",
        "properties": {"type": {"const": "object"}},
        "$defs": {
            "part": {"anyOf": [REFERENCE, {"$ref": "#/$defs/typed"}, alternatives]},
            "typed": {
                "type": "object",
                "required": ["type"],
                "properties": form,
                "additionalProperties": False,
                "allOf": [needs("object", "properties", "additionalProperties"), needs("array", "items")],
            },
        },
    }


def needs(kind, *keywords):
    """Where a part may be of this type, it has these keywords."""
    listed = {"type": "array", "contains": {"const": kind}}
    of_kind = {"required": ["type"], "properties": {"type": {"anyOf": [{"const": kind}, listed]}}}
    return {"if": of_kind, "then": {"required": list(keywords)}}


def alternatives(**beside):
    return {
        "type": "object",
        "required": ["anyOf"],
        "properties": {"anyOf": PARTS, **beside},
        "additionalProperties": False,
    }


def loose(name=None, *, refused=(), refused_at_root):
    """JSON Schema as it is, without some keywords, and some more at the root."""
    return {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"const": "object"}, **dict.fromkeys(refused_at_root, False)},
        "$ref": "#/$defs/part",
        "$defs": {
            "part": {
                "type": ["object", "boolean"],
                "properties": {
                    **dict.fromkeys((*refused, "$schema", "definitions", "title", "examples", "discriminator"), False),
                    "$ref": {"type": "string", "pattern": DEFINITION},
                    "properties": {"additionalProperties": PART, "propertyNames": {"pattern": name or "^"}},
                    **dict.fromkeys(("items", "additionalProperties", "not", "if", "then", "else"), PART),
                    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), PARTS),
                    "$defs": {"additionalProperties": PART},
                    "patternProperties": {"additionalProperties": PART},
                },
            }
        },
    }


TYPED = {"type": TYPE, "description": TEXT, "items": PART, "required": {"type": "array", "items": TEXT}}
BOUNDS = dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), NUMBER)
LENGTHS = dict.fromkeys(("minItems", "maxItems", "minLength", "maxLength"), COUNT)
ROOT = ("anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref")

RULES = {
    Target.OPENAI_STRICT: strict(
        {
            **TYPED, **BOUNDS, **LENGTHS, "format": NINE, "enum": {"type": "array"}, "const": True,
            "type": {"anyOf": [TYPE, {"type": "array", "items": TYPE}]},
            "pattern": NO_LOOK,
            "properties": members("^"), "additionalProperties": FALSE,
        },
        alternatives(description=TEXT),
    ),
    Target.ANTHROPIC_STRICT: strict(
        {
            **TYPED, "format": TEN, "enum": {"type": "array", "items": SCALAR}, "minItems": {"enum": [0, 1]},
            "properties": members(SAFE), "additionalProperties": FALSE,
        },
        alternatives(description=TEXT),
    ),
    Target.GEMINI_PARAMETERS: {
        "$ref": "#/$defs/typed",
        "properties": {"type": {"const": "object"}},
        "$defs": {
            "part": {"anyOf": [{"$ref": "#/$defs/typed"}, alternatives()]},
            "typed": {
                "type": "object",
                "required": ["type"],
                "properties": {
                    **TYPED, **dict.fromkeys(("minimum", "maximum"), NUMBER), **LENGTHS, "pattern": NO_LOOK,
                    "minProperties": COUNT, "maxProperties": COUNT, "nullable": {"type": "boolean"}, "default": True,
                    "format": {"enum": ["date-time", "float", "double", "int32", "int64"]},
                    "enum": {"type": "array", "items": TEXT, "minItems": 1}, "properties": members(IDENTIFIER),
                },
                "additionalProperties": False,
                "if": {"required": ["enum"]},
                "then": {"properties": {"type": {"const": "string"}}},
                "allOf": [needs("array", "items")],
            },
        },
    },
    Target.OPENAI: loose(refused_at_root=ROOT),
    Target.COMPATIBLE: loose(refused=("$ref", "$defs"), refused_at_root=ROOT),
    Target.ANTHROPIC: loose(SAFE, refused_at_root=ROOT),
    Target.GEMINI: loose(
        IDENTIFIER, refused=("const", "exclusiveMinimum", "exclusiveMaximum", "format"), refused_at_root=ROOT
    ),
    Target.MCP: {"type": "object", "required": ["type"], "properties": {"type": {"const": "object"}}},
}  # fmt: skip
CHECKERS = {target: jsonschema_rs.validator_for(rule) for target, rule in RULES.items()}
RECURSIVE = {Target.OPENAI_STRICT, Target.OPENAI, Target.ANTHROPIC, Target.GEMINI, Target.MCP}


def problems(schema, target) -> list[str]:
    """Return what a provider would find wrong with a schema."""
    found = [f"{error.instance_path}: {error.message[:200]}" for error in CHECKERS[target].iter_errors(schema)]
    if not jsonschema_rs.meta.is_valid(schema):
        found.append("it is no JSON Schema")
    if target is Target.MCP:
        return found
    parts = list(every_part(schema))
    definitions = schema.get("$defs", {})
    references = [part["$ref"] for part in parts if "$ref" in part]
    found += [f"{one} leads nowhere" for one in references if one.rpartition("/")[2] not in definitions]
    found += [
        f"{one} is a definition that nothing refers to" for one in definitions if f"#/$defs/{one}" not in references
    ]
    if target not in RECURSIVE and any(comes_back(definitions, name, ()) for name in definitions):
        found.append("it is recursive")
    for part in parts:
        names, required = set(part.get("properties", ())), part.get("required", [])
        if target is Target.OPENAI_STRICT and names != set(required):
            found.append(f"required is not every property: {names ^ set(required)}")
        if target in {Target.GEMINI_PARAMETERS, Target.ANTHROPIC_STRICT} and not set(required) <= names:
            found.append("something is required and not declared")
    return found


def every_part(value) -> Iterator[dict]:
    """Yield every object where a schema stands. Data stays out: it may look like one."""
    if isinstance(value, list):
        for item in value:
            yield from every_part(item)
    elif isinstance(value, dict):
        yield value
        for keyword, inner in value.items():
            if keyword in {"properties", "$defs", "patternProperties", "dependentSchemas"}:
                for part in inner.values():
                    yield from every_part(part)
            elif keyword not in {"enum", "const", "default", "required", "dependentRequired"}:
                yield from every_part(inner)


def comes_back(definitions, name, seen) -> bool:
    inside = {part["$ref"].rpartition("/")[2] for part in every_part(definitions[name]) if "$ref" in part}
    return name in seen or any(comes_back(definitions, one, (*seen, name)) for one in inside)
