"""Merging: two schemas that judge one value, as one schema.

Parts inside (a property that both declare, say) are not merged here but put under an `allOf`, which is merged when
the compiler comes to it: so nothing is merged that nobody looks at, and no recursion is followed.

Source: JSON Schema 2020-12, sections 10 and 11.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pegboard.core.names import Json, canonical_json
from pegboard.providers.dialect import Words

__all__ = ["ANNOTATIONS", "TYPES", "are_apart", "merge", "type_of", "types_of", "values_of"]

TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
# What judges no argument and goes to a description, or on with its schema.
ANNOTATIONS = frozenset({"description", "default"})
_OBJECT = ("properties", "additionalProperties")


def merge(one: Words, two: Words) -> tuple[Words, tuple[str, ...]] | None:
    """Return one schema for what both take, and the keywords of which one side is lost; None where none is taken.

    What stands in *one* comes first: its description, the order of its properties.
    """
    one, two = _without_idle(one), _without_idle(two)
    merged = Words()
    lost: list[str] = []
    items = [words.keys() & {"items", "prefixItems"} for words in (one, two)]
    if all(items) and "prefixItems" in items[0] | items[1]:
        # Of one side it is the rest after the positions, of the other every item.
        lost.append("prefixItems")
    for keyword in dict.fromkeys((*one, *two)):
        if keyword in _OBJECT:
            continue
        if keyword not in one or keyword not in two or one[keyword] == two[keyword]:
            merged[keyword] = one[keyword] if keyword in one else two[keyword]
        elif keyword in _COMBINED:
            merged[keyword] = _COMBINED[keyword](one[keyword], two[keyword])
        else:
            merged[keyword] = one[keyword]
            if keyword not in ANNOTATIONS:
                lost.append(keyword)
    if merged.get("type") == [] or merged.get("enum") == []:
        return None
    lost += _merge_members(merged, one, two)
    return merged, tuple(lost)


def _without_idle(words: Words) -> Words:
    """Return the keywords that say something here: `then` is idle without `if`, and would wake up beside another's."""
    return Words((word, value) for word, value in words.items() if _NEEDS.get(word, word) in words)


_NEEDS = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}


def types_of(words: Mapping[str, Json]) -> tuple[str, ...] | None:
    """Return the types that a schema names, or that its values have; None where it names none."""
    declared = words.get("type")
    if isinstance(declared, str):
        return (declared,)
    if isinstance(declared, list):
        return tuple(str(name) for name in declared)
    values = values_of(words)
    return None if values is None else tuple(dict.fromkeys(type_of(value) for value in values))


def values_of(words: Mapping[str, Json]) -> list[Json] | None:
    """Return the values that a schema lists, None where it lists none."""
    if "const" in words:
        return [words["const"]]
    listed = words.get("enum")
    return list(listed) if isinstance(listed, list) else None


def type_of(value: Json) -> str:
    """Return the JSON Schema type of a value; of a whole number `integer`."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float) and value.is_integer():
        return "integer"
    return _TYPES_OF[type(value)]


_TYPES_OF = {type(None): "null", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


def are_apart(one: Words, two: Words) -> bool:
    """Say whether it is plain that no value fits both: by their types, or by a property that tells them apart."""
    first, second = types_of(one), types_of(two)
    if first is not None and second is not None and not _common_types(first, second):
        return True
    if _are_different(values_of(one), values_of(two)):
        return True
    return first == second == ("object",) and any(
        _are_different(*(_values_of_member(words, name) for words in (one, two)))
        for name in set(_names(one)) & set(_names(two))
    )


def _are_different(one: list[Json] | None, two: list[Json] | None) -> bool:
    if one is None or two is None:
        return False
    return not {canonical_json(value) for value in one} & {canonical_json(value) for value in two}


def _names(words: Words) -> list[str]:
    required = words.get("required")
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []


def _values_of_member(words: Words, name: str) -> list[Json] | None:
    properties = words.get("properties")
    member = properties.get(name) if isinstance(properties, dict) else None
    return values_of(member) if isinstance(member, dict) else None


def _merge_members(merged: Words, one: Words, two: Words) -> list[str]:
    """Merge what is declared of members: of each name what both sides say of it, the other's rest included."""
    if not any(keyword in words for words in (one, two) for keyword in _OBJECT):
        return []
    sides = [(_properties(words), words.get("additionalProperties", True)) for words in (one, two)]
    names = dict.fromkeys(name for properties, _ in sides for name in properties)
    if names:
        merged["properties"] = {
            name: _both(*(properties.get(name, rest) for properties, rest in sides)) for name in names
        }
    rest = _both(sides[0][1], sides[1][1])
    if rest is not True:
        merged["additionalProperties"] = rest
    # A pattern of one side would let members through that the other side's rest does not know.
    by_pattern = any("patternProperties" in words for words in (one, two))
    return ["patternProperties"] if by_pattern and any(rest is not True for _, rest in sides) else []


def _properties(words: Words) -> dict[str, Json]:
    found = words.get("properties")
    return found if isinstance(found, dict) else {}


def _both(one: Json, two: Json) -> Json:
    """Return a schema for what both take, left to be merged later."""
    if one is False or two is False:
        return False
    if one is True or one == {} or one == two:
        return two
    return one if two is True or two == {} else {"allOf": [one, two]}


def _common_types(one: Json, two: Json) -> list[Json]:
    first, second = ([side] if isinstance(side, str) else list(side) for side in (one, two))  # type: ignore[arg-type]
    found = [name for name in first if name in second or (name == "integer" and "number" in second)]
    return found + [name for name in second if name == "integer" and "number" in first and "integer" not in first]


def _one_type(one: Json, two: Json) -> Json:
    found = _common_types(one, two)
    return found[0] if len(found) == 1 else found


def _common_values(one: Any, two: Any) -> Json:
    known = {canonical_json(value) for value in two}
    return [value for value in one if canonical_json(value) in known]


def _names_of_both(one: Any, two: Any) -> Json:
    return list(dict.fromkeys((*one, *two)))


def _all_of_both(one: Any, two: Any) -> Json:
    return [*one, *two]


_COMBINED: Mapping[str, Callable[[Any, Any], Json]] = {
    "type": _one_type,
    "enum": _common_values,
    "required": _names_of_both,
    "allOf": _all_of_both,
    "items": _both,
    "minimum": max,
    "exclusiveMinimum": max,
    "minLength": max,
    "minItems": max,
    "minProperties": max,
    "maximum": min,
    "exclusiveMaximum": min,
    "maxLength": min,
    "maxItems": min,
    "maxProperties": min,
    "uniqueItems": max,
}
