"""Evidence: what the first candidates have to show for themselves. The input of confidence.

Taken from the eligible ranking alone (law 2); integers and correctly rounded quotients of them (law 8).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["WITNESSES", "Evidence"]

WITNESSES = 8  # first candidates that are looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the first candidates of one sub-task have to show: the input of confidence, in their order."""

    asked: int
    """Distinct terms of the task."""
    weight: int
    """Sum of their idf, in units of `bm25.IDF_ONE`; unknown terms count as the rarest."""
    covered: tuple[float, ...]
    """For each candidate the share of that weight which it holds, 0 to 1."""
    clause_covered: tuple[float, ...]
    """The same for the clause it holds most of; of a single clause the whole."""
    scores: tuple[float, ...] = ()
    channels: Mapping[str, tuple[float, ...]] | None = None
    """Channel -> scores of the whole text as deviations (ranks under 10 eligible)."""
    raw: Mapping[str, tuple[float, ...]] | None = None
    """Channel -> scores of the whole text as they came: idf units, or dot products of int8 vectors."""
    namespaces: tuple[int, ...] = ()
    """For each candidate a number for its namespace, from 0 in the order of first appearance."""

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], weights: Mapping[str, int], held: NDArray[np.int64]) -> "Evidence":
        """Weigh which of the terms each candidate holds.

        Args:
            texts: Terms of the whole task, then of its clauses.
            weights: Term -> idf.
            held: Shape (candidates, terms), 1 where a candidate holds a term; terms in the order of *weights*.
        """
        number = {term: place for place, term in enumerate(weights)}
        heights = np.zeros((len(number), len(texts)), dtype=np.int64)
        for column, text in enumerate(texts):
            for term in text:
                heights[number[term], column] = weights[term]
        totals = heights.sum(axis=0)
        shares = (held @ heights) / np.maximum(totals, 1)
        return cls(
            asked=len(set(texts[0])),
            weight=int(totals[0]),
            covered=tuple(shares[:, 0].tolist()),
            clause_covered=tuple(shares[:, 1 if len(texts) > 1 else 0 :].max(axis=1).tolist()),
        )
