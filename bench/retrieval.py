"""Measure ranking: every set of ../shared/data, every recipe, as ranked and as served.

    python -m bench.retrieval [--tasks 400] [--cache FOLDER] [--json FILE] [--parts dev test]

Prints R@1, R@8, nDCG@10 and C@8 with 95% intervals for each set's parts, then macro averages over the sets that
parameters are chosen on, the trade-off of no-tool answers against recall, and keyword stuffing. As served, a
task that is not answered with its ranking (nothing fits, weak, ambiguous) counts as a miss.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.attacks import measure_attacks
from bench.catalogs import JUDGED, REPORTED, REQUESTS, Task, TaskSet, load
from bench.encoding import Encoders
from bench.machine import machine
from bench.measures import NAMES, interval, of_task
from bench.nofit import measure_no_fit
from bench.recipes import RECIPES, SERVED, Bed, Plain
from pegboard.retrieval.confidence import judge
from pegboard.retrieval.index import Eligible, Index

ATTACKED = ("metatool", "bfcl", "sealtools")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, default=400, help="at most so many tasks a part, always the same ones")
    parser.add_argument("--parts", nargs="+", default=["dev", "test"])
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "pegboard-vectors")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    encoders = Encoders(options.cache)
    report: dict[str, object] = {
        "machine": machine(),
        "models": {name: one.model_id for name, one in encoders.models.items()},
        "tasks": options.tasks,
    }
    print(json.dumps(report))
    rows: list[dict[str, object]] = []
    for part in options.parts:
        for name in (*JUDGED, *(REPORTED if part == "test" else [REQUESTS])):
            rows += measure(load(name, part), options.tasks, encoders)
            encoders.save()
        rows += averages(rows, part)
    report["rows"] = rows
    report["no_fit"] = measure_no_fit(encoders, options.tasks)
    report["attacks"] = attacked(encoders)
    encoders.save()
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))


def measure(found: TaskSet, limit: int, encoders: Encoders) -> list[dict[str, object]]:
    """Measure every recipe on one part of one set; print and return the rows."""
    tasks = sample(found.answerable, limit)
    entries = found.snapshot.entries
    places = {entry.tool_id: row for row, entry in enumerate(entries)}
    start = time.perf_counter()
    everything = Eligible.of_mask(np.ones(len(entries), dtype=np.bool_))
    index = Index.build(entries, encoders.documents(entries))
    bed = Bed(index=index, plain=Plain(entries), everything=everything)
    queries = [encoders.query(task.text) for task in tasks]
    print(
        f"\n{found.name} {found.part}: {len(entries):,} tools, {len(tasks)} tasks ({time.perf_counter() - start:.0f} s)"
    )
    rows = []
    for recipe, rank in RECIPES.items():
        start = time.process_time()
        values = [
            of_task(rank(bed, task.text, query), task.steps, places) for task, query in zip(tasks, queries, strict=True)
        ]
        cost = (time.process_time() - start) / len(tasks) * 1e3
        rows.append(_row(found, recipe, values, cost))
    for recipe, ours in SERVED.items():
        values = []
        for task, query in zip(tasks, queries, strict=True):
            ranking = ours(bed, query)
            answered = judge(ranking, query, index, everything, None).cause is None
            values.append(of_task(ranking.rows.tolist() if answered else [], task.steps, places))
        rows.append(_row(found, f"{recipe}, as served", values, 0.0))
    return rows


def averages(rows: Sequence[dict[str, object]], part: str) -> list[dict[str, object]]:
    """Average each recipe over the sets of one part that parameters are chosen on."""
    print(f"\nmacro average, {part} parts of {', '.join(JUDGED)}")
    result = []
    for recipe in dict.fromkeys(row["recipe"] for row in rows):
        mine = [row for row in rows if row["recipe"] == recipe and row["part"] == part and row["set"] in JUDGED]
        means = {name: [float(np.mean([row[name][0] for row in mine]))] for name in NAMES}  # type: ignore[index]
        result.append({"set": "average", "part": part, "recipe": recipe, "n": sum(row["n"] for row in mine), **means})  # type: ignore[misc]
        print(f"  {recipe:26}" + "".join(f" {name} {means[name][0]:5.1f}" for name in NAMES))
    return result


def attacked(encoders: Encoders) -> list[dict[str, object]]:
    """Measure keyword stuffing on the dev parts and print it."""
    print("\nkeyword stuffing: % of tasks with the stuffed tool in the first 5")
    rows: list[dict[str, object]] = []
    for name in ATTACKED:
        found = load(name, "dev")
        others = [task for other in JUDGED if other != name for task in sample(load(other, "dev").answerable, 500)]
        rows += measure_attacks(found, sample(found.answerable, 200), [task.text for task in others], encoders)
    for row in rows:
        print("  " + " ".join(f"{value!s:>22}" for value in row.values()))
    return rows


def sample(tasks: Sequence[Task], limit: int) -> list[Task]:
    """Take at most *limit* tasks, always the same ones."""
    shuffled = list(tasks)
    random.Random(1).shuffle(shuffled)
    return shuffled[:limit]


def _row(found: TaskSet, recipe: str, values: Sequence[Sequence[float]], cost: float) -> dict[str, object]:
    columns = np.array(values)
    measures = {name: interval(columns[:, place]) for place, name in enumerate(NAMES)}
    shown = " ".join(f"{name} {mean:5.1f} [{low:4.1f} {high:5.1f}]" for name, (mean, low, high) in measures.items())
    print(f"  {recipe:26} {shown} {cost:6.2f} ms", flush=True)
    return {"set": found.name, "part": found.part, "recipe": recipe, "n": len(values), "cpu_ms": cost, **measures}


if __name__ == "__main__":
    main()
