"""`pegboard rollout` and `pegboard shadow report`: a release is looked at, set with a reason, and stopped in time."""

import subprocess
import sys

import pytest

from pegboard import Board, RuntimeContext
from tests.cli.answers import ANSWERS, shape_of

WHY = ("--why", "to see it first")
CALLER = {"user": "sam", "environment": "development"}
SETS = {"scopes": frozenset({"crm"}), "servers": frozenset({"crm"})}
# Another process: a caller that is served calls what it was given, with arguments that do not fit.
BAD_CALLER = f"""
from pegboard import Board, RuntimeContext
caller = RuntimeContext(**{CALLER!r}, **{SETS!r})
with Board.open("pegboard.toml") as board:
    selection = board.select("find an order", caller, conversation="c2", require=["crm.list_open_orders"])
    print(board.call("crm.list_open_orders", {{}}, caller, selection, conversation="c2").verdict.kind)
"""
LOW = """
[rollout]
samples = 1
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rollout show", ("rollout", "show")),
        ("rollout set", ("rollout", "set", "crm", "shadow", *WHY)),
        ("rollout set", ("rollout", "set", "billing", "live", *WHY)),
        ("shadow report", ("shadow", "report")),
        ("shadow report", ("shadow", "report", "--since", "24h")),
    ],
)
def test_each_answers_in_its_shape(stocked, name, words):
    stocked.runs("rollout", "set", "*", "shadow", *WHY)
    stocked.runs("select", "give Dana her money back", "--as", "sam")
    assert shape_of(stocked.asks(*words), ANSWERS[name]) == ANSWERS[name]


def test_nothing_is_set_to_begin_with(stocked):
    answer = stocked.runs("rollout", "show")
    assert (answer.status, answer.out) == (0, "")
    assert "every namespace is live" in answer.err
    assert "nothing was observed" in stocked.runs("shadow", "report").err


def test_a_change_is_shown_with_who_and_why(stocked):
    assert "live -> shadow" in stocked.runs("rollout", "set", "crm", "shadow", *WHY).out
    shown = stocked.runs("rollout", "show").out
    for part in ("crm shadow", "recall none of 0 (at least 95.0% of 50)", "live -> shadow by dana: to see it first"):
        assert part in shown
    (change,) = stocked.asks("rollout", "show")["history"]
    assert (change["by"], change["why"], change["automatic"]) == ("dana", "to see it first", False)


def test_what_is_selected_leaves_out_what_production_decides(stocked):
    stocked.runs("rollout", "set", "*", "shadow", *WHY)
    answer = stocked.asks("select", "give Dana her money back", "--as", "sam")
    assert (answer["tools"], answer["production"]) == ([], ["billing", "crm"])
    assert stocked.asks("shadow", "report")["selections"] == 1


def test_a_promotion_that_is_stopped_says_by_what_and_ends_with_no(stocked):
    stocked.runs("rollout", "set", "crm", "shadow", *WHY)
    answer = stocked.runs("rollout", "set", "crm", "canary=0.1", *WHY)
    assert answer.status == 1
    assert "stays as it is" in answer.out
    assert "recall has 0 of 50 samples" in answer.err
    assert stocked.asks("rollout", "show")["namespaces"][0]["setting"] == "shadow"


def test_what_has_no_samples_is_waived_one_by_one(stocked):
    stocked.writes("pegboard.toml", stocked.reads("pegboard.toml") + LOW)
    stocked.runs("rollout", "set", "crm", "shadow", *WHY)
    guards = ("exposure", "recall", "validity", "latency", "completion")
    waived = [word for guard in guards for word in ("--waive", f"{guard}=a drill")]
    answer = stocked.runs("rollout", "set", "crm", "live", *WHY, *waived)
    assert (answer.status, "shadow -> live" in answer.out) == (0, True)
    assert stocked.asks("rollout", "show")["history"][0]["evidence"]["waived"]["recall"] == "a drill"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("crm", "sometimes", *WHY), "'sometimes' is no phase; write off, shadow, canary=0.1 or live"),
        (("crm", "shadow"), "Missing option '--why'"),
        (("crm", "shadow", "--why", " "), "a change needs a reason"),
        (("crm", "live", *WHY, "--waive", "recall"), "'recall' has no reason: write recall='why'"),
        (("crm", "live", *WHY, "--waive", "recal=x"), "'recal' is no guard"),
        (("crn", "shadow", *WHY), "there is no namespace 'crn'"),
    ],
)
def test_wrong_usage_is_told(stocked, words, problem):
    answer = stocked.runs("rollout", "set", *words)
    assert (answer.status, problem in answer.err) == (2, True)


def test_a_breach_that_another_process_finds_takes_a_conversation_back_at_the_next_request(stocked):
    stocked.writes("pegboard.toml", stocked.reads("pegboard.toml") + LOW)
    stocked.runs("rollout", "set", "crm", "canary=0.999999", *WHY)
    with Board.open("pegboard.toml") as board:
        caller = RuntimeContext(**CALLER, **SETS)
        before = board.select("find an order", caller, conversation="c1")
        child = subprocess.run([sys.executable, "-c", BAD_CALLER], capture_output=True, text=True, check=False)
        assert child.stdout == "invalid_arguments\n", child.stderr
        after = board.select("find an order", caller, conversation="c1")
    assert (before.production, after.production) == ((), ("crm",))
    history = stocked.asks("rollout", "show")["history"]
    assert [(one["setting"], one["by"]) for one in history] == [("shadow", "guard"), ("canary=0.999999", "dana")]
