"""Sweeps: one setting at many values, what each costs in tokens and gives in recall, and where more stops paying.

Source: Satopää et al., "Finding a 'Kneedle' in a haystack", ICDCS workshops 2011, for the knee.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pegboard.core.names import Json

__all__ = ["Point", "knee", "smallest"]

# A straight line bends by rounding alone.
_NOISE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What one value of a setting came to: recall as served, and mean tokens of the served definitions."""

    setting: str
    value: float
    candidate_recall: float | None
    tokens: float | None

    def to_json(self) -> dict[str, Json]:
        """Return one element of `sweep` in the answer of `eval`."""
        value: float | int = int(self.value) if self.value == int(self.value) else self.value
        numbers = {"candidate_recall": self.candidate_recall, "tokens": self.tokens}
        return {self.setting: value, **{name: None if one is None else round(one, 4) for name, one in numbers.items()}}


def knee(points: Sequence[Point]) -> Point | None:
    """Return the point farthest above the line from the cheapest to the dearest, both axes scaled to 1.

    None where there are fewer than three points, or no point lies above the line: then nothing bends.
    """
    known = sorted(
        (
            (one.tokens, one.candidate_recall, one)
            for one in points
            if one.tokens is not None and one.candidate_recall is not None
        ),
        key=lambda point: point[:2],
    )
    if len(known) < 3:
        return None
    (cheapest, lowest, _), (dearest, highest, _) = known[0], known[-1]
    if dearest == cheapest or highest <= lowest:
        return None
    above = [
        ((recall - lowest) / (highest - lowest) - (tokens - cheapest) / (dearest - cheapest), one)
        for tokens, recall, one in known
    ]
    height, best = max(above, key=lambda point: point[0])
    return best if height > _NOISE else None


def smallest(points: Sequence[Point], recall: float) -> Point | None:
    """Return the point of the smallest value that reaches *recall*, None where none does."""
    enough = [one for one in points if one.candidate_recall is not None and one.candidate_recall >= recall]
    return min(enough, key=lambda one: one.value, default=None)
