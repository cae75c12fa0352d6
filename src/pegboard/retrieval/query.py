"""A query: a task analysed into what ranking reads, and no more.

It is the ranking input that a trace may keep: terms, clauses, names and vectors, not the text. Ranking the
same query on the same index gives the same bytes (law 8).

Everything is bounded, since users and models write tasks: of a longer task the first `MAX_CHARACTERS`
characters count, of more sub-tasks the first `MAX_TASKS`.
"""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from pegboard.core.names import Json
from pegboard.core.text import clean
from pegboard.retrieval.tokens import language, terms, words

__all__ = ["MAX_CHARACTERS", "MAX_CLAUSES", "MAX_TASKS", "MAX_TERMS", "Query", "analyse", "texts_to_encode"]

MAX_CHARACTERS = 8_000  # of one sub-task
MAX_TASKS = 16
MAX_TERMS = 256  # of one text
MAX_CLAUSES = 8  # of one sub-task
MAX_NAMES = 64
_MAX_NAME = 256  # as long as a tool id may be
_SHORT_WORDS = 4  # a task of so few words may be a tool's name, blanks included
_MOST_LOOKED_AT = 4 * MAX_CLAUSES
_FEWEST_TERMS = 2  # a clause with fewer says too little to rank by

# Where one wish ends and another begins.
_BREAK = re.compile(
    r"(?:[.!?;]+(?=\s|$)|[\n\r]+|[。！？；]+"
    r"|,?\s+(?:and\s+)?(?:then|also|afterwards|finally|additionally|furthermore|moreover)\b,?"
    r"|,?\s+after\s+that\b,?|,?\s+as\s+well\s+as\b|,\s*and\b)",
    re.IGNORECASE,
)
_BACKTICKED = re.compile(r"`([^`\n]{1,256})`")
_TOKEN = re.compile(r"[^\s`'\"()\[\]{}<>,;:!?]{2,256}")
_IDENTIFIER = re.compile(r"[_\-./\d]|(?<=[^\W_])[A-Z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What a task, or a list of sub-tasks, comes down to."""

    parts: tuple[tuple[str, ...], ...]
    """For each sub-task the terms of its whole text, repeats kept."""
    clauses: tuple[tuple[tuple[str, ...], ...], ...]
    """For each sub-task the terms of each of its clauses; empty where it has only one."""
    names: tuple[str, ...]
    """What may name a tool exactly, in the order of the task."""
    vectors: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict)
    """Channel -> an int8 vector for each text, in the order of `texts_to_encode`; empty for a text without a word."""

    @property
    def asks(self) -> bool:
        """Say whether there is anything to rank by."""
        return any(self.parts) or bool(self.names) or any(map(any, self.vectors.values()))

    @property
    def texts(self) -> tuple[tuple[int, int], ...]:
        """Return for each sub-task the range of its texts in `vectors`: the whole first, then its clauses."""
        ends = [0]
        for clauses in self.clauses:
            ends.append(ends[-1] + 1 + len(clauses))
        return tuple(pairwise(ends))

    def to_json(self) -> dict[str, Json]:
        """Return the form a trace keeps; vectors in base64."""
        return {
            "parts": [list(part) for part in self.parts],
            "clauses": [[list(clause) for clause in clauses] for clauses in self.clauses],
            "names": list(self.names),
            "vectors": {
                channel: [base64.b64encode(vector).decode() for vector in vectors]
                for channel, vectors in sorted(self.vectors.items())
            },
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Query":
        """Rebuild a query that `to_json` wrote.

        Raises:
            ValueError: It is not one.
        """
        try:
            return cls(
                parts=tuple(tuple(part) for part in value["parts"]),
                clauses=tuple(tuple(tuple(clause) for clause in clauses) for clauses in value["clauses"]),
                names=tuple(value["names"]),
                vectors={
                    channel: tuple(base64.b64decode(vector, validate=True) for vector in vectors)
                    for channel, vectors in value["vectors"].items()
                },
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a recorded query: {error}") from error


def analyse(tasks: Sequence[str], vectors: Mapping[str, tuple[bytes, ...]] | None = None) -> Query:
    """Analyse a task, or sub-tasks in order. Any text is fine, the empty one included.

    Args:
        tasks: One text a sub-task. Those without a term are kept, so that positions hold.
        vectors: Channel -> vectors of `texts_to_encode(tasks)`, in that order.

    Raises:
        ValueError: A channel has more or fewer vectors than there are texts.
    """
    bounded = _bounded(tasks)
    return Query(
        parts=tuple(tuple(terms(task, MAX_TERMS)) for task in bounded),
        clauses=tuple(tuple(found for _, found in _clauses(task)) for task in bounded),
        names=tuple(dict.fromkeys(name for task in bounded for name in _names(task)))[:MAX_NAMES],
        vectors={channel: tuple(_told(bounded, found)) for channel, found in (vectors or {}).items()},
    )


def texts_to_encode(tasks: Sequence[str]) -> tuple[str, ...]:
    """Return the texts whose vectors a query carries: for each sub-task the whole, then its clauses."""
    return tuple(text for task in _bounded(tasks) for text in _texts(task))


def _bounded(tasks: Sequence[str]) -> list[str]:
    # Cut before cleaning, so that a huge task costs no more than a long one.
    return [clean(task[:MAX_CHARACTERS]).strip() for task in tasks[:MAX_TASKS]]


def _texts(task: str) -> list[str]:
    return [task, *(clause for clause, _ in _clauses(task))]


def _told(bounded: Sequence[str], vectors: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the vectors, an empty one for a text that says nothing: a model puts even that somewhere."""
    texts = [text for task in bounded for text in _texts(task)]
    for text, vector in zip(texts, vectors, strict=True):
        yield vector if words(text) else b""


def _clauses(task: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the clauses that say something, each with its terms; none where there is only one."""
    found = list(dict.fromkeys(clause.strip() for clause in _BREAK.split(task)))
    if len(found) < 2:
        return []
    spoken = language(task)
    split = [(clause, tuple(terms(clause, MAX_TERMS, spoken=spoken))) for clause in found[:_MOST_LOOKED_AT]]
    telling = [one for one in split if len(one[1]) >= _FEWEST_TERMS][:MAX_CLAUSES]
    return telling if len(telling) > 1 else []


def _names(task: str) -> Iterator[str]:
    """Yield what may name a tool: quoted in backticks, identifiers, and the whole of a very short task."""
    if task and len(task) <= _MAX_NAME and len(task.split()) <= _SHORT_WORDS:
        yield task
    for quoted in _BACKTICKED.findall(task):
        yield quoted.strip()
    for token in _TOKEN.findall(task):
        plain = token.strip("*./\\-…")
        if _IDENTIFIER.search(plain):
            yield plain
