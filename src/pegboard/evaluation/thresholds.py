"""Thresholds: what a report must reach before anything is released on it. A measure that could not be taken fails.

Source: SURFACE "Thresholds".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pegboard.core.names import Json
from pegboard.evaluation.measures import MEASURES, Measured

__all__ = ["Judged", "Threshold", "judge", "read_threshold"]

_NAMES = frozenset(measure.name for measure in MEASURES)
_KEYS = frozenset({"measure", "slice", "arm", "min", "max", "waive"})
EVERYTHING = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """One row: a measure of one slice (`all`, or `<dimension>:<name>`) of one arm, and what it must reach."""

    measure: str
    slice: str = EVERYTHING
    arm: str | None = None
    """None: the first arm of the report."""
    minimum: float | None = None
    maximum: float | None = None
    waive: str | None = None
    """Why it may be missed, or missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A threshold with the value that was found; `reason` says why it failed, or was waived."""

    threshold: Threshold
    value: float | None
    passed: bool
    reason: str | None = None

    def to_json(self) -> dict[str, Json]:
        """Return one element of `thresholds` in the answer of `eval`."""
        one = self.threshold
        bounds: dict[str, Json] = {"min": one.minimum, "max": one.maximum}
        said: dict[str, Json] = {"measure": one.measure, "slice": one.slice, "arm": one.arm, **bounds}
        return {**said, "value": self.value, "passed": self.passed, "waived": one.waive, "reason": self.reason}


def read_threshold(raw: Mapping[str, Any]) -> Threshold:
    """Read one `[[threshold]]`.

    Raises:
        ValueError: A key is unknown, the measure is none, or it asks for nothing.
    """
    if unknown := sorted(raw.keys() - _KEYS):
        raise ValueError(f"unknown key {unknown[0]!r}; it takes {', '.join(sorted(_KEYS))}")
    measure = raw.get("measure")
    if measure not in _NAMES:
        raise ValueError(f"{measure!r} is no measure; there are {', '.join(sorted(_NAMES))}")
    bounds = [_number(raw, key) for key in ("min", "max")]
    if bounds == [None, None]:
        raise ValueError(f"the threshold of {measure!r} has neither 'min' nor 'max'")
    return Threshold(
        measure=measure,
        slice=_text(raw, "slice") or EVERYTHING,
        arm=_text(raw, "arm"),
        minimum=bounds[0],
        maximum=bounds[1],
        waive=_text(raw, "waive"),
    )


def judge(
    thresholds: Sequence[Threshold], arms: Mapping[str, Mapping[str, Mapping[str, Measured]]]
) -> tuple[Judged, ...]:
    """Judge each row on *arms*: arm -> slice -> measure -> what was measured, the first arm first."""
    return tuple(_judged(one, arms) for one in thresholds)


def _judged(one: Threshold, arms: Mapping[str, Mapping[str, Mapping[str, Measured]]]) -> Judged:
    arm = one.arm or next(iter(arms), "")
    found = arms.get(arm, {}).get(one.slice, {}).get(one.measure)
    if found is None:
        reason: str | None = f"the report has no slice {one.slice!r} of the arm {arm!r}"
    elif found.value is None:
        reason = f"not measured: {found.reason}"
    elif one.minimum is not None and found.value < one.minimum:
        reason = f"below {one.minimum:g}"
    elif one.maximum is not None and found.value > one.maximum:
        reason = f"above {one.maximum:g}"
    else:
        reason = None
    value = None if found is None else found.value
    return Judged(threshold=one, value=value, passed=reason is None or one.waive is not None, reason=reason)


def _number(raw: Mapping[str, Any], key: str) -> float | None:
    value = raw.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(f"{key!r} must be a number")
    return value


def _text(raw: Mapping[str, Any], key: str) -> str | None:
    value = raw.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise ValueError(f"{key!r} must be a text")
    return value
