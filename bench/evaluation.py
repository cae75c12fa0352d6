"""How selection does on public sets of tasks, and what an evaluation costs: `python -m bench.evaluation`.

Each set is evaluated as `pegboard eval --catalog … --open` does, by the static table alone (`fast`) unless said
otherwise. `--large` measures 10,000 tasks on 10,000 tools instead.
"""

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from bench.machine import machine
from pegboard.adapters.files import read_catalog_file, read_fixture_file, read_listings_folder
from pegboard.config.values import RankingChoice, Retrieval
from pegboard.core.context import RuntimeContext
from pegboard.core.policy import AccessTemplate
from pegboard.evaluation.fixtures import Fixture, read_fixture
from pegboard.evaluation.report import Arm as ArmRuns
from pegboard.evaluation.report import Report, report
from pegboard.service.deployment import Deployment
from pegboard.service.evaluator import Arm, Asked
from pegboard.service.labels import facts, identified
from pegboard.wiring import System, in_memory

DATA = Path(__file__).parents[1].parent / "shared" / "data"
SETS = ("live-mcp", "metatool", "bfcl", "stabletoolbench", "tau2", "agentdojo")
SHOWN = ("candidate_recall", "step_recall", "mrr", "false_selection_rate", "no_tool_accuracy", "definition_tokens")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--tasks", type=int, default=400, help="at most so many of each set, evenly taken")
    parser.add_argument("--ranking", default="fast", choices=[*map(str, RankingChoice)])
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found: dict[str, Any] = {"machine": machine()}
    if given.large:
        found["large"] = asyncio.run(large())
    for name in () if given.large else given.sets:
        found[name] = asyncio.run(one(name, given.tasks, RankingChoice(given.ranking)))
    if given.json:
        given.json.write_text(json.dumps(found, indent=2))


async def one(name: str, most: int, ranking: RankingChoice) -> dict[str, Any]:
    """Evaluate one set."""
    folder = DATA / name
    system, context = await opened(name, ranking)
    file = next(path for path in (folder / "tasks.jsonl", folder / "queries.jsonl") if path.exists())
    rows = [read_fixture(raw.value, number)[0] for number, raw in enumerate(read_fixture_file(file).tools, 1)]
    view = (await system.catalog.current()).view
    tasks = known(identified(rows, view), {entry.tool_id for entry in view.snapshot.entries})
    tasks = tasks[:: max(1, len(tasks) // most)][:most]
    found = await evaluated(system, tasks, context)
    shown = {measure: found.arms[0].by_slice["all"][measure].value for measure in SHOWN}
    at = {k: both["candidate_recall"].value for k, both in found.arms[0].at.items()}
    tools = len(view.snapshot.entries)
    line = ", ".join(f"{key} {value:.3g}" if value is not None else f"{key} none" for key, value in shown.items())
    print(f"{name}: {tools} tools, {len(tasks)} tasks: {line}; recall at 1/5/20: {at[1]}/{at[5]}/{at[20]}", flush=True)
    return {"tools": tools, "tasks": len(tasks), **shown, "at": at}


def known(tasks: tuple[Fixture, ...], tools: set[str]) -> list[Fixture]:
    """Leave out tasks whose labels name tools that were refused at the import."""
    return [task for task in tasks if task.accepted <= tools and (task.candidates is None or task.candidates & tools)]


async def opened(name: str, ranking: RankingChoice) -> tuple[System, RuntimeContext]:
    """Import a set's tools, all of them open."""
    deployment = Deployment(templates={"open": AccessTemplate()}, used=frozenset())
    system = in_memory(deployment, retrieval=Retrieval(ranking=ranking))
    folder = DATA / name
    if (folder / "servers").is_dir():
        listings = read_listings_folder(folder / "servers").listings
        raws = {one.server: [tool.value for tool in one.tools] for one in listings}
        await system.importer.listings(raws, approve="open", by="bench")
    else:
        lines = [tool.value for tool in read_catalog_file(folder / "tools.jsonl").tools]
        await system.importer.lines(lines, server=name, approve="open", by="bench")
    servers = frozenset(one.server for one in await system.catalog.snapshots.listings())
    return system, RuntimeContext(user="bench", environment="production", servers=servers)


async def evaluated(system: System, tasks: list[Fixture], context: RuntimeContext) -> Report:
    """Run the dynamic arm."""
    bed = await system.evaluator.bed(Arm(name="dynamic", selection=system.catalog.deployment.selection))
    asked = [Asked(task=task, context=context) for task in tasks]
    runs = [run async for run in system.evaluator.run(bed, asked, {})]
    return report(
        tasks,
        [ArmRuns(name="dynamic", runs=tuple(runs))],
        facts(bed.view, tasks),
        catalog_version=bed.view.snapshot.version,
        fixtures={},
        encoding=bed.view.encoding,
        is_open=True,
    )


async def large(tools: int = 10_000, count: int = 10_000) -> dict[str, Any]:
    """Measure 10,000 tasks on 10,000 tools: CPU of the evaluation and of its report, the import apart."""
    lines = [tool.value for tool in read_catalog_file(DATA / "toucan_mcp" / "tools.jsonl").tools]
    system = in_memory(
        Deployment(templates={"open": AccessTemplate()}, used=frozenset()),
        retrieval=Retrieval(ranking=RankingChoice.FAST),
    )
    began = time.process_time()
    await system.importer.lines(grown(lines, tools), server="toucan", approve="open", by="bench")
    servers = frozenset(one.server for one in await system.catalog.snapshots.listings())
    entries = (await system.catalog.current()).view.snapshot.entries
    imported = time.process_time() - began
    context = RuntimeContext(user="bench", environment="production", servers=servers)
    tasks = [
        Fixture(
            task_id=str(number),
            task=" ".join(entries[number % len(entries)].description.split()[:12]) or "anything",
            steps=(frozenset({entries[number % len(entries)].tool_id}),),
        )
        for number in range(count)
    ]
    began = time.process_time()
    bed = await system.evaluator.bed(Arm(name="dynamic", selection=system.catalog.deployment.selection))
    asked = [Asked(task=task, context=context) for task in tasks]
    runs = [run async for run in system.evaluator.run(bed, asked, {})]
    ran = time.process_time() - began
    began = time.process_time()
    arms = [ArmRuns(name="dynamic", runs=tuple(runs))]
    report(tasks, arms, facts(bed.view, tasks), catalog_version="", fixtures={}, encoding="")
    reported = time.process_time() - began
    print(
        f"{len(entries):,} tools, {count:,} tasks: import {imported:.0f} s, runs {ran:.0f} s, report {reported:.0f} s"
    )
    return {"tools": len(entries), "tasks": count, "import_s": imported, "runs_s": ran, "report_s": reported}


def grown(lines: list[Any], count: int) -> list[Any]:
    """Return *count* tools: those of the file, and copies of them under other names where they are too few."""
    found = list(lines)
    while len(found) < count:
        copy = len(found) // len(lines)
        found += [
            {**one, "tool_id": f"{one['tool_id']}-{copy}", "name": f"{one['name']}_{copy}"}
            for one in lines[: count - len(found)]
        ]
    return found[:count]


if __name__ == "__main__":
    if not DATA.is_dir():
        sys.exit(f"there is no {DATA}: the sets stand beside the checkout")
    main()
