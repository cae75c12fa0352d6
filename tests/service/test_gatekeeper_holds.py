"""What holds a call back: approvals, flow, limits and loops, through the service."""

import json
from dataclasses import replace

import pytest

from pegboard.core.catalog import Flow, Reach, Risk
from pegboard.core.errors import ConfigError, StoreError
from pegboard.engine.approvals import ApprovalRules, ArgumentRule
from pegboard.engine.flow import FlowAction, FlowRow
from pegboard.engine.ledger import ApprovalState
from pegboard.engine.limits import Limits
from pegboard.engine.verdict import VerdictKind
from pegboard.service.approver import OPEN_AT_MOST
from tests.crm import AGENT
from tests.servers import tool
from tests.service.calls import Crm

pytestmark = pytest.mark.anyio

LETTER = tool("send_letter", description="Send a letter.", inputSchema={"type": "object"})
PAGE = tool("fetch_page", description="Fetch a page.")
RISKY = "crm.delete_order"


async def states(crm):
    return [one.state for one in await crm.system.approver.requests(99)]


# Approvals


async def test_a_request_names_the_call_its_reasons_and_its_requester_and_the_same_call_asks_no_second_time():
    crm = await Crm().start()
    first, second = await crm.pays(), await crm.pays()
    (request,) = await crm.system.approver.requests(9)
    assert {first.approval_id, second.approval_id} == {request.approval_id}
    assert (request.tool_id, request.reasons, request.principal) == (RISKY, ("risk",), "sam@acme")
    assert (first.verdict.kind, crm.server.calls) == (VerdictKind.APPROVAL_REQUIRED, [])


@pytest.mark.parametrize("named", [False, True])
async def test_a_granted_call_runs_once_with_its_id_or_without(named):
    crm = await Crm().start()
    asked = await crm.pays()
    await crm.system.approver.grant(asked.approval_id, by="dana")
    more = {"approval": asked.approval_id} if named else {}
    assert (await crm.pays(**more)).succeeded
    again = await crm.pays(**more)
    assert again.verdict.kind in {VerdictKind.APPROVAL_REQUIRED, VerdictKind.CONFIRM_REPEAT}
    assert again.approval_id != asked.approval_id
    assert (len(crm.server.calls), await states(crm)) == (1, [ApprovalState.ASKED, ApprovalState.USED])


@pytest.mark.parametrize(
    "change",
    [
        {"arguments": {"force": True}},
        {"context": replace(AGENT, user="eve")},
        {"context": replace(AGENT, tenant="globex")},
        {"approval": "ap_of_nobody"},
    ],
)
async def test_an_approval_is_good_for_just_its_call(change):
    crm = await Crm().start()
    asked = await crm.pays()
    await crm.system.approver.grant(asked.approval_id, by="dana")
    words = {"arguments": {}, "all_listed": True, "approval": asked.approval_id, **change}
    answer = await crm.call(RISKY, **words)
    assert (answer.verdict.kind, crm.server.calls) == (VerdictKind.APPROVAL_REQUIRED, [])
    assert "the one that was named is not granted for just this call" in answer.verdict.message


async def test_an_approval_of_another_content_does_not_count():
    crm = await Crm().start()
    asked = await crm.pays()
    await crm.system.approver.grant(asked.approval_id, by="dana")
    crm.server.lists([crm.listed[0], {**crm.listed[1], "description": "Delete every order."}])
    await crm.system.refresher.refresh()
    await crm.system.keeper.approve([RISKY], by="tests")
    assert (await crm.pays()).verdict.kind is VerdictKind.APPROVAL_REQUIRED


async def test_an_approval_expires_and_a_clock_set_back_revives_none():
    crm = await Crm(approvals=ApprovalRules(lifetime_s=60.0)).start()
    began = crm.clock.time
    asked = await crm.pays()
    await crm.system.approver.grant(asked.approval_id, by="dana")
    for at in (began + 60, began - 1):
        crm.clock.time = at
        assert (await crm.pays()).verdict.kind is VerdictKind.APPROVAL_REQUIRED
    assert crm.server.calls == []


