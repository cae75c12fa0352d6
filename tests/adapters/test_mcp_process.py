"""Children: what they are given, and that none outlives its session, however that ends."""

import asyncio
import json
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard.adapters.mcp_client import McpServers
from pegboard.adapters.mcp_process import INHERITED, child_environment
from pegboard.core.errors import (
    OutcomeUnknownError,
    PegboardError,
    UpstreamError,
)
from pegboard.service.ports import ToolServer
from tests.adapters.sessions import (
    SERVER,
    alive,
    during,
    listing,
    pids,
    scripted,
    settings,
)
from tests.servers import tool


def test_a_child_sees_the_allowlist_and_its_own_settings_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    diary = tmp_path / "diary"
    monkeypatch.setenv("OPENAI_API_KEY", "hush")
    script = json.dumps({"diary": str(diary), "on": {"start": [["tell_environment"]]}})
    during(McpServers({"s": settings(command=(sys.executable, SERVER, script), env={"CRM_TOKEN": "own"})}), listing)
    seen = next(line for line in diary.read_text().splitlines() if line.startswith("environment ")).split()[1:]
    assert "CRM_TOKEN" in seen
    assert set(seen) <= {*INHERITED, "CRM_TOKEN"}


def test_an_exported_shell_function_is_not_inherited_and_settings_win() -> None:
    assert child_environment({"PATH": "/bin", "SHELL": "() { :; }", "AWS_KEY": "x"}, {"PATH": "/own"}) == {
        "PATH": "/own"
    }


@pytest.mark.parametrize("script", [
    {},
    {"on": {"start": [["have_a_child"]]}},
    {"on": {"start": [["ignore_sigterm"], ["have_a_child"]], "end": [["sleep", 600]]}},
    {"on": {"start": [["have_a_child"]], "tools/list": [["leave", 1]]}},
    {"on": {"initialize": [["instead", "{}"]]}},
    {"on": {"tools/list": [["flood", "stdout", 100_000_000]]}},
], ids=["plain", "grandchild", "stubborn", "left", "handshake", "flood"])  # fmt: skip
def test_no_child_and_no_grandchild_outlives_the_session(script: dict[str, Any], tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    started = time.monotonic()
    with suppress(UpstreamError):
        during(scripted({"connect_timeout_s": 1}, diary=str(diary), **script), listing)
    assert len(pids(diary)) == 1 + json.dumps(script).count("have_a_child")
    assert not any(map(alive, pids(diary)))
    assert time.monotonic() - started < 15


@pytest.mark.parametrize(("native", "occasion", "start"), [
    (True, "tools/list", [["have_a_child"]]),
    (True, "initialize", []),
    (False, "tools/list", []),
    (False, "initialize", []),
])  # fmt: skip
def test_a_cancelled_task_leaves_no_child(native: bool, occasion: str, start: list[Any], tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    servers = scripted(diary=str(diary), on={"start": start, occasion: [["silence"]]})

    async def session() -> None:
        async with servers.connect("s") as server:
            await server.list_page(None)

    async def until_noted() -> None:
        while not (diary.exists() and occasion in diary.read_text().splitlines()):
            await anyio.sleep(0.01)

    async def cancelled_natively() -> None:
        task = asyncio.create_task(session())
        await until_noted()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def cancelled_by_scope() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session)
            await until_noted()
            tasks.cancel_scope.cancel()

    anyio.run(cancelled_natively if native else cancelled_by_scope)
    assert len(pids(diary)) == 1 + len(start)
    assert not any(map(alive, pids(diary)))


def test_a_call_that_is_given_up_is_cancelled_at_the_server(tmp_path: Path) -> None:
    diary = tmp_path / "diary"

    async def scene(server: ToolServer) -> None:
        with pytest.raises(OutcomeUnknownError):
            await server.call_tool("a", {})
        await server.list_page(None)

    during(scripted({"call_timeout_s": 0.3}, diary=str(diary), on={"tools/call": [["silence"]]}), scene)
    assert "notifications/cancelled" in diary.read_text().splitlines()


class OwnError(Exception):
    pass


@pytest.mark.parametrize("error", [OwnError(), OutcomeUnknownError("other", "x"), ExceptionGroup("own", [OwnError()])])
def test_what_is_raised_inside_a_session_leaves_as_it_was(error: Exception) -> None:
    async def fail(server: ToolServer) -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        during(scripted(), fail)
    assert raised.value is error


def test_many_servers_are_held_apart() -> None:
    good = json.dumps({"pages": [[tool("a")]]})
    bad = json.dumps({"on": {"start": [["leave", 2]]}})
    names = [f"s{number}" for number in range(8)]
    servers = McpServers({
        name: settings(name=name, command=(sys.executable, SERVER, bad if number % 2 else good))
        for number, name in enumerate(names)
    })  # fmt: skip
    found: dict[str, Any] = {}

    async def one(name: str) -> None:
        try:
            async with servers.connect(name) as server:
                found[name] = len((await server.list_page(None)).tools)
        except PegboardError as error:
            found[name] = error.kind

    async def scene() -> None:
        async with anyio.create_task_group() as tasks:
            for name in servers.names():
                tasks.start_soon(one, name)

    anyio.run(scene)
    assert [found[name] for name in names] == [1, "unreachable-server"] * 4
