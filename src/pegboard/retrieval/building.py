"""Building: entries -> term numbers and frequencies row by row, taking over what has not changed.

Only documents whose digest is new are turned into terms again. The result does not depend on the order in
which documents were first met, nor on what an earlier index held.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from pegboard.core.catalog import CatalogEntry
from pegboard.retrieval.documents import Document, document, document_digest
from pegboard.retrieval.tokens import is_word_list, terms

__all__ = ["BUILDING_VERSION", "FIELDS", "Rows", "carry", "read"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """How much one occurrence in a field counts, in tenths, and how much of the field is read."""

    weight: int
    terms: int
    distinct: int
    """Distinct terms that count: a description that lists the dictionary gains nothing beyond this."""
    listed: int = 0
    """Distinct terms that count where the field is a mere list of words and should not be; 0: it may be one."""


FIELDS: dict[str, Field] = {
    "name": Field(weight=30, terms=32, distinct=8, listed=4),
    "namespace": Field(weight=15, terms=32, distinct=8),
    "text": Field(weight=10, terms=600, distinct=160, listed=16),
    "curated": Field(weight=10, terms=600, distinct=160),
    "parameters": Field(weight=5, terms=200, distinct=48),
    "parameter_texts": Field(weight=5, terms=400, distinct=96),
}
_MOST_REPEATS = 3  # of one term in one field; saying it again adds length alone
_LONGEST_NAME = 12  # terms; a longer name is a list of keywords
BUILDING_VERSION = f"building-1 {FIELDS} {_MOST_REPEATS} {_LONGEST_NAME}"

_MAX_FREQUENCY = 255  # 25 occurrences in a description: the formula is flat long before


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """All documents as numbers, row by row."""

    vocabulary: dict[str, int]
    terms: NDArray[np.int32]
    frequencies: NDArray[np.uint8]
    ends: NDArray[np.int64]
    lengths: NDArray[np.int64]
    digests: tuple[str, ...]

    def span(self, row: int) -> slice:
        """Return where a row's terms stand."""
        return slice(int(self.ends[row - 1]) if row else 0, int(self.ends[row]))

    def alone(self, rows: NDArray[np.int64]) -> "Rows":
        """Return these rows by themselves, in this order, under the same numbers of terms."""
        counts = np.diff(self.ends, prepend=0)[rows]
        taken = _places(self.ends[rows] - counts, counts)
        return Rows(
            vocabulary=self.vocabulary,
            terms=self.terms[taken],
            frequencies=self.frequencies[taken],
            ends=np.cumsum(counts),
            lengths=self.lengths[rows],
            digests=tuple(map(self.digests.__getitem__, rows.tolist())),
        )


def read(entries: Sequence[CatalogEntry], previous: Rows | None = None) -> Rows:
    """Turn entries into rows; documents that *previous* knows by digest are copied from it."""
    known = {} if previous is None else {digest: row for row, digest in enumerate(previous.digests)}
    words = [] if previous is None else list(previous.vocabulary)
    vocabulary: dict[str, int] = {}
    digests: list[str] = []
    # Flat arrays, not a list of small ones: a million tools have forty million postings.
    terms_of, frequencies, ends, lengths = array("i"), bytearray(), array("q"), array("q")
    for entry in entries:
        one = document(entry)
        digests.append(document_digest(one))
        old = known.get(digests[-1])
        if previous is not None and old is not None:
            span = previous.span(old)
            counted: Iterable[str] = [words[number] for number in previous.terms[span].tolist()]
            frequencies += previous.frequencies[span].tobytes()
            lengths.append(int(previous.lengths[old]))
        else:
            counted, length = weigh(one)
            frequencies += bytes([min(weight, _MAX_FREQUENCY) for weight in counted.values()])
            lengths.append(length)
        terms_of.extend([vocabulary.setdefault(term, len(vocabulary)) for term in counted])
        ends.append(len(terms_of))
    return Rows(
        vocabulary=vocabulary,
        terms=np.array(terms_of, dtype=np.int32),
        frequencies=np.frombuffer(bytes(frequencies), dtype=np.uint8),
        ends=np.array(ends, dtype=np.int64),
        lengths=np.array(lengths, dtype=np.int64),
        digests=tuple(digests),
    )


def carry(entries: Sequence[CatalogEntry], previous: Rows, places: NDArray[np.int64]) -> Rows:
    """Turn entries into rows; entry i is row places[i] of *previous*, and only those at -1 are read.

    The vocabulary keeps every term it had, so rows are copied whole; a term that no row holds any more changes nothing.
    """
    new = places < 0
    fresh = read([entries[row] for row in np.flatnonzero(new).tolist()])
    vocabulary = dict(previous.vocabulary)
    numbers = np.array([vocabulary.setdefault(term, len(vocabulary)) for term in fresh.vocabulary], dtype=np.int32)
    terms = np.concatenate([previous.terms, numbers[fresh.terms]])
    # Where each document of the one and then of the other stands, and from there where each entry's does.
    ends = np.concatenate([previous.ends, fresh.ends + len(previous.terms)])
    starts = np.concatenate([[0], ends[:-1]])
    if len(previous.ends) and len(fresh.ends):
        starts[len(previous.ends)] = len(previous.terms)
    source = places.copy()
    source[new] = len(previous.ends) + np.arange(len(fresh.ends))
    counts = (ends - starts)[source]
    taken = _places(starts[source], counts)
    digests = (*previous.digests, *fresh.digests)
    return Rows(
        vocabulary=vocabulary,
        terms=terms[taken].astype(np.int32),
        frequencies=np.concatenate([previous.frequencies, fresh.frequencies])[taken],
        ends=np.cumsum(counts),
        lengths=np.concatenate([previous.lengths, fresh.lengths])[source],
        digests=tuple(digests[place] for place in source.tolist()),
    )


def _places(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of several spans, one span after the other."""
    ends = np.cumsum(counts)
    return np.asarray(np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - (ends - counts), counts))


def weigh(one: Document) -> tuple[dict[str, int], int]:
    """Return a document's weighted term frequencies and its weighted length, both in tenths."""
    weights: dict[str, int] = {}
    length = 0
    for name, field in FIELDS.items():
        text = getattr(one, name)
        found = terms(text, field.terms, both=True)
        stuffed = field.listed and (len(found) > _LONGEST_NAME if name == "name" else is_word_list(text))
        for term, count in islice(Counter(found).items(), field.listed if stuffed else field.distinct):
            weights[term] = weights.get(term, 0) + min(count, _MOST_REPEATS) * field.weight
        # Terms beyond the cap count as length all the same: a longer text is never the better for it.
        length += len(found) * field.weight
    return weights, length
