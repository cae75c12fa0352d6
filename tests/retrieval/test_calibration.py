"""Calibration: it separates what can be separated, survives its file, and refuses too little."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.retrieval.calibration import FEWEST_EXAMPLES, Calibration, Example, Scorer, calibrate, checked
from pegboard.retrieval.features import FEATURES

SIZE = len(FEATURES)


def _examples(count=200, gap=2.0, seed=0):
    dice = np.random.default_rng(seed)
    for number in range(count):
        fits = number % 2 == 0
        row = dice.normal(size=SIZE)
        row[0] += gap if fits else 0.0
        row[5] = 0.0  # a channel that is not there
        yield Example(features=tuple(row.tolist()), fits=fits, best=fits and row[1] > 0, task=str(number))


def test_tasks_that_a_tool_fits_get_higher_probabilities():
    found = calibrate(list(_examples()), ["static"])
    fits = [found.fits.probability(one.features) for one in _examples(seed=1) if one.fits]
    none = [found.fits.probability(one.features) for one in _examples(seed=1) if not one.fits]
    assert np.mean(fits) > 0.7 > 0.3 > np.mean(none)


def test_a_threshold_keeps_the_share_that_was_asked_for():
    found = calibrate(list(_examples(1_000)), ["static"], kept_fits=0.9)
    others = [found.fits.probability(one.features) for one in _examples(1_000, seed=1) if one.fits]
    assert np.mean([one >= found.fits.threshold for one in others]) == pytest.approx(0.9, abs=0.03)


def test_a_feature_that_never_changes_gets_no_weight():
    assert calibrate(list(_examples()), ["static"]).fits.weights[5] == 0


def test_a_calibration_survives_its_file():
    found = calibrate(list(_examples()), ["static", "encoder"])
    again = Calibration.from_json(json.loads(json.dumps(found.to_json())))
    assert again == found
    assert again.version == found.version
    assert again.channels == ("encoder", "static")


def test_a_threshold_is_told_by_fits_that_have_not_seen_the_task():
    # So few that a fit knows them by heart: it keeps more of them than it will of others.
    rows = list(_examples(60, gap=0.5))
    found = calibrate(rows, ["static"], kept_fits=0.8).fits
    assert found.threshold < np.quantile([found.probability(one.features) for one in rows if one.fits], 0.2)


def test_what_a_calibration_does_on_new_tasks_is_told_by_fits_that_have_not_seen_them():
    kept, rejected = checked(list(_examples(400)), kept_fits=0.9)
    found = calibrate(list(_examples(400)), ["static"], kept_fits=0.9).fits
    others = [(one.fits, found.probability(one.features) >= found.threshold) for one in _examples(1_000, seed=1)]
    assert kept == pytest.approx(np.mean([above for fits, above in others if fits]), abs=0.05)
    assert rejected == pytest.approx(np.mean([not above for fits, above in others if not fits]), abs=0.05)


def test_a_task_is_never_judged_by_what_was_learned_from_it():
    # Each task is there twice, and its features are noise: only a fit that has seen the one knows the other.
    dice = np.random.default_rng(4)
    noise = [tuple(dice.normal(size=SIZE).tolist()) for _ in range(50)]
    rows = [
        Example(features=noise[task], fits=task % 2 == 0, best=False, task=str(task))
        for task in range(50)
        for _ in range(2)
    ]
    _, rejected = checked(rows, kept_fits=0.5)
    assert rejected < 0.75


def test_too_few_to_set_some_aside_are_not_checked():
    assert checked(list(_examples(2 * FEWEST_EXAMPLES))) is None


@pytest.mark.parametrize("fits", [True, False])
def test_too_few_examples_of_one_kind_are_refused(fits):
    rows = [one for one in _examples(400) if one.fits is not fits]
    rows += [one for one in _examples() if one.fits is fits][: FEWEST_EXAMPLES - 1]
    with pytest.raises(ValueError, match="19 tasks that"):
        calibrate(rows, ["static"])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"features": ["x"]}, "other features"),
        ({"fits": {"weights": [1.0], "bias": 0, "threshold": 0}}, "another number of weights"),
        ({"best": None}, "not a calibration"),
        ({"fits": {}}, "not a calibration"),
    ],
)
def test_a_file_that_is_no_calibration_is_refused(change, problem):
    value = {**calibrate(list(_examples()), ["static"]).to_json(), **change}
    with pytest.raises(ValueError, match=problem):
        Calibration.from_json(value)


@given(st.lists(st.floats(-1e6, 1e6), min_size=SIZE, max_size=SIZE))
def test_any_features_have_a_probability(row):
    scorer = Scorer(weights=(1.0,) * SIZE, bias=-1.0, threshold=0.5)
    assert 0 <= scorer.probability(row) <= 1