async def test_nobody_grants_what_was_asked_for_under_a_name_of_theirs():
    crm = await Crm().start()
    asked = await crm.pays(context=replace(AGENT, workload="bot", delegation=("desk",)))
    for own in ("sam", "SAM ", "bot", "desk", "sam+bot@acme", ""):
        with pytest.raises(ConfigError):
            await crm.system.approver.grant(asked.approval_id, by=own)
    with pytest.raises(ConfigError):
        await crm.system.approver.grant(asked.approval_id, by="dana", names=["dana@acme", "bot"])
    assert await states(crm) == [ApprovalState.ASKED]
    assert (await crm.system.approver.grant(asked.approval_id, by="dana")).by == "dana"


async def test_what_is_decided_expired_or_not_there_cannot_be_decided():
    crm = await Crm(approvals=ApprovalRules(lifetime_s=60.0)).start()
    asked = await crm.pays()
    await crm.system.approver.deny(asked.approval_id, by="dana", why="no")
    for act in (crm.system.approver.grant, crm.system.approver.deny):
        with pytest.raises(ConfigError, match="is denied already"):
            await act(asked.approval_id, by="dana")
        with pytest.raises(ConfigError, match="no request"):
            await act("ap_9", by="dana")
    crm.clock.time += 61
    later = await crm.pays()
    crm.clock.time += 61
    with pytest.raises(ConfigError, match="has expired"):
        await crm.system.approver.grant(later.approval_id, by="dana")


async def test_a_denied_call_says_so_and_asks_anew_only_once_that_has_expired():
    crm = await Crm(approvals=ApprovalRules(lifetime_s=60.0)).start()
    asked = await crm.pays()
    await crm.system.approver.deny(asked.approval_id, by="dana")
    again = await crm.pays()
    assert (again.approval_id, "it was denied" in again.verdict.message) == (asked.approval_id, True)
    crm.clock.time += 61
    assert (await crm.pays()).approval_id != asked.approval_id
    assert crm.server.calls == []


async def test_all_reasons_are_one_request_and_an_approval_of_fewer_is_none():
    crm = await Crm(
        approvals=ApprovalRules(when=(ArgumentRule(tools=("crm.delete*",), arguments={"/how/fast": (True,)}),))
    ).start()
    arguments = {"how": {"fast": True}}
    asked = await crm.call(RISKY, arguments, all_listed=True)
    (request,) = await crm.system.approver.requests(9)
    assert request.reasons == ("risk", "arguments")
    await crm.system.approver.grant(asked.approval_id, by="dana")
    await crm.locks("delete_order", Risk.DESTRUCTIVE, Reach.OPEN)
    more = await crm.call(RISKY, arguments, all_listed=True)
    assert (more.verdict.kind, crm.server.calls) == (VerdictKind.APPROVAL_REQUIRED, [])
    assert more.approval_id != asked.approval_id


async def test_a_caller_cannot_drown_whoever_approves():
    crm = await Crm().start()
    for number in range(OPEN_AT_MOST):
        await crm.call(RISKY, {"n": number}, all_listed=True)
    full = await crm.call(RISKY, {"n": -1}, all_listed=True)
    assert (full.verdict.kind, full.verdict.constraint) == (VerdictKind.LIMIT_EXCEEDED, "approvals")
    assert (await crm.call(RISKY, {"n": 0}, all_listed=True)).verdict.kind is VerdictKind.APPROVAL_REQUIRED
    for number in range(200):
        other = await crm.call(RISKY, {"n": -1}, replace(AGENT, user=f"eve{number}"), all_listed=True)
        assert other.verdict.kind is VerdictKind.APPROVAL_REQUIRED
    # Whoever else asks meanwhile makes no room for this one.
    assert (await crm.call(RISKY, {"n": -1}, all_listed=True)).verdict.kind is VerdictKind.LIMIT_EXCEEDED


async def test_a_request_that_cannot_be_put_on_record_is_unavailable(monkeypatch):
    crm = await Crm().start()

    async def fails(*_):
        raise StoreError(problem="the disk is full")

    monkeypatch.setattr(crm.system.ledger, "ask", fails)
    assert (await crm.pays()).verdict.kind is VerdictKind.UNAVAILABLE


