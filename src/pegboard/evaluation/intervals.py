"""Intervals: how far a figure taken from so many tasks can be trusted. All at 95%.

Randomness is a fixed sequence of its own, so the same runs give the same report.

Source: Wilson, JASA 1927, for shares; Efron and Tibshirani, 1993, chapter 13 (percentile bootstrap) for the rest;
McNemar, Psychometrika 1947, exact form, for two arms on the same tasks.
"""

from collections.abc import Callable, Iterator
from math import comb, sqrt

import numpy as np
from numpy.typing import NDArray

__all__ = ["bootstrap", "mcnemar", "wilson"]

_Z = 1.959963984540054  # 97.5% point of the normal distribution
_TIMES = 1_000
_SEED = 20_260_728
# Draws of one block: beyond it 1,000 resamples of 10,000 tasks would take 80 MB at once.
_BLOCK = 1_000_000

Statistic = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
"""(numerators, denominators), shape (..., n) -> (...)."""


def wilson(successes: float, n: int) -> tuple[float, float]:
    """Return the score interval of a share; *n* > 0."""
    share = successes / n
    middle = share + _Z * _Z / (2 * n)
    half = _Z * sqrt(share * (1 - share) / n + _Z * _Z / (4 * n * n))
    scale = 1 + _Z * _Z / n
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def bootstrap(
    numerators: NDArray[np.float64], denominators: NDArray[np.float64], statistic: Statistic
) -> tuple[float, float]:
    """Return the interval of a statistic of n > 0 tasks, from 1,000 resamples of them."""
    found = np.concatenate(
        [statistic(numerators[drawn], denominators[drawn]) for drawn in _draws(len(numerators))],
    )
    low, high = np.nanpercentile(found, (2.5, 97.5))
    return float(low), float(high)


def mcnemar(better: int, worse: int) -> float:
    """Return the two-sided p of *better* tasks won and *worse* lost, were both as likely."""
    n = better + worse
    tail: float = sum(comb(n, k) for k in range(min(better, worse) + 1)) / 2**n if n else 1.0
    return min(1.0, 2 * tail)


def _draws(n: int) -> Iterator[NDArray[np.int64]]:
    """Return the resamples of n tasks in blocks, shape (resamples, n) each; the same ones for the same n."""
    generator = np.random.Generator(np.random.PCG64(_SEED))
    rows = max(1, min(_TIMES, _BLOCK // n))
    blocks = [rows] * (_TIMES // rows) + ([_TIMES % rows] if _TIMES % rows else [])
    return (generator.integers(0, n, size=(count, n)) for count in blocks)
