"""Many clients at once, for as long as the soak says: no error, and memory that does not grow."""

import os
import time
from pathlib import Path

import anyio
import httpx2
import pytest

from tests.gateway.test_serve import folder, process

__all__ = ["folder"]  # the fixture of a served folder

SOAK = os.environ.get("PEGBOARD_SOAK") == "1"
CLIENTS, SECONDS = (200, 600.0) if SOAK else (20, 1.0)
# What an allocator keeps of what was freed; a leak of one kilobyte a request would be far beyond it.
GROWTH = 1.2


def resident_bytes(pid):
    """Return how much memory a process has."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def busy(url, until, counts):
    """Be a client: search, describe, call, again and again."""
    async with httpx2.AsyncClient(base_url=url, timeout=60.0) as http:
        while time.monotonic() < until:
            found = await http.post("/v1/select", json={"task": "list the open orders"})
            said = {"tool": "crm.list_open_orders", "selection": found.json()["selection_id"]}
            answers = [
                found,
                await http.post("/v1/describe", json={"tool": said["tool"]}),
                await http.post("/v1/call", json=said),
                await http.get("/v1/tools"),
            ]
            for one in answers:
                counts[one.status_code] = counts.get(one.status_code, 0) + 1


async def crowd(url, seconds):
    """Run every client for so long; return how often each status came."""
    counts = {}
    async with anyio.create_task_group() as tasks:
        for _ in range(CLIENTS):
            tasks.start_soon(busy, url, time.monotonic() + seconds, counts)
    return counts


@pytest.mark.anyio
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
async def test_many_clients_at_once_get_no_error_and_leave_no_memory_behind(folder, capsys):
    text = (folder / "pegboard.toml").read_text()
    (folder / "pegboard.toml").write_text(text.replace("[gateway]", "[gateway]\nrequests_per_minute = 0"))
    with process(folder, "--quiet") as (running, ready):
        await crowd(ready["url"], SECONDS / 10)
        before = resident_bytes(running.pid)
        counts = await crowd(ready["url"], SECONDS)
        after = resident_bytes(running.pid)
    assert set(counts) == {200}, counts
    assert after < before * GROWTH, (before, after)
    with capsys.disabled():
        if SOAK:
            print(
                f"\n{CLIENTS} clients, {SECONDS:g} s: {counts[200]:,} answers, {before:,} to {after:,} bytes resident"
            )
