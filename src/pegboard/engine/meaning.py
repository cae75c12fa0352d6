"""Meaning: whether two declarations of a tool say the same, though their bytes differ.

Some servers print a default out of an unordered set, so that they list other bytes at every start. Such a listing is
no change: what was listed first stays. Only what has no order in JSON Schema is compared without one (`_UNORDERED`),
and defaults that list words; a text, a number or a bound that differs is always a change.

Source: RFC 8785 for key order; JSON Schema Validation 2020-12, section 6.
"""

import re
from collections.abc import Callable, Mapping

from pegboard.core.catalog import CatalogEntry, with_row
from pegboard.core.keywords import SUBSCHEMAS, is_map
from pegboard.core.names import Json, canonical_json

__all__ = ["constraints", "same_meaning", "steadied"]

# Words with commas between them, as a default that joins a set is printed. Numbers have an order ("10,20,30,40").
_WORDS = re.compile(r"[A-Za-z_][\w.*-]*(?:, ?[A-Za-z_][\w.*-]*)+")
# What no server declares.
_OWN = ("summary", "examples", "keywords", "mentions", "enabled", "pinned", "proposal")
# What describes a value and refuses none.
_ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "example", "$comment", "deprecated", "readOnly", "writeOnly"}
)


def same_meaning(one: CatalogEntry, other: CatalogEntry) -> bool:
    """Say whether two declarations of one tool differ in nothing but the order of what has none."""
    if one.schema_hash == other.schema_hash:
        return True
    return _texts(one) == _texts(other) and _schemas(one) == _schemas(other)


def steadied(live: CatalogEntry, known: CatalogEntry | None) -> CatalogEntry:
    """Return *live* as it was declared before, where it means the same; what is local and its mentions stay its own."""
    if known is None or live.row == known.row or not same_meaning(live, known):
        return live
    return with_row(known, **{name: getattr(live, name) for name in _OWN})


def constraints(schema: Mapping[str, Json]) -> bytes:
    """Return what of a schema can refuse a value, in one form: texts, defaults and examples are left out."""
    return canonical_json(_settled(schema, _ANNOTATIONS))


def _texts(entry: CatalogEntry) -> tuple[object, ...]:
    return entry.name, entry.title, entry.description, entry.undeclared_schema, canonical_json(entry.annotations)


def _schemas(entry: CatalogEntry) -> tuple[bytes, bytes]:
    return canonical_json(_settled(entry.input_schema)), canonical_json(_settled(entry.output_schema))


def _settled(schema: Json, without: frozenset[str] = frozenset()) -> Json:
    """Return the schema with everything that has no order put into one."""
    # INVARIANT: intake bounds how deep a schema is nested.
    if not isinstance(schema, Mapping):
        return schema
    found: dict[str, Json] = {}
    for keyword, value in schema.items():
        if keyword in without:
            continue
        if keyword in SUBSCHEMAS:
            found[keyword] = _below(keyword, value, without)
        else:
            found[keyword] = _UNORDERED.get(keyword, _as_it_is)(value)
    return found


def _below(keyword: str, value: Json, without: frozenset[str]) -> Json:
    if isinstance(value, Mapping) and is_map(keyword, value):
        # `dependencies` may hold lists of names here.
        return {name: _sorted(one) if isinstance(one, list) else _settled(one, without) for name, one in value.items()}
    if isinstance(value, list):
        return [_settled(one, without) for one in value]
    return _settled(value, without)


def _as_it_is(value: Json) -> Json:
    return value


def _sorted(value: Json) -> Json:
    return sorted(value, key=canonical_json) if isinstance(value, list) else value


def _sorted_each(value: Json) -> Json:
    return {name: _sorted(one) for name, one in value.items()} if isinstance(value, Mapping) else value


def _default(value: Json) -> Json:
    """Sort a default that lists words, each once; anything else may be in order for a reason."""
    if isinstance(value, str) and _WORDS.fullmatch(value):
        words = value.replace(", ", ",").split(",")
        return {"words": sorted(words)} if len(set(words)) == len(words) else value
    if isinstance(value, list) and all(isinstance(one, str) and one[:1].isalpha() for one in value):
        return _sorted(value) if len(set(map(str, value))) == len(value) else value
    return value


# Keywords whose lists have no order, and the one that may print a set.
_UNORDERED: Mapping[str, Callable[[Json], Json]] = {
    "required": _sorted,
    "enum": _sorted,
    "type": _sorted,
    "dependentRequired": _sorted_each,
    "default": _default,
}
