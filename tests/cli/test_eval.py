"""`pegboard eval`: arms side by side, judged by thresholds and an earlier report, and what ends it early."""

import re

import pytest

from tests.cli.answers import ANSWERS, shape_of
from tests.cli.labelled import TASKS, value


def test_every_arm_runs_on_the_same_tasks(labelled):
    report = labelled.asks("eval", "tasks.jsonl")
    assert shape_of(report, ANSWERS["eval"]) == ANSWERS["eval"]
    assert list(report["arms"]) == ["dynamic", "all-tools", "words", "one", "openai"]
    assert {tuple(one["task_id"] for one in arm["tasks"]) for arm in report["arms"].values()} == {
        ("open", "cancel", "weather")
    }
    assert report["arms"]["one"]["settings"] == {"selection": {"limit": 1}}
    assert value(report, "all-tools", "candidate_recall") == 1.0
    assert [one["loaded"] for one in report["arms"]["one"]["tasks"]][:2] == [
        ["crm.list_open_orders"],
        ["crm.cancel_order"],
    ]
    assert value(report, "openai", "definition_tokens") != value(report, "dynamic", "definition_tokens")


def test_arms_may_be_named(labelled):
    assert list(labelled.asks("eval", "tasks.jsonl", "--arm", "words", "--arm", "dynamic")["arms"]) == [
        "words",
        "dynamic",
    ]
    assert list(labelled.asks("eval", "tasks.jsonl", "--arm", "one", "--arm", "one")["arms"]) == ["one"]
    refused = labelled.runs("eval", "tasks.jsonl", "--arm", "wrods")
    assert (refused.status, "did you mean 'words'?" in refused.err) == (2, True)


@pytest.mark.parametrize("name", ["dynamic", "all-tools", "typos"])
def test_a_configured_arm_cannot_stand_for_one_of_ours(labelled, name):
    labelled.writes("pegboard.toml", labelled.reads("pegboard.toml") + f"[arms.{name}]\nselection = {{ limit = 1 }}\n")
    answer = labelled.runs("eval", "tasks.jsonl")
    assert (answer.status, "is one of ours" in answer.err) == (2, True)


def test_evaluating_leaves_no_trace_and_no_file(labelled):
    before = labelled.asks("traces", "list")
    labelled.runs("eval", "tasks.jsonl", "--arm", "dynamic", "--perturb", "updated")
    assert labelled.asks("traces", "list") == before
    assert not (labelled.folder / ".pegboard-eval").exists()


@pytest.mark.parametrize(
    ("threshold", "status"),
    [
        ('measure = "candidate_recall"\nmin = 0.9', 0),
        ('measure = "candidate_recall"\nslice = "category:ordinary"\nmin = 0.9', 0),
        ('measure = "definition_tokens"\nmax = 1', 1),
        ('measure = "call_validity"\nmin = 0.9', 1),
        ('measure = "call_validity"\nmin = 0.9\nwaive = "no model here"', 0),
        ('measure = "candidate_recall"\nslice = "category:multi_tool"\nmin = 0.1', 1),
        ('measure = "candidate_recall"\narm = "nobody"\nmin = 0.1', 1),
    ],
)
def test_a_threshold_that_is_missed_or_null_ends_with_status_1(labelled, threshold, status):
    labelled.writes("thresholds.toml", f"[[threshold]]\n{threshold}\n")
    answer = labelled.runs("eval", "tasks.jsonl", "--arm", "dynamic", "--thresholds", "thresholds.toml", "--json")
    assert (answer.status, answer.json["passed"]) == (status, not status)


def test_what_got_worse_than_the_baseline_ends_with_status_1(labelled):
    more = [{**task, "task_id": f"{task['task_id']}-{number}"} for number in range(8) for task in TASKS[:2]]
    labelled.writes("tasks.jsonl", more)
    report = labelled.runs("eval", "tasks.jsonl", "--arm", "dynamic", "--json")
    labelled.writes("before.json", report.out)
    assert labelled.runs("eval", "tasks.jsonl", "--arm", "dynamic", "--baseline", "before.json").status == 0
    labelled.writes("pegboard.toml", labelled.reads("pegboard.toml") + "[selection]\nminimum_confidence = 1\n")
    worse = labelled.runs("eval", "tasks.jsonl", "--arm", "dynamic", "--baseline", "before.json", "--json")
    assert worse.status == 1
    assert "candidate_recall" in [one["measure"] for one in worse.json["regressions"]]


def test_a_sweep_shows_recall_and_tokens_at_every_value(labelled):
    sweep = labelled.asks("eval", "tasks.jsonl", "--arm", "dynamic", "--sweep", "limit=1..4")["sweep"]
    assert [one["limit"] for one in sweep] == [1, 2, 3, 4]
    assert sweep[0]["tokens"] < sweep[3]["tokens"]


@pytest.mark.parametrize("said", ["limit", "limit=", "limit=a", "limit=0..3", "limit=1.5", "colour=1..3", "limit=5..1"])
def test_a_sweep_that_means_nothing_is_refused(labelled, said):
    assert labelled.runs("eval", "tasks.jsonl", "--sweep", said).status == 2


