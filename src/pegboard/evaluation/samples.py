"""Samples: what each task gives to a measure, and how the samples of many tasks are joined.

A sample is a numerator and a denominator; None where the measure does not apply to the task or was not taken.
"""

from collections.abc import Callable, Sequence
from math import log2
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pegboard.evaluation.fixtures import Fixture
from pegboard.evaluation.intervals import Statistic
from pegboard.evaluation.runs import Run

__all__ = [
    "Sample",
    "covers",
    "false_selections",
    "field",
    "forbidden_served",
    "given_no_tool",
    "ndcg",
    "percentile",
    "ratio",
    "reciprocal_rank",
    "right_outcome",
    "steps_met",
    "total",
    "valid_calls",
]

Sample: TypeAlias = tuple[float, float]
_NDCG_RANKS = 10


def covers(task: Fixture, served: Sequence[str] | None) -> Sample | None:
    """Every step has an acceptable tool among *served*; tasks that no tool fits are not asked."""
    if served is None or not task.answerable:
        return None
    return float(all(not step.isdisjoint(served) for step in task.steps)), 1.0


def steps_met(task: Fixture, served: Sequence[str] | None) -> Sample | None:
    """So many of the steps have one."""
    if served is None or not task.answerable:
        return None
    return float(sum(not step.isdisjoint(served) for step in task.steps)), float(len(task.steps))


def ndcg(task: Fixture, run: Run) -> Sample | None:
    """Gain 1 where a rank satisfies a step that none before it did, discounted by log2(rank + 1), over the ideal."""
    if run.ranking is None or not task.answerable:
        return None
    open_steps, gain = list(task.steps), 0.0
    for rank, tool in enumerate(run.ranking[:_NDCG_RANKS], start=1):
        left = [step for step in open_steps if tool not in step]
        gain += (len(left) < len(open_steps)) / log2(rank + 1)
        open_steps = left
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(len(task.steps), _NDCG_RANKS) + 1))
    return min(1.0, gain / ideal), 1.0


def reciprocal_rank(task: Fixture, run: Run) -> Sample | None:
    """Return 1 / rank of the first tool that any step accepts."""
    if run.ranking is None or not task.answerable:
        return None
    accepted = task.accepted
    first = next((rank for rank, tool in enumerate(run.ranking, start=1) if tool in accepted), None)
    return (1 / first if first else 0.0), 1.0


def false_selections(task: Fixture, run: Run) -> Sample | None:
    """So many of the served ranked tools no step accepts."""
    accepted = task.accepted
    return float(sum(tool not in accepted for tool in run.ranked)), float(len(run.ranked))


def given_no_tool(task: Fixture, run: Run) -> Sample | None:
    """Where no tool fits, no ranked tool was served."""
    return None if task.answerable else (float(not run.ranked), 1.0)


def right_outcome(task: Fixture, run: Run) -> Sample | None:
    """The outcome is the labelled one."""
    return None if task.outcome is None else (float(run.outcome == task.outcome), 1.0)


def forbidden_served(task: Fixture, run: Run) -> Sample | None:
    """So many of the tools served are forbidden."""
    return (float(len(task.forbidden.intersection(run.loaded))), 1.0) if task.forbidden else None


def valid_calls(_: Fixture, run: Run) -> Sample | None:
    """So many of the proposed calls were valid."""
    return None if run.calls is None or run.valid_calls is None else (float(run.valid_calls), float(run.calls))


def field(name: str) -> Callable[[Fixture, Run], Sample | None]:
    """Take a field of the run as it is."""

    def sample(_: Fixture, run: Run) -> Sample | None:
        value = getattr(run, name)
        return None if value is None else (float(value), 1.0)

    return sample


def ratio(numerators: NDArray[np.float64], denominators: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of numerators over sum of denominators."""
    with np.errstate(invalid="ignore"):
        found: NDArray[np.float64] = numerators.sum(axis=-1) / denominators.sum(axis=-1)
    return found


def total(numerators: NDArray[np.float64], _: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of numerators."""
    found: NDArray[np.float64] = numerators.sum(axis=-1)
    return found


def percentile(share: float) -> Statistic:
    """Return the statistic of a percentile, linearly interpolated."""

    def statistic(numerators: NDArray[np.float64], _: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.percentile(numerators, share, axis=-1)
        return found

    return statistic
