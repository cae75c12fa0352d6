"""Ways to rank one task over one index: the recipes that are compared, from plain BM25 to what is shipped.

`plain` is an index of its own, over name and description split at whatever is no letter, no stemming, no
stop words. The others take the channels' scores from our index and differ in how they are put together; the
last three are `Index.rank` itself.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pegboard.core.catalog import CatalogEntry
from pegboard.retrieval.fusion import Scale
from pegboard.retrieval.index import Eligible, Index, Ranking
from pegboard.retrieval.query import Query

__all__ = ["RECIPES", "SERVED", "Bed", "Plain"]

_WORD = re.compile(r"[a-z0-9]+")
K = 10


class Plain:
    """BM25 as a library gives it: k1 1.2, b 0.75, one field."""

    def __init__(self, entries: Sequence[CatalogEntry]) -> None:
        counts = [Counter(_WORD.findall(f"{entry.name} {entry.description}".lower())) for entry in entries]
        lengths = np.array([max(1, one.total()) for one in counts], dtype=np.float64)
        self._norms = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for row, one in enumerate(counts):
            for word, count in one.items():
                self._postings.setdefault(word, []).append((row, count))

    def scores(self, task: str) -> NDArray[np.float64]:
        """Score every tool."""
        found = np.zeros(len(self._norms))
        for word in _WORD.findall(task.lower()):
            posted = self._postings.get(word)
            if posted:
                rows, counts = np.array(posted).T
                rarity = np.log1p((len(found) - len(rows) + 0.5) / (len(rows) + 0.5))
                found[rows] += rarity * counts * 2.2 / (counts + self._norms[rows])
        return found


@dataclass(frozen=True, kw_only=True)
class Bed:
    """One catalog, ready for every recipe."""

    index: Index
    plain: Plain
    everything: Eligible


def _plain(bed: Bed, task: str, query: Query) -> list[int]:
    return _best(bed.plain.scores(task))


def _fused(**weights: float) -> Callable[[Bed, str, Query], list[int]]:
    """Fuse channels of the whole text by z-scores: no clauses, no namespaces, no exact names."""

    def rank(bed: Bed, task: str, query: Query) -> list[int]:
        count = bed.everything.count
        total = np.zeros(count)
        for channel, weight in weights.items():
            if channel == "lexical":
                matches = bed.index.postings.match([query.parts[0]], bed.index.postings.view(bed.everything))
                scores = np.zeros(count)
                scores[matches.places] = matches.scores[0]
            else:
                scores = bed.index.channels[channel].scores(query.vectors[channel][:1], bed.everything)[0]
            total += weight * Scale.of(scores, count).level(scores)
        return _best(total)

    return rank


def served(*channels: str) -> Callable[[Bed, Query], Ranking]:
    """Return our ranking with these vector channels."""

    def rank(bed: Bed, query: Query) -> Ranking:
        kept = {name: vectors for name, vectors in query.vectors.items() if name in channels}
        return bed.index.rank(replace(query, vectors=kept), bed.everything, K)

    return rank


SERVED: dict[str, Callable[[Bed, Query], Ranking]] = {
    "ours, words": served(),
    "ours, fast": served("static"),
    "ours, accurate": served("static", "encoder"),
}

RECIPES: dict[str, Callable[[Bed, str, Query], list[int]]] = {
    "plain BM25": _plain,
    "BM25F": _fused(lexical=1.0),
    "static": _fused(static=1.0),
    "encoder": _fused(encoder=1.0),
    ".5 BM25F .5 static": _fused(lexical=0.5, static=0.5),
    ".4 BM25F .6 encoder": _fused(lexical=0.4, encoder=0.6),
    ".3 .2 .5 of all three": _fused(lexical=0.3, static=0.2, encoder=0.5),
    **{
        name: (lambda bed, task, query, rank=rank: rank(bed, query).rows.tolist())  # type: ignore[misc]
        for name, rank in SERVED.items()
    },
}


def _best(scores: NDArray[np.float64]) -> list[int]:
    found: list[int] = np.lexsort((np.arange(len(scores)), -scores))[:K].tolist()
    return found
