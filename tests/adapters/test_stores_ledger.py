"""What every ledger does, whatever it keeps its lines in: one contract, run against each of them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import anyio
import pytest

from pegboard.core.catalog import Flow, Risk
from pegboard.core.errors import StoreError
from pegboard.engine.ledger import Ended, Line, Past, Standing
from tests.adapters.ledger_cases import Asked
from tests.adapters.store_cases import LINE, OPEN

WHOLE = Line(
    call_id="call_w",
    trace_id="tr_w",
    identity="sha256:sam",
    principal="sam+bot@acme",
    conversation="conv_é",
    at=1.5,
    tool_id="mail.send",
    schema_hash="sha256:content",
    arguments="sha256:args",
    key="order 7 📨",
    risk=Risk.DESTRUCTIVE,
    flow=frozenset(Flow),
    cost=0.25,
    approval_id=None,
)


@pytest.fixture(params=OPEN)
def ledger(request: pytest.FixtureRequest) -> Iterator[Asked]:
    with OPEN[request.param]() as opened:
        yield Asked(opened)


# --- lines


def test_an_empty_ledger_knows_nothing_of_a_caller(ledger: Asked) -> None:
    assert ledger.standing(key="k", limit_windows_s=(5.0, 60.0)) == Standing(calls=(0, 0), spent=(0.0, 0.0))
    assert ledger.call("call_1") is None


def test_a_line_comes_back_as_it_was_written_and_then_as_it_ended(ledger: Asked) -> None:
    async def run() -> None:
        assert await ledger.store.ledger.open(WHOLE, b'{"kind":"call"}', after=0)
        assert await ledger.store.ledger.call("call_w") == Past(line=WHOLE)
        await ledger.store.ledger.close("call_w", 2.5, Ended.DONE, b'{"content":[]}')
        done = Past(line=WHOLE, ended=Ended.DONE, closed_at=2.5, result=b'{"content":[]}')
        assert await ledger.store.ledger.call("call_w") == done

    anyio.run(run)


def test_a_line_is_opened_only_by_what_was_judged_last(ledger: Asked) -> None:
    assert ledger.open("one", after=0)
    assert not ledger.open("two", after=0)
    assert not ledger.open("two", after=2)
    assert ledger.call("two") is None
    assert ledger.sequence() == 1
    assert ledger.open("two", after=1)


def test_another_caller_moves_nobody_elses_sequence(ledger: Asked) -> None:
    ledger.open("theirs", identity="sha256:kim")
    assert ledger.standing() == Standing()
    assert ledger.open("mine", after=0)


def test_a_call_is_opened_once(ledger: Asked) -> None:
    ledger.open("one")
    with pytest.raises(StoreError):
        ledger.open("one", identity="sha256:kim")
    assert ledger.sequence("sha256:kim") == 0


def test_a_call_ends_one_way_and_saying_it_again_changes_nothing(ledger: Asked) -> None:
    ledger.open("one")
    ledger.close("one", Ended.DONE, at=11.0, result=b"[1]")
    ledger.close("one", Ended.DONE, at=99.0, result=b"[2]")
    with pytest.raises(StoreError, match="ended as 'done' and cannot end as 'outcome_unknown'"):
        ledger.close("one", Ended.OUTCOME_UNKNOWN)
    with pytest.raises(StoreError, match="there is no call 'two'"):
        ledger.close("two", Ended.DONE)
    found = ledger.call("one")
    assert found is not None
    assert (found.ended, found.closed_at, found.result) == (Ended.DONE, 11.0, b"[1]")
    assert ledger.sequence() == 2


# --- keys


@pytest.mark.parametrize("ended", [None, Ended.DONE, Ended.ERROR, Ended.OUTCOME_UNKNOWN])
def test_a_key_belongs_to_the_call_that_may_have_run(ledger: Asked, ended: Ended | None) -> None:
    ledger.open("one", key="k", tool_id="crm.list", arguments="sha256:others", at=-900.0)
    if ended is not None:
        ledger.close("one", ended)
    recorded = ledger.standing(key="k").recorded
    assert recorded is not None
    assert (recorded.line.call_id, recorded.ended) == ("one", ended)
    assert not ledger.open("two", key="k")
    assert ledger.open("three", key="other")


def test_a_call_that_was_not_sent_leaves_its_key_free(ledger: Asked) -> None:
    ledger.open("one", key="k")
    ledger.close("one", Ended.NOT_SENT)
    assert ledger.standing(key="k").recorded is None
    assert ledger.open("two", key="k")
    recorded = ledger.standing(key="k").recorded
    assert recorded is not None
    assert recorded.line.call_id == "two"


def test_a_key_is_each_callers_own(ledger: Asked) -> None:
    ledger.open("theirs", key="k", identity="sha256:kim")
    assert ledger.standing(key="k").recorded is None
    assert ledger.open("mine", key="k")


def test_calls_without_a_key_take_none(ledger: Asked) -> None:
    assert ledger.open("one")
    assert ledger.open("two")
    assert ledger.standing(key=None).recorded is None
    assert ledger.standing(key="").recorded is None


# --- calls like this one


@pytest.mark.parametrize(
    ("at", "ended", "found"),
    [
        (10.0, None, True),
        (10.0, Ended.DONE, True),
        (10.0, Ended.ERROR, True),
        (10.0, Ended.OUTCOME_UNKNOWN, True),
        (10.0, Ended.NOT_SENT, False),
        (30.0, Ended.DONE, True),
        (5.0, Ended.DONE, False),
        (5.0, Ended.ERROR, False),
        (5.0, None, True),
        (-900.0, Ended.OUTCOME_UNKNOWN, True),
    ],
)
def test_a_like_call_counts_within_the_window_or_while_its_outcome_is_unknown(
    ledger: Asked, at: float, ended: Ended | None, found: bool
) -> None:
    ledger.open("one", at=at, schema_hash="sha256:another content")
    if ended is not None:
        ledger.close("one", ended)
    like = ledger.standing().like
    assert (like is not None) == found


@pytest.mark.parametrize(
    "other", [{"identity": "sha256:kim"}, {"tool_id": "mail.list"}, {"arguments": "sha256:others"}]
)
def test_a_call_of_another_caller_tool_or_content_is_not_like_it(ledger: Asked, other: dict[str, str]) -> None:
    ledger.open("one", **other)
    assert ledger.standing().like is None


@pytest.mark.parametrize(
    ("calls", "newest"),
    [
        ((("a", 10.0, Ended.DONE), ("b", 11.0, Ended.DONE)), "b"),
        ((("a", 11.0, Ended.DONE), ("b", 10.0, None)), "a"),
        ((("a", 10.0, Ended.DONE), ("b", 10.0, Ended.DONE)), "b"),
        ((("a", 10.0, Ended.DONE), ("b", 11.0, Ended.NOT_SENT)), "a"),
        ((("a", 1.0, None), ("b", 2.0, Ended.OUTCOME_UNKNOWN), ("c", 3.0, Ended.DONE)), "b"),
        ((("a", 1.0, None), ("b", 10.0, Ended.DONE)), "b"),
    ],
)
def test_of_several_like_calls_the_newest_is_told(ledger: Asked, calls: Any, newest: str) -> None:
    for name, at, ended in calls:
        ledger.open(name, at=at)
        if ended is not None:
            ledger.close(name, ended)
    like = ledger.standing().like
    assert like is not None
    assert like.line.call_id == newest


# --- limits


def test_calls_and_what_they_cost_are_counted_in_each_window_for_this_caller_alone(ledger: Asked) -> None:
    ledger.open("old", at=5.0, cost=100.0)
    ledger.open("one", at=6.0, cost=0.5, tool_id="crm.list")
    ledger.open("two", at=15.5, cost=0.25)
    ledger.close("two", Ended.NOT_SENT)
    ledger.open("ahead", at=30.0, cost=2.0)
    ledger.open("theirs", at=16.0, cost=50.0, identity="sha256:kim")
    standing = ledger.standing(limit_windows_s=(5.0, 15.0))
    assert standing.calls == (2, 3)
    assert standing.spent == (2.25, 2.75)
    assert ledger.standing(limit_windows_s=()).calls == ()


# --- what a conversation touched

READS, TAKES, SENDS = Flow.READS_PRIVATE, Flow.INGESTS_UNTRUSTED, Flow.SENDS_OUT


def test_a_label_is_touched_by_the_first_call_that_may_have_run(ledger: Asked) -> None:
    ledger.open("unsent", at=6.0, flow=frozenset({READS}), conversation="c")
    ledger.close("unsent", Ended.NOT_SENT)
    ledger.open("both", at=8.0, flow=frozenset({READS, TAKES}), conversation="c")
    ledger.open("later", at=9.0, flow=frozenset({READS, SENDS}), conversation="c")
    ledger.open("earlier", at=7.0, flow=frozenset({TAKES}), conversation="c")
    ledger.close("earlier", Ended.ERROR)
    ledger.open("nothing", at=1.0, conversation="c")
    ledger.open("theirs", at=1.0, flow=frozenset({SENDS}), identity="sha256:kim", conversation="c")
    assert ledger.standing(conversation="c").touched == {READS: "both", TAKES: "earlier", SENDS: "later"}


def test_a_named_conversation_reaches_back_whole_and_into_no_other(ledger: Asked) -> None:
    ledger.open("old", at=-900.0, flow=frozenset({READS}), conversation="c")
    ledger.open("other", at=10.0, flow=frozenset({TAKES}), conversation="d")
    ledger.open("unnamed", at=10.0, flow=frozenset({SENDS}))
    assert ledger.standing(conversation="c").touched == {READS: "old"}


def test_without_a_name_a_conversation_is_all_that_the_caller_ran_within_the_window(ledger: Asked) -> None:
    ledger.open("old", at=5.0, flow=frozenset({READS}))
    ledger.open("named", at=6.0, flow=frozenset({TAKES}), conversation="d")
    ledger.open("unnamed", at=10.0, flow=frozenset({SENDS}))
    assert ledger.standing(conversation=None).touched == {TAKES: "named", SENDS: "unnamed"}


# --- many at once


def test_of_many_calls_judged_by_one_standing_one_is_opened(ledger: Asked) -> None:
    opened: list[bool] = []

    async def ask(number: int) -> None:
        line = replace(LINE, call_id=f"call_{number}")
        opened.append(await ledger.store.ledger.open(line, b"{}", after=0))

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(ask, number)

    anyio.run(run)
    assert sorted(opened) == [False] * 19 + [True]
