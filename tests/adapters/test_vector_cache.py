"""Vectors that are made once: of tasks in memory, of documents by digest."""

from collections.abc import Sequence

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

from pegboard.adapters.vector_cache import RememberingEncoder, encode_missing
from pegboard.core.errors import EncoderError


class Counting:
    """Gives each text its length, and says what it was asked for; can fail from a given text on."""

    model_id = "counting@1"
    dimensions = 2

    def __init__(self, fails_on: str | None = None) -> None:
        self.asked: list[str] = []
        self._fails_on = fails_on

    async def encode(self, texts: Sequence[str]) -> NDArray[np.int8]:
        self.asked += texts
        if self._fails_on in texts:
            raise EncoderError(model=self.model_id, problem="out of order")
        return np.array([[len(text), 1] for text in texts], dtype=np.int8).reshape(len(texts), 2)


def test_a_remembered_text_is_not_encoded_again() -> None:
    inner = Counting()
    encoder = RememberingEncoder(inner)
    first = anyio.run(encoder.encode, ["pay", "refund", "pay"])
    again = anyio.run(encoder.encode, ["refund", "pay", "list"])
    assert first.tolist() == [[3, 1], [6, 1], [3, 1]]
    assert again.tolist() == [[6, 1], [3, 1], [4, 1]]
    assert inner.asked == ["pay", "refund", "list"]
    assert anyio.run(encoder.encode, []).shape == (0, 2)


def test_the_text_not_asked_for_longest_is_forgotten_first() -> None:
    inner = Counting()
    encoder = RememberingEncoder(inner, limit=8)
    for number in range(9):
        anyio.run(encoder.encode, ["x" * number])
        anyio.run(encoder.encode, ["x" * 0])
    inner.asked.clear()
    anyio.run(encoder.encode, [""])
    anyio.run(encoder.encode, ["x" * 8])
    anyio.run(encoder.encode, ["x" * 1])
    assert inner.asked == ["x"]


def test_a_catalog_does_not_push_tasks_out() -> None:
    inner = Counting()
    encoder = RememberingEncoder(inner, limit=16)
    anyio.run(encoder.encode, ["pay"])
    anyio.run(encoder.encode, ["x" * number for number in range(40)])
    inner.asked.clear()
    anyio.run(encoder.encode, ["pay"])
    assert inner.asked == []


def test_a_failure_is_not_remembered() -> None:
    inner = Counting(fails_on="pay")
    encoder = RememberingEncoder(inner)
    for _ in range(2):
        with pytest.raises(EncoderError):
            anyio.run(encoder.encode, ["pay"])
    assert inner.asked == ["pay", "pay"]


def test_only_unknown_digests_are_encoded_and_each_once() -> None:
    inner = Counting()
    steps: list[tuple[int, int]] = []
    known = {"a": b"\x01\x01", "damaged": b"\x01"}
    made = anyio.run(
        encode_missing,
        inner,
        ["a", "b", "c", "b", "damaged"],
        ["x", "yy", "zzz", "yy", "wwww"],
        known,
        lambda done, total: steps.append((done, total)),
        2,
    )
    assert made == {"b": b"\x02\x01", "c": b"\x03\x01", "damaged": b"\x04\x01"}
    assert inner.asked == ["yy", "zzz", "wwww"]
    assert steps == [(0, 3), (2, 3), (3, 3)]


def test_nothing_is_returned_when_a_later_batch_fails() -> None:
    with pytest.raises(EncoderError):
        anyio.run(encode_missing, Counting(fails_on="b"), ["1", "2"], ["a", "b"], {}, lambda done, total: None, 1)


def test_an_encoder_that_gives_too_few_vectors_is_an_encoder_error() -> None:
    class Short(Counting):
        async def encode(self, texts: Sequence[str]) -> NDArray[np.int8]:
            return np.zeros((1, 2), dtype=np.int8)

    with pytest.raises(EncoderError, match=r"2 texts gave vectors of shape \(1, 2\)"):
        anyio.run(encode_missing, Short(), ["1", "2"], ["a", "b"], {})


def test_digests_and_texts_of_different_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        anyio.run(encode_missing, Counting(), ["1"], ["a", "b"], {})
