"""Vectors that are made once: of tasks in memory, of documents by digest."""

from collections.abc import Sequence

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

from pegboard.adapters.vector_cache import RememberingEncoder
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
