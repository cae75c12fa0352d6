"""`pegboard calibrate`: from labelled tasks to this catalog's own confidence, and what is wrong with a file."""

import pytest

from tests.cli.answers import ANSWERS, shape_of

TASKS = [
    {"task": f"{verb} {what} number {number}", "acceptable": [[tool]], "as": "sam", "split": "dev", "colour": "red"}
    for number in range(8)
    for verb, what, tool in (
        ("show me", "the open orders of customer", "crm.list_open_orders"),
        ("cancel", "the order", "crm.cancel_order"),
        ("refund", "the payment", "billing.create_refund"),
    )
]


def test_a_calibration_is_written_beside_the_configuration_and_serves_from_then_on(stocked):
    stocked.writes("tasks.jsonl", TASKS)
    before = stocked.asks("select", "cancel order 7", "--as", "sam")
    answer = stocked.asks("calibrate", "tasks.jsonl", "--split", "dev")
    assert shape_of(answer, ANSWERS["calibrate"]) == ANSWERS["calibrate"]
    assert (answer["tasks"], answer["answerable"]) == (24, 24)
    after = stocked.asks("select", "cancel order 7", "--as", "sam")
    assert after["confidence"] != before["confidence"]
    replayed = stocked.asks("replay", before["trace_id"], after["trace_id"])
    assert [one["equal"] for one in replayed["traces"]] == [True, True]


def test_a_dry_run_writes_nothing(stocked):
    stocked.writes("tasks.jsonl", TASKS)
    assert stocked.asks("calibrate", "tasks.jsonl", "--dry-run")["file"] is None
    assert not (stocked.folder / "pegboard.calibration.json").exists()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("tasks.jsonl", '{"acceptable": []}\n', "no 'task'"),
        ("tasks.jsonl", "not json\n", "not JSON"),
        ("tasks.jsonl", "", "no task"),
        ("tasks.jsonl", '{"task": "t"}\n', "as whom"),
        ("tasks.jsonl", '{"task": "t", "as": "nobody"}\n', "no profile 'nobody'"),
        ("tasks.jsonl", '{"task": "t", "as": "sam"}\n', "too few"),
        ("tasks.toml", "task = 3\n", "list of tables"),
        ("tasks.toml", "= 3\n", "tasks.toml"),
    ],
)
def test_a_file_that_cannot_be_learned_from_is_refused_and_nothing_is_written(stocked, name, content, said):
    stocked.writes(name, content)
    answer = stocked.runs("calibrate", name)
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err
    assert not (stocked.folder / "pegboard.calibration.json").exists()


@pytest.mark.parametrize("content", ["", "[]", '{"channels": []}', "nonsense"])
def test_a_damaged_calibration_is_an_error_that_says_what_to_do(stocked, content):
    stocked.writes("pegboard.calibration.json", content)
    answer = stocked.runs("select", "cancel order 7", "--as", "sam")
    assert answer.status == 2
    assert "pegboard.calibration.json" in answer.err
    assert "pegboard calibrate" in answer.err
