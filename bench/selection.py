"""Measure one selection: CPU and wall by catalog size and by share of tools that the caller may use.

    python bench/select.py [--sizes 1000 10000 100000 1000000] [--dense] [--json FILE]

A selection here is the task's analysis, the policy table's mask for the caller and the ranking of the best
eight; loading schemas and writing traces are measured elsewhere. Catalogs are made from real tools
(`catalogs.grown`), rights go by namespace as in real deployments, tasks are real ones. Beside it, in the
same run and over the same terms, a plain BM25 whose scores are computed beforehand and masked afterwards,
which is what a filter bolted onto a search library does.
"""

import argparse
import json
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.catalogs import grown, load
from bench.machine import machine, read_bandwidth
from pegboard.core.catalog import Reach, Risk
from pegboard.core.context import RuntimeContext
from pegboard.core.lock import Lock, LockLine
from pegboard.core.policy import AccessTemplate, Policy, Reason
from pegboard.core.revocations import NO_REVOCATIONS
from pegboard.core.snapshot import Snapshot
from pegboard.policy.table import RuleTable
from pegboard.retrieval.index import Eligible, Index
from pegboard.retrieval.query import analyse, read

SHARES = (1.0, 0.1, 0.01, 0.001)
GOALS_MS = {(1_000, 1.0): 0.5, (10_000, 1.0): 1, (100_000, 1.0): 6, (1_000_000, 1.0): 40} | {
    (1_000, 0.01): 0.3,
    (10_000, 0.01): 0.4,
    (100_000, 0.01): 0.6,
    (1_000_000, 0.01): 4,
}
TEAMS = 1_000
REPEATS = 5
CHANNELS = {"static": 256, "encoder": 384}


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Milliseconds of one selection. `best` is the mean over tasks of the quickest of some repeats: a busy machine
    shows least in it."""

    best: float
    median: float
    p95: float
    wall: float


@dataclass(frozen=True, kw_only=True)
class Bed:
    """A catalog under a policy, indexed."""

    snapshot: Snapshot
    table: RuleTable
    index: Index
    eligible: dict[bytes, Eligible]

    def select(self, task: str, context: RuntimeContext, vectors: Mapping[str, tuple[bytes, ...]]) -> None:
        """Select once, as the engine does up to the ranking."""
        found = self.table.eligible(context, NO_REVOCATIONS)
        key = found.mask.__array_interface__["data"][0].to_bytes(8, "little")
        eligible = self.eligible.setdefault(key, Eligible.of_mask(found.mask))
        self.index.rank(analyse([task], vectors), eligible, 8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--dense", action="store_true", help="measure vector channels too (made vectors)")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tasks = [task.text for name in ("live-mcp", "agentdojo") for task in load(name, "test").tasks]
    report: dict[str, object] = {"machine": machine(), "bandwidth_gb_s": read_bandwidth(), "rows": []}
    print(f"{report['machine']}\none core reads {report['bandwidth_gb_s']:.1f} GB/s; ms a selection, CPU unless said")
    for size in options.sizes:
        report["rows"] += measure(size, tasks, dense=options.dense)  # type: ignore[operator]
        if options.json:
            options.json.write_text(json.dumps(report, indent=1))


def measure(size: int, tasks: Sequence[str], *, dense: bool) -> list[dict[str, object]]:
    """Measure one catalog size at every share, print and return the rows."""
    start = time.process_time()
    bed = prepare(size, dense=dense)
    built, memory = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"\n{size:,} tools: {len(bed.index.postings.rows):,} postings, made in {built:.0f} s CPU, {memory:.2f} GB")
    names = ("goal", "best", "median", "p95", "wall", "first", "plain")
    print(f"  {'eligible':>18} " + " ".join(f"{name:>7}" for name in names))
    rows = []
    for share in SHARES:
        caller = caller_with(share, 0)
        mask = bed.table.eligible(caller, NO_REVOCATIONS).mask
        first = once(lambda caller=caller: bed.select(tasks[0], caller, {}))
        times = timed(lambda task, caller=caller: bed.select(task, caller, {}), tasks)
        plain = timed(peer(bed.index, mask), tasks)
        goal = GOALS_MS.get((size, share))
        row = {
            "tools": size,
            "share": share,
            "eligible": int(mask.sum()),
            "goal_ms": goal,
            "best_ms": times.best,
            "median_ms": times.median,
            "p95_ms": times.p95,
            "wall_ms": times.wall,
            "first_ms": first,
            "plain_bm25_ms": plain.best,
            "memory_gb": memory,
        }
        rows.append(row)
        print(
            f"  {share:>8.1%} {row['eligible']:>9,} {goal or '-':>7} {times.best:7.3f} {times.median:7.3f}"
            f" {times.p95:7.3f} {times.wall:7.3f} {first:7.2f} {plain.best:7.3f}"
        )
        if dense:
            rows[-1]["dense_ms"] = with_vectors(bed, tasks, caller)
    rows[-1]["in_turn"] = in_turn(bed, tasks)
    print(f"  two callers in turn / one asked twice: {rows[-1]['in_turn']:.2f}")
    return rows


def prepare(size: int, *, dense: bool) -> Bed:
    """Make a catalog, lock every tool for one of a thousand teams by its namespace, and index it."""
    snapshot = grown(size)
    team: dict[str, str] = {}
    names = [team.setdefault(one.namespace, f"team-{len(team) % TEAMS}") for one in snapshot.entries]
    lines = [
        LockLine(
            tool=one.tool_id, hash=one.schema_hash, access=name, risk=Risk.READ, reach=Reach.BOUNDED, by="bench", at=""
        )
        for one, name in zip(snapshot.entries, names, strict=True)
    ]
    templates = {
        f"team-{number}": AccessTemplate(required_scopes=frozenset({f"team-{number}"})) for number in range(TEAMS)
    }
    policy = Policy(lock=Lock.of(lines), templates=templates, used=frozenset({Reason.SCOPE}))
    dice = np.random.default_rng(0)
    vectors = {
        name: dice.integers(-40, 41, (size, length), dtype=np.int8) for name, length in CHANNELS.items() if dense
    }
    index = Index.build(snapshot.entries, vectors)
    return Bed(snapshot=snapshot, table=RuleTable.of(snapshot, policy), index=index, eligible={})


def caller_with(share: float, number: int) -> RuntimeContext:
    """Make the caller who holds this share of the teams' scopes, from team *number* on."""
    count = max(1, round(share * TEAMS))
    scopes = frozenset(f"team-{(number + step) % TEAMS}" for step in range(count))
    servers = frozenset(f"gateway-{place}" for place in range(10))
    return RuntimeContext(user=f"caller-{number}", scopes=scopes, servers=servers)


