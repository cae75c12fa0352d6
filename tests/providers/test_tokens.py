"""Tokens: one named encoding a comparison, cached ones apart."""

import pytest

from pegboard.providers.tokens import Tokens, count_tokens

LENGTH = ("characters", len)
TOOLS = [{"name": "a", "description": "é"}]


def test_the_compact_json_of_the_wire_is_counted():
    assert count_tokens(TOOLS, LENGTH) == Tokens(
        encoding="characters", uncached=len('[{"name":"a","description":"é"}]')
    )


def test_what_was_sent_before_is_counted_apart():
    found = count_tokens({"name": "b"}, LENGTH, cached=TOOLS)
    assert (found.cached, found.uncached, found.total) == (32, 12, 44)


def test_nothing_takes_nothing():
    assert count_tokens([], LENGTH).total == 0


def test_counts_of_one_encoding_add_up():
    one = Tokens(encoding="o200k-json", cached=1, uncached=2)
    assert one + one == Tokens(encoding="o200k-json", cached=2, uncached=4)


def test_counts_of_two_encodings_are_never_added():
    with pytest.raises(ValueError, match="cannot be added"):
        Tokens(encoding="o200k-json") + Tokens(encoding="characters/4")
