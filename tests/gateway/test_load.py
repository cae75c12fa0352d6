"""Many clients at once, for as long as the soak says: no error, and memory that does not grow."""

import json
import os
import time
from pathlib import Path

import anyio
import httpx2
import numpy as np
import pytest

from tests.gateway.made import headers, raw
from tests.gateway.test_mcp_bad_input import HELLO, OLD
from tests.gateway.test_serve import folder, process
from tests.strategies import SOAK

__all__ = ["folder"]  # the fixture of a served folder

CLIENTS, SECONDS = (200, 600.0) if SOAK else (20, 1.0)
SAMPLES = 60
# What an allocator keeps of what was freed; a leak of one kilobyte a request would be far beyond it.
GROWTH = 1.2
# Of the second half of a soak, by which every cache is full: so much of it all may be added in ten minutes.
SLOPE = 0.05
TASK, TOOL = {"task": "list the open orders"}, "crm.list_open_orders"


def resident_bytes(pid):
    """Return how much memory a process has."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def message(answer):
    """Return what an answer of MCP says: one that takes long comes as an event, after signs of life."""
    events = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    return json.loads(events[-1]) if events else answer.json()


async def over_http(http):
    """Search, describe, call and list over the HTTP API."""
    found = await http.post("/v1/select", json=TASK)
    yield found
    yield await http.post("/v1/describe", json={"tool": TOOL})
    yield await http.post("/v1/call", json={"tool": TOOL, "selection": found.json()["selection_id"]})
    yield await http.get("/v1/tools")


async def over_mcp(http):
    """Search and call as a client of the present era does."""

    def asked(name, arguments):
        body = raw("tools/call", {"name": name, "arguments": arguments})
        return http.post("/mcp", json=body, headers=headers(None, "tools/call", name))

    found = await asked("search_tools", TASK)
    yield found
    selection = message(found)["result"]["structuredContent"]["selection"]
    called = await asked("call_tool", {"tool": TOOL, "arguments": {}, "selection": selection})
    assert not message(called)["result"].get("isError"), called.text
    yield called


async def in_a_session(http):
    """Open a session of the handshake era, list in it and end it."""
    hello = await http.post("/mcp", json=HELLO, headers=OLD)
    yield hello
    session = {**OLD, "mcp-session-id": hello.headers["mcp-session-id"]}
    yield await http.post("/mcp", json={"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, headers=session)
    yield await http.delete("/mcp", headers=session)


WAYS = (over_http, over_mcp, in_a_session)


async def busy(url, way, until, counts):
    """Be a client that goes one way again and again; each answer is counted under its status."""
    async with httpx2.AsyncClient(base_url=url, timeout=300.0) as http:
        while time.monotonic() < until:
            async for answer in way(http):
                counts[answer.status_code] = counts.get(answer.status_code, 0) + 1


async def crowd(url, pid, seconds):
    """Run every client for so long; return how often each status came, and the memory meanwhile."""
    counts, memory, until = {}, [], time.monotonic() + seconds
    async with anyio.create_task_group() as tasks:
        for number in range(CLIENTS):
            tasks.start_soon(busy, url, WAYS[number % len(WAYS)], until, counts)
        while time.monotonic() < until:
            await anyio.sleep(seconds / SAMPLES)
            memory.append(resident_bytes(pid))
    return counts, memory


@pytest.mark.anyio
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
async def test_many_clients_at_once_get_no_error_and_leave_no_memory_behind(folder, capsys):
    text = (folder / "pegboard.toml").read_text()
    (folder / "pegboard.toml").write_text(text.replace("[gateway]", "[gateway]\nrequests_per_minute = 0"))
    with process(folder, "--quiet") as (running, ready):
        await crowd(ready["url"], running.pid, SECONDS / 10)
        before = resident_bytes(running.pid)
        counts, memory = await crowd(ready["url"], running.pid, SECONDS)
    assert set(counts) == {200}, counts
    assert memory[-1] < before * GROWTH, (before, memory[-1])
    if SOAK:
        late = memory[len(memory) // 2 :]
        slope = np.polyfit(np.arange(len(late)), late, 1)[0] * SAMPLES
        with capsys.disabled():
            print(
                f"\n{CLIENTS} clients, {SECONDS:g} s: {counts[200]:,} answers; {before:,} to {memory[-1]:,} bytes "
                f"resident, {slope:+,.0f} in ten minutes by the second half"
            )
        assert slope < SLOPE * late[0], memory
