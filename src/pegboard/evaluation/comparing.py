"""Comparing: two arms on the same tasks, task by task, and whether a new report is worse than an old one.

Paired differences, since tasks differ far more than arms do: two averages with wide intervals may still be told apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pegboard.core.names import Json
from pegboard.evaluation.fixtures import Fixture
from pegboard.evaluation.intervals import bootstrap, mcnemar
from pegboard.evaluation.measures import MEASURES, Better, Measure, Unit, samples
from pegboard.evaluation.runs import Run
from pegboard.evaluation.samples import ratio

__all__ = ["TOLERANCE", "Difference", "Regression", "differences", "regressions"]

# How much worse a share may be before it is called worse at all, and tokens in proportion.
TOLERANCE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How much another arm differs in one measure: mean of the differences by task, their interval, and p.

    `p` is McNemar's, where each task is either won or lost; None for other measures.
    """

    measure: str
    value: float
    low: float
    high: float
    n: int
    p: float | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the shape in a report."""
        numbers: dict[str, Json] = {
            "value": round(self.value, 4),
            "low": round(self.low, 4),
            "high": round(self.high, 4),
        }
        return {**numbers, "n": self.n, "p": None if self.p is None else round(self.p, 4)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """A measure that became worse than the baseline, beyond the tolerance and beyond chance."""

    measure: str
    was: float
    now: float
    difference: Difference

    def to_json(self) -> dict[str, Json]:
        """Return one element of `regressions`."""
        numbers: dict[str, Json] = {"was": round(self.was, 4), "now": round(self.now, 4)}
        return {"measure": self.measure, **numbers, "difference": self.difference.to_json()}


def differences(tasks: Sequence[Fixture], runs: Sequence[Run], others: Sequence[Run]) -> dict[str, Difference]:
    """Return how *others* differ from *runs*, by measure; only what both took of a task counts."""
    found = (_difference(measure, tasks, runs, others) for measure in MEASURES)
    return {one.measure: one for one in found if one is not None}


def regressions(
    tasks: Sequence[Fixture], baseline: Mapping[str, Run], runs: Sequence[Run], tolerance: float = TOLERANCE
) -> tuple[Regression, ...]:
    """Return what is worse than in *baseline* (runs by task id), on the tasks that both have.

    Times are not compared: a baseline may be from another machine.
    """
    both = [place for place, task in enumerate(tasks) if task.task_id in baseline]
    shared = [tasks[place] for place in both]
    new, old = [runs[place] for place in both], [baseline[task.task_id] for task in shared]
    found = []
    for measure in MEASURES:
        one = _difference(measure, shared, old, new)
        if measure.unit is Unit.MS or one is None:
            continue
        worse = one if measure.better is Better.LOWER else _negated(one)
        (was, now) = (_mean(measure, shared, which) for which in (old, new))
        allowed = tolerance if measure.unit is Unit.SHARE else tolerance * abs(was)
        if worse.value > allowed and worse.low > 0:
            found.append(Regression(measure=measure.name, was=was, now=now, difference=one))
    return tuple(found)


def _difference(
    measure: Measure, tasks: Sequence[Fixture], runs: Sequence[Run], others: Sequence[Run]
) -> Difference | None:
    values = [_by_task(measure, tasks, which) for which in (runs, others)]
    gaps = (values[1] - values[0])[~np.isnan(values[0]) & ~np.isnan(values[1])]
    if not len(gaps):
        return None
    low, high = bootstrap(gaps, np.ones_like(gaps), ratio)
    won_or_lost = measure.unit is Unit.SHARE and bool(np.isin(np.concatenate(values), (0, 1, np.nan)).all())
    p = mcnemar(int((gaps > 0).sum()), int((gaps < 0).sum())) if won_or_lost else None
    return Difference(measure=measure.name, value=float(gaps.mean()), low=low, high=high, n=len(gaps), p=p)


def _by_task(measure: Measure, tasks: Sequence[Fixture], runs: Sequence[Run]) -> np.ndarray:
    numerators, denominators = samples(measure, tasks, runs)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(denominators == 0, np.nan, numerators / denominators)


def _mean(measure: Measure, tasks: Sequence[Fixture], runs: Sequence[Run]) -> float:
    return float(np.nanmean(_by_task(measure, tasks, runs)))


def _negated(one: Difference) -> Difference:
    return Difference(measure=one.measure, value=-one.value, low=-one.high, high=-one.low, n=one.n)
