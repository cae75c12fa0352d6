"""Writes through the gate: keys, repeats, unknown outcomes, and what the ledger holds of each."""

import json
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from pegboard.core.catalog import Risk
from pegboard.core.errors import (
    LockError,
    OutcomeUnknownError,
    RefusedByServerError,
    StoreError,
    UnreachableServerError,
)
from pegboard.core.revocations import Revocation
from pegboard.engine.ledger import ApprovalState, Ended
from pegboard.engine.limits import Limits
from pegboard.engine.verdict import Caller, VerdictKind
from pegboard.service.answering import KEPT_BYTES
from pegboard.service.selector import Request
from tests.crm import AGENT
from tests.servers import tool
from tests.service.calls import Crm

pytestmark = pytest.mark.anyio

LOST = OutcomeUnknownError("crm", "it exited")
DONE = {"content": [{"type": "text", "text": "deleted"}]}


async def writing(**deployment) -> Crm:
    """Start with a write that needs no approval."""
    crm = await Crm(**deployment).start()
    await crm.locks("delete_order", Risk.WRITE)
    crm.server.answers("delete_order", DONE)
    return crm


async def ended(crm, answer):
    past = await crm.system.ledger.call(answer.call_id)
    return None if past is None else past.ended


async def test_a_keyed_write_runs_once_and_answers_its_recorded_outcome_after_that():
    crm = await writing()
    first, second = await crm.pays(key="k1"), await crm.pays(key="k1")
    assert (first.result, second.result) == (DONE, DONE)
    assert (first.verdict.recorded, second.to_json()["recorded"]) == (None, True)
    assert (second.succeeded, second.verdict.allowed, second.call_id) == (True, False, None)
    assert len(crm.server.calls) == 1


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (lambda crm: crm.server.answers("delete_order", {"isError": True, "content": []}), "result"),
        (lambda crm: crm.server.fails("call", RefusedByServerError("crm", -32602, "no such order")), "error"),
    ],
)
async def test_a_keyed_write_that_failed_answers_its_failure_again_and_is_no_success(change, shown):
    crm = await writing()
    change(crm)
    first, second = await crm.pays(key="k1"), await crm.pays(key="k1")
    assert first.to_json()[shown] == second.to_json()[shown]
    assert (second.succeeded, len(crm.server.calls)) == (False, 1)


async def test_one_key_is_for_one_call():
    crm = await writing()
    await crm.pays(key="k1")
    other_tool = await crm.call(key="k1")
    other_arguments = await crm.call("crm.delete_order", {"force": True}, all_listed=True, key="k1")
    for answer in (other_tool, other_arguments):
        assert (answer.verdict.kind, answer.verdict.constraint) == (VerdictKind.INVALID_ARGUMENTS, "key")
    assert len(crm.server.calls) == 1


async def test_two_callers_keys_are_two():
    crm = await writing()
    await crm.pays(key="k1")
    assert (await crm.pays(key="k1", context=replace(AGENT, user="dana"))).verdict.allowed
    assert len(crm.server.calls) == 2


async def test_a_keyed_write_whose_answer_was_lost_is_unknown_for_ever_and_never_sent_again():
    crm = await writing()
    crm.server.fails("call", LOST)
    assert (await crm.pays(key="k1")).verdict.kind is VerdictKind.OUTCOME_UNKNOWN
    crm.server.recovers("call")
    crm.clock.time += 10 * 24 * 3600
    again = await crm.pays(key="k1")
    assert (again.verdict.kind, len(crm.server.calls)) == (VerdictKind.OUTCOME_UNKNOWN, 1)


async def test_a_keyed_write_that_was_never_sent_may_be_sent_under_the_same_key():
    crm = await writing()
    crm.server.fails("connect", UnreachableServerError("crm", "it is down"))
    first = await crm.pays(key="k1")
    assert (first.verdict.kind, first.call_id) == (VerdictKind.UNAVAILABLE, None)
    crm.server.recovers("connect")
    crm.clock.time += 120
    assert (await crm.pays(key="k1")).succeeded
    assert len(crm.server.calls) == 1


async def test_a_result_that_is_too_large_is_answered_and_not_kept_and_says_so():
    crm = await writing()
    large = {"content": [{"type": "text", "text": "x" * KEPT_BYTES}]}
    crm.server.answers("delete_order", large)
    first, second = await crm.pays(key="k1"), await crm.pays(key="k1")
    assert (first.result, second.result) == (large, None)
    assert "not kept" in first.verdict.message
    assert "ended as 'done'" in second.verdict.message
    assert len(crm.server.calls) == 1


async def test_the_key_goes_where_the_server_takes_one_unless_the_model_has_put_something_there():
    crm = await writing(key_arguments={"crm.delete_order": "once"})
    await crm.pays(key="k1")
    await crm.call("crm.delete_order", {"once": "mine"}, all_listed=True, key="k2")
    assert [arguments for _, arguments in crm.server.calls] == [{"once": "k1"}, {"once": "mine"}]


