"""Dialect: one schema read in the words of 2020-12, whatever draft it was written in, and where its references lead.

A schema is never rewritten as a whole: each part is read when the compiler comes to it, so `definitions` and `$defs`
need no rewriting, and pointers are followed in the schema as it was declared.

Source: JSON Schema 2020-12, "Release notes"; draft-07, section 8.3 (`$ref` and what stands beside it).
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from pegboard.core.keywords import DRAFTS, subschemas
from pegboard.core.names import Json

__all__ = ["Dialect", "Words"]

_DIALECT = re.compile(r"^https?://json-schema\.org/draft(?:-0|/)([0-9]+)")
_NEWEST = 2020
_ESCAPES = re.compile("(?:%[0-9A-Fa-f]{2})+")


class Words(dict[str, Json]):
    """The keywords of one schema, in 2020-12 whatever its dialect. Its parts stay as they were declared."""


class Dialect:
    """The dialect of one schema, and the names that its parts give themselves."""

    def __init__(self, root: Mapping[str, Json]) -> None:
        self._root = root
        declared = root.get("$schema")
        named = _DIALECT.match(declared) if isinstance(declared, str) else None
        self._draft = int(named[1]) if named else _NEWEST
        self._anchors: dict[str, Json] = {}
        self._has_resources = False
        self._note_names()

    def words(self, schema: Mapping[str, Json]) -> Words:
        """Return the keywords of one schema that its dialect knows, in 2020-12: a new value, which may be changed."""
        if isinstance(schema, Words):
            return Words(schema)
        if "$ref" in schema and self._draft <= 7:
            # Up to draft-07 nothing beside a reference counts, but what it says may stay.
            return Words((key, schema[key]) for key in ("$ref", "description", "default") if key in schema)
        words = Words((key, value) for key, value in schema.items() if self._knows(key))
        for keyword, rewrite in _REWRITES.items():
            if keyword in words:
                rewrite(words)
        return words

    def target(self, reference: Json) -> tuple[str, Json] | None:
        """Return where a reference leads, as a JSON pointer and what stands there; None where that is not plain.

        Not plain are references inside embedded resources and dynamic ones; nobody was seen to use them in a tool.
        """
        if not isinstance(reference, str) or not reference.startswith("#") or self._has_resources:
            return None
        name = _ESCAPES.sub(_unescaped, reference[1:])
        if name and not name.startswith("/"):
            return None if name not in self._anchors else (f"#{name}", self._anchors[name])
        found: Any = self._root
        for part in name.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and key in found:
                found = found[key]
            elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                return None
        return (name, found) if isinstance(found, dict | bool) else None

    def _knows(self, keyword: str) -> bool:
        first, last = DRAFTS.get(keyword, (0, _NEWEST))
        return first <= self._draft <= last

    def _note_names(self) -> None:
        waiting: list[Json] = [self._root]
        while waiting:
            schema = waiting.pop()
            if not isinstance(schema, dict):
                continue
            for keyword in ("$anchor", "$id", "id"):
                name = schema.get(keyword)
                if not isinstance(name, str) or not self._knows(keyword):
                    continue
                if keyword == "$anchor" or name.startswith("#"):
                    self._anchors.setdefault(name.removeprefix("#"), schema)
                elif schema is not self._root:
                    self._has_resources = True
            waiting += [child for _, _, child in subschemas(schema)]


def _tuple_items(words: Words) -> None:
    if isinstance(words["items"], list):
        words["prefixItems"] = words.pop("items")
        if "additionalItems" in words:
            words["items"] = words["additionalItems"]
    words.pop("additionalItems", None)


def _exclusive(keyword: str, bound: str) -> Callable[[Words], None]:
    def rewrite(words: Words) -> None:
        # In draft-04 it says whether the bound beside it belongs to the range.
        if isinstance(words[keyword], bool):
            is_exclusive = words.pop(keyword)
            if is_exclusive and bound in words:
                words[keyword] = words.pop(bound)

    return rewrite


def _dependencies(words: Words) -> None:
    found = cast("dict[str, Json]", words.pop("dependencies"))
    for keyword, kind in (("dependentRequired", list), ("dependentSchemas", dict | bool)):
        of_kind = {name: value for name, value in found.items() if isinstance(value, kind)}
        if of_kind:
            words.setdefault(keyword, of_kind)


_REWRITES: Mapping[str, Callable[[Words], None]] = {
    "items": _tuple_items,
    "exclusiveMinimum": _exclusive("exclusiveMinimum", "minimum"),
    "exclusiveMaximum": _exclusive("exclusiveMaximum", "maximum"),
    "dependencies": _dependencies,
}


def _unescaped(found: re.Match[str]) -> str:
    return bytes.fromhex(found.group().replace("%", "")).decode("utf-8", "replace")
