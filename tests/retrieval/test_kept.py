"""Kept values: bounded, and never wrong."""

from pegboard.retrieval.kept import Kept


def test_a_kept_value_is_made_once():
    made = []
    kept = Kept[str](10)
    for _ in range(3):
        assert kept.get(b"a", lambda: made.append(1) or "value", len) == "value"
    assert made == [1]


def test_what_was_used_longest_ago_goes_first():
    kept = Kept[str](10)
    for key in (b"a", b"b", b"a", b"c"):
        kept.get(key, lambda: "12345", len)
    assert len(kept) == 2
    assert kept.get(b"a", lambda: "new", len) == "12345"
    assert kept.get(b"b", lambda: "new", len) == "new"


def test_a_value_beyond_the_budget_is_not_kept():
    kept = Kept[str](3)
    assert kept.get(b"a", lambda: "12345", len) == "12345"
    assert len(kept) == 0
