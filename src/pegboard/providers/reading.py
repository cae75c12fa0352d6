"""Reading: what one schema says, before it is written for a target.

A reference or an `allOf` that cannot stay is merged with what stands beside it. Nothing is followed twice on one way:
where a schema comes back to itself its type is all that is read.

Source: JSON Schema 2020-12, sections 8 and 10.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import cast

from pegboard.core.names import Json
from pegboard.providers.dialect import Dialect, Words
from pegboard.providers.merging import ANNOTATIONS, are_apart, merge, types_of, values_of
from pegboard.providers.targets import CLOSED, Take, Target, take

__all__ = ["JUDGES", "SCALARS", "Loss", "Reading", "but", "kept"]

# What stands for "any value" where each value has a type: objects and arrays would need members and items.
SCALARS = ("string", "number", "boolean", "null")
# Up to this many alternatives each pair is looked at, to see whether they exclude each other.
_MAX_ALTERNATIVES = 60

# Which types a keyword judges: where types are split it goes with them, and where none is named it names them.
JUDGES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("minLength", "maxLength", "pattern"), ("string",)),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), ("number", "integer")
    ),
    **dict.fromkeys(("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "unevaluatedItems"), ("array",)),
    **dict.fromkeys(("contains", "minContains", "maxContains"), ("array",)),
    **dict.fromkeys(("properties", "required", "additionalProperties", "minProperties", "maxProperties"), ("object",)),
    **dict.fromkeys(("patternProperties", "propertyNames", "dependentRequired", "dependentSchemas"), ("object",)),
    "unevaluatedProperties": ("object",),
}


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing that the compiled schema does not say: where in the declared one (JSON pointer), and what."""

    path: str
    what: str


class Reading:
    """One schema as it is read for one target, and what was lost so far."""

    def __init__(self, root: Mapping[str, Json], target: Target) -> None:
        self.losses: dict[Loss, None] = {}
        self.is_closed = target in CLOSED
        self._target = target
        self._dialect = Dialect(root)
        self._open: list[int] = []

    def lose(self, path: str, what: str) -> None:
        """Note a loss."""
        self.losses[Loss(path, what)] = None

    def takes(self, topic: str) -> Take | None:
        """Return what becomes of a topic here."""
        return take(topic, self._target)

    def target(self, words: Words) -> tuple[str, dict[str, Json]] | None:
        """Return where a reference leads and the schema there; None where it is not plain, or is `true` or `false`."""
        found = self._dialect.target(words["$ref"])
        return found if found is not None and isinstance(found[1], dict) else None  # type: ignore[return-value]

    def is_open(self, schema: Json) -> bool:
        """Say whether this schema is being followed."""
        return id(schema) in self._open

    @contextmanager
    def entered(self, *schemas: Json) -> Iterator[None]:
        """Note what is followed inside, and forget it at the end."""
        before = len(self._open)
        self._open += map(id, schemas)
        yield
        del self._open[before:]

    def settled(self, schema: Json, path: str, *, inline: bool = False) -> Words | None:
        """Return the words of a schema, merged with what cannot stay apart from them; None if nothing can fit.

        Args:
            schema: As declared, or made by merging.
            path: Where it stands.
            inline: Follow a reference, and merge `allOf`, though the target would take them.
        """
        words: Words | None = self._words(schema)
        while words is not None:
            if "$ref" in words and (inline or self._inlines(words)):
                words = self._referred(words, path)
            elif isinstance(words.get("allOf"), list) and (inline or self.takes("allOf") is Take.MERGE):
                listed = cast("list[Json]", words.pop("allOf"))
                parts = [self.settled(one, f"{path}/allOf/{number}", inline=True) for number, one in enumerate(listed)]
                words = self._all_merged([words, *parts], path)
            else:
                break
        return words

    def merged(self, one: Words, two: Words, path: str) -> Words | None:
        """Return the words of two schemas that judge one value as one; what cannot be joined is lost."""
        found = merge(one, two)
        if found is None:
            return None
        for keyword in found[1]:
            if keyword in JUDGES or self.takes(keyword):
                self.lose(path, keyword)
        return found[0]

    def _all_merged(self, parts: Sequence[Words | None], path: str) -> Words | None:
        """Merge by halves: one after another, each of many parts would copy all that the ones before it say."""
        if len(parts) == 1:
            return parts[0]
        middle = len(parts) // 2
        one, two = self._all_merged(parts[:middle], path), self._all_merged(parts[middle:], path)
        return None if one is None or two is None else self.merged(one, two, path)

    def takes_null(self, schema: Json) -> bool:
        """Say whether null may fit a declared schema. True where that is not plain."""
        words = self.peeked(schema)
        if words is None:
            return False
        values, types = values_of(words), types_of(words)
        if (values is not None and None not in values) or (types is not None and "null" not in types):
            return False
        return all(
            any(map(self.takes_null, cast("list[Json]", words[keyword])))
            for keyword in ("anyOf", "oneOf")
            if isinstance(words.get(keyword), list)
        )

    def _words(self, schema: Json) -> Words | None:
        if isinstance(schema, dict):
            return self._dialect.words(schema)
        return None if schema is False else Words()

    def exclude_each_other(self, branches: Collection[Json], beside: Words) -> bool:
        """Say whether it is plain that no value fits two of these alternatives."""
        if len(branches) > _MAX_ALTERNATIVES:
            return False
        looked = [self.peeked(Words(allOf=[branch, beside])) for branch in branches]
        return all(one is None or two is None or are_apart(one, two) for one, two in combinations(looked, 2))

    def peeked(self, schema: Json) -> Words | None:
        """Settle a schema without a trace: no loss is noted."""
        before = len(self.losses)
        with self.entered():
            words = self.settled(schema, "", inline=True)
        while len(self.losses) > before:
            self.losses.popitem()
        return words

    def _inlines(self, words: Words) -> bool:
        if self.takes("$ref") is Take.INLINE:
            return True
        return self.is_closed and self.judges(but(words, {"$ref"}))

    def judges(self, words: Words) -> bool:
        """Say whether these words judge arguments, as some other than a description do."""
        return any(
            keyword == "type" or keyword in JUDGES or self.takes(keyword) for keyword in words.keys() - ANNOTATIONS
        )

    def _referred(self, words: Words, path: str) -> Words | None:
        found = self._dialect.target(words.pop("$ref"))
        if found is None:
            self.lose(path, "$ref")
            return words
        schema = found[1]
        inner = self._words(schema)
        if inner is None:
            return None
        if id(schema) in self._open:
            self.lose(path, "recursion")
            inner = Words(type=list(types_of(inner) or SCALARS))
        self._open.append(id(schema))
        return self.merged(words, inner, path)


def kept(words: Mapping[str, Json], keywords: Collection[str]) -> Words:
    """Return these keywords alone."""
    return Words((keyword, value) for keyword, value in words.items() if keyword in keywords)


def but(words: Words, keywords: Collection[str]) -> Words:
    """Return all but these keywords."""
    return Words((keyword, value) for keyword, value in words.items() if keyword not in keywords)