def test_the_page_is_written_beside_the_answer(labelled):
    labelled.writes("pegboard.toml", labelled.reads("pegboard.toml") + '[evaluation]\nprincipal = "sam"\n')
    answer = labelled.runs("eval", "tasks.jsonl", "--html", "report.html")
    assert answer.status == 0
    shown = labelled.reads("report.html")
    assert shown.startswith("<!doctype html>")
    assert re.search(
        r"Made \d{4}-\d\d-\d\dT[\d:]+Z by Pegboard \d[^ ;]*; asked as sam where a task names nobody\.", shown
    )


def test_the_printed_report_says_how_to_read_it_beside_the_answer(labelled):
    answer = labelled.runs("eval", "tasks.jsonl", "--arm", "dynamic")
    assert "candidate_recall counts first" in answer.err
    assert "docs/how-to/evaluate.md" in answer.err
    assert "counts first" not in answer.out


def test_a_catalog_file_is_evaluated_without_a_deployment(empty):
    empty.writes("tasks.jsonl", [{key: task[key] for key in ("task_id", "task", "acceptable")} for task in TASKS])
    empty.writes(
        "tools.jsonl",
        [
            {
                "tool_id": "crm.list_open_orders",
                "namespace": "crm",
                "name": "list_open_orders",
                "description": "Open orders.",
            },
            {
                "tool_id": "crm.cancel_order",
                "namespace": "crm",
                "name": "cancel_order",
                "description": "Cancel an order.",
            },
        ],
    )
    report = empty.asks("eval", "tasks.jsonl", "--catalog", "tools.jsonl", "--open", "--arm", "dynamic")
    assert report["open"] is True
    assert [one["eligible"] for one in report["arms"]["dynamic"]["tasks"]] == [2, 2, 2]
    assert not (empty.folder / "pegboard.db").exists()


def test_a_catalog_file_is_under_the_lock_unless_it_is_open(labelled):
    report = labelled.asks("eval", "tasks.jsonl", "--catalog", "listings", "--arm", "dynamic")
    assert [one["eligible"] for one in report["arms"]["dynamic"]["tasks"]] == [4, 4, 4]
    (labelled.folder / "pegboard.lock").write_text("")
    refused = labelled.runs("eval", "tasks.jsonl", "--catalog", "listings", "--arm", "dynamic")
    assert (refused.status, "its caller may use none of" in refused.err) == (2, True)
    assert labelled.runs("eval", "tasks.jsonl", "--open").status == 2


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([], "no task"),
        ([{"task": "t", "acceptable": [["crm.nothing"]], "as": "sam"}], "no such tool in the catalog"),
        ([{"task": "t", "acceptable": [["crm.cancel_order"]], "as": "nobody"}], "no profile 'nobody'"),
        (
            [{"task": "t", "acceptable": [["crm.cancel_order"]], "forbidden": ["crm.cancel_order"], "as": "sam"}],
            "both acceptable and forbidden",
        ),
    ],
)
def test_labels_that_nothing_can_be_measured_by_are_refused_before_anything_runs(labelled, tasks, said):
    labelled.writes("tasks.jsonl", tasks)
    answer = labelled.runs("eval", "tasks.jsonl")
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err


@pytest.mark.parametrize(
    ("option", "content"),
    [
        ("--thresholds", "nonsense"),
        ("--thresholds", ""),
        ("--thresholds", '[[threshold]]\nmeasure = "luck"\nmin = 1\n'),
        ("--thresholds", '[[threshold]]\nmeasure = "mrr"\n'),
        ("--baseline", "[]"),
        ("--baseline", "{}"),
        ("--baseline", '{"arms": {"dynamic": {"tasks": [{"who": 1}]}}}'),
    ],
)
def test_a_file_to_judge_by_that_cannot_be_read_is_refused(labelled, option, content):
    labelled.writes("judge", content)
    assert labelled.runs("eval", "tasks.jsonl", option, "judge").status == 2
    assert labelled.runs("eval", "tasks.jsonl", option, "nowhere").status == 2


def test_people_get_the_same_in_words(labelled):
    labelled.writes("thresholds.toml", '[[threshold]]\nmeasure = "definition_tokens"\nmax = 1\n')
    shown = labelled.runs("eval", "tasks.jsonl", "--sweep", "limit=1..2", "--thresholds", "thresholds.toml")
    assert "candidate_recall" in shown.out
    assert "category:ordinary" in shown.out
    assert "missed definition_tokens" in shown.out
    assert "limit 2" in shown.out
    assert "not measured: end_to_end_ms_p50" in shown.err


def test_perturbed_arms_and_tasks_join_the_report(labelled):
    report = labelled.asks("eval", "tasks.jsonl", "--arm", "dynamic", "--perturb", "all")
    assert list(report["arms"]) == ["dynamic", "typos", "paraphrase", "updated", "stuffed"]
    ids = [one["task_id"] for one in report["arms"]["dynamic"]["tasks"]]
    assert ids == [one["task_id"] for one in report["arms"]["stuffed"]["tasks"]]
    assert {"open~as-dana", "open~without-crm"} < set(ids)
    assert value(report, "dynamic", "forbidden_selected") == 0
    assert {value(report, name, "denied_exposure") for name in report["arms"]} == {0}
    assert labelled.runs("eval", "tasks.jsonl", "--perturb", "wind").status == 2
