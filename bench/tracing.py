"""Measure what putting a selection on record costs: `python -m bench.tracing [--tools 1000]`.

CPU of `Selector.select` over a SQLite file, schemas loaded, and apart: the trace (made and handed on), a batch of 200
written, and telemetry that is absent, that nobody listens to, and that the SDK takes. Microseconds; `best` is the mean
over tasks of the quickest of five, since other work on the machine shows least in it.
"""

import argparse
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import numpy as np
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider

from bench.catalogs import grown, load
from bench.machine import machine
from pegboard import wiring
from pegboard.adapters.sqlite import SqliteStore
from pegboard.adapters.telemetry import OpenTelemetry
from pegboard.config.values import Config, RankingChoice, Retrieval
from pegboard.core.catalog import Reach, Risk
from pegboard.core.context import RuntimeContext
from pegboard.core.policy import AccessTemplate, Reason
from pegboard.service.selector import Request
from pegboard.service.telemetry import QUIET, Key, Measure, Operation, Telemetry

REPEATS = 5
TASKS = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--tools", type=int, default=1_000)
    options = parser.parse_args()
    print(machine())
    with TemporaryDirectory() as folder:
        anyio.run(selections, Path(folder), options.tools)
        anyio.run(batches, Path(folder))
    sdk = OpenTelemetry(TracerProvider(), MeterProvider(metric_readers=[InMemoryMetricReader()]))
    for name, one in (("absent", QUIET), ("nobody listens", OpenTelemetry()), ("the SDK", sdk)):
        print(f"telemetry, {name:14}: {telemetry_us(one):8.1f} us a selection")


async def selections(folder: Path, tools: int) -> None:
    """Time selections of real tasks, and of each the making of its trace."""
    system = await prepared(folder, tools)
    context = RuntimeContext(
        user="bench",
        scopes=frozenset({"all"}),
        servers=frozenset(one.source_server for one in (await system.catalog.current()).view.snapshot.entries),
    )
    tasks = [task.text for task in load("live-mcp", "test").tasks][:TASKS]
    whole = await best_us(lambda task: system.selector.select(Request(tasks=(task,)), context), tasks)
    put, system.writer.put = system.writer.put, nothing  # type: ignore[method-assign]
    without = await best_us(lambda task: system.selector.select(Request(tasks=(task,)), context), tasks)
    system.writer.put = put  # type: ignore[method-assign]
    print(
        f"a selection over {tools:,} tools: {whole:,.0f} us CPU; its trace handed on: {whole - without:,.0f} us of it"
    )
    await system.flush()
    system.close()


async def prepared(folder: Path, tools: int) -> wiring.System:
    """Import and lock a catalog of real tools in a file."""
    config = Config(
        file=folder / "pegboard.toml",
        store=folder / "pegboard.db",
        lock=folder / "pegboard.lock",
        used=frozenset({Reason.SCOPE}),
        access={"all": AccessTemplate(required_scopes=frozenset({"all"}))},
        retrieval=Retrieval(ranking=RankingChoice.FAST),
    )
    system = wiring.build(config)
    fields = ("tool_id", "namespace", "name", "description", "input_schema")
    await system.importer.lines([{name: getattr(one, name) for name in fields} for one in grown(tools).entries], by="b")
    waiting = [one.tool_id for one in await system.keeper.drafts()]
    await system.keeper.approve(waiting, access="all", by="b", risk=Risk.WRITE, reach=Reach.BOUNDED)
    return system


async def batches(folder: Path) -> None:
    """Time the writing of 200 traces at once, and one by one."""
    store = SqliteStore.open(folder / "batches.db")
    body = np.random.default_rng(0).bytes(1_500).hex().encode()
    best = {"at once": float("inf"), "one by one": float("inf")}
    for repeat in range(REPEATS):
        for name in best:
            traces = [(f"{name} {repeat} {number}", float(number), body) for number in range(200)]
            began = time.perf_counter_ns()
            for part in [traces] if name == "at once" else [[trace] for trace in traces]:
                await store.save_traces(part)
            best[name] = min(best[name], (time.perf_counter_ns() - began) / 200 / 1e3)
    store.close()
    print(", ".join(f"{name}: {value:.0f} us a trace" for name, value in best.items()))


async def best_us(act: Callable[[str], Awaitable[object]], tasks: list[str]) -> float:
    cpu = np.empty((REPEATS, len(tasks)))
    for repeat in range(REPEATS):
        for place, task in enumerate(tasks):
            began = time.process_time_ns()
            await act(task)
            cpu[repeat, place] = (time.process_time_ns() - began) / 1e3
    return float(cpu.min(axis=0).mean())


def telemetry_us(telemetry: Telemetry) -> float:
    """Time what one selection tells."""
    best = float("inf")
    for _ in range(REPEATS):
        began = time.process_time_ns()
        for _ in range(2_000):
            with telemetry.span(Operation.SELECT, None, {Key.OPERATION: Operation.SELECT.value}) as span:
                span.note({Key.CATALOG: "1-x", Key.POLICY: "x", Key.OUTCOME: "selected", Key.SELECTED: ["tool"] * 8})
            telemetry.measure(Measure.SELECT_DURATION, 0.1, {Key.OUTCOME: "selected"})
        best = min(best, (time.process_time_ns() - began) / 2_000 / 1e3)
    return best


async def nothing(*trace: object, keep: bool) -> None:
    """Take a trace and forget it."""


if __name__ == "__main__":
    main()
