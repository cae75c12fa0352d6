"""Labelled tasks as they are read: both spellings, steps, and what is wrong with a line."""

import pytest

from pegboard.core.context import RuntimeContext
from pegboard.engine.selection import Outcome
from pegboard.evaluation.fixtures import Category, Completion, Fixture, read_fixture, with_ids

SETS = {"a", "b"}
NONE = Category.NO_TOOL


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"task": "t"}, Fixture(task_id="7", task="t", category=NONE)),
        ({"query": "t", "query_id": "q1", "relevant": ["a", "b"]},
         Fixture(task_id="q1", task="t", steps=(frozenset({"a"}), frozenset({"b"})))),
        ({"task_id": "x", "task": "t", "acceptable": [["a", "b"], []]},
         Fixture(task_id="x", task="t", steps=(frozenset(SETS),))),
        ({"task": "t", "acceptable": []}, Fixture(task_id="7", task="t", category=NONE)),
        ({"task": "t", "relevant": ["a"], "forbidden": ["b"], "outcome": "weak", "category": "ambiguous",
          "arguments": {"id": 7}},
         Fixture(task_id="7", task="t", steps=(frozenset({"a"}),), forbidden=frozenset({"b"}), outcome=Outcome.WEAK,
                 category=Category.AMBIGUOUS, arguments={"id": 7})),
        ({"task": "t", "relevant": ["a"], "completed": {"called": ["a"], "says": ["done"]}, "results": {"a": {"x": 7}}},
         Fixture(task_id="7", task="t", steps=(frozenset({"a"}),), results={"a": {"x": 7}},
                 completed=Completion(called=("a",), says=("done",)))),
        ({"task": "t", "as": "sam", "stage": "s", "split": "dev", "candidates": ["a"]},
         Fixture(task_id="7", task="t", profile="sam", stage="s", split="dev", candidates=frozenset({"a"}),
                 category=NONE)),
        ({"task": "t", "principal": {"user": "sam", "scopes": ["x"]}},
         Fixture(task_id="7", task="t", principal=RuntimeContext(user="sam", scopes=frozenset({"x"})), category=NONE)),
    ],
)  # fmt: skip
def test_a_task_is_read_in_every_spelling(raw, expected):
    assert read_fixture(raw, 7) == (expected, ())


def test_what_means_nothing_here_is_named_and_stops_nothing():
    assert read_fixture({"task": "t", "colour": "red", "forbidden": []}, 1)[1] == ("colour",)


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"task": 7},
        {"task": "t", "acceptable": "a"},
        {"task": "t", "acceptable": ["a"]},
        {"task": "t", "relevant": [1]},
        {"task": "t", "as": 3},
        {"task": "t", "principal": "sam"},
        {"task": "t", "principal": {"admin": True}},
        {"task": "t", "candidates": {"a": 1}},
        {"task": "t", "forbidden": "a"},
        {"task": "t", "outcome": "maybe"},
        {"task": "t", "category": "hard"},
        {"task": "t", "arguments": [1]},
        {"task": "t", "completed": "done"},
        {"task": "t", "completed": {"called": "a"}},
        {"task": "t", "completed": {"says": [7]}},
        {"task": "t", "completed": {"say": ["done"]}},
        {"task": "t", "results": ["a"]},
    ],
)
def test_a_line_that_is_no_fixture_says_why(raw):
    with pytest.raises(ValueError, match="'"):
        read_fixture(raw, 1)


def test_names_are_read_as_ids_wherever_a_tool_is_named():
    one = Fixture(
        task_id="t",
        task="t",
        steps=(frozenset({"crm/a"}),),
        forbidden=frozenset({"crm/a"}),
        candidates=frozenset({"crm/a"}),
        completed=Completion(called=("crm/a", "b"), says=("crm/a",)),
        results={"crm/a": "x"},
    )
    found = with_ids(one, {"crm/a": "crm.a"})
    assert (found.steps, found.forbidden, found.candidates) == (({"crm.a"},), {"crm.a"}, {"crm.a"})
    assert found.completed == Completion(called=("crm.a", "b"), says=("crm/a",))
    assert found.results == {"crm.a": "x"}
