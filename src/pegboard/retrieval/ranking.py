"""Ranking: from the scored candidates of each sub-task to one list.

Namespace: a soft bonus for tools whose neighbours fit too, and one for those of a namespace that the task names;
choosing namespaces first would lose up to ten points. Clauses: the best tool of each is among the first eight.
Sub-tasks: the best tool of each comes before the rest is filled by score.

Law 2 and law 8: everything here is a function of eligible rows, in a fixed order of correctly rounded steps.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pegboard.retrieval.eligible import Eligible
from pegboard.retrieval.evidence import WITNESSES, Evidence
from pegboard.retrieval.fusion import best_first, head
from pegboard.retrieval.scoring import SCORING_VERSION, Scored

__all__ = ["RANKING_VERSION", "Ordered", "Ranking", "join", "order"]

_NAMESPACE = 0.2
_NAMESPACE_TOOLS = 3
# Of a namespace that the task names. Measured, right tools among the first eight, by words / with the static table /
# with both encoders: our requests 47.0 -> 48.6 / 55.9 -> 57.0 / 73.1 -> 73.7%; dev parts +0.6 / 0.0 / -0.2 points.
_NAMED = 0.5
_SERVED = 8  # as many as a limit usually lets through
_HEAD = 256  # of so many best the namespaces are looked at; the rest keeps its order
RANKING_VERSION = f"ranking-2 {_NAMESPACE} {_NAMESPACE_TOOLS} {_NAMED} {_HEAD} {_SERVED} {SCORING_VERSION}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ordered:
    """Candidates of one sub-task, best first."""

    places: NDArray[np.int64]
    scores: NDArray[np.float64]
    parts: Mapping[str, NDArray[np.float64]]
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking:
    """The answer: rows of the snapshot, exactly named ones first, then best first."""

    rows: NDArray[np.int64]
    scores: tuple[float, ...]
    """Comparable within one ranking only. An exactly named tool that shares no term has the score 0."""
    parts: Mapping[str, tuple[float, ...]]
    """Channel, "clause" or "namespace" -> for each row what it gave to the score, 0 where nothing."""
    exact: tuple[int, ...]
    """The rows named exactly: the first of `rows`."""
    evidence: tuple[Evidence, ...]
    """One for each sub-task."""
    eligible: int

    @classmethod
    def nothing(cls, eligible: int) -> "Ranking":
        """Return the ranking of no tool."""
        return cls(rows=np.zeros(0, dtype=np.int64), scores=(), parts={}, exact=(), evidence=(), eligible=eligible)


# For places among the eligible, a number of each one's namespace.
NamespacesOf = Callable[[NDArray[np.int64]], NDArray[np.int32]]
EvidenceOf = Callable[[NDArray[np.int64]], Evidence]


def order(scored: Scored, namespaces: NamespacesOf, named: NDArray[np.int32], evidence: EvidenceOf, k: int) -> Ordered:
    """Sort candidates, with the namespace bonus for the first of them; at least the *k* best come out.

    Args:
        scored: The candidates.
        namespaces: Says the namespace of each of some places.
        named: The namespaces that the task names.
        evidence: Says what the first candidates have to show.
        k: How many are asked for.
    """
    first = head(scored.scores, _HEAD)
    scores = scored.scores[first]
    codes = namespaces(scored.place(first))
    bonus = _NAMESPACE * _neighbours(scores, codes)
    if len(named):
        bonus = bonus + _NAMED * np.isin(codes, named)
    lifted = scores + bonus
    chosen = _led(best_first(lifted, first), first, scored.leaders)
    candidates, totals, bonus = first[chosen], lifted[chosen], bonus[chosen]
    if k > _HEAD and len(scored.scores) > _HEAD:
        rest = np.setdiff1d(head(scored.scores, k), first, assume_unique=True)
        rest = rest[best_first(scored.scores[rest], rest)]
        candidates = np.concatenate([candidates, rest])
        totals = np.concatenate([totals, scored.scores[rest]])
        bonus = np.concatenate([bonus, np.zeros(len(rest))])
    places, raw = scored.place(candidates), scored.raw(candidates)
    parts = scored.parts(candidates, raw) | {"namespace": bonus}
    witnesses = places[:WITNESSES]
    seen = replace(
        evidence(witnesses),
        scores=tuple(totals[:WITNESSES].tolist()),
        channels=_first(parts),
        raw=_first(raw),
        namespaces=_renumbered(namespaces(witnesses).tolist()),
    )
    return Ordered(places=places, scores=totals, parts=parts, evidence=seen)


def _first(values: Mapping[str, NDArray[np.float64]]) -> dict[str, tuple[float, ...]]:
    return {name: tuple(one[:WITNESSES].tolist()) for name, one in values.items()}


def _led(chosen: NDArray[np.int64], first: NDArray[np.int64], leaders: Sequence[int]) -> NDArray[np.int64]:
    """Bring the best tool of each clause among the first eight, at their end, in the place of the last of them.

    Measured on the dev parts, by words: tasks with all their tools among the first eight 76.4 -> 78.1%.
    """
    if not leaders:
        return chosen
    served: list[int] = chosen[:_SERVED].tolist()
    # INVARIANT: first is ascending.
    found = zip(leaders, first.searchsorted(leaders).tolist(), strict=True)
    places = [place for leader, place in found if place < len(first) and first[place] == leader]
    missing = [place for place in places if place not in served]
    if not missing:
        return chosen
    order: list[int] = chosen.tolist()
    spare = [place for place in served if place not in places][-len(missing) :]
    missing.sort(key=order.index)
    kept = [place for place in served if place not in spare]
    rest = [place for place in order[_SERVED:] if place not in missing]
    return np.array([*kept, *missing[: len(spare)], *spare, *missing[len(spare) :], *rest], dtype=np.int64)


def join(lists: Sequence[Ordered], named: Sequence[Sequence[int]], eligible: Eligible, k: int) -> Ranking:
    """Join the sub-tasks' orders: what is named, then the best of each sub-task, then the rest by score."""
    orders = [one.places.tolist() if eligible.everything else eligible.rows[one.places].tolist() for one in lists]
    exact = list(dict.fromkeys(row for rows in named for row in rows))
    found = _best_of_each(orders, lists, set(exact), k)
    exact = list(dict.fromkeys(row for rows in named for row in sorted(rows, key=lambda row: _key(row, found))))[:k]
    taken = dict.fromkeys(exact)
    if len(orders) > 1:
        for rows in orders:
            taken.update(dict.fromkeys([row for row in rows[: k + 1] if row not in taken][:1]))
    if len(orders) > 1:
        taken.update(dict.fromkeys(sorted(found, key=lambda row: _key(row, found))))
    else:
        taken.update(dict.fromkeys(row for rows in orders for row in rows[:k]))
    rows = list(taken)[:k]
    return Ranking(
        rows=np.array(rows, dtype=np.int64),
        scores=tuple(found[row][0] if row in found else 0.0 for row in rows),
        parts=_parts(lists, [found.get(row) for row in rows]),
        exact=tuple(exact),
        evidence=tuple(one.evidence for one in lists),
        eligible=eligible.count,
    )


