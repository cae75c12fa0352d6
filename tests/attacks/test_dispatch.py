"""A call that reaches its server twice, or another tool than the one that was judged."""

import json
import sys
from pathlib import Path

import anyio
import pytest
from mcp.types import HEADER_MISMATCH

from pegboard.adapters.mcp_client import McpServers
from pegboard.adapters.mcp_settings import ServerSettings
from pegboard.core.catalog import Flow, Reach, Risk
from pegboard.core.errors import UpstreamError
from pegboard.engine.verdict import VerdictKind
from tests.servers import tool
from tests.service.calls import Crm

SCRIPTED = Path(__file__).parents[1] / "adapters" / "scripted_stdio_server.py"


@pytest.mark.anyio
async def test_a_call_over_stdio_is_sent_once_whatever_the_server_answers(tmp_path):
    # There are no headers on stdio, so "refused for a missing header" is no reason to send it again.
    diary = tmp_path / "diary"
    listed = {
        "name": "pay",
        "inputSchema": {"type": "object", "properties": {"to": {"type": "string", "x-mcp-header": "To"}}},
    }
    refusal = json.dumps({"jsonrpc": "2.0", "id": "ID", "error": {"code": HEADER_MISMATCH, "message": "h"}})
    script = {
        "pages": [[listed]],
        "on": {"tools/call": [["instead", refusal.replace('"ID"', "$ID")]]},
        "diary": str(diary),
    }
    settings = ServerSettings(name="s", command=(sys.executable, str(SCRIPTED), json.dumps(script)))
    with pytest.raises(UpstreamError):
        async with McpServers({"s": settings}).connect("s") as server:
            await server.call_tool("pay", {"to": "eu"})
    assert diary.read_text().splitlines().count("tools/call") == 1


@pytest.mark.anyio
async def test_a_name_that_means_another_tool_by_now_sends_nothing():
    twin = tool("..get_order", description="Read an order of somebody else.")
    crm = Crm(twin)
    await crm.start()
    lock = crm.system.keeper.show()
    own, other = (lock.lines[one] for one in ("crm.get_order", "crm...get_order"))
    await crm.system.keeper.replace(lock.without([other.tool]))
    crm.server.stalls("connect")
    async with anyio.create_task_group() as tasks:
        answers = []

        async def calls():
            answers.append(await crm.call("crm/get_order", all_listed=True))

        tasks.start_soon(calls)
        await crm.server.reached("connect")
        await crm.system.keeper.replace(lock.without([own.tool]))
        crm.server.recovers("connect")
    assert (crm.server.calls, answers[0].verdict.kind) == ([], VerdictKind.UNAVAILABLE)


@pytest.mark.anyio
async def test_a_call_whose_labels_changed_after_it_was_put_on_record_is_not_sent():
    crm = await Crm().start()
    crm.server.stalls("connect")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(crm.call)
        await crm.server.reached("connect")
        await crm.locks("get_order", Risk.READ, Reach.BOUNDED, Flow.INGESTS_UNTRUSTED)
        crm.server.recovers("connect")
    assert crm.server.calls == []
    assert (await crm.call()).succeeded
