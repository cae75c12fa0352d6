"""Where schemas, data and names stand inside a JSON Schema, as one table for everything that walks one.

Keywords of the drafts 4 to 2020-12 together: a walk may follow a keyword that the schema's own dialect does
not know, never miss one. What is in no table is an annotation (2020-12, section 6.5).

Source: JSON Schema Core 2020-12, sections 8 to 11; draft-07, section 9 (`dependencies`, array `items`).
"""

from collections.abc import Iterator, Mapping
from enum import Enum, auto

from pegboard.core.names import Json

__all__ = ["DATA", "REFERENCES", "STRUCTURE", "SUBSCHEMAS", "Place", "is_map", "subschemas"]


class Place(Enum):
    """Which value a subschema judges, seen from the value that its parent judges."""

    SAME = auto()
    MEMBER = auto()
    """One named member of an object: of several such subschemas at most one applies to a member."""
    MEMBERS = auto()
    """Members of an object, together with others of this kind."""
    KEY = auto()
    ITEM = auto()
    """One item of an array, by position."""
    ITEMS = auto()
    NOWHERE = auto()
    """Nothing, until a reference points at it."""


# A subschema keyword holds one schema, a list of schemas, or, for those of `_MAPS`, schemas by name.
SUBSCHEMAS: Mapping[str, Place] = {
    "allOf": Place.SAME,
    "anyOf": Place.SAME,
    "oneOf": Place.SAME,
    "not": Place.SAME,
    "if": Place.SAME,
    "then": Place.SAME,
    "else": Place.SAME,
    "dependentSchemas": Place.SAME,
    "dependencies": Place.SAME,
    "properties": Place.MEMBER,
    "patternProperties": Place.MEMBERS,
    "additionalProperties": Place.MEMBERS,
    "unevaluatedProperties": Place.MEMBERS,
    "propertyNames": Place.KEY,
    "prefixItems": Place.ITEM,
    "items": Place.ITEMS,
    "additionalItems": Place.ITEMS,
    "unevaluatedItems": Place.ITEMS,
    "contains": Place.ITEMS,
    "contentSchema": Place.NOWHERE,
    "$defs": Place.NOWHERE,
    "definitions": Place.NOWHERE,
}
_MAPS = frozenset({"dependentSchemas", "dependencies", "properties", "patternProperties", "$defs", "definitions"})

REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})

# Values of the caller's kind: changed as text they would mean another value, so they are shown whole or not at all.
DATA = frozenset({"enum", "const", "default", "examples", "example", "pattern"})

# Strings that make the schema work: property names, references, and words of the specification.
STRUCTURE = REFERENCES | frozenset(
    {
        "$schema",
        "$id",
        "id",
        "$anchor",
        "$dynamicAnchor",
        "$recursiveAnchor",
        "$vocabulary",
        "type",
        "format",
        "required",
        "dependentRequired",
        "contentEncoding",
        "contentMediaType",
    }
)


def is_map(keyword: str, value: Json) -> bool:
    """Say whether this subschema keyword holds schemas by name: its keys are names, not keywords."""
    return keyword in _MAPS and isinstance(value, dict)


def subschemas(schema: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield (keyword, name or position, subschema) of one schema, not of those inside it. Nothing for `true`."""
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        if keyword not in SUBSCHEMAS:
            continue
        if is_map(keyword, value):
            yield from ((keyword, name, child) for name, child in value.items())
        elif isinstance(value, list):
            yield from ((keyword, str(position), child) for position, child in enumerate(value))
        else:
            yield keyword, "", value
