"""BM25F on inverted arrays, with every statistic taken over the eligible tools alone.

The formula: weighted term frequencies are summed over fields before they saturate, and so are lengths
(the simple BM25F). Count, document frequencies and mean length come from the eligible rows at query time, so
the scores are, bit for bit, those of an index that holds only the eligible tools (law 2).

Arithmetic is exact or correctly rounded one step at a time (law 8): frequencies and lengths are integers in tenths, a
contribution is rounded to an integer, and sums of integers do not depend on their order. No logarithm of
the platform is called.

Source: Robertson, Zaragoza and Taylor, CIKM 2004 (weights before saturation); idf as in Lucene (Kamphuis et al.,
ECIR 2020).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from pegboard.retrieval.arithmetic import ln
from pegboard.retrieval.eligible import Eligible

__all__ = ["BM25_VERSION", "IDF_ONE", "LexicalView", "Matches", "Postings", "idf"]

# k1 and b chosen on the labelled sets of docs/decisions; both in exact decimals.
_K1_TENTHS = 14
_B_HUNDREDTHS = 75
IDF_ONE = 1 << 16  # fixed point: this stands for 1.0
BM25_VERSION = f"bm25f-1 k1={_K1_TENTHS} b={_B_HUNDREDTHS} one={IDF_ONE}"


@lru_cache(maxsize=1 << 14)
def idf(count: int, frequency: int) -> int:
    """Return ln(1 + (N - df + .5) / (df + .5)) in fixed point, the same on every processor."""
    return round(ln((2 * count + 2) / (2 * frequency + 1)) * IDF_ONE)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LexicalView:
    """What one eligible set makes of the postings: its statistics, and where its rows stand."""

    count: int
    place: NDArray[np.int32] | None
    """Row -> place among the eligible, -1 where it is not; None where every row is eligible."""
    norms: NDArray[np.float64]
    """By place: what a term's frequency is measured against, k1 (1 - b + b length / mean length), in tenths."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Matches:
    """The eligible tools that share a term with a task, and their scores for each of its texts."""

    places: NDArray[np.int64]
    """Ascending places among the eligible."""
    scores: NDArray[np.float64]
    """Shape (texts, places): exact integers in units of 1 / IDF_ONE."""
    weights: Mapping[str, int]
    """Term -> idf in fixed point, for every term asked, known or not."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Postings:
    """Term -> rows that hold it, as arrays. Immutable."""

    vocabulary: Mapping[str, int]
    starts: NDArray[np.int64]
    """Shape (terms + 1,): where a term's postings begin."""
    rows: NDArray[np.int32]
    """Ascending within a term."""
    frequencies: NDArray[np.uint8]
    """Weighted term frequency in tenths, at most 255: beyond, the formula is flat."""
    lengths: NDArray[np.int64]
    """By row: weighted length in tenths."""

    @property
    def nbytes(self) -> int:
        """Return how many bytes the arrays take."""
        return self.starts.nbytes + self.rows.nbytes + self.frequencies.nbytes + self.lengths.nbytes

    @classmethod
    def of(
        cls,
        vocabulary: Mapping[str, int],
        terms: NDArray[np.int32],
        frequencies: NDArray[np.uint8],
        ends: NDArray[np.int64],
        lengths: NDArray[np.int64],
    ) -> "Postings":
        """Invert what stands row by row: *terms* and *frequencies* of all rows in a line, row i ending at ends[i]."""
        counts = np.diff(ends, prepend=0)
        rows = np.repeat(np.arange(len(ends), dtype=np.int32), counts)
        order = np.argsort(terms, kind="stable")
        starts = np.zeros(len(vocabulary) + 1, dtype=np.int64)
        np.cumsum(np.bincount(terms, minlength=len(vocabulary)), out=starts[1:])
        return cls(
            vocabulary=vocabulary, starts=starts, rows=rows[order], frequencies=frequencies[order], lengths=lengths
        )

    def view(self, eligible: Eligible) -> LexicalView:
        """Take the statistics of an eligible set. Costs a pass over all rows; keep it."""
        if eligible.everything:
            place, lengths = None, self.lengths
        else:
            place = np.full(len(self.lengths), -1, dtype=np.int32)
            place[eligible.rows] = np.arange(eligible.count, dtype=np.int32)
            lengths = self.lengths[eligible.rows]
        total = max(1, int(lengths.sum()))
        flat = _K1_TENTHS * (100 - _B_HUNDREDTHS) / 100
        slope = float(_K1_TENTHS * _B_HUNDREDTHS * eligible.count)
        norms = np.asarray(lengths, dtype=np.float64) * slope / (100.0 * total) + flat
        return LexicalView(count=eligible.count, place=place, norms=np.asarray(norms, dtype=np.float64))

    def match(self, texts: Sequence[Sequence[str]], view: LexicalView) -> Matches:
        """Score the eligible tools for several texts at once. A repeated term counts again.

        Args:
            texts: One list of terms a text; the first decides which tools match at all.
            view: Of the eligible set, from these postings.
        """
        asked = list(dict.fromkeys(term for text in texts for term in text))
        known = [term for term in asked if term in self.vocabulary]
        places, frequencies, counts = self._gather(known, view)
        weights = dict.fromkeys(asked, idf(view.count, 0))
        weights.update((term, idf(view.count, count)) for term, count in zip(known, counts, strict=True))
        parts = np.repeat(np.array([weights[term] for term in known], dtype=np.float64), counts)
        # idf * frequency / (frequency + norm), step by step in place: arrays of a common term are large.
        parts *= frequencies
        frequencies += view.norms[places]
        parts /= frequencies
        np.rint(parts, out=parts)

        ends = [0, *accumulate(counts)]
        segments = {term: slice(*pair) for term, pair in zip(known, pairwise(ends), strict=True)}
        sums = [_sum(text, segments, places, parts, view.count) for text in texts]
        matched = sums[0].nonzero()[0]
        return Matches(places=matched, scores=np.array([one[matched] for one in sums]), weights=weights)

    def _gather(
        self, known: Sequence[str], view: LexicalView
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], list[int]]:
        """Return the eligible postings of all terms in a line: places, frequencies, and how many each term has."""
        if not known:
            return np.zeros(0, dtype=np.int64), np.zeros(0), []
        numbers = np.array([self.vocabulary[term] for term in known])
        bounds = list(zip(self.starts[numbers].tolist(), self.starts[numbers + 1].tolist(), strict=True))
        rows = np.concatenate([self.rows[start:end] for start, end in bounds], dtype=np.int64)
        frequencies = np.concatenate([self.frequencies[start:end] for start, end in bounds], dtype=np.float64)
        counts = [end - start for start, end in bounds]
        if view.place is None:
            return rows, frequencies, counts
        places = view.place[rows]
        kept = np.flatnonzero(places >= 0)
        ends = np.searchsorted(kept, [0, *accumulate(counts)]).tolist()
        return places[kept].astype(np.int64), frequencies[kept], [end - start for start, end in pairwise(ends)]


def _sum(
    text: Sequence[str],
    segments: Mapping[str, slice],
    places: NDArray[np.int64],
    parts: NDArray[np.float64],
    count: int,
) -> NDArray[np.float64]:
    # INVARIANT: parts are integers below 2**20 and a text has at most 2**8 terms, so doubles hold every sum exactly.
    runs = _runs(segments[term] for term in text if term in segments)
    if not runs:
        return np.zeros(count)
    if len(runs) == 1:
        where, what = places[runs[0]], parts[runs[0]]
    else:
        where = np.concatenate([places[one] for one in runs])
        what = np.concatenate([parts[one] for one in runs])
    return np.asarray(np.bincount(where, weights=what, minlength=count), dtype=np.float64)


def _runs(taken: Iterable[slice]) -> list[slice]:
    """Join neighbours: a text's terms mostly stand in a line as they are asked, and need not be copied."""
    runs: list[slice] = []
    for one in taken:
        if runs and runs[-1].stop == one.start:
            runs[-1] = slice(runs[-1].start, one.stop)
        else:
            runs.append(one)
    return runs
