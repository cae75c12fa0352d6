"""Calls through the service: judged on the policy of the moment, sent once, put on record."""

import json
from dataclasses import replace

import anyio
import pytest

from pegboard.core.errors import OutcomeUnknownError, RefusedByServerError, StoreError, UnreachableServerError
from pegboard.core.revocations import Revocation
from pegboard.engine.intake import take_in_listing
from pegboard.engine.verdict import ProposedCall, VerdictKind
from pegboard.service.ports import Listing
from tests.crm import AGENT, schema
from tests.service.calls import GET, PAY, Crm

pytestmark = pytest.mark.anyio


async def test_an_allowed_call_is_sent_once_to_its_server_and_its_result_comes_back_untouched():
    crm = await Crm().start()
    answer = await crm.call()
    assert (answer.verdict.kind, answer.succeeded) == (VerdictKind.ALLOWED, True)
    assert answer.result == {"content": [{"type": "text", "text": "7"}], "structuredContent": {"n": 7}}
    assert crm.server.calls == [("get_order", {"id": "7"})]
    assert (await crm.trace(answer))["verdict"] == "allowed"


async def test_an_error_result_of_the_tool_is_passed_on_and_is_no_success():
    crm = await Crm().start()
    crm.server.answers("get_order", {"isError": True, "content": []})
    answer = await crm.call()
    assert (answer.succeeded, answer.result) == (False, {"isError": True, "content": []})


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({"arguments": {}}, VerdictKind.INVALID_ARGUMENTS),
        ({"arguments": {"id": 7}}, VerdictKind.INVALID_ARGUMENTS),
        ({"tool_name": "crm.no_such"}, VerdictKind.UNKNOWN_OR_DENIED),
        ({"selection": "sel_of_nobody"}, VerdictKind.UNKNOWN_OR_DENIED),
        ({"context": replace(AGENT, user="eve")}, VerdictKind.UNKNOWN_OR_DENIED),
        ({"context": replace(AGENT, scopes=frozenset())}, VerdictKind.UNKNOWN_OR_DENIED),
        ({"context": replace(AGENT, servers=frozenset())}, VerdictKind.UNKNOWN_OR_DENIED),
    ],
)
async def test_a_refused_call_never_reaches_the_server(change, verdict):
    crm = await Crm().start()
    answer = await crm.call(**change)
    assert answer.verdict.kind is verdict
    assert crm.server.calls == []


async def test_unknown_denied_unselected_and_expired_are_one_answer_and_its_trace_names_no_tool():
    crm = await Crm().start()
    denied = await crm.call(context=replace(AGENT, scopes=frozenset()))
    unknown = await crm.call("crm.no_such")
    foreign = await crm.call(selection="sel_9")
    crm.clock.time += 24 * 3600 + 1
    expired = await crm.call()
    shown = {json.dumps({**one.to_json(), "trace_id": ""}) for one in (denied, unknown, foreign, expired)}
    assert len(shown) == 1
    for one in (denied, unknown, foreign, expired):
        assert "get_order" not in json.dumps(await crm.trace(one))


async def test_a_halt_and_a_lost_lock_line_hold_at_the_call_though_the_selection_is_older():
    crm = await Crm().start()
    halt = Revocation(target="crm.get_order", why="x", by="tests", since=0.0)
    await crm.system.store.halt(halt)
    assert (await crm.call()).verdict.kind is VerdictKind.UNKNOWN_OR_DENIED
    await crm.system.store.resume("crm.get_order")
    assert (await crm.call()).verdict.allowed
    await crm.system.keeper.replace(crm.system.keeper.show().without(["crm.get_order"]))
    assert (await crm.call()).verdict.kind is VerdictKind.UNKNOWN_OR_DENIED
    assert len(crm.server.calls) == 1


