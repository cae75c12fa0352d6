"""The report as a value: arms compared, slices, thresholds, a baseline, sweeps, and the notes beside them."""

import json

import pytest

from pegboard.evaluation.comparing import differences, regressions
from pegboard.evaluation.measures import MEASURES, Measured
from pegboard.evaluation.report import Arm, calibration, report
from pegboard.evaluation.runs import Run
from pegboard.evaluation.slices import ToolFacts, overlap, slices
from pegboard.evaluation.sweeps import Point, knee, smallest
from pegboard.evaluation.thresholds import Threshold, judge, read_threshold
from tests.evaluation.made import run, task

TOOLS = {
    "crm.get_order": ToolFacts(name="get_order", namespace="crm", risk="read"),
    "crm.delete_order": ToolFacts(name="delete_order", namespace="crm", risk="destructive"),
    "mail.send": ToolFacts(name="send", namespace="mail", risk="write"),
}
TASKS = [
    task("get", "crm.get_order", task="show me the order"),
    task("drop", "crm.delete_order", "mail.send", task="get rid of it and tell Dana"),
    task("weather", task="will it rain"),
]
GOOD = [run("get", "crm.get_order"), run("drop", "crm.delete_order mail.send"), run("weather")]
POOR = [run("get"), run("drop", "mail.send"), run("weather", "mail.send")]


def made(arms=(("dynamic", GOOD), ("other", POOR)), **more):
    return report(
        TASKS,
        [Arm(name=name, runs=tuple(runs)) for name, runs in arms],
        TOOLS,
        catalog_version="1-abc",
        fixtures={"file": "f.jsonl", "digest": "sha256:0", "tasks": len(TASKS)},
        encoding="characters/4",
        **more,
    )


def test_the_answer_has_the_agreed_shape_and_is_json():
    said = json.loads(json.dumps(made().to_json(), allow_nan=False))
    arm = said["arms"]["dynamic"]
    assert set(arm["measures"]) == {measure.name for measure in MEASURES}
    assert set(arm["measures"]["mrr"]) == {"value", "low", "high", "n", "reason"}
    assert arm["at"]["1"] == {"candidate_recall": 0.5, "step_recall": 0.6667}
    assert set(arm["by_category"]) == {"ordinary", "no_tool"}
    assert arm["tasks"][0]["loaded"] == ["crm.get_order"]
    assert said["passed"] is True


def test_a_run_is_read_back_as_it_was_written():
    one = run("t", "a b", "a b c", tokens=3, ms=0.5, completed=False)
    assert Run.from_json(json.loads(json.dumps(one.to_json()))) == one
    with pytest.raises(ValueError, match="not the run of a task"):
        Run.from_json({"task_id": "t", "outcome": "selected", "colour": "red"})


def test_tasks_are_sliced_by_what_their_labels_name():
    assert slices(TASKS, TOOLS) == {
        "category": {"no_tool": [2], "ordinary": [0, 1]},
        "namespace": {"crm": [0, 1], "mail": [1]},
        "risk": {"destructive": [1], "read": [0], "write": [1]},
        "overlap": {"none": [1], "some": [0]},
    }


@pytest.mark.parametrize(("said", "band"), [("it", "none"), ("the orders", "some"), ("get order 7", "most")])
def test_the_band_says_how_much_of_the_name_the_task_gives_away(said, band):
    assert overlap(task("t", "crm.get_order", task=said), TOOLS) == band


def test_an_arm_is_compared_with_the_first_task_by_task():
    found = differences(TASKS, GOOD, POOR)
    assert found["candidate_recall"].value == -1.0
    assert found["no_tool_accuracy"].n == 1
    assert "task_completion" not in found


def many(count, right):
    tasks = [task(str(number), "a") for number in range(count)]
    return tasks, [run(str(number), "a" if number < right else "b", ms=float(number)) for number in range(count)]


def test_what_became_worse_beyond_chance_is_a_regression():
    tasks, old = many(100, 95)
    _, new = many(100, 80)
    worse = regressions(tasks, {one.task_id: one for one in old}, new)
    assert [one.measure for one in worse] == [
        "candidate_recall",
        "step_recall",
        "ndcg_at_10",
        "mrr",
        "false_selection_rate",
    ]
    assert (worse[0].was, worse[0].now) == (0.95, 0.8)


