"""Measures: what a run of tasks is worth, one function each, and the table that names them all.

A measure takes from each task a numerator and a denominator, or nothing where it does not apply, and joins them by one
statistic. Where no task has anything to give, the value is null with the reason.

Source: SURFACE "JSON answers", `eval`; Järvelin and Kekäläinen, TOIS 2002, for nDCG; Voorhees, TREC-8, for reciprocal
rank. `tests/evaluation/test_measures.py` holds those that `ir_measures` has equal to it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from pegboard.core.names import Json
from pegboard.evaluation.fixtures import Fixture
from pegboard.evaluation.intervals import Statistic, bootstrap, wilson
from pegboard.evaluation.runs import Run
from pegboard.evaluation.samples import (
    Sample,
    covers,
    false_selections,
    field,
    forbidden_served,
    given_no_tool,
    ndcg,
    percentile,
    ratio,
    reciprocal_rank,
    right_outcome,
    steps_met,
    total,
    valid_calls,
)

__all__ = ["AT", "MEASURES", "Better", "Measure", "Measured", "Unit", "measured", "recall_at", "samples"]

# The ranks at which recall is reported with limit and abstention lifted.
AT = (1, 3, 5, 8, 10, 20)


class Unit(StrEnum):
    """What a value counts."""

    SHARE = "share"
    COUNT = "count"
    TOKENS = "tokens"
    MS = "ms"


class Better(StrEnum):
    """Which way is better."""

    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A value with its 95% interval and the number of tasks it is from; `reason` says why there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    reason: str | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the shape of a measure in the answer of `eval`."""
        numbers = {"value": _short(self.value), "low": _short(self.low), "high": _short(self.high)}
        return {**numbers, "n": self.n, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Measure:
    """One row of the table. `missing` is the reason where no task gives a sample."""

    name: str
    definition: str
    unit: Unit
    better: Better
    sample: Callable[[Fixture, Run], Sample | None]
    statistic: Statistic
    missing: str

    def said(self, value: float | None) -> str:
        """Return a value as people read it, nothing where there is none."""
        if value is None:
            return ""
        if self.unit is Unit.SHARE:
            return f"{value:.1%}"
        return f"{value:,.2f}" if self.unit is Unit.MS else f"{value:,.0f}"


def measured(measure: Measure, tasks: Sequence[Fixture], runs: Sequence[Run]) -> Measured:
    """Take one measure of the runs of *tasks*, which come in the same order."""
    numerators, denominators = samples(measure, tasks, runs)
    taken = ~np.isnan(numerators)
    numerators, denominators = numerators[taken], denominators[taken]
    if not denominators.sum():
        return Measured(value=None, n=len(numerators), reason=_reason(measure, runs))
    value = float(measure.statistic(numerators, denominators))
    low, high = _interval(measure, numerators, denominators)
    return Measured(value=value, low=low, high=high, n=len(numerators))


def _reason(measure: Measure, runs: Sequence[Run]) -> str:
    """Say why there is nothing to measure."""
    unranked = bool(runs) and all(run.ranking is None and run.error is None for run in runs)
    return _RANKS_NOTHING if measure.missing is _UNRANKED and unranked else measure.missing


def samples(
    measure: Measure, tasks: Sequence[Fixture], runs: Sequence[Run]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return numerators and denominators by task, NaN where the measure does not apply."""
    found = np.full((2, len(tasks)), np.nan)
    for place, (task, run) in enumerate(zip(tasks, runs, strict=True)):
        sample = measure.sample(task, run)
        if sample is not None:
            found[:, place] = sample
    return found[0], found[1]


def recall_at(k: int) -> tuple[Measure, Measure]:
    """Return candidate and step recall among the first *k* of the ranking, limit and abstention lifted."""
    more = (Unit.SHARE, Better.HIGHER)
    return (
        Measure("candidate_recall", "", *more, lambda task, run: covers(task, _first(run, k)), ratio, _NO_ANSWERABLE),
        Measure("step_recall", "", *more, lambda task, run: steps_met(task, _first(run, k)), ratio, _NO_ANSWERABLE),
    )


def _first(run: Run, k: int) -> Sequence[str] | None:
    return None if run.ranking is None else run.ranking[:k]


def _interval(
    measure: Measure, numerators: NDArray[np.float64], denominators: NDArray[np.float64]
) -> tuple[float, float]:
    if measure.statistic is total:
        return float(numerators.sum()), float(numerators.sum())
    one_each = bool(np.isin(numerators, (0, 1)).all() and (denominators == 1).all())
    if measure.statistic is ratio and one_each:
        return wilson(float(numerators.sum()), len(numerators))
    return bootstrap(numerators, denominators, measure.statistic)


_NO_MODEL = "no model was in the loop"
_NO_ANSWERABLE = "no answerable task"
_UNRANKED = "no answerable task was ranked"
_RANKS_NOTHING = "this arm does not rank"
_UNCOUNTED = "nothing was counted"
_ONLY_MCP = "of all tools only the form of MCP is counted"
_UP, _DOWN = Better.HIGHER, Better.LOWER

# One row a measure, in the order a report shows them: name, definition, unit, which way is better, what a task gives,
# how it is joined, and the reason where no task gives anything. A new measure is a new row.
MEASURES: tuple[Measure, ...] = tuple(
    Measure(*row)
    for row in (
        (
            "candidate_recall",
            "share of answerable tasks with an acceptable tool for every step in what was served; abstaining is a miss",
            *(Unit.SHARE, _UP, lambda task, run: covers(task, run.loaded), ratio, _NO_ANSWERABLE),
        ),
        (
            "step_recall",
            "share of their steps that have one",
            *(Unit.SHARE, _UP, lambda task, run: steps_met(task, run.loaded), ratio, _NO_ANSWERABLE),
        ),
        (
            "ndcg_at_10",
            "normalised discounted gain of the first ten ranks, each step counted once",
            *(Unit.SHARE, _UP, ndcg, ratio, _UNRANKED),
        ),
        (
            "mrr",
            "mean of 1 / rank of the first acceptable tool; 0 where it is not among the ranks kept",
            *(Unit.SHARE, _UP, reciprocal_rank, ratio, _UNRANKED),
        ),
        (
            "false_selection_rate",
            "share of served ranked tools that no step accepts",
            *(Unit.SHARE, _DOWN, false_selections, ratio, "no ranked tool was served"),
        ),
        (
            "no_tool_accuracy",
            "share of unanswerable tasks given no ranked tool",
            *(Unit.SHARE, _UP, given_no_tool, ratio, "no unanswerable task"),
        ),
        (
            "outcome_accuracy",
            "share of tasks with a labelled outcome that got it",
            *(Unit.SHARE, _UP, right_outcome, ratio, "no labelled outcome"),
        ),
        (
            "forbidden_selected",
            "number of tools served that their task forbids",
            *(Unit.COUNT, _DOWN, forbidden_served, total, "no task forbids a tool"),
        ),
        (
            "denied_exposure",
            "number of canary strings of tools that the caller may not see, found in what the run produced",
            *(Unit.COUNT, _DOWN, field("exposed"), total, "no canaries were planted"),
        ),
        (
            "definition_tokens",
            "mean tokens of the served definitions",
            *(Unit.TOKENS, _DOWN, field("tokens"), ratio, _UNCOUNTED),
        ),
        (
            "definition_tokens_all_tools",
            "mean tokens of the definitions of everything eligible",
            *(Unit.TOKENS, _DOWN, field("tokens_all_tools"), ratio, _ONLY_MCP),
        ),
        *(
            (
                f"discovery_ms_p{share}",
                f"{share}th percentile of the time from the task to the selection",
                *(Unit.MS, _DOWN, field("ms"), percentile(share), "nothing was timed"),
            )
            for share in (50, 95, 99)
        ),
        (
            "end_to_end_ms_p50",
            "median time from the task to the model's last answer",
            *(Unit.MS, _DOWN, field("end_to_end_ms"), percentile(50), _NO_MODEL),
        ),
        (
            "call_validity",
            "share of proposed calls that name a loaded tool with valid arguments",
            *(Unit.SHARE, _UP, valid_calls, ratio, _NO_MODEL),
        ),
        (
            "task_completion",
            "share of tasks whose check passed after the model's last answer",
            *(Unit.SHARE, _UP, field("completed"), ratio, _NO_MODEL),
        ),
        (
            "searches",
            "mean number of further searches by the model",
            *(Unit.COUNT, _DOWN, field("searches"), ratio, _NO_MODEL),
        ),
        (
            "tokens_uncached",
            "mean input tokens that were not cached",
            *(Unit.TOKENS, _DOWN, field("tokens_uncached"), ratio, _NO_MODEL),
        ),
        (
            "tokens_cached",
            "mean input tokens that were cached",
            *(Unit.TOKENS, _DOWN, field("tokens_cached"), ratio, _NO_MODEL),
        ),
    )
)


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
