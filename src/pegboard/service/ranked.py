"""A view whose index has ranked already: a selection, and the longer ranking behind it, for the price of one.

The first ranks of one task are the same however many are asked for (`retrieval/ranking.py`), so what a selection asks
for is cut from the longer ranking; `tests/service/test_ranked.py` holds the two equal.
"""

from dataclasses import replace
from typing import Any, cast

from pegboard.engine.view import Seen, View
from pegboard.retrieval.index import Eligible, Index, Ranking
from pegboard.retrieval.query import Query

__all__ = ["first", "ranked"]


def ranked(view: View, seen: Seen, query: Query, depth: int) -> tuple[View, Ranking | None]:
    """Rank the first *depth* eligible tools for one task, and return a view that gives them to whoever asks the same.

    Without an index the view is the one given, and there is no ranking.
    """
    if view.index is None:
        return view, None
    ranking = view.index.rank(query, seen.eligible, depth)
    return replace(view, index=cast(Index, _Ranked(view.index, query, seen.eligible, depth, ranking))), ranking


def first(ranking: Ranking, k: int) -> Ranking:
    """Return the first *k* of a ranking of one task."""
    if k <= 0:
        return Ranking.nothing(ranking.eligible)
    return replace(
        ranking,
        rows=ranking.rows[:k],
        scores=ranking.scores[:k],
        parts={name: values[:k] for name, values in ranking.parts.items()},
        exact=ranking.exact[:k],
    )


class _Ranked:
    """An index that remembers one ranking; for everything else it is the index."""

    def __init__(self, index: Index, query: Query, eligible: Eligible, depth: int, ranking: Ranking) -> None:
        self._index = index
        self._asked = (query, eligible)
        self._depth = depth
        self._ranking = ranking

    def rank(self, query: Query, eligible: Eligible, k: int) -> Ranking:
        """Return the first *k* of what was ranked, where the same is asked."""
        same = query is self._asked[0] and eligible is self._asked[1]
        if same and k <= self._depth:
            return first(self._ranking, k)
        return self._index.rank(query, eligible, k)

    def __getattr__(self, name: str) -> Any:
        """Return what the index has of this name."""
        return getattr(self._index, name)
