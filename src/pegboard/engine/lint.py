"""Lint: what makes a catalog hard to search or to trust, tool by tool. Nothing here changes what is served.

Likeness is that of the words that are searched: a description and parameters that two tools share leave a ranking only
their names to tell them apart.

Source: DESIGN section 3; prefix filtering as in Bayardo et al., WWW 2007, which compares only texts that share a rare
word and misses no pair.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from pegboard.core.catalog import CatalogEntry
from pegboard.core.names import Json
from pegboard.engine.findings import Severity, findings, folded_name
from pegboard.retrieval.documents import document
from pegboard.retrieval.tokens import words

__all__ = ["CHECKS", "Problem", "lint"]

# Of 2,583 published tools 1 in 27 is weak by this and by what stands in `_weak`.
_FEWEST_WORDS = 5
# Shared share of all words of two texts. Short texts share too much by chance.
_ALIKE = 0.9
_FEWEST_COMPARED = 8
# What a text says of the name's own words tells a ranking nothing new.
_EMPTY = frozenset({"a", "an", "the", "of", "to", "and", "or", "in", "for", "this", "tool", "by", "with", "from"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that its owner should look at."""

    tool: str
    check: str
    problem: str
    where: str | None = None
    """A JSON pointer into the tool, where it is about a part of it."""

    def to_json(self) -> dict[str, Json]:
        """Return one element of `problems` in an answer."""
        return {"tool": self.tool, "check": self.check, "problem": self.problem, "where": self.where}


def lint(entries: Sequence[CatalogEntry]) -> tuple[Problem, ...]:
    """Return the problems of a catalog, by tool id and then in the order of `CHECKS`."""
    found = [problem for check in CHECKS for problem in check(entries)]
    return tuple(sorted(found, key=lambda one: one.tool))


def _weak(entries: Sequence[CatalogEntry]) -> Iterator[Problem]:
    for entry in entries:
        one = document(entry)
        said = set(words(one.text)) - _EMPTY
        if not said:
            yield Problem(tool=entry.tool_id, check="weak-description", problem="it has no description")
        elif said <= set(words(one.name)):
            yield Problem(tool=entry.tool_id, check="weak-description", problem="its description repeats its name")
        elif len(words(one.text)) < _FEWEST_WORDS and not one.curated:
            count = len(words(one.text))
            yield Problem(tool=entry.tool_id, check="weak-description", problem=f"its description has {count} words")


def _undeclared(entries: Sequence[CatalogEntry]) -> Iterator[Problem]:
    for entry in entries:
        if entry.undeclared_schema:
            problem = "its server declares no input schema, so any arguments are taken"
            yield Problem(tool=entry.tool_id, check="undeclared-schema", problem=problem, where="/inputSchema")


def _colliding(entries: Sequence[CatalogEntry]) -> Iterator[Problem]:
    holders: dict[str, list[CatalogEntry]] = {}
    for entry in entries:
        holders.setdefault(folded_name(entry.name), []).append(entry)
    for same in holders.values():
        for entry in same if len(same) > 1 else ():
            others = _listed(other.tool_id for other in same if other is not entry)
            yield Problem(tool=entry.tool_id, check="colliding-name", problem=f"its name passes for that of {others}")


def _alike(entries: Sequence[CatalogEntry]) -> Iterator[Problem]:
    texts = [_compared(entry) for entry in entries]
    near: dict[int, list[int]] = {}
    for one, other in _pairs(texts):
        near.setdefault(one, []).append(other)
        near.setdefault(other, []).append(one)
    for place, others in near.items():
        problem = f"it says nearly the same as {_listed(entries[other].tool_id for other in sorted(others))}"
        yield Problem(tool=entries[place].tool_id, check="near-duplicate", problem=problem)


def _suspicious(entries: Sequence[CatalogEntry]) -> Iterator[Problem]:
    for entry in entries:
        for one in findings(entry):
            if one.severity is not Severity.LOW:
                problem = f"{one.severity}: {one.snippet}"
                yield Problem(tool=one.tool, check=one.rule, problem=problem, where=one.where)


Check = Callable[[Sequence[CatalogEntry]], Iterator[Problem]]

CHECKS: tuple[Check, ...] = (_weak, _undeclared, _colliding, _alike, _suspicious)


def _compared(entry: CatalogEntry) -> frozenset[str]:
    one = document(entry)
    return frozenset(words(f"{one.text} {one.curated} {one.parameters}"))


def _pairs(texts: Sequence[frozenset[str]]) -> Iterator[tuple[int, int]]:
    """Yield the places of texts that are alike, each pair once."""
    frequency = Counter(word for text in texts for word in text)
    by_word: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        if len(text) < _FEWEST_COMPARED:
            continue
        # Two sets that share so much share one of so many of their rarest words.
        rarest = sorted(text, key=lambda word: (frequency[word], word))[: len(text) - ceil(_ALIKE * len(text)) + 1]
        candidates = {other for word in rarest for other in by_word.get(word, ())}
        yield from ((other, place) for other in sorted(candidates) if _share(texts[other], text) >= _ALIKE)
        for word in rarest:
            by_word.setdefault(word, []).append(place)


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both)


def _listed(names: Iterator[str]) -> str:
    first, *more = names
    return f"{first!r}" if not more else f"{first!r} and {len(more)} more"