def timed(act: Callable[[str], None], tasks: Sequence[str]) -> Times:
    """Time an act on every task, several times over."""
    cpu, wall = np.empty((REPEATS, len(tasks))), np.empty((REPEATS, len(tasks)))
    for repeat in range(REPEATS):
        for place, task in enumerate(tasks):
            start, start_wall = time.process_time_ns(), time.perf_counter_ns()
            act(task)
            cpu[repeat, place] = (time.process_time_ns() - start) / 1e6
            wall[repeat, place] = (time.perf_counter_ns() - start_wall) / 1e6
    return Times(
        best=float(cpu.min(axis=0).mean()),
        median=float(np.median(cpu)),
        p95=float(np.percentile(cpu, 95)),
        wall=float(np.median(wall)),
    )


def once(act: Callable[[], None]) -> float:
    """Time the first selection for an eligible set, in ms of CPU: nothing is kept for it yet."""
    start = time.process_time_ns()
    act()
    return (time.process_time_ns() - start) / 1e6


def in_turn(bed: Bed, tasks: Sequence[str]) -> float:
    """Return how much longer two callers with different rights take in turn than one who asks twice."""
    one, two = caller_with(0.01, 0), caller_with(0.01, 500)

    def twice(first: RuntimeContext, second: RuntimeContext) -> Callable[[str], None]:
        def act(task: str) -> None:
            bed.select(task, first, {})
            bed.select(task, second, {})

        return act

    same = (timed(twice(one, one), tasks).best + timed(twice(two, two), tasks).best) / 2
    return timed(twice(one, two), tasks).best / same


def with_vectors(bed: Bed, tasks: Sequence[str], caller: RuntimeContext) -> dict[str, float]:
    """Time selections with one vector channel and with both, on made vectors; encoding is not in it."""
    dice = np.random.default_rng(1)
    made: dict[str, dict[str, tuple[bytes, ...]]] = {}
    for task in tasks:
        count = len(read([task]).texts)
        made[task] = {
            name: tuple(one.tobytes() for one in dice.integers(-40, 41, (count, length), dtype=np.int8))
            for name, length in CHANNELS.items()
        }
    found = {}
    for label, names in (("static", ["static"]), ("static+encoder", ["static", "encoder"])):
        act = lambda task, names=names: bed.select(task, caller, {name: made[task][name] for name in names})  # noqa: E731
        found[label] = timed(act, tasks[:: 4 if len(bed.snapshot.entries) > 50_000 else 1]).best
    print(f"  {'':>18} with vectors: " + ", ".join(f"{label} {value:.3f}" for label, value in found.items()))
    return found


def peer(index: Index, mask: NDArray[np.bool_]) -> Callable[[str], None]:
    """Return the plain way: scores computed beforehand, summed over all tools, masked, the best eight taken."""
    rows, starts = index.postings.rows, index.postings.starts
    lengths = index.postings.lengths[rows]
    counts = np.repeat(np.diff(starts), np.diff(starts))
    frequencies = index.postings.frequencies.astype(np.float32)
    total = len(mask)
    rarity = np.log1p((total - counts + 0.5) / (counts + 0.5)).astype(np.float32)
    scores = rarity * frequencies / (frequencies + 14 * (0.25 + 0.75 * (lengths / index.postings.lengths.mean())))
    scores = scores.astype(np.float32)

    def act(task: str) -> None:
        found = np.zeros(total, dtype=np.float32)
        for term in analyse([task]).parts[0]:
            number = index.postings.vocabulary.get(term)
            if number is not None:
                span = slice(starts[number], starts[number + 1])
                found[rows[span]] += scores[span]
        found[~mask] = 0
        best = np.argpartition(found, -min(8, total))[-8:]
        best[np.argsort(-found[best])]

    return act