async def test_a_call_whose_answer_never_came_is_unknown_and_is_not_sent_again():
    crm = await Crm().start()
    crm.server.fails("call", OutcomeUnknownError("crm", "it exited"))
    answer = await crm.call()
    assert (answer.verdict.kind, answer.succeeded) == (VerdictKind.OUTCOME_UNKNOWN, False)
    assert len(crm.server.calls) == 1


async def test_a_server_that_cannot_be_reached_ran_nothing_and_says_so():
    crm = await Crm().start()
    crm.server.fails("connect", UnreachableServerError("crm", "it is down"))
    answer = await crm.call()
    assert (answer.verdict.kind, crm.server.calls) == (VerdictKind.UNAVAILABLE, [])
    assert "nothing was run" in answer.verdict.message


async def test_a_protocol_error_of_the_server_is_passed_on():
    crm = await Crm().start()
    crm.server.fails("call", RefusedByServerError("crm", -32602, "no such order"))
    answer = await crm.call()
    assert (answer.verdict.kind, answer.succeeded) == (VerdictKind.ALLOWED, False)
    assert answer.to_json()["error"] == {"code": -32602, "message": "no such order"}


async def test_what_cannot_be_put_on_record_is_not_run(monkeypatch):
    crm = await Crm().start()

    async def full(*_, **__):
        raise StoreError(problem="the disk is full")

    monkeypatch.setattr(crm.system.ledger, "open", full)
    answer = await crm.call()
    assert (answer.verdict.kind, crm.server.calls) == (VerdictKind.UNAVAILABLE, [])


async def test_a_changed_tool_still_takes_the_arguments_of_the_old_selection_where_it_accepts_no_less():
    crm = await Crm().start()
    wider = {**GET, "description": "Read an order or two."}
    crm.server.lists([wider, PAY])
    await crm.system.refresher.refresh()
    await crm.system.keeper.approve(["crm.get_order"], by="tests")
    assert (await crm.call()).verdict.allowed
    narrower = {**GET, "inputSchema": schema("id", "why", id="Order number", why="Reason")}
    crm.server.lists([narrower, PAY])
    await crm.system.refresher.refresh()
    await crm.system.keeper.approve(["crm.get_order"], by="tests")
    assert (await crm.call(arguments={"id": "7", "why": "x"})).verdict.kind is VerdictKind.STALE_SCHEMA


async def test_a_call_that_needs_an_approval_is_not_sent():
    crm = await Crm().start()
    answer = await crm.call("crm.delete_order", {}, all_listed=True)
    assert (answer.verdict.kind, crm.server.calls) == (VerdictKind.APPROVAL_REQUIRED, [])


async def test_a_rehearsal_sends_and_records_nothing():
    crm = await Crm().start()
    call = ProposedCall(tool="crm.get_order", arguments={"id": "7"}, selection_id=crm.selection.selection_id)
    answer = await crm.system.gatekeeper.rehearse(call, AGENT)
    assert (answer.verdict.allowed, crm.server.calls) == (True, [])
    assert await crm.system.store.trace(answer.trace_id) is None


async def test_a_tool_that_changes_compatibly_while_its_server_is_reached_is_called_once_and_answers():
    crm = await Crm().start()
    crm.server.stalls("connect")
    answers = []

    async def call():
        answers.append(await crm.call())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await crm.server.reached("connect")
        entries, _ = take_in_listing("crm", "crm", [{**GET, "description": "Read an order or two."}, PAY])
        await crm.system.catalog.publish([Listing(server="crm", fetched_at=1.0, entries=entries)], by="tests")
        await crm.system.keeper.approve(["crm.get_order"], by="tests")
        crm.server.recovers("connect")
    (answer,) = answers
    assert answer.succeeded
    assert answer.result is not None
    assert crm.server.calls == [("get_order", {"id": "7"})]


async def test_a_trace_keeps_no_more_of_a_selections_name_than_any_has():
    crm = await Crm().start()
    answer = await crm.call(selection="s" * 1_000_000)
    assert len(json.dumps(await crm.trace(answer))) < 2_000