def test_what_became_better_or_differs_by_chance_is_none():
    tasks, old = many(100, 80)
    for right in (95, 80, 79):
        assert regressions(tasks, {one.task_id: one for one in old}, many(100, right)[1]) == ()


def test_only_tasks_that_the_baseline_has_are_compared():
    tasks, new = many(100, 0)
    assert regressions(tasks, {}, new) == ()


SLICES = {"all": {"mrr": Measured(value=0.8, n=5), "denied_exposure": Measured(value=None, reason="no canaries")}}


@pytest.mark.parametrize(
    ("threshold", "passed", "reason"),
    [
        (Threshold(measure="mrr", minimum=0.8), True, None),
        (Threshold(measure="mrr", minimum=0.9), False, "below 0.9"),
        (Threshold(measure="mrr", maximum=0.7), False, "above 0.7"),
        (Threshold(measure="denied_exposure", maximum=0), False, "not measured: no canaries"),
        (Threshold(measure="denied_exposure", maximum=0, waive="no traces here"), True, "not measured: no canaries"),
        (Threshold(measure="mrr", slice="risk:write", minimum=0.1), False,
         "the report has no slice 'risk:write' of the arm 'x'"),
        (Threshold(measure="mrr", arm="y", minimum=0.1), False, "the report has no slice 'all' of the arm 'y'"),
    ],
)  # fmt: skip
def test_a_threshold_is_reached_or_fails_with_its_reason(threshold, passed, reason):
    (found,) = judge([threshold], {"x": SLICES})
    assert (found.passed, found.reason) == (passed, reason)


@pytest.mark.parametrize(
    "raw",
    [
        {"measure": "speed", "min": 1},
        {"measure": "mrr"},
        {"measure": "mrr", "min": True},
        {"measure": "mrr", "min": 0.5, "minimum": 1},
        {"measure": "mrr", "max": 1, "waive": ""},
    ],
)
def test_a_threshold_that_asks_for_nothing_sensible_is_refused(raw):
    with pytest.raises(ValueError, match=r"measure|unknown key|min|waive"):
        read_threshold(raw)


def test_a_threshold_missed_or_a_regression_fails_the_report():
    assert not made(thresholds=[Threshold(measure="mrr", arm="other", minimum=0.9)]).passed
    assert made(baseline={one.task_id: one for one in GOOD}).passed


def points(*pairs):
    return [Point(setting="limit", value=place, candidate_recall=recall, tokens=tokens)
            for place, (tokens, recall) in enumerate(pairs, start=1)]  # fmt: skip


def test_the_knee_is_where_more_stops_paying():
    found = points((100, 0.2), (200, 0.85), (300, 0.9), (400, 0.92), (1000, 0.95))
    assert knee(found) == found[1]
    assert smallest(found, 0.9) == found[2]
    assert smallest(found, 0.99) is None


@pytest.mark.parametrize(
    "found",
    [points((100, 0.5), (200, 0.6)), points((1, 0.1), (2, 0.2), (3, 0.3)), points((1, 0.5), (2, 0.5), (3, 0.5))],
)
def test_nothing_bends_where_there_is_no_knee(found):
    assert knee(found) is None


def test_a_value_without_a_measure_is_passed_over():
    assert knee(points((100, None), (None, 0.9), (300, 0.9))) is None


def test_confidence_is_held_against_what_was_right():
    runs = [run("get", fits=0.95), run("drop", fits=0.92), run("weather", fits=0.15)]
    assert calibration(TASKS, runs) == [(0.15, 0.0, 1), (pytest.approx(0.935), 1.0, 2)]


def test_the_report_says_where_all_tools_would_serve_as_well():
    costly = [run(one.task_id, tokens=80, tokens_all_tools=100) for one in TASKS]
    assert any("loading all tools costs less here" in note for note in made((("dynamic", costly),)).notes)
    many_tasks, dynamic = many(60, 30)
    arms = [Arm(name="dynamic", runs=tuple(dynamic)), Arm(name="all-tools", runs=tuple(many(60, 60)[1]))]
    found = report(many_tasks, arms, {}, catalog_version="1", fixtures={}, encoding="e")
    assert found.notes == ("all tools reach 50.0% more of the tasks: raise the limit, or look at the misses",)


def test_tasks_that_gave_an_error_are_told():
    broken = [run("get", error="time out"), *GOOD[1:]]
    assert made((("dynamic", broken),)).notes == ("1 tasks gave an error in the arm 'dynamic'",)
