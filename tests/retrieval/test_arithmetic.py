"""Logarithm and exponential against the platform's."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.retrieval.arithmetic import exp, ln, logistic


@given(st.floats(1e-300, 1e300))
def test_the_logarithm_is_the_logarithm(value):
    assert ln(value) == pytest.approx(math.log(value), rel=1e-13, abs=1e-13)


@given(st.floats(-700, 700))
def test_the_exponential_is_the_exponential(value):
    assert exp(value) == pytest.approx(math.exp(value), rel=1e-12)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_a_larger_sum_is_never_a_smaller_probability(one, two):
    low, high = sorted((one, two))
    assert 0 <= logistic(low) <= logistic(high) <= 1


def test_the_middle_is_a_half_and_the_ends_are_the_ends():
    assert [logistic(-1e308), logistic(0), logistic(1e308)] == [0, 0.5, 1]
