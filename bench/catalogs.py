"""Catalogs and labelled tasks for the measurements, read from ../shared/data, and large catalogs made from them.

Parts follow data/README.md: named splits; bfcl and stabletoolbench halved by the first hex digit of the
SHA-256 of the tool id (even: training), tasks that straddle the halves dropped; bfcl's unanswerable tasks halved
by query id. What the encoders learned from is `train` and chooses nothing here; `dev` is the part of the training side
that they did not see (`training/sources.py` says the same). Nothing read here goes into the package.

`requests` are tasks of our own in users' words (`requests.jsonl`), for half of the servers of toucan_mcp: published
tools, whose texts are longer and rougher than those of the other sets. Parameters are chosen on them too.
"""

import hashlib
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pegboard.core.catalog import CatalogEntry, declare
from pegboard.core.snapshot import Snapshot

__all__ = ["DATA", "JUDGED", "REPORTED", "REQUESTS", "SETS", "Task", "TaskSet", "entries_of", "grown", "load"]

DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"

# Parameters are chosen on training and dev parts of these and judged on the test parts of the same.
JUDGED = ("metatool", "sealtools", "stabletoolbench", "bfcl")
REPORTED = ("tau2", "agentdojo", "live-mcp")
REQUESTS = "requests"
SETS = (*JUDGED, *REPORTED)
_HALVED = frozenset({"stabletoolbench", "bfcl"})
_FILES = {"live-mcp": DATA / "live-mcp" / "tasks.jsonl", REQUESTS: Path(__file__).with_name("requests.jsonl")}
# What a repository's name holds beside the product's: an operator would call the namespace "redis".
_BESIDE = re.compile(r"(?i)^[^_]*_|(?:^|[-_])(?:mcp|server|smithery|ts|python)(?=$|[-_]|\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A labelled task: each step is done by any tool of its set; no step means that nothing fits."""

    task_id: str
    text: str
    steps: tuple[frozenset[str], ...]
    candidates: frozenset[str] | None = None
    category: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSet:
    """A catalog and the tasks of one part of it."""

    name: str
    part: str
    snapshot: Snapshot
    tasks: tuple[Task, ...]

    @property
    def answerable(self) -> tuple[Task, ...]:
        """Return the tasks that some tool fits."""
        return tuple(task for task in self.tasks if task.steps)


def load(name: str, part: str) -> TaskSet:
    """Read one part (`train`, `dev`, `test`) of a set, with its whole catalog."""
    rows = _rows(_FILES.get(name) or DATA / name / "queries.jsonl")
    tasks = tuple(_task(row) for row in rows if _part(name, row) == part)
    entries = _requested(tasks) if name == REQUESTS else entries_of(name)
    return TaskSet(name=name, part=part, snapshot=Snapshot.of(1, entries), tasks=tasks)


def entries_of(name: str) -> Iterator[CatalogEntry]:
    """Yield a set's tools as catalog entries."""
    if name == "live-mcp":
        for path in sorted((DATA / name / "servers").glob("*.json")):
            listing = json.loads(path.read_text(encoding="utf-8"))
            for tool in listing["tools"]:
                yield _entry(f"{listing['server']}/{tool['name']}", listing["server"], tool, "inputSchema")
    else:
        for row in _rows(DATA / name / "tools.jsonl"):
            yield _entry(row["tool_id"], row["namespace"], row, "input_schema")


def _requested(tasks: Iterable[Task]) -> Iterator[CatalogEntry]:
    """Yield the tools of the servers that the tasks need, and of half of the others."""
    needed = {tool.rpartition("/")[0] for task in tasks for step in task.steps for tool in step}
    for entry in entries_of("toucan_mcp"):
        if entry.namespace in needed or _digit(entry.namespace, 0) % 2 == 0:
            yield replace(entry, namespace=_BESIDE.sub("", entry.namespace).strip("-_") or entry.namespace)


def grown(size: int) -> Snapshot:
    """Make a catalog of *size* tools from real ones: copies go to other servers, with their words swapped around.

    Real texts repeated word for word would share every document frequency; so each copy takes a fifth of its
    description from another tool. Ten servers carry them all, since a large catalog sits behind gateways.
    """
    real = [*entries_of("live-mcp"), *entries_of("toucan_mcp")]
    random.Random(0).shuffle(real)
    return Snapshot.of(1, (_copy(real, number) for number in range(size)))


def _copy(real: list[CatalogEntry], number: int) -> CatalogEntry:
    copy, place = divmod(number, len(real))
    one = real[place]
    other = real[(place * 31 + copy * 7919) % len(real)]
    cut = len(one.description) * 4 // 5
    space = f"{one.namespace}-{copy}" if copy else one.namespace
    # Digests are made up: a million real ones take minutes, and ranking reads none of them.
    return replace(
        one,
        tool_id=f"{space}/{one.name}",
        namespace=space,
        source_server=f"gateway-{place % 10}",
        schema_hash=f"{one.schema_hash}-{copy}",
        row=f"{one.row}-{copy}",
        description=one.description[:cut] + (other if copy else one).description[cut : len(one.description)],
    )


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _entry(tool_id: str, namespace: str, row: Mapping[str, Any], schema: str) -> CatalogEntry:
    return declare(
        tool_id=tool_id,
        namespace=namespace,
        source_server=namespace,
        name=row["name"],
        title=row.get("title"),
        description=row.get("description") or "",
        input_schema=row.get(schema) or None,
    )


def _task(row: Mapping[str, Any]) -> Task:
    steps = row.get("acceptable") or [[tool] for tool in dict.fromkeys(row.get("relevant", ()))]
    return Task(
        task_id=row.get("query_id") or row["task_id"],
        text=row["query"],
        steps=tuple(frozenset(step) for step in steps),
        candidates=frozenset(row["candidates"]) if "candidates" in row else None,
        category=row.get("category", ""),
    )


def _part(name: str, row: Mapping[str, Any]) -> str:
    if name in REPORTED:
        return "test"
    if name == REQUESTS:
        return "dev"
    if name in _HALVED:
        halves = {_digit(text, 0) % 2 for text in row["relevant"] or [row["query_id"]]}
        if halves != {0}:
            return "test" if halves == {1} else "none"
        # No encoder learns from tasks without a tool, so all of them in this half may choose parameters.
        return "dev" if any(_digit(text, 1) < 4 for text in row["relevant"]) or not row["relevant"] else "train"
    split = str(row["split"])
    if name == "sealtools" and split == "dev":
        return "train" if _digit(row["query_id"], 0) % 2 else "dev"
    return split if split in ("train", "dev") else "test"


def _digit(text: str, place: int) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[place], 16)
