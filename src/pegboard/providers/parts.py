"""Parts: one schema after another, in the form that a target takes.

The walk obeys the rows of `targets.py`; what becomes of a single keyword is in `ways.py`. What changes the shape of
arguments is noted to be undone (`arguments.py`); what cannot be said is noted as a loss and told in the description,
where a model may still heed it.

Source: the documents named in `targets.py`; JSON Schema 2020-12, sections 8 to 11.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from pegboard.core.aliases import alias
from pegboard.core.names import Json
from pegboard.providers.arguments import Undo
from pegboard.providers.dialect import Words
from pegboard.providers.merging import ANNOTATIONS, type_of, types_of, values_of
from pegboard.providers.reading import JUDGES, SCALARS, Reading, but, kept
from pegboard.providers.targets import PROPERTY_NAMES, Take, Target

__all__ = ["Parts", "Sheet", "TooLarge", "WriteWords"]

# Inlining and spreading alternatives multiply; the largest of 7,422 published schemas has 2,871 parts.
_MAX_PARTS = 10_000
_NOT_IN_DEFINITIONS = re.compile(r"[^A-Za-z0-9_-]")


class TooLarge(Exception):
    """The compiled schema would have too many parts. Stays inside `schemas.py`, which answers with a verdict."""


@dataclass(slots=True)
class Sheet:
    """One schema being written: its words, where they stand, what was written so far, and what is only said."""

    words: Words
    types: tuple[str, ...]
    path: str
    undo: Undo
    found: dict[str, Json] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)


class Parts:
    """One walk over one schema for one target, and what it came upon."""

    def __init__(self, root: Mapping[str, Json], target: Target, write_words: "WriteWords") -> None:
        self.target = target
        self.reading = Reading(root, target)
        self.undo: list[Undo] = []
        self.names: dict[str, str] = {}
        self.definitions: dict[str, Json] = {}
        self._write_words = write_words
        self._places: dict[int, tuple[str, int]] = {}

    def name(self, declared: str) -> str:
        """Return the name of a property here: a function of its declared name alone, and never another's."""
        wire = PROPERTY_NAMES.get(self.target)
        made = declared if wire is None else alias(declared, wire)
        if made != declared:
            self.names[made] = declared
        return made

    def part(self, schema: Json, path: str) -> tuple[Json, int]:
        """Write a schema; return it with the place of what is to be undone in it."""
        place = self._place()
        with self.reading.entered():
            words = self.reading.settled(schema, path)
            return self._nothing(path) if words is None else self.write(words, path, place), place

    def write(self, words: Words, path: str, place: int) -> Json:
        """Write the words of one schema."""
        if "$ref" in words:
            return self._reference(words, path, place)
        if not self.reading.is_closed:
            return self._write_words(self, Sheet(words, types_of(words) or (), path, self.undo[place]))
        keyword = "oneOf" if "oneOf" in words else "anyOf"
        if isinstance(listed := words.get(keyword), list):
            beside = but(words, {keyword, *ANNOTATIONS})
            if keyword == "oneOf" and not self.reading.exclude_each_other(listed, beside):
                self.reading.lose(path, keyword)
            branches = [(branch, f"{path}/{keyword}/{number}") for number, branch in enumerate(listed)]
            return self._any_of(but(words, {keyword}), branches, path, place)
        types = types_of(words) or self._meant(words, path)
        counted = [one for one in types if one != "null"] if self._is_nullable() else types
        if self.reading.takes("several types") is not Take.KEEP and len(counted) > 1:
            by_type: list[tuple[Json, str]] = [(_of_type(words, one), path) for one in types]
            return self._any_of(kept(words, ANNOTATIONS), by_type, path, place)
        return self._write_words(self, Sheet(words, types, path, self.undo[place]))

    def _place(self) -> int:
        if len(self.undo) >= _MAX_PARTS:
            raise TooLarge
        self.undo.append(Undo())
        return len(self.undo) - 1

    def _nothing(self, path: str) -> Json:
        """Write the schema that nothing fits."""
        if not self.reading.is_closed:
            return {"not": {}}
        self.reading.lose(path, "false")
        return self.write(Words(), path, self._place())

    def _meant(self, words: Words, path: str) -> tuple[str, ...]:
        """Name the types of a schema that names none: those that its keywords judge, or any that needs no more."""
        meant = tuple(dict.fromkeys(JUDGES[keyword][0] for keyword in words if keyword in JUDGES))
        self.reading.lose(path, "type")
        return meant or SCALARS

    def _reference(self, words: Words, path: str, place: int) -> Json:
        found = self.reading.target(words)
        if found is None or (self.reading.is_open(found[1]) and self.reading.takes("recursion") is Take.CUT):
            with self.reading.entered():
                inlined = self.reading.settled(words, path, inline=True)
                return self._nothing(path) if inlined is None else self.write(inlined, path, place)
        name, inner = self._definition(*found)
        self.undo[place].same.append(inner)
        reference = {"$ref": f"#/$defs/{name}"}
        beside = self._write_words(self, Sheet(but(words, {"$ref"}), (), path, self.undo[place]))
        if not self.reading.is_closed:
            return {**reference, **beside}
        return {"anyOf": [reference], **beside} if beside else reference

    def _definition(self, pointer: str, schema: Json) -> tuple[str, int]:
        if id(schema) not in self._places:
            wanted = _NOT_IN_DEFINITIONS.sub("_", pointer.rpartition("/")[2]) or "root"
            name, number = wanted, 1
            while name in self.definitions:
                number += 1
                name = f"{wanted}_{number}"
            place = self._place()
            self._places[id(schema)] = name, place
            self.definitions[name] = {}
            with self.reading.entered(schema):
                words = self.reading.settled(schema, pointer)
                self.definitions[name] = self._nothing(pointer) if words is None else self.write(words, pointer, place)
        return self._places[id(schema)]

    def _any_of(self, words: Words, branches: Sequence[tuple[Json, str]], path: str, place: int) -> Json:
        """Write alternatives, each merged with what stands beside them: nothing else may."""
        beside, said = but(words, ANNOTATIONS), kept(words, ANNOTATIONS)
        found: list[tuple[Words, str]] = []
        for branch, where in branches:
            inner = self.reading.settled(branch, where, inline=self.reading.judges(beside))
            if inner is not None and (both := self.reading.merged(inner, beside, path)) is not None:
                found.append((both, where))
        if not found:
            return self._nothing(path)
        others = [one for one in found if types_of(one[0]) != ("null",)] if self._is_nullable() else []
        others = others or found
        if len(others) == 1:
            one, where = others[0]
            alone = cast("dict[str, Json]", self.write(Words({**said, **one}), where, place))
            return alone if len(others) == len(found) else _nullable(alone)
        written = self._alternatives(others, place)
        annotations = self._write_words(self, Sheet(said, (), path, self.undo[place]))
        if not self._is_nullable():
            return {"anyOf": cast("Json", written), **annotations}
        # There an `anyOf` stands alone, so what is said of all is said of each.
        alike: dict[str, Json] = {"anyOf": [{**annotations, **one} for one in written]}
        return alike if len(others) == len(found) else _nullable(alike)

    def _alternatives(self, branches: Sequence[tuple[Words, str]], place: int) -> list[dict[str, Json]]:
        written: list[dict[str, Json]] = []
        for words, where in branches:
            branch = self._place()
            with self.reading.entered():
                made = cast("dict[str, Json]", self.write(words, where, branch))
            if made not in written:
                written.append(made)
                self.undo[place].branches.append((_as_json_schema(made) if self._is_nullable() else made, branch))
            elif self.undo[branch].texts:
                self.reading.lose(where, "enum")  # The text of one value is another value.
        return written

    def _is_nullable(self) -> bool:
        return self.reading.takes("several types") is Take.NULLABLE


