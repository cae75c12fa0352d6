"""Roles: what each part of one JSON Schema is there for, in the schema's own dialect.

A string in a schema is a name that the schema needs to work (of a property or a definition, or a reference that
resolves), a value of the caller's kind, or a text. Whatever is not known to be one of the first two is a text: the
values of unknown keywords, those of keywords of another draft, and a string where a schema should stand. What a
reference points at is a schema wherever it stands, and the keys on the way to it are names.

A schema inside of another dialect than the root's is read in the root's, where more of it is text.

Source: JSON Schema Core 2020-12, sections 6.5 (unknown keywords), 8 and 9; the drafts 4 to 2019-09 likewise.
"""

import re
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import TypeAlias

from pegboard.core.keywords import ANCHORS, DATA, DRAFTS, IDENTIFIERS, NAME_LISTS, REFERENCES, SUBSCHEMAS, is_map
from pegboard.core.names import Json

__all__ = ["Role", "Roles", "all_strings", "are_names"]

_DIALECT = re.compile(r"^https?://json-schema\.org/draft(?:-0|/)([0-9]+)")
_NEWEST = 2020
_ESCAPES = re.compile("(?:%[0-9A-Fa-f]{2})+")

Schema: TypeAlias = Mapping[str, Json]


class Role(Enum):
    """What the value of one keyword is."""

    NAMES = auto()
    """Needed as it is: names of properties, a reference, or what a reference needs to be found."""
    SCHEMAS = auto()
    """A schema, a list of schemas, or schemas by name."""
    DATA = auto()
    """A value: changed as text it would mean another one."""
    TEXT = auto()


