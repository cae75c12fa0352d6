"""`pegboard approvals`, the call that waits for one, and halts that end by themselves."""

import json
import re
import sqlite3
import sys
from contextlib import closing

import pytest

from pegboard.cli import approvals as module
from pegboard.service.approver import STATES
from tests.adapters.sessions import SERVER
from tests.cli.answers import ANSWERS, shape_of
from tests.cli.desk import CONFIG as CRM_CONFIG
from tests.servers import tool

CANCEL = ("call", "crm.cancel_order", "--args", '{"order_id": "o1"}')
CONFIG = """
[approvals]
risk = ["destructive"]
[profiles.bot]
workload = "bot"
scopes = ["crm"]
servers = ["crm", "billing"]
"""


@pytest.fixture
def waiting(stocked):
    """A desk at which one call of the profile bot waits for an approval, with its answer."""
    stocked.writes("pegboard.toml", stocked.reads("pegboard.toml") + CONFIG)
    answer = stocked.asks(*CANCEL, "--as", "bot")
    return stocked, answer


def test_a_call_that_waits_is_listed_with_what_an_approver_must_know(waiting):
    desk, answer = waiting
    assert answer["verdict"] == "approval_required"
    found = desk.asks("approvals", "list")
    assert shape_of(found, ANSWERS["approvals list"]) == ANSWERS["approvals list"]
    (one,) = found["approvals"]
    assert one["approval_id"] == answer["approval_id"]
    assert (one["state"], one["tool_id"], one["principal"]) == ("asked", "crm.cancel_order", "bot")
    assert (one["arguments"], one["reasons"]) == ({"order_id": "o1"}, ["risk"])
    shown = desk.runs("approvals", "list").out
    for part in (one["approval_id"], 'arguments  {"order_id":"o1"}', "bot because of risk"):
        assert part in shown


def test_a_granted_call_gets_past_the_gate_once(waiting):
    desk, answer = waiting
    granted = desk.asks("approvals", "grant", answer["approval_id"])
    assert shape_of(granted, ANSWERS["approvals grant"]) == ANSWERS["approvals grant"]
    assert (granted["state"], granted["by"]) == ("granted", "dana")
    assert desk.asks(*CANCEL, "--as", "bot", "--approval", answer["approval_id"], "--dry-run")["verdict"] == "allowed"
    # No server is running, so the call is not sent and its approval is not used up.
    assert desk.asks(*CANCEL, "--as", "bot")["verdict"] == "unavailable"
    assert desk.asks("approvals", "list", "--state", "granted")["approvals"]


def test_a_denied_call_is_told_so_until_the_request_has_expired(waiting):
    desk, answer = waiting
    denied = desk.asks("approvals", "deny", answer["approval_id"], "--why", "not today")
    assert (denied["state"], denied["by"]) == ("denied", "dana")
    again = desk.asks(*CANCEL, "--as", "bot")
    assert again["approval_id"] == answer["approval_id"]
    assert "it was denied" in again["message"]
    assert desk.asks("approvals", "list")["approvals"] == []


def test_nobody_grants_what_was_asked_for_under_their_own_name(stocked):
    stocked.writes("pegboard.toml", stocked.reads("pegboard.toml") + CONFIG)
    answer = stocked.asks(*CANCEL, "--as", "dana")
    refused = stocked.runs("approvals", "grant", answer["approval_id"])
    assert refused.status == 2
    assert "under the same name" in refused.err
    assert "`workload` in its profile" in refused.err
    assert stocked.runs("approvals", "grant", answer["approval_id"], LOGNAME="pat").status == 0


@pytest.mark.parametrize("act", ["grant", "deny"])
def test_what_is_not_there_or_decided_already_is_an_error(waiting, act):
    desk, answer = waiting
    assert desk.runs("approvals", act, "ap_9").status == 2
    assert desk.runs("approvals", "grant", answer["approval_id"]).status == 0
    again = desk.runs("approvals", act, answer["approval_id"])
    assert (again.status, "is granted already" in again.err) == (2, True)


