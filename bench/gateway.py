"""Measure the gateway: what it adds to a call, and its search, each beside FastMCP in one run.

    .venv/bin/python -m bench.gateway --fastmcp PYTHON [--calls 300] [--sizes 1000,5000]

PYTHON is that of an environment with FastMCP, as `make mcp-clients` makes one (.venvs/client-fastmcp/bin/python). A
call: one client of the `mcp` library for each of a tool server, the gateway in front of it (`list = "all"`, a `read`
tool, ledger and traces in a SQLite file) and a FastMCP proxy in front of it, each a process of its own; the three are
called in turn, so that what else the machine does falls on all.
Wall time in milliseconds. A search: in process and warm, the verb as a client's call reaches it, whole definitions of
eight tools; ours puts the selection on record. Milliseconds a task, best of three, mean over tasks; CPU of the process.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path

import anyio
import numpy as np
from mcp import Client

from bench.catalogs import grown, load
from bench.machine import machine
from bench.tracing import prepared
from pegboard.core.context import RuntimeContext
from pegboard.gateway.listing import Lister, ListSettings
from pegboard.gateway.verbs import Verbs

TASKS, REPEATS, FOUND = 30, 3, 8

_SERVER = """
import sys, anyio, uvicorn
from mcp.server.lowlevel.server import Server
from mcp.types import CallToolResult, ListToolsResult
TOOL = {"name": "get_echo", "description": "Read a text back.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
async def tools(ctx, params): return ListToolsResult.model_validate({"tools": [TOOL]})
async def call(ctx, params):
    return CallToolResult.model_validate({"content": [{"type": "text", "text": params.arguments["text"]}]})
app = Server("echo", on_list_tools=tools, on_call_tool=call).streamable_http_app()
print("http://127.0.0.1:%s/mcp" % sys.argv[1], flush=True)
uvicorn.run(app, port=int(sys.argv[1]), log_level="critical")
"""
_PROXY = """
import sys
from fastmcp.server import create_proxy
print("http://127.0.0.1:%s/mcp" % sys.argv[2], flush=True)
create_proxy(sys.argv[1]).run(transport="http", port=int(sys.argv[2]), show_banner=False,
                              uvicorn_config={"log_level": "critical"})
"""
_SEARCH = """
import asyncio, json, sys, time
from fastmcp import FastMCP
from fastmcp.server.transforms.search.bm25 import BM25SearchTransform
from fastmcp.tools.function_tool import FunctionTool
async def nothing() -> str: return ""
async def main(tools, tasks, repeats, found):
    server = FastMCP("bench")
    for one in tools:
        server.add_tool(FunctionTool(fn=nothing, **one))
    server.add_transform(BM25SearchTransform(max_results=found))
    await server.call_tool("search_tools", {"query": tasks[0]})
    wall, cpu = [[] for _ in tasks], [[] for _ in tasks]
    for _ in range(repeats):
        for place, task in enumerate(tasks):
            began, worked = time.perf_counter(), time.process_time()
            await server.call_tool("search_tools", {"query": task})
            wall[place].append(time.perf_counter() - began)
            cpu[place].append(time.process_time() - worked)
    print(json.dumps([sum(map(min, one)) / len(tasks) * 1e3 for one in (wall, cpu)]))
asyncio.run(main(*json.load(open(sys.argv[1]))))
"""
_CONFIGURATION = """
store = "sqlite:///{folder}/pegboard.db"
lock = "{folder}/pegboard.lock"
[dimensions]
used = ["scopes"]
[access.all]
required_scopes = ["all"]
[servers.echo]
url = "{url}"
[[servers.echo.propose]]
match = ["*"]
access = "all"
risk = "read"
reach = "bounded"
flow = []
[profiles.me]
user = "me"
scopes = ["all"]
servers = ["echo"]
[gateway]
profile = "me"
list = "all"
requests_per_minute = 0
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fastmcp", required=True, help="the Python of an environment with FastMCP")
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--sizes", default="1000,5000")
    asked = parser.parse_args()
    print(json.dumps(machine()))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as processes:
        server = processes.enter_context(_started([sys.executable, "-c", _SERVER, "18801"]))
        proxy = processes.enter_context(_started([asked.fastmcp, "-c", _PROXY, server, "18802"]))
        gateway = processes.enter_context(_gateway(Path(folder), server))
        ways = {"direct": (server, "get_echo"), "gateway": (gateway, "echo.get_echo"), "proxy": (proxy, "get_echo")}
        anyio.run(calls, ways, asked.calls)
    for size in map(int, asked.sizes.split(",")):
        anyio.run(searches, size, asked.fastmcp)


@contextmanager
def _started(command: list[str]) -> Iterator[str]:
    """Start a server and yield the address that it prints."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            time.sleep(3)
            yield address
        finally:
            process.terminate()


@contextmanager
def _gateway(folder: Path, url: str) -> Iterator[str]:
    path = folder / "pegboard.toml"
    path.write_text(_CONFIGURATION.format(folder=folder, url=url))
    pegboard = [sys.executable, "-m", "pegboard", "--config", str(path)]
    for step in (["refresh"], ["classify", "--apply"]):
        subprocess.run([*pegboard, *step], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with _started([*pegboard, "serve", "--port", "18803", "--quiet", "--json"]):
        yield "http://127.0.0.1:18803/mcp"


async def calls(ways: dict[str, tuple[str, str]], number: int) -> None:
    """Call each way in turn, and print what each takes and adds."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    async with AsyncExitStack() as stack:
        clients = {name: await stack.enter_async_context(Client(url)) for name, (url, _) in ways.items()}
        for client in clients.values():
            await client.list_tools()
        for turn in range(number + 20):
            for name, client in clients.items():
                began = time.perf_counter()
                answer = await client.call_tool(ways[name][1], {"text": f"call {turn}"})
                if turn >= 20:
                    taken[name].append((time.perf_counter() - began) * 1e3)
                assert not answer.is_error, answer
    direct = np.array(taken["direct"])
    for name, found in taken.items():
        p50, p95 = np.percentile(found, [50, 95])
        added = np.percentile(np.array(found) - direct, [50, 95])
        print(f"call, {name:8} p50 {p50:7.2f} ms  p95 {p95:7.2f}   over direct: {added[0]:7.2f}  {added[1]:7.2f}")


async def searches(size: int, fastmcp: str) -> None:
    """Search for real tasks in a catalog of real tools, here and with FastMCP's BM25."""
    tasks = [task.text for task in load("live-mcp", "test").tasks][:TASKS]
    wall, cpu = await _ours(size, tasks)
    entries = grown(size).entries
    tools = [
        {"name": f"t{n}", "description": e.description, "parameters": e.input_schema} for n, e in enumerate(entries)
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([tools, tasks, REPEATS, FOUND], file)
        file.flush()
        command = [fastmcp, "-c", _SEARCH, file.name]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    theirs = json.loads(said.splitlines()[-1])
    print(
        f"search, {size:6,} tools: ours {wall:8.2f} ms ({cpu:.2f} CPU), FastMCP BM25 {theirs[0]:8.2f} ms "
        f"({theirs[1]:.2f} CPU): {theirs[0] / wall:.0f} times, {theirs[1] / cpu:.0f} by CPU"
    )


async def _ours(size: int, tasks: list[str]) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        system = await prepared(Path(folder), size)
        servers = {entry.source_server for entry in (await system.catalog.current()).view.snapshot.entries}
        context = RuntimeContext(user="bench", scopes=frozenset({"all"}), servers=frozenset(servers))
        verbs = Verbs(system, Lister(system.catalog, ListSettings()))  # type: ignore[arg-type]
        taken = np.empty((2, REPEATS, len(tasks)))
        for repeat in range(REPEATS):
            for place, task in enumerate(tasks):
                began, worked = time.perf_counter(), time.process_time()
                await verbs.call(context, "search_tools", {"task": task, "limit": FOUND}, {})
                taken[:, repeat, place] = time.perf_counter() - began, time.process_time() - worked
        await system.flush()
        system.close()
    wall, cpu = taken.min(axis=1).mean(axis=1) * 1e3
    return float(wall), float(cpu)


if __name__ == "__main__":
    main()
