"""A query: a task analysed into what ranking reads, and no more.

It is the ranking input that a trace may keep: terms, clauses, names and vectors, not the text. Ranking the
same query on the same index gives the same bytes (law 8).

Everything is bounded, since users and models write tasks: of a longer task the first `MAX_CHARACTERS`
characters count, of more sub-tasks the first `MAX_TASKS`.
"""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any

from pegboard.core.names import Json
from pegboard.core.text import clean
from pegboard.retrieval.tokens import has_words, language, terms

__all__ = ["MAX_CHARACTERS", "MAX_CLAUSES", "MAX_TASKS", "MAX_TERMS", "Query", "Reading", "analyse", "read"]

MAX_CHARACTERS = 8_000  # of one sub-task
MAX_TASKS = 16
MAX_TERMS = 256  # of one text
MAX_CLAUSES = 8  # of one sub-task
MAX_NAMES = 64
_MAX_NAME = 256  # as long as a tool id may be
_SHORT_WORDS = 4  # a task of so few words may be a tool's name, blanks included
_MOST_LOOKED_AT = 4 * MAX_CLAUSES
_FEWEST_TERMS = 2  # a clause with fewer says too little to rank by

# Where one wish ends and another begins. What it may begin with is looked at first, which saves a third of the time.
_BREAK = re.compile(
    r"(?=[.!?;\n\r。！？；,\s])(?:[.!?;]+(?=\s|$)|[\n\r]+|[。！？；]+"
    r"|,?\s+(?:(?:and\s+)?(?:then|also|afterwards|finally|additionally|furthermore|moreover)\b,?"
    r"|after\s+that\b,?|as\s+well\s+as\b)|,\s*and\b)",
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
    """Channel -> an int8 vector for each text, in the order of `Reading.texts`; empty for a text without a word."""

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


@dataclass(frozen=True, slots=True)
class Reading:
    """A task that was read: its query but for the vectors, and the texts that they are made of."""

    plain: Query
    texts: tuple[str, ...]
    """For each sub-task the whole, then its clauses."""

    def query(self, vectors: Mapping[str, tuple[bytes, ...]]) -> Query:
        """Return the query with its vectors.

        Args:
            vectors: Channel -> vectors of `texts`, in that order.

        Raises:
            ValueError: A channel has more or fewer vectors than there are texts.
        """
        return replace(
            self.plain, vectors={channel: tuple(_told(self.texts, found)) for channel, found in vectors.items()}
        )


def read(tasks: Sequence[str]) -> Reading:
    """Read a task, or sub-tasks in order. Any text is fine, the empty one included.

    Args:
        tasks: One text a sub-task. Those without a term are kept, so that positions hold.
    """
    bounded = _bounded(tasks)
    spoken = [language(task) for task in bounded]
    split = list(map(_clauses, bounded, spoken))
    plain = Query(
        parts=tuple(tuple(terms(task, MAX_TERMS, spoken=latin)) for task, latin in zip(bounded, spoken, strict=True)),
        clauses=tuple(tuple(found for _, found in clauses) for clauses in split),
        names=tuple(dict.fromkeys(name for task in bounded for name in _names(task)))[:MAX_NAMES],
    )
    texts = ((task, *(clause for clause, _ in said)) for task, said in zip(bounded, split, strict=True))
    return Reading(plain, tuple(chain.from_iterable(texts)))


def analyse(tasks: Sequence[str], vectors: Mapping[str, tuple[bytes, ...]] | None = None) -> Query:
    """Return the query of tasks whose vectors are there already, or that have none; `read` says what is fine.

    Raises:
        ValueError: A channel has more or fewer vectors than there are texts.
    """
    return read(tasks).query(vectors or {})


def _bounded(tasks: Sequence[str]) -> list[str]:
    # Cut before cleaning, so that a huge task costs no more than a long one.
    return [clean(task[:MAX_CHARACTERS]).strip() for task in tasks[:MAX_TASKS]]


# The text of a clause, and its terms.
_Clause = tuple[str, tuple[str, ...]]


def _told(texts: Sequence[str], vectors: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the vectors, an empty one for a text that says nothing: a model puts even that somewhere."""
    for text, vector in zip(texts, vectors, strict=True):
        yield vector if has_words(text) else b""


def _clauses(task: str, spoken: str) -> list[_Clause]:
    """Return the clauses that say something, each with its terms; none where there is only one."""
    found = list(dict.fromkeys(clause.strip() for clause in _BREAK.split(task)))
    if len(found) < 2:
        return []
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
        # Most are plain words, in which there is nothing to look for.
        if token.isalpha() and token[1:].islower():
            continue
        plain = token.strip("*./\\-…")
        if _IDENTIFIER.search(plain):
            yield plain
