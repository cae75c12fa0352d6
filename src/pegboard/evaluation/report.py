"""A report: arms on the same tasks, measured, sliced, compared and judged, as one value.

Source: SURFACE "JSON answers", `eval`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pegboard.core.names import Json
from pegboard.evaluation.comparing import Difference, Regression, differences, regressions
from pegboard.evaluation.fixtures import Fixture
from pegboard.evaluation.measures import AT, MEASURES, Measured, measured, recall_at
from pegboard.evaluation.runs import Run
from pegboard.evaluation.slices import ToolFacts, slices
from pegboard.evaluation.sweeps import Point, knee
from pegboard.evaluation.thresholds import EVERYTHING, Judged, Threshold, judge

__all__ = ["Arm", "ArmReport", "Report", "calibration", "report"]

# What every tool costs is worth paying where selection saves less than this share of it.
_WORTH_SAVING = 0.5
_ALL_TOOLS = "all-tools"
_BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One side that is compared: its settings as far as they differ from the deployment's, and a run of every task."""

    name: str
    settings: Mapping[str, Json] = field(default_factory=dict)
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmReport:
    """An arm with what it is worth: measures by slice (`all`, or `<dimension>:<name>`), and recall by rank."""

    arm: Arm
    by_slice: Mapping[str, Mapping[str, Measured]]
    at: Mapping[int, Mapping[str, Measured]]
    against_first: Mapping[str, Difference] = field(default_factory=dict)
    """How it differs from the first arm, empty for the first."""

    def to_json(self) -> dict[str, Json]:
        """Return the shape of one arm in the answer of `eval`."""
        said: dict[str, Json] = {
            "settings": dict(self.arm.settings),
            "measures": _measures(self.by_slice[EVERYTHING]),
            "at": {str(k): {name: one.to_json()["value"] for name, one in both.items()} for k, both in self.at.items()},
        }
        for name, found in self.by_slice.items():
            dimension, colon, value = name.partition(":")
            if colon:
                by = said.setdefault(f"by_{dimension}", {})
                assert isinstance(by, dict)
                by[value] = _measures(found)
        said["against_first"] = {name: one.to_json() for name, one in self.against_first.items()}
        said["tasks"] = [run.to_json() for run in self.arm.runs]
        return said


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that was found. `passed` is whether every threshold was reached and nothing regressed."""

    catalog_version: str
    open: bool
    fixtures: Mapping[str, Json]
    """File, digest and number of tasks."""
    tasks: tuple[Fixture, ...]
    encoding: str
    arms: tuple[ArmReport, ...]
    sweep: tuple[Point, ...] = ()
    thresholds: tuple[Judged, ...] = ()
    regressions: tuple[Regression, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Say whether it may be released on this."""
        return all(one.passed for one in self.thresholds) and not self.regressions

    def to_json(self) -> dict[str, Json]:
        """Return the answer of `eval`."""
        bend = knee(self.sweep)
        return {
            "catalog_version": self.catalog_version,
            "open": self.open,
            "fixtures": dict(self.fixtures),
            "encoding": self.encoding,
            "arms": {one.arm.name: one.to_json() for one in self.arms},
            "sweep": [point.to_json() for point in self.sweep],
            "knee": None if bend is None else bend.to_json(),
            "thresholds": [one.to_json() for one in self.thresholds],
            "regressions": [one.to_json() for one in self.regressions],
            "notes": list(self.notes),
            "passed": self.passed,
        }


