"""Measures of a ranking, with intervals. Percent throughout.

R@k: share of a task's steps with an acceptable tool in the first k. C@k: share of tasks with all steps there.
nDCG@10: each step counts at the rank of its first acceptable tool, gains binary (Järvelin and Kekäläinen, 2002).
Intervals are percentile bootstraps over tasks (Efron, 1979), 1,000 resamples, always the same ones.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["NAMES", "interval", "of_task"]

NAMES = ("r1", "r8", "ndcg10", "c8")


def of_task(rows: Sequence[int], steps: Sequence[frozenset[str]], places: Mapping[str, int]) -> list[float]:
    """Return the measures of one ranking, 0 to 100, in the order of `NAMES`."""
    rank = {row: place for place, row in enumerate(rows)}
    far = 10**6
    best = np.array(
        [min((rank.get(places[tool], far) for tool in step if tool in places), default=far) for step in steps]
    )
    ideal = (1 / np.log2(np.arange(2, min(len(best), 10) + 2))).sum()
    gained = (1 / np.log2(best[best < 10] + 2)).sum()
    return [100 * float(value) for value in ((best < 1).mean(), (best < 8).mean(), gained / ideal, (best < 8).all())]


def interval(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return mean, low and high end of the 95% interval."""
    if not len(values):
        return float("nan"), float("nan"), float("nan")
    dice = np.random.default_rng(0)
    means = values[dice.integers(0, len(values), (1_000, len(values)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(values.mean()), float(low), float(high)