async def test_an_approval_whose_use_cannot_be_put_on_record_is_not_used(monkeypatch):
    crm = await Crm().start()
    asked = await crm.pays()
    await crm.system.approver.grant(asked.approval_id, by="dana")

    async def fails(*_, **__):
        raise StoreError(problem="the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(crm.system.audit, "record", fails)
        assert (await crm.pays()).verdict.kind is VerdictKind.UNAVAILABLE
    assert crm.server.calls == []
    assert (await crm.pays()).succeeded


async def test_operators_read_of_requests_decisions_and_use_in_order():
    crm = await Crm().start()
    asked = await crm.pays()
    await crm.system.approver.grant(asked.approval_id, by="dana")
    answer = await crm.pays()
    told = [(kind, body) for kind, body in await crm.audited() if kind.startswith("approval")]
    assert [kind for kind, _ in told] == ["approval_asked", "approval_granted", "approval_used"]
    assert {(body["approval_id"], body["tool_id"]) for _, body in told} == {(asked.approval_id, RISKY)}
    assert (told[1][1]["by"], told[2][1]["call_id"]) == ("dana", answer.call_id)


# Flow


async def flowing(**deployment) -> Crm:
    """Start where `get_order` reads private data, `fetch_page` takes in what anyone wrote, `send_letter` sends out."""
    crm = await Crm(LETTER, PAGE, **deployment).start()
    await crm.locks("get_order", Risk.READ, Reach.BOUNDED, Flow.READS_PRIVATE)
    await crm.locks("fetch_page", Risk.READ, Reach.BOUNDED, Flow.INGESTS_UNTRUSTED)
    await crm.locks("send_letter", Risk.WRITE, Reach.BOUNDED, Flow.SENDS_OUT)
    return crm


async def sends(crm, text="hello", **more):
    return await crm.call("crm.send_letter", {"text": text}, all_listed=True, **more)


async def test_once_private_data_and_untrusted_content_met_what_sends_out_asks_and_names_both_calls():
    crm = await flowing()
    private = await crm.call()
    assert (await sends(crm, "1")).succeeded
    untrusted = await crm.call("crm.fetch_page", {}, all_listed=True)
    held = await sends(crm, "2")
    assert held.verdict.kind is VerdictKind.APPROVAL_REQUIRED
    (request,) = await crm.system.approver.requests(9)
    assert (request.reasons, request.earlier) == (("flow",), (private.call_id, untrusted.call_id))
    await crm.system.approver.grant(held.approval_id, by="dana")
    assert (await sends(crm, "2")).succeeded


async def test_a_conversation_is_the_applications_and_without_one_the_callers_last_hour():
    crm = await flowing(approvals=ApprovalRules(conversation_s=60.0))
    await crm.call(conversation="a")
    await crm.call("crm.fetch_page", {}, all_listed=True, conversation="b")
    assert (await sends(crm, "1", conversation="a")).succeeded
    assert (await sends(crm, "2", conversation="b")).succeeded
    assert (await sends(crm, "3")).verdict.kind is VerdictKind.APPROVAL_REQUIRED
    assert (await sends(crm, "3", context=replace(AGENT, user="eve"))).succeeded
    crm.clock.time += 61
    assert (await sends(crm, "3")).succeeded


@pytest.mark.parametrize(("where", "told"), [("a", True), ("b", False), (None, False)])
async def test_what_is_on_record_under_a_key_is_told_only_where_the_ledger_knows_that_it_came(where, told):
    crm = await flowing(approvals=ApprovalRules(conversation_s=60.0))
    await crm.call(conversation="a", key="k")
    crm.clock.time += 61
    await crm.call("crm.fetch_page", {}, all_listed=True, conversation=where)
    again = await crm.call(conversation=where, key="k")
    assert (again.succeeded, again.result is not None) == (True, told)
    assert (await sends(crm, conversation=where)).succeeded is not told


async def test_only_what_was_sent_counts():
    crm = await flowing()
    await crm.call(arguments={})
    await crm.call("crm.fetch_page", {}, all_listed=True)
    assert (await sends(crm)).succeeded


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ((FlowRow(environment="production", do=FlowAction.DENY),), VerdictKind.DENIED),
        ((FlowRow(environment="production", do=FlowAction.ALLOW),), VerdictKind.ALLOWED),
        ((FlowRow(environment="staging", do=FlowAction.ALLOW),), VerdictKind.APPROVAL_REQUIRED),
        ((FlowRow(do=FlowAction.ASK), FlowRow(do=FlowAction.ALLOW)), VerdictKind.APPROVAL_REQUIRED),
    ],
)
async def test_the_first_row_of_the_callers_environment_says_what_to_do(rows, verdict):
    crm = await flowing(approvals=ApprovalRules(flow=rows))
    await crm.call()
    await crm.call("crm.fetch_page", {}, all_listed=True)
    assert (await sends(crm)).verdict.kind is verdict


