"""`pegboard calls` and what is pruned: a person says what came of a call, and what is old goes when one says so."""

import sqlite3
from contextlib import closing

import pytest

from tests.cli.answers import ANSWERS, shape_of

SERVER = """
[servers.crm]
command = ["python", "-c", "import sys; sys.exit(1)"]
"""
KEPT = """
[ledger]
keep_days = 1
[audit]
keep_days = 1
"""
LINE = """
INSERT INTO ledger (call_id, trace_id, identity, principal, at, tool_id, schema_hash, arguments, key, risk, flow, cost,
 record, ended, closed_at) VALUES (?, 'tr_1', 'sha256:sam', 'sam', ?, 'crm.cancel_order', 'sha256:x', 'sha256:y', ?,
 'write', '', 0.0, x'00', ?, ?)
"""
DONE, LOST = ("call_done", 1.0, "a", "done", 2.0), ("call_lost", 1.0, "b", "outcome_unknown", 2.0)


@pytest.fixture
def called(stocked):
    """A desk with two calls of long ago, of one of which nobody knows how it ended."""
    stocked.writes("pegboard.toml", stocked.reads("pegboard.toml") + KEPT)
    with closing(sqlite3.connect("pegboard.db")) as file, file:
        file.execute("INSERT INTO callers VALUES ('sha256:sam', 4)")
        file.executemany(LINE, [DONE, LOST])
    return stocked


def test_a_call_of_unknown_outcome_is_listed_and_settled_by_a_person_with_a_reason(called):
    found = called.asks("calls", "list")
    assert shape_of(found, ANSWERS["calls list"]) == ANSWERS["calls list"]
    assert [(one["call_id"], one["key"]) for one in found["calls"]] == [("call_lost", "b")]
    assert "call_lost crm.cancel_order" in called.runs("calls", "list").out
    settle = ("calls", "resolve", "call_lost", "--outcome", "not_done", "--why", "the order is open still")
    answer = called.asks(*settle)
    assert shape_of(answer, ANSWERS["calls resolve"]) == ANSWERS["calls resolve"]
    assert answer["ended"] == "not_sent"
    assert called.asks("calls", "list") == {"calls": []}
    assert "the outcome of every call is known" in called.runs("calls", "list").err
    event = called.asks("audit", "list", "--kind", "call_resolved")["events"][0]["body"]
    assert (event["call_id"], event["outcome"], event["by"]) == ("call_lost", "not_done", "dana")
    assert event["why"] == "the order is open still"
    again = called.runs(*settle)
    assert (again.status, "ended as 'not_sent'" in again.err) == (2, True)


def test_old_calls_are_counted_first_and_removed_when_one_says_so(called):
    dry = called.asks("calls", "prune")
    assert shape_of(dry, ANSWERS["calls prune"]) == ANSWERS["calls prune"]
    counted = {"calls": 1, "approvals": 0, "unknown": 1, "labels": 0}
    assert {name: dry[name] for name in counted} == counted
    shown = called.runs("calls", "prune").err
    assert "`pegboard calls prune --apply` removes them" in shown
    done = called.asks("calls", "prune", "--apply")
    assert (dry["applied"], done["applied"], {name: done[name] for name in counted}) == (False, True, counted)
    assert called.asks("calls", "prune")["calls"] == 0
    assert called.asks("audit", "list", "--kind", "ledger_pruned")["events"][0]["body"]["calls"] == 1
    assert called.asks("catalog", "verify")["bad"] == []


def test_old_events_are_counted_first_and_removed_when_one_says_so(called):
    with closing(sqlite3.connect("pegboard.db")) as file, file:
        file.execute("DELETE FROM audit")
    assert called.asks("audit", "prune")["events"] == 0
    called.runs("halt", "all", "--why", "a drill")
    called.runs("resume", "all")
    # As if the first had been long ago; its hash no longer fits, which is said of it still when it has gone.
    with closing(sqlite3.connect("pegboard.db")) as file, file:
        file.execute("UPDATE audit SET at = 1.0 WHERE number = 1")
    assert called.asks("audit", "verify")["broken"] == [1]
    dry = called.asks("audit", "prune")
    assert shape_of(dry, ANSWERS["audit prune"]) == ANSWERS["audit prune"]
    assert (dry["events"], dry["through"]) == (1, 1)
    assert "would go" in called.runs("audit", "prune").err
    assert called.asks("audit", "prune", "--apply")["applied"] is True
    found = called.asks("audit", "verify")
    assert (found["broken"], found["events"], found["pruned"]) == ([1], 2, 1)
    assert "1 older event were removed" in called.runs("audit", "verify").err
    assert called.asks("catalog", "verify")["bad"] == ["the event 1 of the audit does not follow from the one before"]


def test_a_hash_that_was_kept_elsewhere_shows_that_the_newest_were_cut_off(called):
    called.runs("halt", "all", "--why", "a drill")
    kept = called.asks("audit", "verify")["last"]
    assert called.runs("audit", "verify", "--expect", kept).status == 0
    with closing(sqlite3.connect("pegboard.db")) as file, file:
        file.execute("DELETE FROM audit WHERE number = (SELECT max(number) FROM audit)")
    assert called.runs("audit", "verify").status == 0
    answer = called.runs("audit", "verify", "--expect", kept)
    assert (answer.status, "is not there" in answer.out) == (1, True)
    assert called.asks("audit", "verify", "--expect", kept)["found"] is False


def test_where_nothing_says_how_long_everything_is_kept(stocked):
    for words in (("calls", "prune"), ("audit", "prune", "--apply")):
        answer = stocked.runs(*words)
        assert (answer.status, "is kept" in answer.err, "keep_days" in answer.err) == (2, True, True)
