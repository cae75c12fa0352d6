"""Stored traces: read, joined to their calls, and run again on their own versions or on others."""

import os
from dataclasses import replace

import pytest

from pegboard.core.catalog import Reach, Risk
from pegboard.core.errors import ConfigError
from pegboard.core.policy import AccessTemplate
from pegboard.core.revocations import Revocation
from pegboard.engine.asking import SelectionSettings
from pegboard.engine.trace import Grade, Naming, Record
from pegboard.engine.verdict import ProposedCall
from pegboard.service.replayer import Against
from pegboard.service.selector import Request
from pegboard.service.traces import Wanted
from tests.crm import AGENT, CASHIER
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import FixedClock, system

pytestmark = pytest.mark.anyio

FIRST = (
    tool("get_order", description="Read an order."),
    tool("list_orders", description="List the open orders."),
    tool("find_customer", description="Find a customer by name."),
)
LATER = (*FIRST, tool("list_returns", description="List the open orders that come back."))
ORDERS = Request(tasks=("list the open orders",))


async def started(clock=None, **deployment):
    """Two catalog versions: in the second, one more tool."""
    crm = ScriptedToolServer(list(FIRST))
    made = system(ScriptedToolServers(crm=crm), clock, **deployment)
    await published(made, crm, FIRST)
    return made, crm


async def published(made, crm, tools):
    crm.lists(list(tools))
    await made.refresher.refresh()
    waiting = [one.tool_id for one in await made.keeper.drafts()]
    await made.keeper.approve(waiting, access="sales", by="t", risk=Risk.READ, reach=Reach.BOUNDED)
    return (await made.catalog.current()).view.snapshot.number


async def every(found):
    return [one async for one in found]


async def test_another_catalog_version_shows_what_comes_in():
    made, crm = await started()
    selection, _ = await made.selector.select(ORDERS, AGENT)
    before = (await made.catalog.current()).view.snapshot.number
    after = await published(made, crm, LATER)
    lock = made.keeper.show()
    (own,) = await made.replayer.replay([selection.trace_id], Against(catalog=before))
    (other,) = await made.replayer.replay([selection.trace_id], Against(catalog=after, lock=lock))
    assert (own.equal, other.equal) == (True, False)
    assert other.tools.added == ("crm.list_returns",)
    (same,) = await made.replayer.replay([selection.trace_id])
    assert same.equal


async def test_another_lock_shows_what_drops_out():
    made, _ = await started()
    selection, _ = await made.selector.select(ORDERS, AGENT)
    lock = made.keeper.show().without(["crm.list_orders"])
    (found,) = await made.replayer.replay([selection.trace_id], Against(lock=lock))
    assert found.tools.dropped == ("crm.list_orders",)


@pytest.mark.parametrize(
    ("changes", "against", "equal"),
    [
        ({"templates": {"sales": AccessTemplate(required_scopes=frozenset({"other"}))}}, Against(policy=True), False),
        ({"templates": {"sales": AccessTemplate(required_scopes=frozenset({"other"}))}}, Against(settings=True), True),
        ({"selection": SelectionSettings(limit=1)}, Against(settings=True), False),
        ({"selection": SelectionSettings(limit=1)}, Against(policy=True), True),
    ],
)
async def test_what_is_not_named_stays_the_traces_own(changes, against, equal):
    made, _ = await started()
    selection, _ = await made.selector.select(ORDERS, AGENT)
    made.catalog.deployment = replace(made.catalog.deployment, **changes)
    (found,) = await made.replayer.replay([selection.trace_id], against)
    assert found.equal is equal


@pytest.mark.parametrize(("record", "grade"), [(Record.TASK, Grade.REPLAYABLE), (Record.TERMS, Grade.VERIFIABLE)])
async def test_only_a_trace_that_kept_its_task_can_be_asked_again_with_another_model(record, grade):
    made, _ = await started(record=record)
    selection, _ = await made.selector.select(ORDERS, AGENT)
    (found,) = await made.replayer.replay([selection.trace_id], Against(model=True))
    assert (found.grade, found.equal) == (grade, True)


async def test_vectors_of_a_model_that_is_not_here_are_compared_with_nothing(monkeypatch):
    made, _ = await started()
    selection, _ = await made.selector.select(ORDERS, AGENT)
    before = (await made.catalog.current()).view.snapshot.number
    monkeypatch.setattr(type(made.catalog.encoders), "models", lambda self, index: {"static": "another@0"})
    (found,) = await made.replayer.replay([selection.trace_id], Against(catalog=before))
    assert found.grade is Grade.VERIFIABLE


