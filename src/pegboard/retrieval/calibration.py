"""Calibration: from labelled rankings to two probabilities, and the form in which they are kept.

Logistic regression on the features. Fitting is done once, for a catalog or for what is shipped, and its
result is kept as decimals; judging with it is exact (law 8). A calibration is for one set of vector channels.

Source: logistic regression by Newton's method with a ridge (Hoerl and Kennard, 1970).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegboard.core.names import Json, digest
from pegboard.retrieval.arithmetic import logistic
from pegboard.retrieval.features import FEATURES

__all__ = ["FEWEST_EXAMPLES", "Calibration", "Example", "Scorer", "calibrate"]

FEWEST_EXAMPLES = 20
_RIDGE = 1.0
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
            **{
                name: {"weights": list(one.weights), "bias": one.bias, "threshold": one.threshold}
                for name, one in (("fits", self.fits), ("best", self.best))
            },
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
        kept_fits: The share of tasks that something fits which must stay above the threshold.
        kept_best: The same for tasks whose tools are among the first candidates.

    Raises:
        ValueError: Too few examples of one kind.
    """
    for fits, what in ((True, "that a tool fits"), (False, "that no tool fits")):
        count = sum(one.fits is fits for one in examples)
        if count < FEWEST_EXAMPLES:
            raise ValueError(f"{count} tasks {what} are too few to calibrate on; {FEWEST_EXAMPLES} are needed")
    matrix = np.array([one.features for one in examples], dtype=np.float64)
    weights = np.array([one.weight for one in examples], dtype=np.float64)
    return Calibration(
        channels=tuple(sorted(channels)),
        fits=_scorer(matrix, np.array([one.fits for one in examples]), weights, kept_fits),
        best=_scorer(matrix, np.array([one.best for one in examples]), weights, kept_best),
    )


def _scorer(
    matrix: NDArray[np.float64], labels: NDArray[np.bool_], weights: NDArray[np.float64], kept: float
) -> Scorer:
    coefficients, bias = _fit(matrix, labels.astype(np.float64), weights)
    scorer = Scorer(weights=tuple(coefficients), bias=bias, threshold=0.0)
    found = np.sort([scorer.probability(row) for row in matrix[labels].tolist()])
    threshold = float(found[int((1.0 - kept) * len(found))]) if len(found) else 0.0
    return Scorer(weights=scorer.weights, bias=scorer.bias, threshold=threshold)


def _fit(
    matrix: NDArray[np.float64], labels: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[list[float], float]:
    """Return weights and bias for the features as they come; inside, each has mean 0 and deviation 1."""
    mean, spread = matrix.mean(axis=0), matrix.std(axis=0)
    steady = spread < 1e-9  # a feature that never changes, like those of an absent channel, gets no weight
    scaled = np.where(steady, 0.0, (matrix - mean) / np.where(steady, 1.0, spread))
    design = np.column_stack([scaled, np.ones(len(matrix))])
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
    plain = np.where(steady, 0.0, found[:-1] / np.where(steady, 1.0, spread))
    bias = float(found[-1] - (plain * mean).sum())
    return [round(float(one), _DIGITS) for one in plain], round(bias, _DIGITS)