class Roles:
    """The roles in one schema. It is read once, and told apart by identity: ask about the same objects."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._draft = _draft(root)
        self._targets: set[int] = set()
        self._on_the_way: set[tuple[int, str]] = set()
        self._used: set[tuple[int, str]] = set()
        """(schema, keyword) of references that resolve, and of identifiers that these need."""
        self._anchors: dict[str, list[tuple[Schema, str]]] = {}
        self._follow_references()

    def of(self, schema: Schema, keyword: str) -> Role:
        """Say what the value of this keyword of a schema is."""
        value = schema[keyword]
        if (id(schema), keyword) in self._used:
            return Role.NAMES
        if keyword in DATA:
            return Role.DATA
        if not self._knows(keyword):
            return Role.TEXT
        if keyword in SUBSCHEMAS:
            return Role.SCHEMAS
        listed = value.values() if keyword == "dependentRequired" and isinstance(value, dict) else [value]
        return Role.NAMES if keyword in NAME_LISTS and all(map(_lists_names, listed)) else Role.TEXT

    def is_target(self, value: Json) -> bool:
        """Say whether a reference points at this object."""
        return id(value) in self._targets

    def is_on_the_way(self, holder: Schema, key: str) -> bool:
        """Say whether a reference goes through this member."""
        return (id(holder), key) in self._on_the_way

    def strings(self) -> Iterator[str]:
        """Yield every string, keys too, but the names that the schema needs."""
        yield from self._in_schema(self._root)

    def _in_schema(self, schema: Json) -> Iterator[str]:
        if not isinstance(schema, dict):
            yield from self._in_text(schema)
            return
        for keyword, value in schema.items():
            role = self.of(schema, keyword)
            if role is Role.SCHEMAS:
                for child in _children(keyword, value):
                    yield from self._in_schema(child)
            elif role is Role.DATA:
                yield from all_strings(value)
            elif role is Role.TEXT:
                yield from self._in_member(schema, keyword)

    def _in_text(self, value: Json) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            for child in value:
                yield from self._in_text(child)
        elif isinstance(value, dict):
            if self.is_target(value):
                yield from self._in_schema(value)
                return
            for key in value:
                yield from self._in_member(value, key)

    def _in_member(self, holder: Schema, key: str) -> Iterator[str]:
        if not self.is_on_the_way(holder, key):
            yield key
        yield from self._in_text(holder[key])

    def _knows(self, keyword: str) -> bool:
        first, last = DRAFTS.get(keyword, (0, _NEWEST))
        return first <= self._draft <= last

    def _follow_references(self) -> None:
        """Walk every schema; what a reference points at may be one that the walk would not have come to."""
        waiting: list[tuple[Json, tuple[Schema, ...]]] = [(self._root, ())]
        dangling: list[tuple[Schema, str, tuple[Schema, ...]]] = []
        seen: set[int] = set()
        while waiting:
            schema, around = waiting.pop()
            if isinstance(schema, dict) and id(schema) not in seen:
                seen.add(id(schema))
                around = self._resources(schema, around)
                waiting += [(child, around) for child in self._inside(schema)]
                dangling += [(schema, word, around) for word in REFERENCES & schema.keys() if self._knows(word)]
            if not waiting:
                # An anchor may stand anywhere, so references are followed when the walk is at its end, and it goes on.
                followed = [(place, list(self._followed(*place))) for place in dangling]
                waiting = [(target, place[2]) for place, targets in followed for target in targets]
                dangling = [place for place, targets in followed if not targets]

    def _inside(self, schema: Schema) -> Iterator[Json]:
        for keyword, value in schema.items():
            if keyword in SUBSCHEMAS and self._knows(keyword):
                yield from _children(keyword, value)

    def _resources(self, schema: Schema, around: tuple[Schema, ...]) -> tuple[Schema, ...]:
        """Note the names a schema gives itself, and return the resources in which its references are looked up."""
        for keyword in IDENTIFIERS:
            name = schema.get(keyword)
            if not isinstance(name, str) or not self._knows(keyword):
                continue
            if keyword in ANCHORS or name.startswith("#"):
                self._anchors.setdefault(name.removeprefix("#"), []).append((schema, keyword))
            elif schema is not self._root:
                around = (*around, schema)
        return around

    def _followed(self, schema: Schema, keyword: str, around: tuple[Schema, ...]) -> Iterator[Json]:
        """Yield what a reference means, and note what it needs; nothing where it does not resolve."""
        reference = schema[keyword]
        if not isinstance(reference, str) or not reference.startswith("#"):
            return
        name = _ESCAPES.sub(_unescaped, reference[1:])
        if name and not name.startswith("/"):
            self._used |= {(id(owner), word) for owner, word in self._anchors.get(name, ())}
            targets: list[Json] = [owner for owner, _ in self._anchors.get(name, ())]
        else:
            targets = [self._at(name, around)]
        for target in targets:
            if target is not None:
                self._used.add((id(schema), keyword))
                self._used |= {(id(one), word) for one in around for word in ("$id", "id") if self._knows(word)}
                if isinstance(target, dict):
                    self._targets.add(id(target))
                yield target

    def _at(self, pointer: str, around: tuple[Schema, ...]) -> Json:
        """Follow a pointer from the innermost resource in which it leads anywhere."""
        for base in (*reversed(around), self._root):
            found, way = base, []
            for part in pointer.split("/")[1:]:
                name = part.replace("~1", "/").replace("~0", "~")
                if isinstance(found, dict) and name in found:
                    way.append((id(found), name))
                    found = found[name]
                elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
                    found = found[int(name)]
                else:
                    break
            else:
                self._on_the_way.update(way)
                return found
        return None


def are_names(keyword: str, child: Json) -> bool:
    """Say whether a list of properties' names stands where this keyword of schemas by name has a schema."""
    return keyword == "dependencies" and _lists_names(child)


def all_strings(value: Json) -> Iterator[str]:
    """Yield every string of a value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for child in value:
            yield from all_strings(child)
    elif isinstance(value, dict):
        for key, child in value.items():
            yield key
            yield from all_strings(child)


def _children(keyword: str, value: Json) -> Iterator[Json]:
    """Yield what stands where this keyword expects schemas, whether it is one or not."""
    if is_map(keyword, value) and isinstance(value, dict):
        yield from (child for child in value.values() if not are_names(keyword, child))
    elif isinstance(value, list):
        yield from value
    else:
        yield value


def _lists_names(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _draft(root: Json) -> int:
    """Return the number or year of the draft; what names none that we know is read as the newest, as validators do."""
    named = root.get("$schema") if isinstance(root, dict) else None
    found = _DIALECT.match(named) if isinstance(named, str) else None
    return int(found.group(1)) if found else _NEWEST


def _unescaped(found: re.Match[str]) -> str:
    return bytes.fromhex(found.group().replace("%", "")).decode("utf-8", "replace")
