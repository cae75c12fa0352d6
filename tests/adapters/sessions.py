"""Sessions with real servers: how a test opens one, does one thing in it and sees what became of the processes."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard.adapters.mcp_client import McpServers
from pegboard.adapters.mcp_settings import ServerSettings
from pegboard.core.errors import UpstreamError
from pegboard.service.ports import Page, ToolServer

SERVER = str(Path(__file__).with_name("scripted_stdio_server.py"))


def settings(**changed: Any) -> ServerSettings:
    return ServerSettings(
        **{"name": "s", "connect_timeout_s": 10, "list_timeout_s": 10, "call_timeout_s": 10, **changed}
    )


def scripted(limits: dict[str, Any] | None = None, **script: Any) -> McpServers:
    return McpServers({"s": settings(command=(sys.executable, SERVER, json.dumps(script)), **(limits or {}))})


def during(servers: Any, deed: Callable[[ToolServer], Any]) -> Any:
    """Do one thing in a session of its own and return what it gave."""

    async def scene() -> Any:
        async with servers.connect("s") as server:
            return await deed(server)

    return anyio.run(scene)


def raised_during(servers: Any, deed: Callable[[ToolServer], Any]) -> UpstreamError:
    with pytest.raises(UpstreamError) as raised:
        during(servers, deed)
    return raised.value


def listing(server: ToolServer) -> Any:
    return server.list_page(None)


def call(server: ToolServer) -> Any:
    return server.call_tool("a", {"x": 1})


def calling(name: str, arguments: Any) -> Callable[[ToolServer], Any]:
    return lambda server: server.call_tool(name, arguments)


async def walk(server: ToolServer) -> list[Page]:
    pages = [await server.list_page(None)]
    while pages[-1].next_cursor is not None:
        pages.append(await server.list_page(pages[-1].next_cursor))
    return pages


def alive(pid: int) -> bool:
    """Say whether a process runs; one that has died and waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def pids(diary: Path) -> list[int]:
    return [int(line.split()[1]) for line in diary.read_text().splitlines() if line.startswith(("pid ", "child "))]
