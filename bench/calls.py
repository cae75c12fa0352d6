"""What a call costs over a session that stays open, and over one opened for it: `python -m bench.calls [--calls 200]`.

The servers are the demo company's, each a child process. Calls of a tool that only reads go one after
the other, then 16 at once. Wall time, since the work is the servers'.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import anyio

from bench.machine import machine
from pegboard.adapters.clock import SystemClock
from pegboard.adapters.mcp_client import McpServers
from pegboard.adapters.mcp_settings import ServerSettings
from pegboard.adapters.upstream import UpstreamPool
from pegboard.core.names import Json
from pegboard.demo.servers.roster import SERVERS, command
from pegboard.service.ports import ToolServers

AT_ONCE = 16
CALLS: Mapping[str, list[list[Json]]] = json.loads(
    (Path(__file__).parent.parent / "tests" / "demo" / "calls.json").read_text(encoding="utf-8")
)


def main() -> None:
    """Print one line a way and a server."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=200, help="with a pool; without one a fiftieth of it")
    asked = parser.parse_args()
    print(json.dumps(machine()))
    anyio.run(measure, asked.calls)


async def measure(calls: int) -> None:
    """Measure every server by itself, then all at once."""
    settings = {
        name: ServerSettings(name=name, command=tuple(command(name)), env={"PYTHONPATH": ":".join(sys.path)})
        for name in SERVERS
    }
    servers = McpServers(settings)
    pool = UpstreamPool(servers, SystemClock())
    print(f"{'server':16}{'alone/s':>10}{'pool/s':>10}{f'pool, {AT_ONCE} at once/s':>24}{'p50 ms':>10}{'p95 ms':>10}")
    async with pool.running():
        for name in SERVERS:
            alone = await rate(servers, name, max(3, calls // 50), 1)
            await rate(pool, name, 3, 1)  # open, and warm
            one, many = await rate(pool, name, calls, 1), await rate(pool, name, calls, AT_ONCE)
            times = sorted(one)
            print(
                f"{name:16}{len(alone) / sum(alone):10.1f}{len(one) / sum(one):10.0f}"
                f"{len(many) / (sum(many) / AT_ONCE):24.0f}"
                f"{times[len(times) // 2] * 1e3:10.2f}{times[int(len(times) * 0.95)] * 1e3:10.2f}"
            )


async def rate(servers: ToolServers, name: str, calls: int, at_once: int) -> list[float]:
    """Return how long each call took, its session included."""
    tool, arguments = CALLS[name][0][:2]
    assert isinstance(tool, str)
    assert isinstance(arguments, dict)
    took: list[float] = []

    async def some(count: int) -> None:
        for _ in range(count):
            began = time.perf_counter()
            async with servers.connect(name, "bench") as session:
                answer = await session.call_tool(tool, arguments)
            took.append(time.perf_counter() - began)
            assert not answer.get("isError"), answer

    async with anyio.create_task_group() as tasks:
        for _ in range(at_once):
            tasks.start_soon(some, calls // at_once or 1)
    return took


if __name__ == "__main__":
    main()
