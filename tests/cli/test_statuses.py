"""The exit status says who must act: 0 nobody, 1 the answer is no, 2 whoever typed or configured, 3 the outside."""

import sqlite3

import pytest

from tests.cli.desk import CRM, listing, tool

STATUSES = (
    (("select", "cancel an order", "--as", "sam"), 0),
    (("select", "knit a jumper for the moon", "--as", "sam"), 0),
    (("select", "--require", "crm.list_open_orders", "--as", "sam"), 0),
    (("call", "crm.list_open_orders", "--args", '{"customer_id": "c1"}', "--as", "sam", "--dry-run"), 0),
    (("call", "crm.list_open_orders", "--args", "{}", "--as", "sam"), 1),
    (("call", "crm.list_open_orders", "--args", "[]", "--as", "sam"), 1),
    (("call", "crm.nothing", "--as", "sam"), 1),
    (("call", "crm.list_open_orders", "--args", "{", "--as", "sam"), 2),
    (("call", "crm.list_open_orders", "--args", '{"customer_id": "c1"}', "--as", "sam"), 3),
    (("select", "x", "--as", "nobody"), 2),
    (("select", "x"), 2),
    (("select", "--as", "sam"), 2),
    (("selct", "x"), 2),
    (("catalog", "show", "crm.nothing"), 2),
    (("catalog", "diff", "1", "9"), 2),
    (("catalog", "rollback", "one"), 2),
    (("catalog", "import", "nowhere"), 2),
    (("catalog", "import", "listings", "--approve", "nobody"), 2),
    (("catalog", "export", "nowhere/tools.jsonl"), 3),
    (("review", "approve", "crm.nothing", "--access", "crm"), 2),
    (("review", "approve", "crm.cancel_order"), 2),
    (("review", "show", "crm.cancel_order"), 2),
    (("lock", "check"), 0),
    (("lock", "import", "nowhere"), 2),
    (("replay", "tr_0"), 2),
    (("traces", "show", "tr_0"), 2),
    (("halt", "crm.nothing", "--why", "drill"), 2),
    (("halt", "namespace:crn", "--why", "drill"), 2),
    (("halt", "server:", "--why", "drill"), 2),
    (("halt", "principal:anyone", "--why", "drill"), 0),
    (("halt", "crm.cancel_order"), 2),
    (("resume", "crm.cancel_order"), 1),
    (("calls", "resolve", "call_0", "--outcome", "done", "--why", "looked"), 2),
    (("calls", "resolve", "call_0", "--outcome", "done"), 2),
    (("calls", "resolve", "call_0", "--outcome", "maybe", "--why", "looked"), 2),
    (("calls", "prune"), 2),
    (("audit", "prune"), 2),
    (("audit", "verify", "--expect", "feed"), 1),
    (("refresh",), 0),
    (("refresh", "nobody"), 2),
    (("doctor",), 0),
)


@pytest.mark.parametrize(("words", "status"), STATUSES, ids=[" ".join(words) for words, _ in STATUSES])
def test_the_exit_status_is_that_of_the_answer(stocked, words, status):
    for machine in ((), ("--json",)):
        answer = stocked.runs(*words, *machine)
        assert answer.status == status, answer.err
        if machine and "error" in answer.json:
            assert status >= 2
            assert answer.json["error"]["message"]


def test_json_is_for_every_end_wherever_it_is_said(stocked):
    for words in (
        ("--json", "select", "x", "--as", "nobody"),
        ("--json", "review", "show"),
        ("review", "--json", "show"),
    ):
        answer = stocked.runs(*words)
        assert (answer.status, answer.err) == (2, "")
        assert answer.json["error"]["message"]


def test_the_tour_has_no_answer_for_machines_and_writes_nothing_then(empty):
    for words in (("--json", "demo"), ("demo", "--json")):
        answer = empty.runs(*words)
        assert (answer.status, answer.json["error"]["kind"]) == (2, "usage")
    assert list(empty.folder.iterdir()) == []


def test_a_changed_tool_makes_lock_check_answer_no(stocked):
    stocked.writes("listings/crm.json", listing("crm", [CRM[0], tool("cancel_order", "Another text.")]))
    stocked.runs("catalog", "import", "listings")
    answer = stocked.runs("lock", "check")
    assert answer.status == 1
    assert "crm.cancel_order" in answer.out


def test_a_new_tool_without_a_template_cannot_be_approved(stocked):
    stocked.writes("listings/crm.json", listing("crm", [*CRM, tool("close_case", "Close a case.")]))
    stocked.runs("catalog", "import", "listings")
    answer = stocked.runs("review", "approve", "crm.close_case")
    assert answer.status == 2
    assert "--access" in answer.err


def test_a_file_of_which_nothing_can_be_taken_in_was_not_imported(stocked):
    stocked.writes("bad.jsonl", "not json\n[]\n")
    answer = stocked.runs("catalog", "import", "bad.jsonl")
    assert answer.status == 1
    assert "bad.jsonl, line 1" in answer.out


def test_a_damaged_row_makes_verify_answer_no(stocked):
    with sqlite3.connect(stocked.folder / "pegboard.db") as connection:
        connection.execute("UPDATE rows SET schema_hash = zeroblob(32) WHERE id = 1")
    assert stocked.runs("catalog", "verify").status == 1
    assert stocked.runs("doctor", "--offline").status == 3