# Score, which sub-task gave it, and the place in that sub-task's order.
_Found = tuple[float, int, int]


def _best_of_each(orders: Sequence[list[int]], lists: Sequence[Ordered], exact: set[int], k: int) -> dict[int, _Found]:
    """Take from each order its first *k* and what is named, each row with its highest score."""
    found: dict[int, _Found] = {}
    for number, (rows, one) in enumerate(zip(orders, lists, strict=True)):
        beyond = [place for place in range(k, len(rows)) if rows[place] in exact] if exact else []
        for place in (*range(min(k, len(rows))), *beyond):
            score = float(one.scores[place])
            if rows[place] not in found or score > found[rows[place]][0]:
                found[rows[place]] = (score, number, place)
    return found


def _key(row: int, found: Mapping[int, _Found]) -> tuple[bool, float, int]:
    return (False, -found[row][0], row) if row in found else (True, 0.0, row)


def _parts(lists: Sequence[Ordered], where: Sequence[_Found | None]) -> dict[str, tuple[float, ...]]:
    names = sorted({name for one in lists for name in one.parts})

    columns = {name: [one.parts.get(name) for one in lists] for name in names}
    return {
        name: tuple(0.0 if one is None or (of := values[one[1]]) is None else float(of[one[2]]) for one in where)
        for name, values in columns.items()
    }


def _neighbours(scores: NDArray[np.float64], namespaces: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return for each tool the mean score of the best three of its namespace, never below 0."""
    if not len(scores):
        return np.zeros(0)
    by_namespace = np.lexsort((-scores, namespaces))
    ordered, codes = scores[by_namespace], namespaces[by_namespace]
    starts = np.concatenate([[0], (codes[1:] != codes[:-1]).nonzero()[0] + 1, [len(codes)]])
    starts, sizes = starts[:-1], starts[1:] - starts[:-1]
    # Behind the last stands a 0 for what a small namespace lacks.
    padded = np.concatenate([ordered, [0.0]])
    total = padded[starts]
    for place in range(1, _NAMESPACE_TOOLS):
        total = total + padded[np.where(sizes > place, starts + place, -1)]
    means = np.maximum(0.0, total / np.minimum(sizes, _NAMESPACE_TOOLS))
    result = np.empty(len(scores))
    result[by_namespace] = np.repeat(means, sizes)
    return result


def _renumbered(codes: Sequence[int]) -> tuple[int, ...]:
    # The index's own numbers count namespaces that the caller may not see.
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(code, len(numbers)) for code in codes)
