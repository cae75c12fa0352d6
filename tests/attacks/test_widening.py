"""Grants that nobody made."""

from dataclasses import replace

import anyio
import pytest

from pegboard.core.catalog import Reach, Risk
from pegboard.core.revocations import Revocation
from pegboard.engine.verdict import ProposedCall
from pegboard.service.selector import Request
from tests.crm import AGENT
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import system

pytestmark = pytest.mark.anyio

GET = tool("get_x", description="Read.")
CALLER = replace(AGENT, servers=frozenset({"a", "b", "crm", "other"}))


async def locked(**servers):
    made = system(ScriptedToolServers(**servers), namespaces_of=dict.fromkeys(servers, "crm"))
    await made.refresher.refresh()
    await made.keeper.approve(["crm.get_x"], access="sales", by="t", risk=Risk.READ, reach=Reach.BOUNDED)
    return made


async def test_a_server_gets_no_call_of_a_tool_that_was_locked_when_another_server_had_it():
    # b declares a's tool byte for byte once a has stopped to list it; nobody approved b's.
    a, b = ScriptedToolServer([GET, tool("z")]), ScriptedToolServer([tool("other")])
    made = await locked(a=a, b=b)
    a.lists([tool("z")])
    b.lists([tool("other"), GET])
    await made.refresher.refresh()
    selection, _ = await made.selector.select(Request(tasks=("get_x",)), CALLER)
    call = ProposedCall(tool="crm.get_x", arguments={"secret": "1"}, selection_id=selection.selection_id)
    await made.gatekeeper.call(call, CALLER)
    assert [one.tool.tool_id for one in selection.tools] == []
    assert b.calls == []


async def test_an_import_whose_tool_is_kept_out_leaves_the_lock_line_of_the_owner_alone():
    made = await locked(crm=ScriptedToolServer([GET]))
    before = made.keeper.show().lines["crm.get_x"]
    line = {"tool_id": "crm.get_x", "source_server": "other", "description": "Another.", "input_schema": {}}
    report = await made.importer.lines([line], approve="money", by="t")
    assert (report.imported, report.locked) == (0, 0)
    assert made.keeper.show().lines["crm.get_x"] == before


async def test_an_import_that_names_one_tool_of_a_live_server_does_not_drop_its_others_unsaid():
    made = await locked(crm=ScriptedToolServer([GET, tool("z")]))
    report = await made.importer.lines([{"tool_id": "crm.extra", "input_schema": {}}], by="t")
    served = {entry.tool_id for entry in (await made.catalog.current()).view.snapshot.entries}
    dropped = {"crm.get_x", "crm.z"} - served
    assert not dropped or all(tool_id in str(report.to_json()) for tool_id in dropped)


async def test_what_a_catalog_file_pins_without_approval_does_not_outlast_halt_all():
    made = system(ScriptedToolServers())
    plain = {"tool_id": "crm.get_x", "description": "Read.", "input_schema": {"type": "object"}}
    await made.importer.lines([plain], approve="sales", by="t")
    # The same content, so the same hash: no person looks at it again.
    await made.importer.lines([{**plain, "pinned": "always"}], by="t")
    await made.catalog.policies.halt(Revocation(target="all", why="incident", by="t", since=1.0))
    selection, _ = await made.selector.select(Request(tasks=("hello",)), CALLER)
    assert selection.tools == ()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"user": "a", "tenant": "b"}, {"user": "a@b", "tenant": None}),
        ({"user": "a", "workload": "b"}, {"user": "a+b"}),
        ({"user": None, "workload": "a"}, {"user": "a"}),
        ({"user": None}, {"user": "anonymous"}),
        ({"user": "a"}, {"user": "a", "delegation": ("mallory",)}),
    ],
)
async def test_no_other_principal_calls_by_this_ones_selection(ours, theirs):
    made = await locked(crm=ScriptedToolServer([GET]))
    selection, _ = await made.selector.select(Request(tasks=("get_x",)), replace(CALLER, **ours))
    call = ProposedCall(tool="crm.get_x", arguments={}, selection_id=selection.selection_id)
    assert (await made.gatekeeper.check(call, replace(CALLER, **ours))).verdict.allowed
    assert not (await made.gatekeeper.check(call, replace(CALLER, **theirs))).verdict.allowed


async def test_a_halt_of_a_principal_as_traces_name_it_stops_that_principal():
    made = await locked(crm=ScriptedToolServer([GET]))
    assert CALLER.principal == "sam@acme"
    await made.catalog.policies.halt(Revocation(target="principal:sam@acme", why="x", by="t", since=1.0))
    selection, _ = await made.selector.select(Request(tasks=("get_x",)), CALLER)
    assert selection.tools == ()


