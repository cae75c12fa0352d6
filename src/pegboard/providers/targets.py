"""Targets: the model APIs that a tool goes to, and what each takes of JSON Schema, as one table.

Whatever a row names is written in the words of 2020-12. A keyword that has no row judges no argument and is left out
everywhere (`title`, `$schema`, `examples`, `discriminator`, `x-…`, unknown ones). MCP takes JSON Schema whole.

Source: OpenAI, "Structured outputs", "Supported schemas"; Anthropic, "Structured outputs", "JSON Schema limitations";
Google, `Schema` and `FunctionDeclaration` of the Gemini API; MCP 2026-07-28, "Tool".
"""

import re
from collections.abc import Mapping
from enum import StrEnum

from pegboard.core.aliases import Wire

__all__ = [
    "CLOSED",
    "FORMATS",
    "LIMITS",
    "PROPERTY_NAMES",
    "STRICT",
    "TABLE",
    "TESTED_FORMATS",
    "TOGETHER",
    "Limit",
    "Take",
    "Target",
    "take",
]


class Target(StrEnum):
    """Where a tool's schema goes. Responses and Chat Completions of OpenAI take the same schemas: `openai`."""

    OPENAI_STRICT = "openai-strict"
    OPENAI = "openai"
    COMPATIBLE = "openai-compatible"
    """Chat Completions of others: the templates of open models print what a reference leads to, or nothing of it."""
    ANTHROPIC = "anthropic"
    ANTHROPIC_STRICT = "anthropic-strict"
    GEMINI = "gemini"
    """`parametersJsonSchema`."""
    GEMINI_PARAMETERS = "gemini-parameters"
    """`parameters`, an OpenAPI subset: the Live API takes nothing else."""
    MCP = "mcp"


class Take(StrEnum):
    """What becomes of one thing of a schema at one target. Whatever is said goes to the description."""

    KEEP = "kept"
    SAY = "said"
    """Left out and said; it judges no argument, so that is no loss."""
    LOSE = "lost"
    """Left out and said: a loss."""
    ANY_OF = "as anyOf"
    """A loss, unless no argument can fit two of the alternatives."""
    MERGE = "merged"
    ENUM = "as enum"
    """An `enum` of one value."""
    TEXT = "as text"
    """Values that are no strings are written as strings, and read back."""
    SPLIT = "as anyOf by type"
    NULLABLE = "as nullable"
    """Null becomes `nullable`, several other types an `anyOf`."""
    INCLUSIVE = "inclusive"
    """Of integers the next one inside; of other numbers it is said, a loss."""
    SHORT = "0 or 1"
    """Kept where the value is 0 or 1; else said, a loss."""
    WIDEN = "any position"
    """Each item may be any of those that a position takes: a loss."""
    LISTED = "listed ones"
    """Kept where `FORMATS` has it; else said, a loss where the gate tests that format."""
    NO_LOOK = "no look-around"
    """Kept unless it looks around; else said, a loss."""
    CLOSE = "closed"
    """No member but those declared: a loss where others are declared too, or none is named."""
    NULL = "required, or null"
    """Null means left out, and is undone. A loss where null is a value of its own."""
    INLINE = "inlined"
    CUT = "cut"
    """Where a schema comes back to itself its type alone stays: a loss."""


_keep, _say, _lose = Take.KEEP, Take.SAY, Take.LOSE
_COLUMNS = tuple(target for target in Target if target is not Target.MCP)

