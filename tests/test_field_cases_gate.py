"""Failures that users of other gateways and frameworks reported at the call, each with its whole kind.

The number is that of the public report's kind in our collection; the name says what must not happen here.
"""

import json
from dataclasses import replace

import pytest

from pegboard.core.catalog import Reach, Risk
from pegboard.core.errors import OutcomeUnknownError
from pegboard.core.revocations import Revocation
from pegboard.engine.limits import Limits
from pegboard.engine.verdict import VerdictKind
from pegboard.service.selector import Request
from tests.crm import AGENT
from tests.servers import tool
from tests.service.calls import Crm

pytestmark = pytest.mark.anyio

EVE = replace(AGENT, user="eve")


def said(answer) -> str:
    """Return every byte that a caller gets, but for the trace's id."""
    return json.dumps({**answer.to_json(), "trace_id": ""})


# 4 audit: a denied tool called by its exact name reads as unknown, and is a denial of its own to operators.


@pytest.mark.parametrize(
    ("context", "halted", "cause", "reasons"),
    [
        (replace(AGENT, scopes=frozenset()), None, "denied", ["scopes"]),
        (replace(AGENT, servers=frozenset()), None, "denied", ["server"]),
        (AGENT, "crm.get_order", "denied", ["revoked"]),
        (AGENT, "principal:sam", "denied", ["revoked"]),
        (replace(AGENT, scopes=frozenset(), servers=frozenset()), "all", "denied", ["revoked", "server", "scopes"]),
    ],
)
@pytest.mark.parametrize("name", ["crm.get_order", "crm/get_order"])
async def test_4_denied_reads_as_unknown_and_operators_read_which_rule(context, halted, cause, reasons, name):
    crm = await Crm().start()
    if halted is not None:
        await crm.system.store.halt(Revocation(target=halted, why="x", by="tests", since=0.0))
    denied = await crm.call(name, context=context)
    unknown = await crm.call("crm.no_such", context=context)
    assert said(denied) == said(unknown)
    first, second = [body for kind, body in await crm.audited() if kind == "denial"]
    if name == "crm.get_order":
        assert (first["tool_id"], first["cause"], first["reasons"]) == ("crm.get_order", cause, reasons)
    assert (second["tool_id"], second["cause"]) == (None, "not_selected")
    for answer in (denied, unknown):
        assert "get_order" not in json.dumps(dict(await crm.trace(answer)))


# 20 sessions: two users behind one downstream credential; nothing of the one reaches the other.


async def test_20_nothing_that_one_caller_holds_is_of_use_to_another():
    crm = await Crm(limits=Limits(calls_per_minute=3)).start()
    await crm.locks("delete_order", Risk.WRITE)
    crm.server.answers("delete_order", {"content": [{"type": "text", "text": "of sam"}]})
    await crm.pays(key="k1", conversation="c1")
    await crm.locks("delete_order", Risk.DESTRUCTIVE)
    asked = await crm.call("crm.delete_order", {"n": 1}, all_listed=True)
    await crm.system.approver.grant(asked.approval_id, by="dana")

    # A selection, by its id, with its alias; none and a forged one answer the same.
    for selection in (None, "sel_9", "sel_\ud800", ""):
        assert said(await crm.call(context=EVE, selection=selection)) == said(await crm.call("x", context=EVE))
    # An approval, by its id.
    for approval in (asked.approval_id, "ap_9"):
        held = await crm.call("crm.delete_order", {"n": 1}, EVE, all_listed=True, approval=approval)
        assert held.verdict.kind is VerdictKind.APPROVAL_REQUIRED
        assert held.approval_id != asked.approval_id
    # A key, with what is recorded under it; and what counts towards limits.
    await crm.locks("delete_order", Risk.WRITE)
    crm.server.answers("delete_order", {"content": []})
    own = await crm.pays(key="k1", context=EVE)
    assert (own.result, own.verdict.recorded) == ({"content": []}, None)


async def test_20_an_alias_of_another_conversation_is_no_name_here():
    crm = await Crm(tool("read_mail", description="Read mail.")).start()
    mail, _ = await crm.system.selector.select(Request(tasks=("read mail",), limit=1), AGENT)
    order, _ = await crm.system.selector.select(Request(tasks=("read an order",), limit=1), AGENT)
    assert mail.tools[0].alias != order.tools[0].alias
    crossed = await crm.call(mail.tools[0].alias, {}, selection=order.selection_id)
    assert crossed.verdict.kind is VerdictKind.UNKNOWN_OR_DENIED
    assert (await crm.call(mail.tools[0].alias, {}, selection=mail.selection_id)).succeeded


# 23 writes: the connection drops after a write was dispatched.


@pytest.mark.parametrize("hints", [{}, {"idempotentHint": True}, {"readOnlyHint": True, "idempotentHint": True}])
@pytest.mark.parametrize("risk", [Risk.WRITE, Risk.DESTRUCTIVE])
@pytest.mark.parametrize("more", [{}, {"key": "k1"}])
async def test_23_a_lost_write_is_unknown_and_is_not_sent_again_whatever_is_tried(hints, risk, more):
    crm = await Crm(tool("pay", description="Pay.", annotations=hints)).start()
    await crm.locks("pay", risk, Reach.BOUNDED)

    async def pays(**given):
        answer = await crm.call("crm.pay", {}, all_listed=True, **given)
        if answer.verdict.kind is VerdictKind.APPROVAL_REQUIRED:
            await crm.system.approver.grant(answer.approval_id, by="dana")
            answer = await crm.call("crm.pay", {}, all_listed=True, **given)
        return answer

    crm.server.fails("call", OutcomeUnknownError("crm", "the connection was reset"))
    lost = await pays(**more)
    assert (lost.verdict.kind, lost.succeeded) == (VerdictKind.OUTCOME_UNKNOWN, False)
    crm.server.recovers("call")
    for wait_s in (1.0, 7 * 24 * 3600.0):
        crm.clock.time += wait_s
        crm.selection, _ = await crm.system.selector.select(Request(tasks=("pay",)), AGENT)
        again = await pays(**more)
        assert again.verdict.kind in {VerdictKind.OUTCOME_UNKNOWN, VerdictKind.CONFIRM_REPEAT}
    assert len(crm.server.calls) == 1


# 24 loops: the same empty call thirty times.


async def test_24_thirty_empty_calls_are_refused_before_dispatch_and_end_in_the_loop_breaker():
    crm = await Crm().start()
    answers = [await crm.call(arguments={}) for _ in range(30)]
    for answer in answers[:5]:
        assert (answer.verdict.kind, answer.verdict.path) == (VerdictKind.INVALID_ARGUMENTS, "")
        assert answer.verdict.constraint == "required"
        assert '"id" is missing' in answer.verdict.message
    assert {(answer.verdict.kind, answer.verdict.constraint) for answer in answers[5:]} == {
        (VerdictKind.LIMIT_EXCEEDED, "identical_refusals")
    }
    assert crm.server.calls == []
    assert (await crm.call()).succeeded
