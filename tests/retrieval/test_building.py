"""Building: only what changed is read again, and stuffing a text gains nothing."""

from dataclasses import replace

import numpy as np
import pytest

from pegboard.retrieval.building import carry, read, weigh
from pegboard.retrieval.documents import document
from pegboard.retrieval.tokens import is_word_list
from tests.retrieval.made import tool

KEYWORDS = (
    "weather news stock flight hotel movie music email calendar order payment image map translation recipe health "
    "currency invoice ticket contract salary parcel printer camera battery"
)


def test_documents_that_did_not_change_are_taken_over_and_not_read_again():
    entries = [tool(f"crm.tool_{number}", f"Text number {number}.") for number in range(10)]
    changed = [*entries[:5], tool("crm.tool_5", "Another text."), *entries[6:], tool("crm.tool_x", "New.")]
    before = read(entries)
    # A mark that only copying can carry over: no document is read to a frequency of 255.
    marked = replace(before, frequencies=np.full_like(before.frequencies, 255))
    after = read(changed, marked)

    copied = [set(after.frequencies[after.span(row)].tolist()) == {255} for row in range(len(changed))]
    assert [entry.name for entry, taken in zip(changed, copied, strict=True) if not taken] == ["tool_5", "tool_x"]


def test_what_is_read_upon_another_equals_what_is_read_from_nothing():
    entries = [tool(f"crm.tool_{number}", f"Text number {number}.") for number in range(10)]
    upon, fresh = read(entries[3:], read(entries)), read(entries[3:])
    assert (upon.digests, list(upon.vocabulary)) == (fresh.digests, list(fresh.vocabulary))
    assert all(
        np.array_equal(getattr(upon, name), getattr(fresh, name))
        for name in ("terms", "frequencies", "ends", "lengths")
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (KEYWORDS, True),
        ("Cancel an order before it ships, and tell the customer why it was cancelled. " * 2, False),
        ("Cancel an order.", False),
        ("Отменить заказ клиента " * 20, False),
        ("", False),
    ],
)
def test_a_list_of_keywords_is_told_from_sentences(text, expected):
    assert is_word_list(text) is expected


def _counted(**parts):
    return weigh(document(tool("zz.helper", **parts)))


def test_of_a_list_of_keywords_only_the_first_count_and_all_are_length():
    weights, length = _counted(description=KEYWORDS)
    _, short = _counted(description="Helps.")
    assert len(weights) <= 2 + 16
    assert length - short > 200


def test_saying_a_word_again_and_again_gains_nothing():
    often, _ = _counted(description="Cancel the order. " * 50)
    thrice, _ = _counted(description="Cancel the order. " * 3)
    assert often["cancel"] == thrice["cancel"]


def test_a_name_that_is_a_list_of_keywords_counts_with_its_first_words():
    weights, _ = _counted(name="_".join(KEYWORDS.split()))
    assert sum(weight >= 30 for weight in weights.values()) <= 4


@pytest.mark.parametrize("order", [[3, 1, 7, 9], [], list(range(10)), [9, 9]])
def test_what_is_carried_over_ranks_as_what_is_read_from_nothing(order):
    old = [tool(f"crm.tool_{number}", f"Text number {number}.") for number in range(10)]
    new = [tool("crm.first", "A text of its own."), *(old[place] for place in order), tool("crm.last", "Another word.")]
    upon = carry(new, read(old), np.array([-1, *order, -1], dtype=np.int64))
    fresh = read(new)
    assert upon.digests == fresh.digests
    assert np.array_equal(upon.lengths, fresh.lengths)
    assert [_frequencies(upon, row) for row in range(len(new))] == [_frequencies(fresh, row) for row in range(len(new))]
    assert set(fresh.vocabulary) <= set(upon.vocabulary)


def _frequencies(rows, row):
    """Return a row's terms with their frequencies."""
    terms = list(rows.vocabulary)
    numbers, counts = rows.terms[rows.span(row)].tolist(), rows.frequencies[rows.span(row)].tolist()
    return {terms[number]: count for number, count in zip(numbers, counts, strict=True)}


def test_only_what_has_no_place_is_read():
    old = [tool(f"crm.tool_{number}", f"Text number {number}.") for number in range(4)]
    before = read(old)
    marked = replace(before, frequencies=np.full_like(before.frequencies, 255))
    after = carry([*old, tool("crm.x", "New.")], marked, np.array([0, 1, 2, 3, -1], dtype=np.int64))
    assert [set(after.frequencies[after.span(row)].tolist()) == {255} for row in range(5)] == [True] * 4 + [False]
