"""Features: what confidence reads from the evidence of one sub-task. Cheap, and from the eligible ranking alone.

Absolute ones (how alike, how much of the task is covered) tell whether anything fits in a small set; relative
ones (how far the first stands out) tell it in a large one, where something is always a little alike.
"""

from collections.abc import Callable, Sequence

from pegboard.retrieval.arithmetic import ln
from pegboard.retrieval.bm25 import IDF_ONE
from pegboard.retrieval.evidence import Evidence
from pegboard.retrieval.fusion import FEWEST_FOR_DEVIATIONS
from pegboard.retrieval.scoring import LEXICAL

__all__ = ["FEATURES", "features"]

_UNIT = 127.0 * 127.0  # the dot product of a vector with itself
_NOTHING = (0.0,)


def _raw(evidence: Evidence, channel: str) -> Sequence[float]:
    return (evidence.raw or {}).get(channel) or _NOTHING


def _alike(channel: str) -> tuple[tuple[str, Callable[[Evidence, int], float]], ...]:
    """Return the features of one vector channel; all are 0 where it is not there."""
    return (
        (f"{channel}_first", lambda one, _: _raw(one, channel)[0] / _UNIT),
        (f"{channel}_most", lambda one, _: max(_raw(one, channel)) / _UNIT),
        (f"{channel}_lead", lambda one, _: (max(_raw(one, channel)) - _mean(_raw(one, channel))) / _UNIT),
        (f"{channel}_deviation", lambda one, n: 0.0 if _few(n) else _levelled(one, channel)),
        (f"{channel}_most_of_few", lambda one, n: max(_raw(one, channel)) / _UNIT if _few(n) else 0.0),
    )


def _share(values: Sequence[float], evidence: Evidence) -> float:
    """Return the best of lexical scores as a share of what a tool that is nothing but the task would reach."""
    return max(values) / evidence.weight if evidence.weight else 0.0


FEATURES: tuple[tuple[str, Callable[[Evidence, int], float]], ...] = (
    *_alike("static"),
    *_alike("encoder"),
    ("words_first", lambda one, _: _share(_raw(one, LEXICAL)[:1], one)),
    ("words_most", lambda one, _: _share(_raw(one, LEXICAL), one)),
    ("words_score", lambda one, _: min(40.0, max(_raw(one, LEXICAL)) / IDF_ONE) / 10.0),
    ("words_deviation", lambda one, n: 0.0 if _few(n) else _levelled(one, LEXICAL)),
    ("covered_first", lambda one, _: (one.covered or _NOTHING)[0]),
    ("covered_most", lambda one, _: max(one.covered or _NOTHING)),
    ("clause_covered_most", lambda one, _: max(one.clause_covered or _NOTHING)),
    ("lead", lambda one, n: 0.0 if _few(n) or len(one.scores) < 2 else one.scores[0] - _mean(one.scores[1:])),
    ("lead_over_next", lambda one, n: 0.0 if _few(n) or len(one.scores) < 2 else one.scores[0] - one.scores[1]),
    ("eligible", lambda _, n: ln(n + 1.0)),
    ("asked", lambda one, _: ln(one.asked + 1.0)),
    ("few", lambda _, n: float(_few(n))),
    ("one_namespace", lambda one, _: _mean([float(code == 0) for code in one.namespaces] or _NOTHING)),
)


def features(evidence: Evidence, eligible: int) -> tuple[float, ...]:
    """Return the numbers of `FEATURES`, in that order.

    Args:
        evidence: Of one sub-task.
        eligible: How many tools were ranked.
    """
    return tuple(float(feature(evidence, eligible)) for _, feature in FEATURES)


def _few(eligible: int) -> bool:
    return eligible < FEWEST_FOR_DEVIATIONS


def _levelled(evidence: Evidence, channel: str) -> float:
    return ((evidence.channels or {}).get(channel) or _NOTHING)[0]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