BYTE_FOR_BYTE = GET
OTHER = tool("get_x", description="Something else.")


async def test_a_refused_newcomer_does_not_take_the_locked_content_of_the_owner_out_of_service():
    a, b = ScriptedToolServer([GET]), ScriptedToolServer([tool("z")])
    made = await locked(a=a, b=b)
    # The owner's change waits, so it is served as locked; then another server lists what was locked.
    a.lists([OTHER])
    await made.refresher.refresh()
    assert (await made.catalog.current()).view.snapshot.get("crm.get_x").description == "Read."
    b.lists([BYTE_FOR_BYTE])
    await made.refresher.refresh()
    a.lists([tool("get_x", description="A third text.")])
    await made.refresher.refresh()
    assert (await made.catalog.current()).view.snapshot.get("crm.get_x").description == "Read."


async def test_a_refused_newcomer_does_not_stand_in_review_for_the_owner():
    a, b = ScriptedToolServer([GET]), ScriptedToolServer([OTHER])
    made = await locked(a=a)
    made = system(ScriptedToolServers(a=a, b=b), namespaces_of={"a": "crm", "b": "crm"})
    await made.refresher.refresh(["a"])
    await made.keeper.approve(["crm.get_x"], access="sales", by="t", risk=Risk.READ, reach=Reach.BOUNDED)
    report = await made.refresher.refresh(["b"])
    assert report.servers[0].refused
    # The owner's tool is locked as it is: nothing of it waits, and nothing is wrong with its line.
    assert [one.tool_id for one in await made.keeper.drafts()] == []
    assert (await made.keeper.check()).problems == ()


async def test_an_approval_locks_the_content_of_the_server_that_owns_the_id():
    a, b = ScriptedToolServer([GET]), ScriptedToolServer([OTHER])
    made = system(ScriptedToolServers(a=a, b=b), namespaces_of={"a": "crm", "b": "crm"})
    await made.refresher.refresh(["a"])
    await made.refresher.refresh(["b"])
    owned = (await made.catalog.current()).view.snapshot.get("crm.get_x")
    assert owned.source_server == "a"
    await made.keeper.approve(["crm.get_x"], access="sales", by="t", risk=Risk.READ, reach=Reach.BOUNDED)
    assert made.keeper.show().lines["crm.get_x"].hash == owned.schema_hash


async def test_two_tools_of_one_alias_are_not_both_published(monkeypatch):
    # DESIGN 7: "a remaining collision is refused when publishing"; a short hash makes one here.
    from pegboard.core import aliases

    monkeypatch.setattr(aliases, "_HASH_LENGTH", 1)
    made = system(
        ScriptedToolServers(crm=ScriptedToolServer([tool(f"get{mark}x") for mark in " ?!#%&/()=+*~'<>|;,:@^"]))
    )
    report = await made.refresher.refresh()
    entries = (await made.catalog.current()).view.snapshot.entries
    named = [aliases.alias(entry.tool_id) for entry in entries]
    assert len(set(named)) == len(named)
    assert report.servers[0].refused


async def test_a_halt_that_comes_before_a_call_is_sent_stops_it():
    # Reaching a server takes up to `connect_timeout_s` (30 s): what was judged before may be old by then.
    server = ScriptedToolServer([GET])
    made = await locked(crm=server)
    selection, _ = await made.selector.select(Request(tasks=("get_x",)), CALLER)
    call = ProposedCall(tool="crm.get_x", arguments={}, selection_id=selection.selection_id)
    server.stalls("connect")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.gatekeeper.call, call, CALLER)
        await server.reached("connect")
        await made.catalog.policies.halt(Revocation(target="all", why="incident", by="t", since=1.0))
        server.recovers("connect")
    assert server.calls == []


async def test_what_is_sent_is_what_was_judged():
    server = ScriptedToolServer([tool("get_x", inputSchema={"type": "object", "additionalProperties": False})])
    made = await locked(crm=server)
    selection, _ = await made.selector.select(Request(tasks=("get_x",)), CALLER)
    arguments = {}
    call = ProposedCall(tool="crm.get_x", arguments=arguments, selection_id=selection.selection_id)
    server.stalls("connect")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.gatekeeper.call, call, CALLER)
        await server.reached("connect")
        arguments["smuggled"] = True
        server.recovers("connect")
    assert server.calls == [("get_x", {})]