# A row a topic: a keyword, or in words what no one keyword says. The columns are those of `Target`, without MCP.
_ROWS: tuple[tuple[str, tuple[Take, Take, Take, Take, Take, Take, Take]], ...] = (
    ("optional property", (Take.NULL, _keep, _keep, _keep, _keep, _keep, _keep)),
    ("additionalProperties", (Take.CLOSE, _keep, _keep, _keep, Take.CLOSE, _keep, Take.CLOSE)),
    ("several types", (_keep, _keep, _keep, _keep, Take.SPLIT, _keep, Take.NULLABLE)),
    ("$ref", (_keep, _keep, Take.INLINE, _keep, _keep, _keep, Take.INLINE)),
    ("recursion", (_keep, _keep, Take.CUT, _keep, Take.CUT, _keep, Take.CUT)),
    ("anyOf", (_keep, _keep, _keep, _keep, _keep, _keep, _keep)),
    ("oneOf", (Take.ANY_OF, _keep, _keep, _keep, Take.ANY_OF, _keep, Take.ANY_OF)),
    ("allOf", (Take.MERGE, _keep, _keep, _keep, Take.MERGE, _keep, Take.MERGE)),
    ("const", (_keep, _keep, _keep, _keep, Take.ENUM, Take.ENUM, Take.ENUM)),
    ("enum", (_keep, _keep, _keep, _keep, _keep, _keep, Take.TEXT)),
    ("minimum", (_keep, _keep, _keep, _keep, _lose, _keep, _keep)),
    ("maximum", (_keep, _keep, _keep, _keep, _lose, _keep, _keep)),
    ("exclusiveMinimum", (_keep, _keep, _keep, _keep, _lose, Take.INCLUSIVE, Take.INCLUSIVE)),
    ("exclusiveMaximum", (_keep, _keep, _keep, _keep, _lose, Take.INCLUSIVE, Take.INCLUSIVE)),
    ("multipleOf", (_keep, _keep, _keep, _keep, _lose, _keep, _lose)),
    ("minLength", (_keep, _keep, _keep, _keep, _lose, _keep, _keep)),
    ("maxLength", (_keep, _keep, _keep, _keep, _lose, _keep, _keep)),
    ("pattern", (Take.NO_LOOK, _keep, _keep, _keep, _lose, _keep, Take.NO_LOOK)),
    ("format", (Take.LISTED, _keep, _keep, _keep, Take.LISTED, Take.LISTED, Take.LISTED)),
    ("minItems", (_keep, _keep, _keep, _keep, Take.SHORT, _keep, _keep)),
    ("maxItems", (_keep, _keep, _keep, _keep, _lose, _keep, _keep)),
    ("prefixItems", (Take.WIDEN, _keep, _keep, _keep, Take.WIDEN, _keep, Take.WIDEN)),
    ("uniqueItems", (_lose, _keep, _keep, _keep, _lose, _keep, _lose)),
    ("contains", (_lose, _keep, _keep, _keep, _lose, _keep, _lose)),
    ("minContains", (_lose, _keep, _keep, _keep, _lose, _keep, _lose)),
    ("maxContains", (_lose, _keep, _keep, _keep, _lose, _keep, _lose)),
    ("minProperties", (_lose, _keep, _keep, _keep, _lose, _keep, _keep)),
    ("maxProperties", (_lose, _keep, _keep, _keep, _lose, _keep, _keep)),
    ("patternProperties", (_lose, _keep, _keep, _keep, _lose, _keep, _lose)),
    ("propertyNames", (_lose, _keep, _keep, _keep, _lose, _keep, _lose)),
    ("dependentRequired", (_lose, _keep, _keep, _keep, _lose, _keep, _lose)),
    ("dependentSchemas", (_lose, _keep, _keep, _keep, _lose, _keep, _lose)),
    ("unevaluatedProperties", (_lose, _keep, _keep, _keep, _lose, _keep, _lose)),
    ("unevaluatedItems", (_lose, _keep, _keep, _keep, _lose, _keep, _lose)),
    ("not", (_lose, _keep, _keep, _keep, _lose, _keep, _lose)),
    ("if", (_lose, _keep, _keep, _keep, _lose, _keep, _lose)),
    ("then", (_lose, _keep, _keep, _keep, _lose, _keep, _lose)),
    ("else", (_lose, _keep, _keep, _keep, _lose, _keep, _lose)),
    ("default", (_say, _keep, _keep, _keep, _say, _keep, _keep)),
)
TABLE: Mapping[str, Mapping[Target, Take]] = {topic: dict(zip(_COLUMNS, takes, strict=True)) for topic, takes in _ROWS}


def take(topic: str, target: Target) -> Take | None:
    """Return what becomes of a topic at a target; None for a keyword that has no row, and so is left out."""
    return TABLE.get(topic, {}).get(target)


# Where a target has a strict form: the provider then holds the model to the schema.
STRICT = {Target.OPENAI: Target.OPENAI_STRICT, Target.ANTHROPIC: Target.ANTHROPIC_STRICT}
# Here each value has its type written beside it, an `anyOf` stands alone, and what may stand beside `$ref` is moved.
CLOSED = frozenset(target for target in _COLUMNS if TABLE["additionalProperties"][target] is Take.CLOSE)

_BASIC_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
FORMATS: Mapping[Target, frozenset[str]] = {
    Target.OPENAI_STRICT: frozenset(_BASIC_FORMATS),
    Target.ANTHROPIC_STRICT: frozenset(_BASIC_FORMATS | {"uri"}),
    # Of strings these alone are taken by every version of the API; numbers have their own.
    Target.GEMINI: frozenset(),
    Target.GEMINI_PARAMETERS: frozenset({"date-time", "float", "double", "int32", "int64"}),
}

# What the gate's validator tests: another format is a remark, and leaving it out is no loss.
TESTED_FORMATS = frozenset(
    _BASIC_FORMATS
    | {"uri", "uri-reference", "uri-template", "iri", "iri-reference", "regex", "json-pointer"}
    | {"relative-json-pointer", "idn-email", "idn-hostname"}
)

# Names of properties that a target takes; where it has no row, all.
_SAFE_NAME = Wire(foreign=re.compile(r"[^A-Za-z0-9_.-]"), limit=64)
_IDENTIFIER = Wire(foreign=re.compile(r"[^A-Za-z0-9_]|^[^A-Za-z_]"), limit=64, dot="__")
PROPERTY_NAMES: Mapping[Target, Wire] = {
    Target.ANTHROPIC: _SAFE_NAME,
    Target.ANTHROPIC_STRICT: _SAFE_NAME,
    Target.GEMINI: _IDENTIFIER,
    Target.GEMINI_PARAMETERS: _IDENTIFIER,
}


class Limit(StrEnum):
    """What a target counts over one schema."""

    TOOLS = "tools"
    LEVELS = "levels of objects"
    PROPERTIES = "properties"
    VALUES = "values of enums"
    CHARACTERS = "characters of names and values"
    OPTIONAL = "optional properties"
    UNIONS = "properties of several types"


LIMITS: Mapping[Target, Mapping[Limit, int]] = {
    Target.OPENAI_STRICT: {
        Limit.LEVELS: 10,
        Limit.PROPERTIES: 5_000,
        Limit.VALUES: 1_000,
        Limit.CHARACTERS: 120_000,
    },
    Target.ANTHROPIC_STRICT: {Limit.TOOLS: 20, Limit.OPTIONAL: 24, Limit.UNIONS: 16},
}
# Where all strict tools of one request are counted together; one schema must stay below alone in any case.
TOGETHER = frozenset({Target.ANTHROPIC_STRICT})
