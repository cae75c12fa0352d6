"""Measures against definitions written another way: by hand for the small, by `ir_measures` for what it has."""

from dataclasses import replace

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import RR, R, nDCG

from pegboard.evaluation.measures import AT, MEASURES, measured, recall_at
from tests.evaluation.made import run, task

BY_NAME = {measure.name: measure for measure in MEASURES}


def value(name, tasks, runs):
    return measured(BY_NAME[name], tasks, runs).value


TASKS = [
    task("one", "a"),
    task("either", "a b"),
    task("two", "a", "b"),
    task("none"),
    task("guarded", "c", forbidden=frozenset({"d", "e"}), outcome="selected"),
]
RUNS = [
    run("one", "a x", "x a", tokens=10, tokens_all_tools=100, ms=1.0),
    run("either", "b", "y z b", tokens=20, tokens_all_tools=100, ms=2.0),
    run("two", "b", "b x a", tokens=30, tokens_all_tools=100, ms=3.0),
    run("none", "x", tokens=40, tokens_all_tools=100, ms=4.0),
    run("guarded", "", "c d", outcome="no_tool", tokens=0, tokens_all_tools=100, ms=5.0, exposed=2),
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("candidate_recall", 2 / 4),  # one, either; two lacks a step and guarded was abstained on
        ("step_recall", 3 / 5),
        ("mrr", (1 / 2 + 1 / 3 + 1 + 1) / 4),
        ("false_selection_rate", 2 / 5),  # x of `one`, x of `none`, of a x b b x
        ("no_tool_accuracy", 0.0),
        ("outcome_accuracy", 0.0),
        ("forbidden_selected", 0.0),
        ("denied_exposure", 2.0),
        ("definition_tokens", 20.0),
        ("definition_tokens_all_tools", 100.0),
        ("discovery_ms_p50", 3.0),
    ],
)
def test_a_measure_is_what_its_definition_says(name, expected):
    assert value(name, TASKS, RUNS) == pytest.approx(expected)


def test_pinned_tools_are_no_false_selection():
    assert value("false_selection_rate", [task("t", "a")], [run("t", "stop a", ranked=("a",))]) == 0.0


def test_a_step_counts_once_however_many_of_its_tools_are_ranked():
    tasks = [task("t", "a b c", "d")]
    ideal = 1 + 1 / np.log2(3)
    assert value("ndcg_at_10", tasks, [run("t", "", "a b c d")]) == pytest.approx((1 + 1 / np.log2(5)) / ideal)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_what_was_not_taken_is_null_with_a_reason_and_never_zero(measure):
    found = measured(measure, [], [])
    assert (found.value, found.low, found.high, found.n) == (None, None, None, 0)
    assert found.reason == measure.missing


@pytest.mark.parametrize(
    ("one", "its", "why"),
    [
        (task("t", "a"), replace(run("t", "a"), ranking=None), "this arm does not rank"),
        (task("t", "a"), replace(run("t"), ranking=None, error="time out"), "no answerable task was ranked"),
        (task("t"), run("t", "", "a"), "no answerable task was ranked"),
    ],
)
def test_an_arm_that_does_not_rank_is_said_to_be_one_and_no_other_is(one, its, why):
    assert [measured(BY_NAME[name], [one], [its]).reason for name in ("ndcg_at_10", "mrr")] == [why, why]


def test_what_only_a_model_can_show_is_null_without_one():
    found = measured(BY_NAME["task_completion"], TASKS, RUNS)
    assert (found.value, found.reason) == (None, "no model was in the loop")


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_a_value_lies_in_its_interval(measure):
    found = measured(measure, TASKS, RUNS)
    assert found.value is None or found.low <= found.value <= found.high


ids = st.sampled_from([f"t{number}" for number in range(12)])
judged = st.lists(
    st.tuples(st.sets(ids, min_size=1, max_size=4), st.lists(ids, unique=True, max_size=12)), min_size=1, max_size=6
)


@settings(max_examples=40, deadline=None)
@given(judged)
def test_where_each_step_has_one_tool_ir_measures_agrees(cases):
    tasks = [task(str(number), *sorted(relevant)) for number, (relevant, _) in enumerate(cases)]
    runs = [run(str(number), "", " ".join(ranking)) for number, (_, ranking) in enumerate(cases)]
    qrels = [ir_measures.Qrel(str(number), one, 1) for number, (relevant, _) in enumerate(cases) for one in relevant]
    scored = [
        ir_measures.ScoredDoc(str(number), one, float(100 - rank))
        for number, (_, ranking) in enumerate(cases)
        for rank, one in enumerate(ranking)
    ] or [ir_measures.ScoredDoc("0", "nothing", 0.0)]
    theirs = ir_measures.calc_aggregate([nDCG @ 10, RR, *(R @ k for k in AT)], qrels, scored)
    assert value("ndcg_at_10", tasks, runs) == pytest.approx(theirs[nDCG @ 10])
    assert value("mrr", tasks, runs) == pytest.approx(theirs[RR])
    for k in AT:
        # Theirs is the mean of each task's share; ours counts all steps alike, so one task at a time is compared.
        each = [measured(recall_at(k)[1], [one], [its]).value for one, its in zip(tasks, runs, strict=True)]
        assert np.mean(each) == pytest.approx(theirs[R @ k])
