"""Scoring: the candidates of one sub-task, their channels and clauses fused into one score each.

A task of several wishes is scored as a whole and by its best clause. Without dense channels only tools that
share a term with the task are candidates; with them, every eligible tool is.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pegboard.retrieval.bm25 import Matches
from pegboard.retrieval.fusion import FEWEST_FOR_DEVIATIONS, Scale, ranks

__all__ = ["LEXICAL", "SCORING_VERSION", "Scored"]

LEXICAL = "lexical"

# Weights by which dense channels there are; chosen on the labelled sets, like everything below.
WEIGHTS: dict[frozenset[str], tuple[tuple[str, float], ...]] = {
    frozenset(): ((LEXICAL, 1.0),),
    frozenset({"static"}): (("static", 0.5), (LEXICAL, 0.5)),
    frozenset({"encoder"}): (("encoder", 0.6), (LEXICAL, 0.4)),
    frozenset({"static", "encoder"}): (("encoder", 0.5), ("static", 0.2), (LEXICAL, 0.3)),
}
_WHOLE, _CLAUSE = 0.6, 0.4
_LED_CLAUSES = 5
SCORING_VERSION = (
    f"scoring-1 {_WHOLE} {_CLAUSE} {_LED_CLAUSES} {sorted((sorted(key), row) for key, row in WEIGHTS.items())}"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scored:
    """Candidates of one sub-task with their scores, not yet in order. *Candidate* is a number into these arrays."""

    places: NDArray[np.int64] | None
    """Candidate -> place among the eligible; None where they are the same."""
    scores: NDArray[np.float64]
    clause: NDArray[np.float64] | None
    """The fused score of the best clause; None where there is none."""
    leaders: tuple[int, ...]
    """For each of the first clauses the candidate that fits it best, the same one not twice."""
    matches: Matches
    dense: Mapping[str, NDArray[np.float64]]
    scales: Mapping[str, Scale]
    """Of the whole text; empty where so few tools are eligible that ranks are added up and not deviations."""
    count: int

    @classmethod
    def of(cls, *, count: int, matches: Matches, dense: Mapping[str, NDArray[np.float64]]) -> "Scored":
        """Fuse channels and clauses over *count* eligible tools."""
        weights = WEIGHTS.get(frozenset(dense)) or _shared(sorted(dense))
        if count < FEWEST_FOR_DEVIATIONS:
            scales: dict[str, list[Scale]] = {}
            fused = _by_ranks(weights, matches, dense, count)[np.newaxis]
        else:
            scales = {name: list(Scale.of_each(of, count)) for name, of in {**dense, LEXICAL: matches.scores}.items()}
            fused = _by_deviations(weights, matches, dense, count, scales)
        clause = np.maximum.reduce(fused[1:]) if len(fused) > 1 else None
        return cls(
            places=None if dense else matches.places,
            scores=fused[0] if clause is None else _WHOLE * fused[0] + _CLAUSE * clause,
            clause=clause,
            leaders=tuple(dict.fromkeys(_leaders(fused[1:]))),
            matches=matches,
            dense=dense,
            scales={name: found[0] for name, found in scales.items()},
            count=count,
        )

    def place(self, candidates: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places of candidates among the eligible."""
        return candidates if self.places is None else self.places[candidates]

    def raw(self, candidates: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
        """Return each channel's score of the whole text as it came, by candidate."""
        if self.places is not None:
            return {LEXICAL: self.matches.scores[0][candidates]}
        found = {LEXICAL: _lexical(self.matches, candidates)}
        return found | {name: scores[0][candidates] for name, scores in self.dense.items()}

    def parts(
        self, candidates: NDArray[np.int64], raw: Mapping[str, NDArray[np.float64]]
    ) -> dict[str, NDArray[np.float64]]:
        """Return what a score is made of: each channel's levelled score of the whole, and the best clause's.

        *raw* are their scores as they came.
        """
        found = {name: self._levelled(name, values) for name, values in raw.items()}
        return found if self.clause is None else found | {"clause": self.clause[candidates]}

    def _levelled(self, channel: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.scales:
            return self.scales[channel].level(values)
        every = _lexical(self.matches, np.arange(self.count)) if channel == LEXICAL else self.dense[channel][0]
        return np.searchsorted(np.sort(every), values, side="right") - np.float64(self.count)


def _leaders(clauses: NDArray[np.float64]) -> Iterator[int]:
    for scores in clauses[:_LED_CLAUSES]:
        if len(scores):
            best = int(scores.argmax())
            # At or below the mean nothing fits the clause at all.
            if scores[best] > 0.0:
                yield best


def _by_deviations(
    weights: Sequence[tuple[str, float]],
    matches: Matches,
    dense: Mapping[str, NDArray[np.float64]],
    count: int,
    scales: Mapping[str, Sequence[Scale]],
) -> NDArray[np.float64]:
    """Add up weighted z-scores, a row a text.

    Each is a x + b, so one multiplication and one addition a channel are all it takes.
    """
    total = np.zeros((len(matches.scores), count if dense else len(matches.places)))
    below = [0.0] * len(total)
    for name, weight in weights:
        scores = matches.scores if name == LEXICAL else dense[name]
        for text, (row, scale) in enumerate(zip(total, scales[name], strict=True)):
            if not scale.deviation:
                continue
            slope = weight / scale.deviation
            below[text] += slope * scale.mean
            if name == LEXICAL and dense:
                row[matches.places] += slope * scores[text]
            else:
                row += slope * scores[text]
    total -= np.array(below)[:, np.newaxis]
    return total


def _by_ranks(
    weights: Sequence[tuple[str, float]], matches: Matches, dense: Mapping[str, NDArray[np.float64]], count: int
) -> NDArray[np.float64]:
    places = np.arange(count) if dense else matches.places
    total = np.zeros(len(places))
    for name, weight in weights:
        scores = _lexical(matches, places) if name == LEXICAL else dense[name][0]
        total += weight * ranks(scores)
    return total


def _lexical(matches: Matches, places: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the lexical score of the whole text by place among the eligible, 0 where no term is shared."""
    if not len(matches.places):
        return np.zeros(len(places))
    at = np.minimum(np.searchsorted(matches.places, places), len(matches.places) - 1)
    return np.where(matches.places[at] == places, matches.scores[0][at], 0.0)


def _shared(dense: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Weigh channels that no row of `WEIGHTS` knows: the lexical one as beside one encoder, the rest alike."""
    return (*((name, 0.6 / len(dense)) for name in dense), (LEXICAL, 0.4))
