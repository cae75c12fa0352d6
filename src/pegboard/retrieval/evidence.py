"""Evidence: what the first candidates have to show for themselves. The input of confidence.

Taken from the eligible ranking alone (law 2); integers and correctly rounded quotients of them (law 8).
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

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
    def of(
        cls, texts: Sequence[Sequence[str]], weights: Mapping[str, int], held: Sequence[AbstractSet[str]]
    ) -> "Evidence":
        """Weigh which of the terms each candidate holds.

        Args:
            texts: Terms of the whole task, then of its clauses.
            weights: Term -> idf.
            held: For each candidate the asked terms that it holds.
        """
        asked = [frozenset(text) for text in texts]
        totals = [sum(map(weights.__getitem__, text)) for text in asked]
        shares = [
            [
                sum(map(weights.__getitem__, one & text)) / max(total, 1)
                for text, total in zip(asked, totals, strict=True)
            ]
            for one in held
        ]
        return cls(
            asked=len(asked[0]),
            weight=totals[0],
            covered=tuple(share[0] for share in shares),
            clause_covered=tuple(max(share[1:] or share) for share in shares),
        )
