"""`pegboard fixtures`: labels proposed, asked for, taken from real calls, and checked."""

import json

import pytest

from tests.cli.answers import ANSWERS, shape_of

REFUND = "give Dana her money back"


def lines(desk, name):
    return [json.loads(line) for line in desk.reads(name).splitlines()]


def test_a_person_says_which_of_the_proposed_tools_are_right_step_by_step(stocked):
    proposed = stocked.asks("fixtures", "new", "tasks.jsonl", REFUND, "--as", "sam")
    assert shape_of(proposed, ANSWERS["fixtures new"]) == ANSWERS["fixtures new"]
    assert proposed["written"] == []
    place = 1 + proposed["proposals"][0]["tools"].index("billing.create_refund")
    answer = stocked.runs(
        "fixtures",
        "new",
        "tasks.jsonl",
        REFUND,
        "cancel it all",
        "--as",
        "sam",
        answers=f"77\n{place}, crm.cancel_order\nskip\n",
    )
    assert answer.status == 0
    assert "not among these: 77" in answer.err
    assert lines(stocked, "tasks.jsonl") == [
        {
            "task_id": "task-1",
            "task": REFUND,
            "as": "sam",
            "acceptable": [["billing.create_refund"], ["crm.cancel_order"]],
        }
    ]


def test_none_is_an_answer_and_a_task_is_added_once(stocked):
    for _ in range(2):
        stocked.runs("fixtures", "new", "tasks.jsonl", "sing a song", "--as", "sam", answers="none\n")
    assert [one["acceptable"] for one in lines(stocked, "tasks.jsonl")] == [[]]


def test_a_right_tool_may_be_named_unasked(stocked):
    words = ("fixtures", "new", "tasks.jsonl", REFUND, "--as", "sam", "--category", "ambiguous")
    assert stocked.asks(*words, "--accept", "billing/create_refund")["written"] == ["task-1"]
    (made,) = lines(stocked, "tasks.jsonl")
    assert (made["acceptable"], made["category"]) == ([["billing.create_refund"]], "ambiguous")
    assert stocked.runs(*words, "--accept", "billing.refnd").status == 2
    assert stocked.runs("fixtures", "new", "tasks.toml", "x", "--as", "sam", "--accept", "crm.cancel_order").status == 2
    assert stocked.runs(*words[:-1], "wonderful").status == 2


@pytest.fixture
def called(stocked):
    """Tasks on record, one of which led to a call."""
    stocked.writes("pegboard.toml", stocked.reads("pegboard.toml") + '[traces]\nrecord = "task"\n')
    selected = stocked.asks("select", REFUND, "--as", "sam")
    stocked.asks("select", "sing a song", "--as", "sam")
    ids = ("--selection", selected["selection_id"], "--as", "sam")
    stocked.runs("call", "billing.get_payment", "--args", '{"payment_id": "p1"}', *ids)
    # What was refused shows that a tool was not the right one, or not called rightly.
    stocked.runs("call", "crm.cancel_order", "--args", '{"order": 7}', *ids)
    stocked.runs("call", "crm.nothing", *ids)
    return stocked


def test_tools_that_were_called_are_proposed_as_right(called):
    proposed = called.asks("fixtures", "from-traces", "tasks.jsonl")
    assert shape_of(proposed, ANSWERS["fixtures from-traces"]) == ANSWERS["fixtures from-traces"]
    (one,) = proposed["proposals"]
    assert (one["task"], one["acceptable"]) == (REFUND, [["billing.get_payment"]])
    assert proposed["written"] == []
    assert called.runs("fixtures", "from-traces", "tasks.jsonl", answers="n\n").status == 0
    assert called.reads("tasks.jsonl") == ""
    called.runs("fixtures", "from-traces", "tasks.jsonl", answers="y\n")
    (made,) = lines(called, "tasks.jsonl")
    assert made["principal"]["user"] == "sam"
    assert called.runs("eval", "tasks.jsonl", "--arm", "dynamic").status == 0


def test_traces_that_keep_no_task_are_counted_and_named(stocked):
    selection = stocked.asks("select", REFUND, "--as", "sam")["selection_id"]
    words = ("call", "billing.get_payment", "--args", '{"payment_id": "p"}', "--selection", selection, "--as", "sam")
    stocked.runs(*words)
    answer = stocked.runs("fixtures", "from-traces", "tasks.jsonl", "--yes")
    assert 'record = "task"' in answer.err


@pytest.mark.parametrize(
    ("task", "rule", "status"),
    [
        ({"task": "t", "acceptable": [["crm.nothing"]], "as": "sam"}, "unknown-tool", 1),
        ({"task": "t", "acceptable": [["crm.cancel_order"]], "as": "nobody"}, "unknown-caller", 1),
        ({"task": "t", "acceptable": [["crm.cancel_order"]]}, "unknown-caller", 1),
        ({"task": "t", "acceptable": [], "forbidden": ["crm.cancel_order"], "as": "sam"}, "forbidden-but-eligible", 0),
    ],
)
def test_what_is_wrong_with_a_label_is_named_and_an_error_ends_with_status_1(stocked, task, rule, status):
    stocked.writes("tasks.jsonl", [task])
    answer = stocked.runs("fixtures", "check", "tasks.jsonl", "--json")
    assert shape_of(answer.json, ANSWERS["fixtures check"]) == ANSWERS["fixtures check"]
    assert ([one["rule"] for one in answer.json["problems"]], answer.status) == ([rule], status)
    shown = stocked.runs("fixtures", "check", "tasks.jsonl")
    assert rule in shown.out


def test_a_check_counts_categories_and_how_many_tasks_name_their_tool(stocked):
    stocked.writes(
        "tasks.jsonl",
        [
            {"task": "cancel order 7", "acceptable": [["crm/cancel_order"]], "as": "sam"},
            {"task": "give the money back", "acceptable": [["billing.create_refund"]], "as": "sam"},
            {"task": "sing", "acceptable": [], "as": "sam"},
        ],
    )
    found = stocked.asks("fixtures", "check", "tasks.jsonl")
    assert found["categories"] == {"no_tool": 1, "ordinary": 2}
    assert found["overlap"] == {"most": 1, "none": 1}
    assert stocked.asks("fixtures", "check", "tasks.jsonl", "--catalog", "listings")["problems"] == []
