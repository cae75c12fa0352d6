"""Measure what a release costs: `python -m bench.rollout [--tools 1000] [--records 20000]`.

CPU of `Selector.select` over a SQLite file with nothing set, shadowed and served; of writing what was observed, a batch
of 200 selections with a call each; of one look of the guards, by how many namespaces are set; and of a person's look.
`best` is the mean over tasks of the quickest of five.
"""

import argparse
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from bench.catalogs import load
from bench.machine import machine
from bench.tracing import REPEATS, TASKS, best_us, prepared
from pegboard import wiring
from pegboard.core.context import RuntimeContext
from pegboard.engine.rollout import WHOLE, setting_of
from pegboard.service.selector import Request

BATCH = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--tools", type=int, default=1_000)
    parser.add_argument("--records", type=int, default=20_000)
    options = parser.parse_args()
    print(machine())
    with TemporaryDirectory() as folder:
        anyio.run(measured, Path(folder), options.tools, options.records)


async def measured(folder: Path, tools: int, records: int) -> None:
    system = await prepared(folder, tools)
    entries = (await system.catalog.current()).view.snapshot.entries
    context = RuntimeContext(
        user="bench", scopes=frozenset({"all"}), servers=frozenset(one.source_server for one in entries)
    )
    tasks = [task.text for task in load("live-mcp", "test").tasks][:TASKS]
    for name, setting in (("nothing set", None), ("shadow", "shadow"), ("canary", "canary=0.999999")):
        if setting is not None:
            await sets(system, WHOLE, setting)
        found = await best_us(lambda task: system.selector.select(Request(tasks=(task,)), context), tasks)
        print(f"a selection over {tools:,} tools, {name:11}: {found:8,.0f} us CPU")
        await system.flush()
    for name, setting in (("shadowed", "shadow"), ("served", "canary=0.999999")):
        await sets(system, WHOLE, setting)
        print(f"observed and written, {name:8}: {await writing_us(system, context, tasks):6,.0f} us CPU a selection")
    # A selection and its call are two records.
    for _ in range(records // (2 * BATCH)):
        await taken(system, context, tasks)
        await system.observer.flush()
    paths = sorted({one.namespace for one in entries})
    for count in (1, 10, 50):
        for path in paths[:count]:
            if (await system.rollouts.current()).last.get(path) is None:
                await sets(system, path, "canary=0.999998")
        await taken(system, context, tasks)
        await system.observer.flush()
        print(
            f"one look of the guards, {count + 1:2} namespaces set: {await cpu_us(system.rollouts.guard):8,.0f} us CPU"
        )
    print(f"a person's look at {records:,} records: {await cpu_us(system.shadow.report) / 1e6:.2f} s CPU")
    system.close()


async def sets(system: wiring.System, namespace: str, setting: str) -> None:
    """Set a namespace whatever was measured of it: what was, no longer counts once it was off."""
    await system.rollouts.change(namespace, setting_of("off"), by="bench", why="a fresh start")
    waived = dict.fromkeys(("exposure", "recall", "validity", "latency", "completion", "reads_first"), "bench")
    found = await system.rollouts.change(namespace, setting_of(setting), by="bench", why="bench", waived=waived)
    assert found.change is not None, found.problems


async def taken(system: wiring.System, context: RuntimeContext, tasks: list[str]) -> None:
    """Select, and say of each selection that its first tool was called."""
    for number in range(BATCH):
        selection, _ = await system.selector.select(Request(tasks=(tasks[number % len(tasks)],)), context, "c")
        whole = [one.tool.tool_id for one in selection.tools] or ["none"]
        system.observer.called(selection.selection_id, whole[0], valid=True, completed=True)


async def writing_us(system: wiring.System, context: RuntimeContext, tasks: list[str]) -> float:
    """Time the writing of a batch; nothing is written while it is gathered."""
    batches, best = system.observer._batches, float("inf")
    for _ in range(REPEATS):
        await system.observer.flush()
        wake, batches._wake = batches._wake, lambda: None  # type: ignore[method-assign]
        await taken(system, context, tasks)
        batches._wake = wake  # type: ignore[method-assign]
        began = time.process_time_ns()
        await system.observer.flush()
        best = min(best, (time.process_time_ns() - began) / 1e3 / BATCH)
    return best


async def cpu_us(act: Callable[[], Awaitable[object]]) -> float:
    best = float("inf")
    for _ in range(REPEATS):
        began = time.process_time_ns()
        await act()
        best = min(best, (time.process_time_ns() - began) / 1e3)
    return best


if __name__ == "__main__":
    main()