@pytest.mark.parametrize("halted", ["principal:sam", "crm.get_order"])
async def test_a_trace_under_a_halt_that_names_its_caller_by_digests_replays(halted):
    made, _ = await started(naming=Naming.DIGEST)
    await made.catalog.policies.halt(Revocation(target=halted, why="drill", by="t", since=0.0))
    selection, _ = await made.selector.select(ORDERS, AGENT)
    await made.catalog.policies.resume(halted)
    (found,) = await made.replayer.replay([selection.trace_id])
    assert (found.equal, found.diff) == (True, ())
    call = await made.gatekeeper.call(ProposedCall(tool="x", arguments={}), AGENT)
    for trace_id in (selection.trace_id, call.trace_id):
        assert b"sam" not in await made.traces.body(trace_id)


async def test_a_period_is_replayed_from_its_start_up_to_before_its_end():
    clock = FixedClock()
    made, _ = await started(clock)
    ids = []
    for clock.time in (1_000.0, 2_000.0, 3_000.0):
        selection, _ = await made.selector.select(ORDERS, AGENT)
        ids.append(selection.trace_id)
    await made.gatekeeper.rehearse(ProposedCall(tool="crm.get_order", arguments={}), AGENT)
    found = await every(made.replayer.replay_all(Wanted(since=2_000.0, until=3_000.0)))
    assert [(trace.trace_id, one.equal) for trace, one in found] == [(ids[1], True)]


async def test_a_thousand_stored_traces_replay_the_same():
    count = 1_000 if os.environ.get("PEGBOARD_SOAK") == "1" else 60
    made, crm = await started()
    words = ("order", "orders", "list", "open", "find", "customer", "read", "name", "returns")
    for number in range(count):
        if number == count // 2:
            await published(made, crm, LATER)
        task = " ".join(words[(number * step) % len(words)] for step in range(1, 2 + number % 5))
        await made.selector.select(Request(tasks=(task,), limit=1 + number % 4), (AGENT, CASHIER)[number % 2])
    found = await every(made.replayer.replay_all(Wanted()))
    assert len(found) == count
    assert [one for _, one in found if not one.equal or one.diff] == []


async def test_calls_are_joined_to_the_selection_that_they_came_from():
    made, _ = await started()
    selection, _ = await made.selector.select(ORDERS, AGENT)
    other, _ = await made.selector.select(ORDERS, AGENT)
    alias = selection.tools[0].alias
    calls = [
        await made.gatekeeper.call(ProposedCall(tool=tool, arguments={}, selection_id=selection.selection_id), AGENT)
        for tool in (alias, "no_such_tool")
    ]
    shown = await made.traces.one(selection.trace_id)
    assert [one["trace_id"] for one in shown["calls"]] == [one.trace_id for one in calls]
    assert [one["verdict"] for one in shown["calls"]] == ["allowed", "unknown_or_denied"]
    assert (await made.traces.one(other.trace_id))["calls"] == []
    back = await made.traces.one(calls[0].trace_id)
    assert back["selection"]["trace_id"] == selection.trace_id
    listed = {one["trace_id"]: one async for one in made.traces.newest(Wanted(kind="selection"))}
    assert listed[selection.trace_id]["calls"] == shown["calls"]


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [
        (Wanted(), ["call", "dana", "sam"]),
        (Wanted(principal="dana@acme"), ["dana"]),
        (Wanted(outcome="unknown_or_denied"), ["call"]),
        (Wanted(outcome="selected"), ["dana", "sam"]),
        (Wanted(kind="call"), ["call"]),
        (Wanted(since=2_000.0), ["call", "dana"]),
        (Wanted(until=2_000.0), ["sam"]),
    ],
)
@pytest.mark.parametrize("naming", list(Naming))
async def test_traces_are_found_by_caller_outcome_kind_and_time(wanted, taken, naming):
    clock = FixedClock()
    made, _ = await started(clock, naming=naming)
    sam, _ = await made.selector.select(ORDERS, AGENT)
    clock.time = 2_000.0
    dana, _ = await made.selector.select(ORDERS, CASHIER)
    clock.time = 3_000.0
    call = await made.gatekeeper.call(ProposedCall(tool="x", arguments={}), AGENT)
    names = {sam.trace_id: "sam", dana.trace_id: "dana", call.trace_id: "call"}
    assert [names[one["trace_id"]] async for one in made.traces.newest(wanted)] == taken


async def test_what_is_no_trace_of_a_selection_cannot_be_replayed():
    made, _ = await started()
    call = await made.gatekeeper.call(ProposedCall(tool="x", arguments={}), AGENT)
    for trace_id in (call.trace_id, "tr_none"):
        with pytest.raises(ConfigError):
            await made.replayer.replay([trace_id])
