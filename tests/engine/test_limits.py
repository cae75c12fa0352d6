"""Limits: how much one caller may have, and what ends a loop."""

import pytest

from pegboard.engine import limits
from pegboard.engine.limits import EMPTY_STANDING, LIMITS, Limits, Refusals, exceeded, mark_of
from pegboard.engine.verdict import ProposedCall
from tests.engine.made import standing

ALL = Limits(calls_per_minute=2, calls_per_day=5, spend_per_day=10.0)
ROWS = (
    (standing(calls=(1, 4), spent=(0.0, 9.0)), 1.0, None),
    (standing(calls=(2, 2)), 0.0, "calls_per_minute"),
    (standing(calls=(0, 5)), 0.0, "calls_per_day"),
    (standing(spent=(0.0, 9.0)), 1.5, "spend_per_day"),
)


@pytest.mark.parametrize(("known", "cost", "name"), ROWS)
def test_the_first_limit_that_a_call_goes_beyond_is_named(known, cost, name):
    assert exceeded(ALL, known, cost) == name
    assert exceeded(Limits(), known, cost) is None


@pytest.mark.parametrize("row", range(len(LIMITS)), ids=[name for name, _ in LIMITS])
def test_deleting_a_limit_lets_something_through(row, monkeypatch):
    monkeypatch.setattr(limits, "LIMITS", LIMITS[:row] + LIMITS[row + 1 :])
    assert [exceeded(ALL, known, cost) for known, cost, _ in ROWS] != [name for *_, name in ROWS]


def test_every_limit_that_is_a_number_of_calls_or_costs_has_a_row():
    counted = {name for name in Limits.__slots__ if name.startswith(("calls", "spend"))}
    assert counted == {name for name, _ in LIMITS}


def test_nothing_at_all_may_be_allowed():
    assert exceeded(Limits(calls_per_day=0), EMPTY_STANDING, 0.0) == "calls_per_day"


def mark(identity, tool, arguments):
    return mark_of(identity, ProposedCall(tool=tool, arguments=arguments))


ONE, OTHER = mark("me", "a", {}), mark("me", "b", {})


def test_the_same_refusal_so_often_within_a_minute_is_a_loop_for_as_long_as_it_goes_on():
    refusals = Refusals()
    for at in (0.0, 30.0, 59.0):
        assert not refusals.loops(ONE, at, 3)
        refusals.add(ONE, at, 3)
    assert refusals.loops(ONE, 60.0, 3)
    assert not refusals.loops(ONE, 61.0, 3)
    assert not refusals.loops(OTHER, 60.0, 3)
    refusals.add(ONE, 60.0, 3)
    assert refusals.loops(ONE, 61.0, 3)


def test_what_was_refused_longest_ago_is_forgotten_first():
    refusals = Refusals(capacity=2)
    for tool in ("a", "b", "a", "c"):
        refusals.add(mark("me", tool, {}), 0.0, 1)
    assert len(refusals) == 2
    assert [refusals.loops(mark("me", tool, {}), 0.0, 1) for tool in "abc"] == [True, False, True]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("me", "a", {"x": 1, "y": 2}), ("me", "a", {"y": 2, "x": 1.0}), True),
        (("me", "a", {"x": 1}), ("me", "a", {"x": 2}), False),
        (("me", "a", {}), ("you", "a", {}), False),
        (("me", "a", {}), ("me", "b", {}), False),
        (("me", "a", float("nan")), ("me", "a", {1, 2}), True),
    ],
)
def test_a_call_is_the_same_by_caller_tool_as_named_and_arguments(one, other, same):
    assert (mark(*one) == mark(*other)) is same