async def test_a_repeat_without_a_key_waits_for_confirmation_within_the_window():
    crm = await writing(limits=Limits(repeat_window_s=60.0))
    assert (await crm.pays()).succeeded
    crm.clock.time += 59
    again = await crm.pays()
    assert (again.verdict.kind, again.approval_id is not None) == (VerdictKind.CONFIRM_REPEAT, True)
    assert len(crm.server.calls) == 1
    crm.clock.time += 2
    assert (await crm.pays()).succeeded


async def test_other_arguments_a_read_and_a_key_are_no_repeat():
    crm = await writing()
    await crm.pays()
    assert (await crm.call("crm.delete_order", {"id": "8"}, all_listed=True)).succeeded
    assert (await crm.pays(key="k1")).succeeded
    await crm.call()
    assert (await crm.call()).succeeded


@pytest.mark.parametrize("hints", [{"idempotentHint": True}, {"idempotentHint": True, "readOnlyHint": True}])
async def test_an_unknown_outcome_outlasts_new_selections_time_and_whatever_the_server_hints(hints):
    crm = await Crm(tool("put_order", description="Put an order.", annotations=hints)).start()
    await crm.locks("put_order", Risk.WRITE)
    crm.server.fails("call", LOST)
    assert (await crm.call("crm.put_order", {}, all_listed=True)).verdict.kind is VerdictKind.OUTCOME_UNKNOWN
    crm.server.recovers("call")
    crm.clock.time += 30 * 24 * 3600
    crm.selection, _ = await crm.system.selector.select(Request(tasks=("put an order",)), AGENT)
    again = await crm.call("crm.put_order", {})
    assert (again.verdict.kind, len(crm.server.calls)) == (VerdictKind.CONFIRM_REPEAT, 1)


async def test_an_approval_of_a_repeat_lets_it_run_once():
    crm = await writing()
    await crm.pays()
    asked = await crm.pays()
    await crm.system.approver.grant(asked.approval_id, by="dana")
    assert (await crm.pays()).succeeded
    assert (await crm.pays()).verdict.kind is VerdictKind.CONFIRM_REPEAT
    assert len(crm.server.calls) == 2


async def test_twenty_calls_of_one_write_at_once_are_sent_once():
    crm = await writing()
    keyed, plain = [], []

    async def pay(answers, **more):
        answers.append(await crm.pays(**more))

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(lambda: pay(keyed, key="k1"))
    assert len(crm.server.calls) == 1
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(lambda: pay(plain))
    kinds = [answer.verdict.kind for answer in plain]
    assert kinds.count(VerdictKind.CONFIRM_REPEAT) == 20
    assert len(crm.server.calls) == 1


async def test_a_ledger_that_moves_between_judging_and_writing_is_judged_by_again(monkeypatch):
    crm = await writing()
    standing, first = crm.system.ledger.standing, True

    async def moves(question):
        nonlocal first
        found, found_first = await standing(question), first
        if found_first:
            first = False
            assert (await crm.system.gatekeeper.check(crm.proposed(), AGENT)).verdict.allowed
        return found

    # The other call is another process's: this one's would wait for its turn.
    monkeypatch.setattr(crm.system.ledger, "standing", moves)
    monkeypatch.setattr(crm.system.gatekeeper, "_turns", {AGENT.identity: anyio.Semaphore(2)})
    assert (await crm.pays()).succeeded
    assert len(crm.server.calls) == 1


async def test_a_ledger_that_never_stands_still_is_given_up(monkeypatch):
    crm = await writing()

    async def moved(*_, **__):
        return False

    monkeypatch.setattr(crm.system.ledger, "open", moved)
    assert (await crm.pays()).verdict.kind is VerdictKind.UNAVAILABLE
    assert crm.server.calls == []


@pytest.mark.parametrize("method", ["standing", "open"])
@pytest.mark.parametrize("passes", [False, True])
async def test_without_a_ledger_a_write_is_refused_and_a_read_passes_only_where_that_is_configured(
    method, passes, monkeypatch
):
    crm = await writing(limits=Limits(reads_without_ledger=passes))

    async def fails(*_, **__):
        raise StoreError(problem="the disk is full")

    monkeypatch.setattr(crm.system.ledger, method, fails)
    assert (await crm.pays()).verdict.kind is VerdictKind.UNAVAILABLE
    assert crm.server.calls == []
    read = await crm.call()
    assert (read.succeeded, read.call_id, len(crm.server.calls)) == (passes, None, int(passes))


async def test_a_line_that_cannot_be_closed_keeps_the_answer_and_stays_unknown(monkeypatch):
    crm = await writing()

    async def fails(*_, **__):
        raise StoreError(problem="the disk is full")

    close = crm.system.ledger.close
    monkeypatch.setattr(crm.system.ledger, "close", fails)
    answer = await crm.pays(key="k1")
    assert answer.result == DONE
    monkeypatch.setattr(crm.system.ledger, "close", close)
    assert (await crm.pays(key="k1")).verdict.kind is VerdictKind.OUTCOME_UNKNOWN
    assert len(crm.server.calls) == 1