WriteWords = Callable[[Parts, Sheet], dict[str, Json]]
"""Writes one schema that is neither a reference nor alternatives: `ways.write_words`."""


def _of_type(words: Words, one: str) -> Words:
    """Return what a schema says of values of one type."""
    found = Words(
        (keyword, value)
        for keyword, value in words.items()
        if keyword not in ANNOTATIONS and one in JUDGES.get(keyword, (one,))
    )
    found["type"] = one
    values = values_of(words)
    if values is not None:
        found.pop("const", None)
        found["enum"] = [value for value in values if type_of(value) == one or (one, type_of(value)) == _WHOLE]
    return found


_WHOLE = ("number", "integer")


def _nullable(written: dict[str, Json]) -> dict[str, Json]:
    if "anyOf" not in written:
        return {**written, "nullable": True}
    first, *others = cast("list[dict[str, Json]]", written["anyOf"])
    return {"anyOf": [_nullable(first), *others]}


def _as_json_schema(written: Json) -> dict[str, Json]:
    """Return a schema of an OpenAPI subset as a validator reads it: null is a type, and nothing undeclared may come."""
    declared = cast("dict[str, Json]", written)
    found = {key: value for key, value in declared.items() if key != "nullable"}
    if "properties" in found:
        members = cast("dict[str, Json]", found["properties"])
        found["properties"] = {name: _as_json_schema(member) for name, member in members.items()}
        found["additionalProperties"] = False
    if "items" in found:
        found["items"] = _as_json_schema(found["items"])
    if "anyOf" in found:
        found["anyOf"] = [_as_json_schema(one) for one in cast("list[Json]", found["anyOf"])]
    return {"anyOf": [found, {"type": "null"}]} if declared.get("nullable") is True else found
