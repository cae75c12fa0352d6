"""Calibration: from labelled rankings to two probabilities, and the form in which they are kept.

Logistic regression on the features. Fitting is done once, for a catalog or for what is shipped, and its
result is kept as decimals; judging with it is exact (law 8). A calibration is for one set of vector channels.

What a task is about is never learned, though it would tell more: labelled tasks ask for tools that a caller may not
see, and a probability that rises with their topic would tell of them (law 2).

Source: logistic regression by Newton's method with a ridge (Hoerl and Kennard, 1970).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegboard.core.names import Json, digest
from pegboard.retrieval.arithmetic import logistic
from pegboard.retrieval.features import FEATURES

__all__ = ["FEWEST_EXAMPLES", "Calibration", "Example", "Scorer", "calibrate", "checked"]

FEWEST_EXAMPLES = 20
_RIDGE = 1.0
_FOLDS = 5
_STEPS = 50
_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One labelled ranking. `weight` lets sets of different size count alike."""

    features: tuple[float, ...]
    fits: bool
    """Something eligible does what the task asks."""
    best: bool
    """And all that it takes is among the first candidates."""
    task: str
    """What was asked: no fit that has seen one example of a task judges another."""
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """A weighted sum of features turned into a probability."""

    weights: tuple[float, ...]
    bias: float
    threshold: float
    """Probability below which the answer is no."""

    def probability(self, features: Sequence[float]) -> float:
        """Return the probability, six digits, the same on every processor."""
        total = self.bias
        for weight, value in zip(self.weights, features, strict=True):
            total += weight * value
        return logistic(total)

    def to_json(self) -> dict[str, Json]:
        """Return the form it is kept in."""
        return {"weights": list(self.weights), "bias": self.bias, "threshold": self.threshold}


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What a ranking's confidence is computed with."""

    channels: tuple[str, ...]
    """The vector channels it was fitted with, sorted."""
    fits: Scorer
    best: Scorer

    @property
    def version(self) -> str:
        """Identify the calibration by its content."""
        return digest(self.to_json())

    def to_json(self) -> dict[str, Json]:
        """Return the form it is kept in."""
        return {
            "channels": list(self.channels),
            "features": [name for name, _ in FEATURES],
            "fits": self.fits.to_json(),
            "best": self.best.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Calibration":
        """Rebuild a calibration that `to_json` wrote.

        Raises:
            ValueError: It is not one, or it was made for other features.
        """
        try:
            if list(value["features"]) != [name for name, _ in FEATURES]:
                raise ValueError("the calibration was made for other features; calibrate anew")
            scorers = {
                name: Scorer(
                    weights=tuple(map(float, value[name]["weights"])),
                    bias=float(value[name]["bias"]),
                    threshold=float(value[name]["threshold"]),
                )
                for name in ("fits", "best")
            }
            if any(len(one.weights) != len(FEATURES) for one in scorers.values()):
                raise ValueError("the calibration has another number of weights than features")
            return cls(channels=tuple(map(str, value["channels"])), **scorers)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a calibration: {error}") from error


def calibrate(
    examples: Sequence[Example], channels: Sequence[str], *, kept_fits: float = 0.95, kept_best: float = 0.97
) -> Calibration:
    """Fit both questions and choose the thresholds.

    Args:
        examples: Labelled rankings; tasks whose right tools were taken out are the ones that nothing fits.
        channels: The vector channels they were ranked with.
        kept_fits: The share of tasks that something fits which must stay above the threshold, told by fits that have
            not seen them.
        kept_best: The same for tasks whose tools are among the first candidates.

    Raises:
        ValueError: Too few examples of one kind.
    """
    for kind, what in ((True, "that a tool fits"), (False, "that no tool fits")):
        count = sum(one.fits is kind for one in examples)
        if count < FEWEST_EXAMPLES:
            raise ValueError(f"{count} tasks {what} are too few to calibrate on; {FEWEST_EXAMPLES} are needed")
    return Calibration(
        channels=tuple(sorted(channels)),
        fits=_scorer(examples, np.array([one.fits for one in examples]), kept_fits),
        best=_scorer(examples, np.array([one.best for one in examples]), kept_best),
    )


def checked(examples: Sequence[Example], *, kept_fits: float = 0.95) -> tuple[float, float] | None:
    """Return what `calibrate` would do on new tasks: the share of fitting ones kept, and of the others rejected.

    Each example is judged by a fit and by a threshold that have not seen its task. None: too few to set some aside.
    """
    labels = np.array([one.fits for one in examples])
    fold = _folds(examples)
    if any(min(np.sum(labels & (fold != one)), np.sum(~labels & (fold != one))) < FEWEST_EXAMPLES for one in set(fold)):
        return None
    held = _held_out(examples, labels)
    least = np.zeros(len(held))
    for number in set(fold):
        least[fold == number] = _threshold(held[labels & (fold != number)], kept_fits)
    above = held >= least
    return round(float(above[labels].mean()), 4), round(float((~above[~labels]).mean()), 4)


def _scorer(examples: Sequence[Example], labels: NDArray[np.bool_], kept: float) -> Scorer:
    # A fit knows its own tasks by heart, so the threshold is taken from fits that have not seen them.
    return replace(_fitted(examples, labels), threshold=_threshold(_held_out(examples, labels)[labels], kept))


def _threshold(probabilities: NDArray[np.float64], kept: float) -> float:
    return float(np.sort(probabilities)[int((1.0 - kept) * len(probabilities))]) if len(probabilities) else 0.0


def _held_out(examples: Sequence[Example], labels: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return for each example the probability by a fit that has not seen its task; of a single task by its own."""
    fold = _folds(examples)
    found = np.zeros(len(examples))
    for number in set(fold.tolist()):
        seen = fold != number if (fold != number).any() else fold == number
        scorer = _fitted([examples[place] for place in np.flatnonzero(seen).tolist()], labels[seen])
        for place in np.flatnonzero(fold == number).tolist():
            found[place] = scorer.probability(examples[place].features)
    return found


def _folds(examples: Sequence[Example]) -> NDArray[np.int64]:
    number = {task: place % _FOLDS for place, task in enumerate(dict.fromkeys(one.task for one in examples))}
    return np.array([number[one.task] for one in examples])


def _fitted(examples: Sequence[Example], labels: NDArray[np.bool_]) -> Scorer:
    matrix = np.array([one.features for one in examples], dtype=np.float64)
    weights = np.array([one.weight for one in examples], dtype=np.float64)
    mean, spread = matrix.mean(axis=0), matrix.std(axis=0)
    steady = spread < 1e-9  # a feature that never changes, like those of an absent channel, gets no weight
    scale = np.where(steady, 0.0, 1.0 / np.where(steady, 1.0, spread))
    found = _newton((matrix - mean) * scale, labels, weights)
    plain = found[:-1] * scale
    return Scorer(
        weights=tuple(round(float(one), _DIGITS) for one in plain),
        bias=round(float(found[-1] - (plain * mean).sum()), _DIGITS),
        threshold=0.0,
    )


def _newton(
    scaled: NDArray[np.float64], labels: NDArray[np.bool_], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a weight for each column, then the bias."""
    design = np.column_stack([scaled, np.ones(len(scaled))])
    ridge = np.full(design.shape[1], _RIDGE)
    ridge[-1] = 1e-6
    found = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(design @ found, -30.0, 30.0)))
        slope = design.T @ (weights * (chance - labels)) + ridge * found
        curve = (design * (weights * chance * (1.0 - chance))[:, None]).T @ design + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        found -= step
        if np.abs(step).max() < 1e-9:
            break
    return found