async def test_what_is_refused_once_its_server_is_there_is_the_same_in_ledger_and_trace_and_was_not_sent():
    crm = await writing()
    crm.server.stalls("connect")
    answers = []

    async def pay():
        answers.append(await crm.pays(key="k1"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pay)
        await crm.server.reached("connect")
        await crm.system.store.halt(Revocation(target="crm.delete_order", why="x", by="tests", since=0.0))
        crm.server.recovers("connect")
    (answer,) = answers
    assert (answer.verdict.kind, answer.call_id) == (VerdictKind.UNKNOWN_OR_DENIED, None)
    told = await crm.trace(answer)
    line = await crm.system.ledger.call(told["call_id"])
    assert (told["verdict"], line.ended) == ("unknown_or_denied", Ended.NOT_SENT)
    assert crm.server.calls == []
    await crm.system.store.resume("crm.delete_order")
    assert (await crm.pays(key="k1")).succeeded


async def test_a_lock_line_that_asks_for_more_care_holds_for_a_call_whose_server_is_still_being_reached():
    crm = await writing()
    crm.server.stalls("connect")
    answers = []

    async def pay():
        answers.append(await crm.pays())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pay)
        await crm.server.reached("connect")
        await crm.locks("delete_order", Risk.DESTRUCTIVE)
        crm.server.recovers("connect")
    (answer,) = answers
    assert (answer.verdict.kind, crm.server.calls) == (VerdictKind.APPROVAL_REQUIRED, [])
    assert [one.approval_id for one in await crm.system.approver.requests(9)] == [answer.approval_id]


async def test_a_call_that_cannot_be_judged_once_its_server_is_there_is_not_sent(monkeypatch):
    crm = await writing()
    crm.server.stalls("connect")
    answers = []

    async def unreadable():
        raise LockError(problem="a merge left its marks in the lock")

    async def pay():
        answers.append(await crm.pays(key="k1"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pay)
        await crm.server.reached("connect")
        with monkeypatch.context() as patch:
            patch.setattr(crm.system.catalog, "current", unreadable)
            crm.server.recovers("connect")
            while not answers:
                await anyio.lowlevel.checkpoint()
    assert (answers[0].verdict.kind, crm.server.calls) == (VerdictKind.UNAVAILABLE, [])
    assert (await crm.pays(key="k1")).succeeded


async def test_a_session_that_breaks_while_it_is_closed_takes_no_answer_back(monkeypatch):
    crm = await writing()

    @asynccontextmanager
    async def breaks(*_):
        yield crm.server
        raise UnreachableServerError("crm", "it broke while it was closed")

    monkeypatch.setattr(crm.system.servers, "connect", breaks)
    answer = await crm.pays(key="k1")
    assert (answer.result, await ended(crm, answer)) == (DONE, Ended.DONE)


async def test_an_application_closes_what_it_ran_itself_and_its_result_is_kept_under_the_key():
    crm = await writing()
    proposed = crm.proposed("crm.delete_order", {}, key="k1")
    answer = await crm.system.gatekeeper.check(proposed, AGENT, all_listed=True)
    assert (answer.verdict.allowed, await ended(crm, answer)) == (True, None)
    await crm.system.gatekeeper.report(answer.call_id, "done", DONE)
    assert await ended(crm, answer) is Ended.DONE
    again = await crm.system.gatekeeper.check(proposed, AGENT, all_listed=True)
    assert (again.verdict.allowed, again.verdict.kind, again.result) == (False, VerdictKind.ALLOWED, DONE)
    with pytest.raises(ValueError, match="one of done, error, not_sent, outcome_unknown"):
        await crm.system.gatekeeper.report(answer.call_id, "fine")


async def test_a_programs_call_passes_the_same_gate_and_is_told_apart_on_record_alone():
    crm = await Crm().start()
    direct, program = await crm.call(), await crm.call(caller=Caller.PROGRAM)
    assert program.to_json() == {**direct.to_json(), "trace_id": program.trace_id}
    assert [(await crm.trace(one))["caller"] for one in (direct, program)] == ["direct", "program"]
    refused = await crm.call("crm.delete_order", {}, all_listed=True, caller=Caller.PROGRAM)
    assert refused.verdict.kind is VerdictKind.APPROVAL_REQUIRED


async def test_a_call_that_was_not_sent_gives_its_approval_back():
    crm = await Crm().start()
    asked = await crm.pays()
    await crm.system.approver.grant(asked.approval_id, by="dana")
    crm.server.fails("connect", UnreachableServerError("crm", "it is down"))
    assert (await crm.pays()).verdict.kind is VerdictKind.UNAVAILABLE
    crm.server.recovers("connect")
    crm.clock.time += 120
    assert (await crm.pays()).succeeded
    (request,) = await crm.system.approver.requests(9)
    assert request.state is ApprovalState.USED


async def test_the_record_of_a_call_holds_no_value_of_its_arguments():
    crm = await writing()
    answer = await crm.call(arguments={"id": "secret-7"}, conversation="c1", key="k1")
    assert "secret-7" not in json.dumps(dict(await crm.trace(answer)))
