"""Progress of a call goes on to the client that asked for it, and to nobody else."""

import sys
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from pegboard.adapters.mcp_client import McpServers
from pegboard.adapters.mcp_settings import ServerSettings
from pegboard.gateway.listing import ListMode, ListSettings
from pegboard.service.progress import hears_progress, progress_to
from tests.gateway.made import BILLING_TOOLS, LEGACY, MODERN, Desk, client
from tests.servers import ScriptedToolServer

WHOLE = ListSettings(mode=ListMode.ALL)
PAY = {"payment_id": "1"}


class Telling(ScriptedToolServer):
    """A server that tells of its calls' progress, well and badly."""

    async def call_tool(self, name: str, arguments: Mapping[str, Any], meta: Mapping[str, str] | None = None) -> Any:
        if (hears := hears_progress()) is not None:
            for progress in (1, "two", None, True, 2.5):
                hears({"progressToken": "theirs", "progress": progress, "total": 3, "message": f"at {progress}"})
        return await super().call_tool(name, arguments, meta)


@pytest.mark.parametrize("mode", [MODERN, LEGACY])
@pytest.mark.parametrize("over", ["http", "streams"])
def test_what_a_server_tells_reaches_the_client_that_asked_before_the_result(over: str, mode: str):
    desk, heard = Desk(WHOLE, Telling(BILLING_TOOLS)), []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def deed(made: Any) -> int:
        await made.call_tool("billing.get_payment", PAY, progress_callback=hear)
        return len(heard)

    async def scene() -> int:
        await desk.start()
        if over == "streams":
            async with desk.streams("dana", mode) as made:
                return await deed(made)
        async with desk.serving() as url, client(url, "dana", mode) as made:
            return await deed(made)

    assert anyio.run(scene) == 2
    assert heard == [(1, 3, "at 1"), (2.5, 3, "at 2.5")]


def test_who_did_not_ask_is_told_nothing():
    desk = Desk(WHOLE, Telling(BILLING_TOOLS))

    async def scene() -> Any:
        await desk.start()
        async with desk.streams("dana") as made:
            return await made.call_tool("billing.get_payment", PAY)

    assert not anyio.run(scene).is_error
    assert hears_progress() is None


def test_a_real_server_is_sent_a_token_and_heard():
    command = (sys.executable, "-m", "tests.conformance.server")
    servers, heard = McpServers({"s": ServerSettings(name="s", command=command)}), []

    async def scene() -> None:
        async with servers.connect("s") as server:
            with progress_to(lambda said: heard.append(said["progress"])):
                await server.call_tool("test_tool_with_progress", {})
            await server.call_tool("test_tool_with_progress", {})

    anyio.run(scene)
    assert heard == [0, 50, 100]
