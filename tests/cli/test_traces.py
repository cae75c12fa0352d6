"""`traces`, `replay` and `audit` at an operator's desk."""

import json
import os
import signal
import sqlite3

import anyio
import click
import pytest

from pegboard.cli import pegboard
from pegboard.cli.errors import ToldToEnd
from pegboard.cli.opening import opened, run
from pegboard.cli.times import when
from pegboard.service.audit import AuditKind

TASK = "give Dana her money back"


def selected(desk, profile="sam"):
    return desk.asks("select", TASK, "--as", profile)["trace_id"]


def test_an_empty_list_says_whether_there_is_none_or_none_that_matches(stocked):
    assert "there are no traces yet" in stocked.runs("traces", "list").err
    selected(stocked)
    assert stocked.runs("traces", "list", "--outcome", "paused").err == "no trace matches\n"


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ((), 2),
        (("--principal", "dana"), 1),
        (("--principal", "nobody"), 0),
        (("--outcome", "paused"), 0),
        (("--since", "1h"), 2),
        (("--since", "2999-01-01"), 0),
        (("--until", "2999-01-01T00:00+02:00"), 2),
        (("--until", "1h"), 0),
        (("--limit", "1"), 1),
    ],
)
def test_traces_are_listed_by_caller_outcome_and_time(stocked, words, count):
    selected(stocked, "sam")
    selected(stocked, "dana")
    assert len(stocked.asks("traces", "list", *words)["traces"]) == count


@pytest.mark.parametrize("value", ["yesterday", "1", "24 h", "2026-13-01"])
def test_what_is_no_time_is_refused(stocked, value):
    answer = stocked.runs("traces", "list", "--since", value)
    assert (answer.status, "24h" in answer.err) == (2, True)


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ("90s", 999_910.0),
        ("3m", 999_820.0),
        ("2h", 992_800.0),
        ("1d", 913_600.0),
        ("1970-01-02", 86_400.0),
        ("1970-01-01T01:00+01:00", 0.0),
    ],
)
def test_a_moment_is_a_date_a_time_or_how_long_ago(value, at):
    assert when(None, None, value)(1_000_000.0) == at


def test_an_export_holds_every_trace_on_a_line_with_its_calls(stocked):
    found = stocked.asks("select", "list open orders", "--as", "sam")
    alias = found["tools"][0]["alias"]
    called = stocked.asks("call", alias, "--as", "sam", "--selection", found["selection_id"])
    assert stocked.asks("traces", "export", "out.jsonl") == {"exported": 2, "file": "out.jsonl"}
    lines = [json.loads(line) for line in stocked.reads("out.jsonl").splitlines()]
    assert [one["trace_id"] for one in lines] == [called["trace_id"], found["trace_id"]]
    assert [one["trace_id"] for one in lines[1]["calls"]] == [called["trace_id"]]
    assert stocked.runs("traces", "export").out == stocked.reads("out.jsonl")


def test_pruned_traces_are_gone_and_the_others_stay(stocked):
    trace_id = selected(stocked)
    assert stocked.asks("traces", "prune")["removed"] == 0
    assert stocked.asks("traces", "show", trace_id)["trace_id"] == trace_id
    assert stocked.asks("traces", "prune", "--before", "2999-01-01")["removed"] == 1
    assert stocked.runs("traces", "show", trace_id).status == 2


def test_the_configuration_says_how_traces_name_the_caller_and_how_long_they_stay(stocked):
    stocked.writes(
        "pegboard.toml", stocked.reads("pegboard.toml") + '[traces]\nprincipal = "digest"\nkeep_days = 0.001\n'
    )
    trace = stocked.asks("traces", "show", selected(stocked))
    assert trace["principal"].startswith("sha256:")
    assert "user" not in trace["context"] or trace["context"]["user"].startswith("sha256:")
    (found,) = stocked.asks("traces", "list", "--principal", "sam")["traces"]
    assert stocked.asks("replay", found["trace_id"])["traces"][0]["equal"] is True
    assert stocked.asks("traces", "prune")["removed"] == 0


def test_a_replay_on_another_version_says_what_comes_in_and_exits_1(busy):
    (trace, *_) = busy.asks("traces", "list")["traces"]
    lock = busy.reads("pegboard.lock").splitlines()
    busy.writes("one.lock", "".join(f"{line}\n" for line in lock[:1]))
    answer = busy.runs("replay", trace["trace_id"], "--with", "lock=one.lock", "--json")
    assert answer.status == 1
    assert answer.json["traces"][0]["tools"]["dropped"]
    assert answer.json["summary"]["leaving"]
    shown = busy.runs("replay", "--all", "--with", "lock=one.lock").out
    assert "differs" in shown
    assert busy.runs("replay", trace["trace_id"], "--against", "1").status == 0


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("tr_0", "--all"),
        ("--all", "--with", "weather"),
        ("--all", "--with", "policy=x"),
        ("--all", "--against", "99"),
    ],
)
def test_a_replay_that_names_nothing_or_what_is_not_there_is_wrong_usage(stocked, words):
    assert stocked.runs("replay", *words).status == 2


def test_a_changed_event_of_the_audit_is_found(stocked):
    stocked.runs("halt", "billing/create_refund", "--why", "double refunds")
    good = stocked.asks("audit", "verify")
    assert good["broken"] == []
    assert stocked.asks("audit", "list", "--kind", "halt")["events"][0]["body"]["why"] == "double refunds"
    with sqlite3.connect("pegboard.db") as file:
        file.execute("UPDATE audit SET at = at + 1 WHERE number = 1")
    file.close()
    answer = stocked.runs("audit", "verify", "--json")
    assert (answer.status, answer.json["broken"]) == (1, [1])


def test_an_audit_is_exported_oldest_first_with_its_hashes(stocked):
    stocked.runs("halt", "all", "--why", "drill")
    stocked.runs("audit", "export", "audit.jsonl")
    lines = [json.loads(line) for line in stocked.reads("audit.jsonl").splitlines()]
    assert [one["number"] for one in lines] == list(range(1, len(lines) + 1))
    assert lines[-1]["hash"] == stocked.asks("audit", "verify")["last"]


def test_a_denied_call_is_on_the_audit_with_the_rules_that_denied_it(stocked):
    stocked.runs("call", "people.payroll", "--as", "sam")
    (denied,) = stocked.asks("audit", "list", "--kind", "denial")["events"]
    assert denied["body"]["asked"] == "people.payroll"
    assert denied["body"]["principal"] == "sam"


def test_the_doctor_says_how_many_traces_were_lost(stocked):
    async def lost(system):
        for count in (2, 3):
            await system.audit.record(AuditKind.TRACES_LOST, count=count)
        await system.audit.record(AuditKind.EVENTS_LOST, count=1)

    with click.Context(pegboard), opened() as (_, system):
        run(lambda: lost(system))
    found = [one for one in stocked.asks("doctor", "--offline")["findings"] if one["check"] == "records"]
    assert [one["message"] for one in found] == ["5 traces and 1 audit events were lost in the last week"]


def test_a_command_that_is_told_to_end_writes_its_traces_first(stocked):
    async def put_and_wait(system):
        await system.writer.put("tr_last", system.catalog.clock.now(), b'{"trace_id": "tr_last"}', keep=False)
        os.kill(os.getpid(), signal.SIGTERM)
        await anyio.sleep_forever()

    with click.Context(pegboard), pytest.raises(ToldToEnd), opened() as (_, system):
        run(lambda: put_and_wait(system))
    assert stocked.runs("traces", "show", "tr_last").status == 0