def test_where_nothing_waits_it_says_so(stocked):
    assert "no call waits" in stocked.runs("approvals", "list").err
    assert stocked.asks("approvals", "list") == {"approvals": []}


def test_a_call_says_which_command_grants_it(waiting):
    desk, answer = waiting
    told = desk.runs(*CANCEL, "--as", "bot").err
    assert f"`pegboard approvals grant {answer['approval_id']}`" in told
    assert "held back by [approvals] in pegboard.toml, and its line in pegboard.lock: destructive, bounded" in told


@pytest.fixture
def sent(empty):
    """A desk at which sam's call of crm.close_case, a write, was just sent to a real server, and its words."""
    script = json.dumps({"pages": [[tool("close_case", description="Close a case.")]]})
    config = f"{CRM_CONFIG}[servers.crm]\ncommand = {json.dumps([sys.executable, SERVER, script])}\n"
    rule = '[[servers.crm.propose]]\nmatch = "*"\naccess = "crm"\nrisk = "write"\nreach = "bounded"\n'
    empty.writes("pegboard.toml", f"{config}{rule}[limits]\nrepeat_window_s = 90\n")
    empty.runs("refresh")
    empty.runs("classify", "--apply")
    call = ("call", "crm.close_case", "--as", "sam")
    assert empty.runs(*call).status == 0
    return empty, call


def told_of(desk, call):
    return [line for line in desk.runs(*call).err.splitlines() if line.startswith("operator: ")]


def test_a_repeat_is_told_with_when_the_call_was_sent_and_how_to_go_on(sent):
    first, second, third = told_of(*sent)
    window = "within the 90 s of [limits] repeat_window_s in pegboard.toml"
    assert re.fullmatch(r"operator: the same call was sent at \d{4}-\d\d-\d\dT[\d:]+Z, (.*)", first)[1] == window
    assert second == "operator: where it is meant once more, give it a key of its own (--key), or approve it"
    assert "pegboard approvals grant" in third


def test_a_repeat_that_needs_an_approval_anyway_is_told_both(sent):
    desk, call = sent
    desk.writes("pegboard.toml", desk.reads("pegboard.toml") + '[approvals]\nrisk = ["write"]\n')
    assert "held back by [approvals] in pegboard.toml" in told_of(desk, call)[2]


def test_a_repeat_of_what_may_have_run_says_where_that_is_settled(sent):
    desk, call = sent
    with closing(sqlite3.connect("pegboard.db")) as file, file:
        file.execute("UPDATE ledger SET ended = 'outcome_unknown'")
    assert told_of(desk, call)[0].endswith("Z, and nobody knows how it ended: `pegboard calls list`")


def test_one_key_is_for_one_call(stocked):
    first = stocked.asks("call", "crm.list_open_orders", "--args", '{"customer_id": "c1"}', "--as", "sam", "--key", "k")
    assert first["recorded"] is False
    refused = stocked.runs("call", "crm.list_open_orders", "--args", "{}", "--as", "sam", "--key", "")
    assert refused.status == 1


def test_a_halt_may_end_by_itself_and_both_ends_are_in_the_audit(stocked):
    answer = stocked.asks("halt", "crm.cancel_order", "--why", "drill", "--for", "30m")
    assert answer["expires_at"] is not None
    assert (
        "or `pegboard resume crm.cancel_order`"
        in stocked.runs("halt", "crm.cancel_order", "--why", "drill", "--for", "1d").out
    )
    stocked.runs("resume", "crm.cancel_order")
    told = stocked.asks("audit", "list")["events"]
    assert [one["kind"] for one in told[:3]] == ["resume", "halt", "halt"]
    assert {one["body"]["target"] for one in told[:3]} == {"crm.cancel_order"}
    assert told[1]["body"]["why"] == "drill"
    for wrong in ("soon", "0m", "-5m", "5", "9" * 20 + "d"):
        assert stocked.runs("halt", "crm.cancel_order", "--why", "drill", "--for", wrong).status == 2


def test_requests_are_listed_by_every_state_that_they_are_shown_in():
    assert module._STATES == STATES