def report(
    tasks: Sequence[Fixture],
    arms: Sequence[Arm],
    tools: Mapping[str, ToolFacts],
    *,
    catalog_version: str,
    fixtures: Mapping[str, Json],
    encoding: str,
    is_open: bool = False,
    sweep: Sequence[Point] = (),
    thresholds: Sequence[Threshold] = (),
    baseline: Mapping[str, Run] | None = None,
) -> Report:
    """Measure *arms*, the first of which the thresholds and the baseline are about unless a threshold names another.

    Args:
        tasks: At least one.
        arms: Each with one run a task, in the order of *tasks*.
        tools: What slices are made by, for the tools that labels name.
        catalog_version: The catalog that the first arm ran on.
        fixtures: File, digest and number of tasks.
        encoding: How tokens were counted.
        is_open: Every tool was open to everyone, whatever a lock says.
        sweep: The points of a sweep, if one was made.
        thresholds: What must be reached.
        baseline: Runs by task id of an earlier report's first arm.
    """
    found = tuple(_arm(arm, arms[0], tasks, tools) for arm in arms)
    return Report(
        catalog_version=catalog_version,
        open=is_open,
        fixtures=fixtures,
        tasks=tuple(tasks),
        encoding=encoding,
        arms=found,
        sweep=tuple(sweep),
        thresholds=judge(thresholds, {one.arm.name: one.by_slice for one in found}),
        regressions=() if baseline is None else regressions(tasks, baseline, arms[0].runs),
        notes=tuple(_notes(found)),
    )


def calibration(tasks: Sequence[Fixture], runs: Sequence[Run]) -> list[tuple[float, float, int]]:
    """Return (mean confidence, share that a tool fits, tasks) in ten bins of confidence, empty ones left out."""
    sure = np.array([np.nan if run.fits is None else run.fits for run in runs], dtype=np.float64)
    right = np.array([task.answerable for task in tasks], dtype=np.float64)
    places = np.minimum((np.nan_to_num(sure, nan=-1.0) * _BINS).astype(int), _BINS - 1)
    bins = ((places == number) & ~np.isnan(sure) for number in range(_BINS))
    return [(float(sure[own].mean()), float(right[own].mean()), int(own.sum())) for own in bins if own.any()]


def _arm(arm: Arm, first: Arm, tasks: Sequence[Fixture], tools: Mapping[str, ToolFacts]) -> ArmReport:
    places = {EVERYTHING: list(range(len(tasks)))}
    for dimension, named in slices(tasks, tools).items():
        places |= {f"{dimension}:{name}": own for name, own in named.items()}
    return ArmReport(
        arm=arm,
        by_slice={name: _all_measures(own, tasks, arm.runs) for name, own in places.items()},
        at={k: {one.name: measured(one, tasks, arm.runs) for one in recall_at(k)} for k in AT},
        against_first={} if arm is first else differences(tasks, first.runs, arm.runs),
    )


def _all_measures(places: Sequence[int], tasks: Sequence[Fixture], runs: Sequence[Run]) -> dict[str, Measured]:
    own_tasks, own_runs = [tasks[place] for place in places], [runs[place] for place in places]
    return {measure.name: measured(measure, own_tasks, own_runs) for measure in MEASURES}


def _measures(found: Mapping[str, Measured]) -> dict[str, Json]:
    return {name: one.to_json() for name, one in found.items()}


def _notes(arms: Sequence[ArmReport]) -> list[str]:
    """Say what a reader would else have to find: above all, where all tools serve as well."""
    notes = []
    errors = {one.arm.name: sum(run.error is not None for run in one.arm.runs) for one in arms}
    notes += [f"{count} tasks gave an error in the arm {name!r}" for name, count in errors.items() if count]
    first = arms[0]
    everything = next((one for one in arms if one.arm.name == _ALL_TOOLS), None)
    tokens, all_tokens = (_value(first, name) for name in ("definition_tokens", "definition_tokens_all_tools"))
    if tokens is not None and all_tokens and tokens > _WORTH_SAVING * all_tokens:
        notes.append(
            f"selection serves {tokens:,.0f} tokens of the {all_tokens:,.0f} that every eligible tool takes together: "
            "a list that never changes is cached, so loading all tools costs less here"
        )
    if everything is not None and everything is not first:
        gap = everything.against_first.get("candidate_recall")
        if gap is not None and gap.low > 0:
            notes.append(f"all tools reach {gap.value:.1%} more of the tasks: raise the limit, or look at the misses")
    return notes


def _value(one: ArmReport, name: str) -> float | None:
    return one.by_slice[EVERYTHING][name].value
