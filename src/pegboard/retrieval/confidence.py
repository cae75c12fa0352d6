"""Confidence: does anything fit, and which fits best? Judged from the eligible ranking alone.

With vectors, a calibration answers both questions with a probability: a catalog's own, or the shipped one.
Where only words are compared, or none is calibrated, one stated rule does: the share of the task's words,
weighed by how rare they are among the eligible tools, that the best candidate holds. Then confidence is null
and only "none fits" is told.

Source: DESIGN section 6.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pegboard.retrieval.calibration import Calibration, Example
from pegboard.retrieval.eligible import Eligible
from pegboard.retrieval.evidence import Evidence
from pegboard.retrieval.features import features
from pegboard.retrieval.index import Index
from pegboard.retrieval.query import Query
from pegboard.retrieval.ranking import Ranking
from pegboard.retrieval.scoring import LEXICAL
from pegboard.retrieval.shipped import SHIPPED

__all__ = ["FEWEST_COVERED", "UNJUDGED", "Confidence", "Judgment", "examples", "judge"]

# Below this share of the task's (or of one clause's) weighed words, what ranks first is there by accident. Long
# tasks tell a story, of which no tool holds much: beyond six terms the share falls with their number.
FEWEST_COVERED = 0.1
_SHORT = 6

# Two candidates are near-equal when the second lacks less than this share of the first one's score.
_NEAR = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """How sure a ranking is, 0 to 1; None where nothing is calibrated."""

    fits: float | None = None
    """That anything eligible does what the task asks."""
    best: float | None = None
    """That what does it is among the first candidates."""
    minimum: float | None = None
    """What `best` has to reach."""


UNJUDGED = Confidence()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """Whether a ranking is served as it is, and by which rule."""

    confidence: Confidence
    cause: str | None
    """None: serve it. Else "none_fits", "weak" or "ambiguous"."""
    rule: str
    """"named", "nothing-shared", "covered" (the rule of words) or "calibrated"."""


def judge(
    ranking: Ranking,
    query: Query,
    index: Index,
    eligible: Eligible,
    minimum: float | None,
    calibrations: Mapping[tuple[str, ...], Calibration] | None = None,
) -> Judgment:
    """Judge a ranking that *index* made of *query* over *eligible*.

    Args:
        minimum: What `best` has to reach; None: the calibration's own threshold.
        calibrations: The catalog's own, by sorted vector channels; where it has none, the shipped ones serve.
    """
    unknown = Confidence(minimum=minimum)
    if ranking.exact:
        return Judgment(confidence=unknown, cause=None, rule="named")
    if not len(ranking.rows) or not query.asks:
        return Judgment(confidence=unknown, cause="none_fits", rule="nothing-shared")
    calibration = _calibration(ranking, calibrations or {})
    if calibration is None:
        told = any(_covered(one) * max(1.0, one.asked / _SHORT) >= FEWEST_COVERED for one in ranking.evidence)
        return Judgment(confidence=unknown, cause=None if told else "none_fits", rule="covered")
    return _calibrated(ranking, calibration, minimum)


def examples(
    index: Index, query: Query, eligible: Eligible, steps: Sequence[Sequence[int]], k: int
) -> Iterator[Example]:
    """Make labelled examples of one task: as it is, and with its right tools taken out of the eligible set.

    Args:
        steps: For each step the rows that do it; none: the task is one that nothing fits.
        k: How many candidates are served.
    """
    right = {row for step in steps for row in step}
    yield from _examples(query, index.rank(query, eligible, k), steps)
    mask = eligible.mask.copy()
    mask[list(right)] = False
    if right and np.any(mask):
        yield from _examples(query, index.rank(query, Eligible.of_mask(mask), k), ())


def _examples(query: Query, ranking: Ranking, steps: Sequence[Sequence[int]]) -> Iterator[Example]:
    if ranking.evidence and len(ranking.rows) and not ranking.exact:
        served = set(ranking.rows.tolist())
        yield Example(
            features=features(_strongest(ranking), ranking.eligible),
            fits=bool(steps),
            best=bool(steps) and all(served & set(step) for step in steps),
            task=" ".join(query.parts[0]),
        )


def _calibration(ranking: Ranking, own: Mapping[tuple[str, ...], Calibration]) -> Calibration | None:
    told = {channel for one in ranking.evidence if one.scores for channel in one.raw or {}}
    channels = tuple(sorted(told - {LEXICAL}))
    return own.get(channels) or SHIPPED.get(channels)


def _calibrated(ranking: Ranking, calibration: Calibration, minimum: float | None) -> Judgment:
    rows = [features(one, ranking.eligible) for one in ranking.evidence if one.scores]
    # One sub-task that something fits is enough to answer; the least sure one decides how sure the answer is.
    fits = max(map(calibration.fits.probability, rows))
    best = min(map(calibration.best.probability, rows))
    least = calibration.best.threshold if minimum is None else minimum
    confidence = Confidence(fits=fits, best=best, minimum=least)
    if fits < calibration.fits.threshold:
        return Judgment(confidence=confidence, cause="none_fits", rule="calibrated")
    if best >= least:
        return Judgment(confidence=confidence, cause=None, rule="calibrated")
    cause = "ambiguous" if any(map(_ambiguous, ranking.evidence)) else "weak"
    return Judgment(confidence=confidence, cause=cause, rule="calibrated")


def _ambiguous(one: Evidence) -> bool:
    """Say whether the first two are near-equal and of different namespaces."""
    if len(one.scores) < 2 or one.namespaces[0] == one.namespaces[1]:
        return False
    return one.scores[0] - one.scores[1] <= _NEAR * abs(one.scores[0])


def _strongest(ranking: Ranking) -> Evidence:
    return max(ranking.evidence, key=_covered)


def _covered(one: Evidence) -> float:
    return max((*one.covered, *one.clause_covered), default=0.0)
