"""Calibration: it separates what can be separated, survives its file, and refuses too little."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.retrieval.calibration import FEWEST_EXAMPLES, Calibration, Example, Scorer, calibrate
from pegboard.retrieval.features import FEATURES

SIZE = len(FEATURES)


def _examples(count=200, gap=2.0, seed=0):
    dice = np.random.default_rng(seed)
    for number in range(count):
        fits = number % 2 == 0
        row = dice.normal(size=SIZE)
        row[0] += gap if fits else 0.0
        row[5] = 0.0  # a channel that is not there
        yield Example(features=tuple(row.tolist()), fits=fits, best=fits and row[1] > 0)


def test_tasks_that_a_tool_fits_get_higher_probabilities():
    found = calibrate(list(_examples()), ["static"])
    fits = [found.fits.probability(one.features) for one in _examples(seed=1) if one.fits]
    none = [found.fits.probability(one.features) for one in _examples(seed=1) if not one.fits]
    assert np.mean(fits) > 0.7 > 0.3 > np.mean(none)


def test_a_threshold_keeps_the_share_that_was_asked_for():
    rows = list(_examples(1_000))
    found = calibrate(rows, ["static"], kept_fits=0.9)
    kept = np.mean([found.fits.probability(one.features) >= found.fits.threshold for one in rows if one.fits])
    assert kept == pytest.approx(0.9, abs=0.01)


def test_a_feature_that_never_changes_gets_no_weight():
    assert calibrate(list(_examples()), ["static"]).fits.weights[5] == 0


def test_a_calibration_survives_its_file():
    found = calibrate(list(_examples()), ["static", "encoder"])
    again = Calibration.from_json(json.loads(json.dumps(found.to_json())))
    assert again == found
    assert again.version == found.version
    assert again.channels == ("encoder", "static")


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
