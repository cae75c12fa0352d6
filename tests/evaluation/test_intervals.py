"""Intervals against published figures, and against what they promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.evaluation.intervals import bootstrap, mcnemar, wilson
from pegboard.evaluation.samples import ratio


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # Newcombe, Statistics in Medicine 1998, table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_score_interval_is_the_published_one(successes, n, low, high):
    assert wilson(successes, n) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(("won", "lost", "p"), [(0, 0, 1.0), (5, 5, 1.0), (8, 1, 0.0390625), (10, 0, 0.001953125)])
def test_winning_and_losing_as_often_is_no_difference(won, lost, p):
    assert mcnemar(won, lost) == pytest.approx(p)
    assert mcnemar(lost, won) == pytest.approx(p)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_a_resampled_mean_lies_between_the_extremes_and_is_the_same_each_time(values):
    found = np.array(values)
    low, high = bootstrap(found, np.ones_like(found), ratio)
    assert found.min() - 1e-12 <= low <= high <= found.max() + 1e-12
    assert bootstrap(found, np.ones_like(found), ratio) == (low, high)


def test_more_tasks_make_a_narrower_interval():
    few, many = (np.tile([0.0, 0.5, 1.0], times) for times in (5, 500))
    widths = [np.ptp(bootstrap(values, np.ones_like(values), ratio)) for values in (few, many)]
    assert widths[1] < widths[0] / 5
