"""Where schemas, data and names stand inside a JSON Schema, as one table for everything that walks one.

Keywords of the drafts 4 to 2020-12 together: a walk that measures may follow a keyword that the schema's own dialect
does not know, never miss one; one that decides what is shown asks `DRAFTS` too (`roles.py`). What is in no table is an
annotation (2020-12, section 6.5).

Source: JSON Schema Core 2020-12, sections 8 to 11; draft-07, section 9 (`dependencies`, array `items`).
"""

from collections.abc import Iterator, Mapping
from enum import Enum, auto

from pegboard.core.names import Json

__all__ = [
    "ANCHORS",
    "DATA",
    "DRAFTS",
    "IDENTIFIERS",
    "NAME_LISTS",
    "REFERENCES",
    "STRUCTURE",
    "SUBSCHEMAS",
    "Place",
    "is_map",
    "subschemas",
]


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

# Lists of the names of properties.
NAME_LISTS = frozenset({"required", "dependentRequired"})

# What makes the schema work as it is written.
STRUCTURE = REFERENCES | NAME_LISTS

# Names that a schema gives itself. Nobody needs one that no reference looks for.
ANCHORS = frozenset({"$anchor", "$dynamicAnchor"})
IDENTIFIERS = ANCHORS | {"$id", "id"}

# Values: changed as text they would mean another one, so they are shown whole or not at all. First the caller's
# kind, then words for the validator, of which most drafts take any text.
DATA = (
    frozenset({"enum", "const", "default", "examples", "example", "pattern"})
    | {"type", "format", "contentEncoding", "contentMediaType", "$schema", "$vocabulary", "$recursiveAnchor"}
    | IDENTIFIERS
)

# The first and the last draft that knows a keyword, by number or year; the others are known to all from 4 to 2020-12.
# A draft takes any value for what it does not know. `definitions` and `dependencies` are kept in every meta-schema.
DRAFTS: Mapping[str, tuple[int, int]] = {
    "id": (4, 4),
    "$id": (6, 2020),
    "contains": (6, 2020),
    "propertyNames": (6, 2020),
    "if": (7, 2020),
    "then": (7, 2020),
    "else": (7, 2020),
    "additionalItems": (4, 2019),
    "$defs": (2019, 2020),
    "$anchor": (2019, 2020),
    "$recursiveRef": (2019, 2019),
    "contentSchema": (2019, 2020),
    "dependentRequired": (2019, 2020),
    "dependentSchemas": (2019, 2020),
    "unevaluatedItems": (2019, 2020),
    "unevaluatedProperties": (2019, 2020),
    "prefixItems": (2020, 2020),
    "$dynamicRef": (2020, 2020),
    "$dynamicAnchor": (2020, 2020),
}


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