# Limits and loops


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (Limits(calls_per_minute=2), "calls_per_minute"),
        (Limits(calls_per_day=2), "calls_per_day"),
        (Limits(spend_per_day=1.0), "spend_per_day"),
    ],
)
async def test_a_limit_is_of_one_caller_and_of_its_window(limits, name):
    crm = await Crm(limits=limits, costs={"crm.get_order": 0.5}).start()
    for _ in range(2):
        assert (await crm.call()).succeeded
    over = await crm.call()
    assert (over.verdict.kind, over.verdict.constraint) == (VerdictKind.LIMIT_EXCEEDED, name)
    assert (await crm.call(context=replace(AGENT, user="eve"), all_listed=True)).succeeded
    crm.clock.time -= 5_000
    assert (await crm.call()).verdict.kind is VerdictKind.LIMIT_EXCEEDED
    crm.clock.time += 5_000 + 24 * 3600 + 1
    assert (await crm.call(all_listed=True)).succeeded


async def test_the_same_refusal_again_and_again_ends_in_one_answer_for_every_tool():
    crm = await Crm(limits=Limits(identical_refusals=3)).start()
    told = {}
    for name in ("crm.no_such", RISKY, "crm.get_order"):
        context = AGENT if name == "crm.get_order" else replace(AGENT, scopes=frozenset())
        answers = [await crm.call(name, {"id": 7}, context) for _ in range(5)]
        told[name] = [{**answer.to_json(), "trace_id": ""} for answer in answers]
        assert {answer.verdict.kind for answer in answers[3:]} == {VerdictKind.LIMIT_EXCEEDED}
    assert told["crm.no_such"] == told[RISKY]
    assert told["crm.no_such"][3:] == told["crm.get_order"][3:]
    assert told["crm.get_order"][0]["constraint"] == "type"
    crm.clock.time += 61
    assert (await crm.call(arguments={"id": 7})).verdict.kind is VerdictKind.INVALID_ARGUMENTS


async def test_other_arguments_and_other_callers_are_no_loop():
    crm = await Crm(limits=Limits(identical_refusals=2)).start()
    for _ in range(3):
        await crm.call(arguments={})
    assert (await crm.call()).succeeded
    answer = await crm.call(arguments={}, context=replace(AGENT, user="eve"), all_listed=True)
    assert answer.verdict.kind is VerdictKind.INVALID_ARGUMENTS


async def test_waiting_for_an_approval_is_no_loop():
    crm = await Crm(limits=Limits(identical_refusals=2)).start()
    answers = [await crm.pays() for _ in range(4)]
    await crm.system.approver.grant(answers[-1].approval_id, by="dana")
    assert (await crm.pays()).succeeded


async def test_every_denial_is_told_to_operators_with_its_rules_and_to_nobody_else():
    crm = await Crm(limits=Limits(calls_per_minute=0)).start()
    denied = await crm.call(context=replace(AGENT, scopes=frozenset()))
    await crm.call("crm.no_such")
    await crm.call()
    told = [body for kind, body in await crm.audited() if kind == "denial"]
    assert [(one["verdict"], one["tool_id"], one["cause"], one["reasons"]) for one in told] == [
        ("unknown_or_denied", "crm.get_order", "denied", ["scopes"]),
        ("unknown_or_denied", None, "not_selected", []),
        ("limit_exceeded", "crm.get_order", "denied", ["calls_per_minute"]),
    ]
    assert (told[0]["principal"], told[0]["trace_id"]) == ("sam@acme", denied.trace_id)
    assert "scopes" not in json.dumps(denied.to_json())
