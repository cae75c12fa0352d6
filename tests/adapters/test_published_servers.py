"""Published MCP servers, installed as their users do, really started, listed whole and called once each.

They are installed on demand into a cache outside the repository (`PEGBOARD_TEST_CACHE`, by default
`~/.cache/pegboard-tests`). A server that cannot be installed here skips with the reason.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard.adapters.mcp_client import McpServers
from pegboard.adapters.mcp_settings import ServerSettings

CACHE = Path(os.environ.get("PEGBOARD_TEST_CACHE") or Path.home() / ".cache" / "pegboard-tests")
UV = Path(sys.prefix) / "bin" / "uv"
INSTALL_S = 240
INSTALLED = "installed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One server: what to install, how to start it in a folder, what it must list, and one call with what it says."""

    package: str
    script: str
    listed: frozenset[str]
    tool: str
    arguments: Callable[[Path], dict[str, Any]]
    says: str
    options: Callable[[Path], tuple[str, ...]] = field(default=lambda _: ())
    beside: tuple[str, ...] = ()


NPM = (
    Published(
        package="@modelcontextprotocol/server-everything",
        script="mcp-server-everything",
        listed=frozenset({"echo", "get-sum"}),
        tool="get-sum",
        arguments=lambda _: {"a": 19, "b": 23},
        says="42",
    ),
    Published(
        package="@modelcontextprotocol/server-filesystem",
        script="mcp-server-filesystem",
        listed=frozenset({"read_text_file", "write_file", "list_directory"}),
        tool="read_text_file",
        arguments=lambda folder: {"path": str(folder / "note.txt")},
        says="kept in a file",
        options=lambda folder: (str(folder),),
    ),
    Published(
        package="@modelcontextprotocol/server-memory",
        script="mcp-server-memory",
        listed=frozenset({"create_entities", "read_graph"}),
        tool="read_graph",
        arguments=lambda _: {},
        says='"entities"',
    ),
)
PYPI = (
    Published(
        package="mcp-server-git",
        script="mcp-server-git",
        listed=frozenset({"git_status", "git_log"}),
        tool="git_status",
        arguments=lambda folder: {"repo_path": str(folder)},
        says="note.txt",
    ),
    Published(
        package="mcp-server-time",
        script="mcp-server-time",
        listed=frozenset({"get_current_time", "convert_time"}),
        tool="convert_time",
        arguments=lambda _: {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
        says="21:00",
    ),
    Published(
        package="mcp-server-sqlite",
        script="mcp-server-sqlite",
        listed=frozenset({"read_query", "list_tables"}),
        tool="read_query",
        arguments=lambda _: {"query": "select 6 * 7 as answer"},
        says="42",
        options=lambda folder: ("--db-path", str(folder / "base.db")),
        beside=("mcp<2",),  # written for the older SDK, whose server names are gone from the newer one
    ),
)


def test_a_published_npm_server_is_listed_and_called(npm_server: Published, tmp_path: Path) -> None:
    home = installed(npm_server, [[found("npm"), "install", "--no-audit", "--no-fund", "--prefix", "{home}"]])
    judge(npm_server, home / "node_modules" / ".bin" / npm_server.script, tmp_path)


def test_a_published_python_server_is_listed_and_called(python_server: Published, tmp_path: Path) -> None:
    uv = str(UV) if UV.exists() else found("uv")
    environment = [uv, "venv", "--quiet", "--python", sys.executable, "--allow-existing", "{home}"]
    home = installed(python_server, [environment, [uv, "pip", "install", "--quiet", "--python", "{home}/bin/python"]])
    judge(python_server, home / "bin" / python_server.script, tmp_path)


@pytest.fixture(params=NPM, ids=lambda server: server.script)
def npm_server(request: pytest.FixtureRequest) -> Published:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(params=PYPI, ids=lambda server: server.script)
def python_server(request: pytest.FixtureRequest) -> Published:
    return request.param  # type: ignore[no-any-return]


def found(command: str) -> str:
    """Find a command, or skip because it is not here."""
    path = shutil.which(command)
    if path is None:
        pytest.skip(f"{command} is not installed")
    return path


def installed(server: Published, commands: list[list[str]]) -> Path:
    """Install a server once into a folder of its own, or skip with what the installer said last.

    The last command gets the packages; a mark in the folder says that all went well.
    """
    home = CACHE / server.package.replace("/", "+")
    if (home / INSTALLED).exists():
        return home
    home.mkdir(parents=True, exist_ok=True)
    commands[-1].extend([server.package, *server.beside])
    for command in commands:
        filled = [part.replace("{home}", str(home)) for part in command]
        try:
            done = subprocess.run(filled, capture_output=True, text=True, timeout=INSTALL_S, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            pytest.skip(f"{server.package} was not installed within {INSTALL_S} s")
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
            pytest.skip(f"{server.package} cannot be installed: {said[-1][:200]}")
    (home / INSTALLED).touch()
    return home


def judge(server: Published, script: Path, folder: Path) -> None:
    """Start a server on a small folder, list it whole and make its one call."""
    (folder / "note.txt").write_text("kept in a file")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    name = server.script
    command = (str(script), *server.options(folder))
    settings = ServerSettings(name=name, command=command, cwd=str(folder), env={"MEMORY_FILE_PATH": str(folder / "m")})
    started = time.monotonic()
    tools, result = anyio.run(listed_and_called, McpServers({name: settings}), server, folder)
    names = {tool["name"] for tool in tools}
    assert server.listed <= names
    assert len(names) == len(tools)
    assert not result.get("isError")
    assert server.says in json.dumps(result, ensure_ascii=False).replace('\\"', '"')
    print(f"{server.package}: {len(tools)} tools in {time.monotonic() - started:.2f} s, called {server.tool}")


async def listed_and_called(servers: McpServers, server: Published, folder: Path) -> tuple[list[Any], Any]:
    tools: list[Any] = []
    async with servers.connect(server.script) as session:
        cursor = None
        while True:
            page = await session.list_page(cursor)
            tools += page.tools
            if (cursor := page.next_cursor) is None:
                break
        return tools, await session.call_tool(server.tool, server.arguments(folder))
