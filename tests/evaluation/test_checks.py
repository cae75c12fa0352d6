"""What is wrong with labels: each rule by a task that breaks it alone."""

import pytest

from pegboard.engine.selection import Outcome
from pegboard.evaluation.checks import CHECKS, Labelled, problems
from pegboard.evaluation.fixtures import Category, Completion
from tests.evaluation.made import task

KNOWN = frozenset({"a", "b", "c", "hidden"})
VISIBLE = frozenset({"a", "b", "c"})


def found(*tasks):
    return [(one.task_id, one.rule) for one in problems(Labelled(task=t, known=KNOWN, visible=VISIBLE) for t in tasks)]


BROKEN = {
    "empty-task": task("t", "a", task="  "),
    "unknown-tool": task("t", "a", "b nowhere"),
    "contradictory-label": task("t", "hidden a", forbidden=frozenset({"hidden"}), category=Category.PERMISSION_CHANGE),
    "contradictory-outcome": task("t", "a", outcome=Outcome.NO_TOOL),
    "contradictory-category": task("t", "a", category=Category.MULTI_TOOL),
    "out-of-reach": task("t", "a", "hidden"),
    "partly-out-of-reach": task("t", "a hidden"),
    "forbidden-but-eligible": task("t", "a", forbidden=frozenset({"c"})),
}


def test_each_rule_has_a_task_that_breaks_it():
    assert BROKEN.keys() == CHECKS.keys()


@pytest.mark.parametrize("rule", CHECKS)
def test_a_task_that_breaks_one_rule_is_told_so(rule):
    assert found(BROKEN[rule]) == [("t", rule)]


@pytest.mark.parametrize(
    "fine",
    [
        task("t", "a b", "c"),
        task("t", category=Category.NO_TOOL, outcome=Outcome.NO_TOOL),
        task("t", forbidden=frozenset({"hidden"}), category=Category.FORBIDDEN_CAPABILITY),
        task("t", "a hidden", category=Category.PERMISSION_CHANGE),
        task("t", "a", outcome=Outcome.WEAK),
    ],
)
def test_a_sound_label_is_left_alone(fine):
    assert found(fine) == []


def test_candidates_narrow_what_a_step_can_be_satisfied_with():
    assert found(task("t", "a", candidates=frozenset({"b"}))) == [("t", "out-of-reach")]


def test_an_id_names_one_task():
    assert found(task("t", "a"), task("t", "b", task="another")) == [("t", "duplicate-id")]


def test_what_a_finished_run_calls_and_what_is_recorded_are_tools_that_there_are():
    gone = task("t", "a", completed=Completion(called=("nowhere",)))
    assert found(gone) == [("t", "unknown-tool")]
    assert found(task("t", "a", results={"nowhere": "x"})) == [("t", "unknown-tool")]
    assert found(task("t", "a", completed=Completion(called=("b",)), results={"b": "x"})) == []


def test_a_finished_run_cannot_have_called_what_is_forbidden():
    both = task("t", "a", completed=Completion(called=("hidden",)), forbidden=frozenset({"hidden"}))
    assert found(both) == [("t", "contradictory-label")]


def test_no_tool_is_right_and_some_are_expected():
    assert found(task("t", outcome=Outcome.SELECTED)) == [("t", "contradictory-outcome")]
