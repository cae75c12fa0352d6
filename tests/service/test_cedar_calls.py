"""Cedar at a running gate: calls are judged on their arguments, told of to operators alone, and put on record."""

import anyio
import pytest

from pegboard.core.catalog import Risk
from pegboard.engine.verdict import Cause, VerdictKind
from pegboard.service.selector import Request
from tests.crm import AGENT
from tests.policy.made import CALLS, CONSIDERS, EVERYTHING, made
from tests.service.calls import Crm

SEVEN = f'@id("seven") forbid(principal, {CALLS}, resource) when {{ context.input has id && context.input.id == "7" }};'
HIDE = f'@id("hide") forbid(principal, {CONSIDERS}, resource == Pegboard::Tool::"crm.get_order");'


def test_a_call_that_a_policy_forbids_is_denied_and_nothing_is_sent():
    async def judged():
        crm = await Crm(layer=made(EVERYTHING, SEVEN)).start()
        denied, allowed = await crm.call(), await crm.call(arguments={"id": "8"})
        return crm, denied, allowed, await crm.audited()

    crm, denied, allowed, audited = anyio.run(judged)
    assert (denied.verdict.kind, allowed.verdict.kind) == (VerdictKind.DENIED, VerdictKind.ALLOWED)
    assert "seven" not in str(denied.to_json())
    assert [arguments for _, arguments in crm.server.calls] == [{"id": "8"}]
    (event,) = [body for kind, body in audited if kind == "denial"]
    assert (event["cause"], event["reasons"]) == (Cause.DENIED, ["seven"])


def test_a_tool_that_a_policy_hides_is_neither_selected_nor_callable():
    async def judged():
        crm = await Crm(layer=made(EVERYTHING, HIDE)).start()
        selection, _ = await crm.system.selector.select(
            Request(tasks=("read an order",), require=("crm.get_order",)), AGENT
        )
        return selection, await crm.call(all_listed=True), await crm.call("crm.nothing", all_listed=True)

    selection, hidden, nothing = anyio.run(judged)
    assert selection.missing == ("crm.get_order",)
    assert "crm.get_order" not in {one.tool.tool_id for one in selection.tools}
    assert hidden.verdict.to_json() == nothing.verdict.to_json()
    assert hidden.verdict.internal.reasons == ("cedar", "hide")


@pytest.mark.parametrize("arguments", [{"id": "7"}, {"id": "8"}])
def test_a_log_only_policy_is_on_record_of_a_call_and_changes_nothing(arguments):
    async def judged():
        crm = await Crm(layer=made(EVERYTHING, SEVEN.replace("forbid", "@log_only forbid"))).start()
        answer = await crm.call(arguments=arguments)
        return answer, await crm.trace(answer)

    answer, trace = anyio.run(judged)
    assert answer.verdict.allowed
    assert "seven" not in str(answer.to_json())
    assert trace["log_only"] == (["seven"] if arguments["id"] == "7" else [])


def test_a_call_is_judged_by_the_lock_of_its_moment():
    """What is locked anew as destructive is so for policy from the next call on (law 4)."""
    calm = f'@id("calm") forbid(principal, {CALLS}, resource) when {{ resource.risk == "destructive" }};'

    async def judged():
        crm = await Crm(layer=made(EVERYTHING, calm)).start()
        await crm.locks("get_order", Risk.READ)
        before = await crm.call()
        await crm.locks("get_order", Risk.DESTRUCTIVE)
        return before, await crm.call()

    before, after = anyio.run(judged)
    assert (before.verdict.kind, after.verdict.kind) == (VerdictKind.ALLOWED, VerdictKind.DENIED)


def test_a_traces_versions_name_the_policies():
    async def traced(layer):
        crm = await Crm(layer=layer).start()
        await crm.system.flush()
        body = await crm.system.traces.one(crm.selection.trace_id)
        (replayed,) = await crm.system.replayer.replay([crm.selection.trace_id])
        return body["versions"], replayed

    layer = made(EVERYTHING)
    versions, replayed = anyio.run(traced, layer)
    assert versions["cedar"] == layer.digest
    assert "cedarpy" in versions["packages"]
    assert replayed.equal
    plain, _ = anyio.run(traced, None)
    assert plain["cedar"] is None
    assert "cedarpy" not in plain["packages"]
