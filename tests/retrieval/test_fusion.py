"""Fusion: exact deviations, ranks, and cutting without losing a tie."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.retrieval.fusion import Scale, best_first, head, ranks

integers = st.lists(st.integers(-6_193_536, 10**9), min_size=1, max_size=40)


@given(integers, st.integers(0, 1_000))
def test_levels_are_z_scores_over_all_eligible_tools(values, others):
    every = [*values, *[0] * others]
    spread = statistics.pstdev(every)
    scores = np.array(values, dtype=np.float64)
    found = Scale.of(scores, len(every)).level(scores)
    if spread > max(map(abs, every)) / 100:  # below, the step that keeps squares exact shows
        expected = [(value - statistics.fmean(every)) / spread for value in values]
        assert found == pytest.approx(expected, rel=1e-2, abs=1e-2)


@pytest.mark.parametrize("values", [[], [0.0], [7.0, 7.0]])
def test_equal_scores_do_not_deviate(values):
    scores = np.array(values)
    assert Scale.of(scores, len(values)).level(scores).tolist() == [0.0] * len(values)


def test_a_million_of_the_largest_scores_are_summed_exactly():
    scores = np.full(1 << 20, 1e9)
    scores[0] = 0
    scale = Scale.of(scores, 1 << 20)
    assert scale.mean == 1e9 * ((1 << 20) - 1) / (1 << 20)
    assert scale.deviation == pytest.approx(1e9 * math.sqrt((1 << 20) - 1) / (1 << 20), rel=1e-4)


@given(st.lists(st.integers(0, 5), max_size=12))
def test_a_rank_counts_the_tools_that_are_better(values):
    found = ranks(np.array(values, dtype=np.float64)).tolist()
    assert found == [-sum(other > value for other in values) for value in values]


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 12))
def test_a_head_and_its_order_are_the_beginning_of_the_sorted_whole(values, size):
    scores = np.array(values, dtype=np.float64)
    places = head(scores, size)
    chosen = places[best_first(scores[places], places)]
    assert chosen.tolist() == sorted(range(len(values)), key=lambda place: (-values[place], place))[:size]
