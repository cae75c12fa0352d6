"""Dense scores are exact integers, whatever their extremes and in whatever blocks."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.retrieval.dense import MAX_DIMENSIONS, Vectors
from pegboard.retrieval.eligible import Eligible

needs_numkong = pytest.mark.skipif(find_spec("numkong") is None, reason="numkong is not installed")


@given(st.integers(1, 40), st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_scores_are_the_integer_products_of_the_eligible_rows(rows, dimensions, seed):
    dice = np.random.default_rng(seed)
    matrix = dice.integers(-127, 128, (rows, dimensions), dtype=np.int8)
    asked = dice.integers(-127, 128, (2, dimensions), dtype=np.int8)
    mask = dice.random(rows) < 0.5
    found = Vectors.of(matrix, budget=1 << 20).scores([one.tobytes() for one in asked], Eligible.of_mask(mask))
    assert found.astype(np.int64).tolist() == (asked.astype(np.int64) @ matrix[mask].astype(np.int64).T).tolist()


def test_the_longest_vectors_of_the_largest_numbers_stay_exact():
    matrix = np.full((20_000, MAX_DIMENSIONS), 127, dtype=np.int8)
    matrix[1::2] = -127
    vectors = Vectors.of(matrix, budget=0)
    found = vectors.scores([matrix[0].tobytes()], Eligible.of_mask(np.ones(20_000, dtype=np.bool_)))
    assert set(found[0].tolist()) == {127.0 * 127 * MAX_DIMENSIONS, -127.0 * 127 * MAX_DIMENSIONS}


@needs_numkong
@given(st.integers(1, 40), st.integers(1, MAX_DIMENSIONS), st.integers(0, 2**32 - 1))
def test_integers_and_floats_give_the_same_bytes(rows, dimensions, seed):
    dice = np.random.default_rng(seed)
    matrix = dice.integers(-127, 128, (rows, dimensions), dtype=np.int8)
    asked = [one.tobytes() for one in dice.integers(-127, 128, (3, dimensions), dtype=np.int8)]
    eligible = Eligible.of_mask(dice.random(rows) < 0.8)
    vectors = Vectors.of(matrix, budget=1 << 20)
    assert vectors.kernels is not None
    floats = replace(Vectors.of(matrix, budget=1 << 20), kernels=None).scores(asked, eligible)
    found = vectors.scores(asked, eligible)
    assert (found.dtype, found.shape) == (floats.dtype, floats.shape)
    assert found.tobytes() == floats.tobytes()


@pytest.mark.parametrize("kernels", [False, pytest.param(True, marks=needs_numkong)])
def test_more_rows_than_a_copy_is_kept_of_stay_exact(kernels):
    matrix = np.random.default_rng(0).integers(-127, 128, (66_000, 5), dtype=np.int8)
    matrix.flags.writeable = False  # as one that is mapped
    vectors = Vectors.of(matrix, budget=1 << 20)
    vectors = vectors if kernels else replace(vectors, kernels=None)
    found = vectors.scores(
        [matrix[1].tobytes(), matrix[-1].tobytes()], Eligible.of_mask(np.ones(66_000, dtype=np.bool_))
    )
    assert (found == matrix[[1, -1]].astype(np.int64) @ matrix.T.astype(np.int64)).all()


def test_vectors_of_another_length_or_of_no_text_are_not_taken():
    vectors = Vectors.of(np.zeros((3, 4), dtype=np.int8), budget=0)
    assert vectors.takes([b"\x00" * 4], 1)
    assert not vectors.takes([b"\x00" * 4, b"\x00" * 5], 2)
    assert not vectors.takes([b"\x00" * 4], 2)
    assert not vectors.takes([], 0)
