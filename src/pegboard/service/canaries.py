"""Canaries: strings that stand in nothing but tools which a caller may not see, looked for in all that is produced.

They are planted in a catalog of its own, in memory: in names, titles, descriptions, schemas, examples and keywords of
what is hidden from a caller, and in the server and namespace of decoys, copies of the very tools that its tasks are
about. Then its tasks are asked through the verbs that serve, and selections, payloads for every model API, messages,
traces, spans, measurements, log lines and errors are read. One canary in them is an exposure (law 2).

Source: DESIGN section 11; canary tokens.
"""

import hashlib
import logging
import re
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from pegboard.core.catalog import CatalogEntry
from pegboard.core.lock import Lock
from pegboard.core.names import Json, compact_json
from pegboard.core.revocations import Revocation
from pegboard.engine.verdict import ProposedCall
from pegboard.providers.capabilities import Api
from pegboard.providers.rendering import render
from pegboard.service.deployment import Deployment
from pegboard.service.evaluator import Arm, Asked, Bed, Evaluator
from pegboard.service.gatekeeper import Gatekeeper
from pegboard.service.perturbing import redeclared
from pegboard.service.ports import Listing, TraceStore
from pegboard.service.published import Catalog
from pegboard.service.selector import Request, Selector
from pegboard.service.telemetry import QUIET, Key, Measure, Operation, Span, Telemetry, Value
from pegboard.service.tracing import TraceWriter

__all__ = ["Build", "Rehearsal", "exposure", "found_in", "planted"]

# So many callers with rights of their own, and so many tasks of each: a catalog is built for every caller.
_CALLERS = 8
_TASKS = 16
_DECOYS = 64
_TOOLS = 1_000
_CANARY = re.compile(r"cnry[0-9a-f]{16}")


class Rehearsal(Protocol):
    """The verbs that serve, over a catalog in memory."""

    @property
    def catalog(self) -> Catalog:
        """The catalog, still empty."""

    @property
    def selector(self) -> Selector:
        """What selects."""

    @property
    def gatekeeper(self) -> Gatekeeper:
        """What judges calls."""

    @property
    def evaluator(self) -> Evaluator:
        """What runs tasks for a report."""

    @property
    def writer(self) -> TraceWriter:
        """What writes traces."""

    @property
    def store(self) -> TraceStore:
        """What holds them."""


Build = Callable[[Deployment, Telemetry], Rehearsal]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A catalog with canaries, and the lock under which the same is hidden as before."""

    entries: tuple[CatalogEntry, ...]
    lock: Lock


def planted(entries: Sequence[CatalogEntry], lock: Lock, hidden: Collection[str], about: Collection[str]) -> Planted:
    """Plant canaries in the *hidden* tools, and decoys of the tools *about* that no line of the lock grants."""
    changed = {entry.tool_id: _with_canaries(entry) for entry in entries if entry.tool_id in hidden}
    decoys = [_decoy(entry) for entry in entries if entry.tool_id in about][:_DECOYS]
    lines = {line.tool: line for line in lock}
    # What was granted to other callers is so still; only its content has another hash.
    granted = [
        replace(lines[tool], hash=changed[tool].schema_hash)
        for entry in entries
        if (tool := entry.tool_id) in changed and lock.grants(tool, entry.schema_hash, entry.source_server)
    ]
    kept = (changed.get(entry.tool_id, entry) for entry in entries)
    return Planted(entries=(*kept, *decoys), lock=lock.granting(granted))


async def exposure(
    build: Build, bed: Bed, lock: Lock, deployment: Deployment, asked: Sequence[Asked]
) -> dict[str, int]:
    """Return by task id how many different canaries were found in what its selection and calls produced.

    A sample: the first tasks of the first callers, who are told apart by what they may see.
    """
    callers: dict[str, list[Asked]] = {}
    for one in asked:
        seen = bed.view.see(one.context, bed.revocations)
        if seen.digest in callers or len(callers) < _CALLERS:
            callers.setdefault(seen.digest, []).append(one)
    found: dict[str, int] = {}
    for tasks in callers.values():
        found |= await _rehearsed(build, bed, lock, deployment, tasks[:_TASKS])
    return found


def found_in(texts: Iterable[str]) -> set[str]:
    """Return the canaries that stand in any of *texts*, in whatever letters."""
    return {word for text in texts for word in _CANARY.findall(text.lower())}


async def _rehearsed(
    build: Build, bed: Bed, lock: Lock, deployment: Deployment, tasks: Sequence[Asked]
) -> dict[str, int]:
    all_entries = bed.view.snapshot.entries
    seen = bed.view.see(tasks[0].context, bed.revocations)
    visible = {all_entries[row].tool_id for row in seen.eligible.rows.tolist()}
    about = {tool for one in tasks for tool in one.task.accepted}
    entries = _some(all_entries, visible, about)
    hidden = [entry.tool_id for entry in entries if entry.tool_id not in visible]
    made, heard = planted(entries, lock, hidden, about), _Overheard()
    system = build(replace(deployment, selection=bed.arm.selection), heard)
    system.catalog.lock_file.write(made.lock)
    now = system.catalog.clock.now()
    # What is halted is hidden for that reason here too.
    for target in bed.revocations.targets:
        await system.catalog.policies.halt(Revocation(target=target, why="rehearsed", by="rehearsal", since=now))
    await system.catalog.publish(_listings(made.entries, now), by="rehearsal")
    own = await system.evaluator.bed(Arm(name=bed.arm.name, selection=bed.arm.selection, channels=bed.arm.channels))
    found: dict[str, int] = {}
    for number, one in enumerate(tasks):
        asked_for = hidden[number % len(hidden)] if hidden else None
        found[one.task.task_id] = len(found_in([text async for text in _produced(system, own, one, asked_for, heard)]))
    return found


def _some(entries: Sequence[CatalogEntry], visible: Collection[str], about: Collection[str]) -> list[CatalogEntry]:
    """Return what tasks are about, and of what else is visible and hidden the first, so many that a build is quick."""
    ordered = sorted(range(len(entries)), key=lambda row: (entries[row].tool_id not in about, row))
    own = [row for row in ordered if entries[row].tool_id in visible][: _TOOLS // 2]
    rest = [row for row in ordered if entries[row].tool_id not in visible][: _TOOLS - len(own)]
    return [entries[row] for row in sorted((*own, *rest))]


async def _produced(
    system: Rehearsal, bed: Bed, asked: Asked, hidden: str | None, heard: "_Overheard"
) -> AsyncIterator[str]:
    """Yield everything that comes of one task, and of asking for one hidden tool by its id."""
    traces: list[str] = []
    with heard.listening():
        for task in filter(None, (asked.task.task, hidden)):
            try:
                selection, _ = await system.selector.select(Request(tasks=(task,)), asked.context)
                call = ProposedCall(tool=hidden or task, arguments={}, selection_id=selection.selection_id)
                answer = await system.gatekeeper.check(call, asked.context)
            except Exception as error:  # noqa: BLE001 - whatever a fault says is read like everything else
                yield f"{type(error).__name__}: {error}"
                continue
            yield compact_json(selection.to_json())
            yield compact_json(answer.to_json())
            for api in Api:
                yield compact_json(render(selection, api).to_json())
            traces += filter(None, (selection.trace_id, answer.trace_id))
        async for run in system.evaluator.run(bed, [asked], {}):
            yield compact_json(run.to_json())
        await system.writer.flush()
    for trace_id in traces:
        yield (await system.store.trace(trace_id) or b"").decode()
    for text in heard.said:
        yield text


class _Overheard:
    """`Telemetry` that keeps what spans and measurements say, and log lines."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.within, self.carrier = QUIET.within, QUIET.carrier

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear the log of everything for a while, from the beginning."""
        self.said.clear()
        root, ours = logging.getLogger(), logging.getLogger("pegboard")
        handler, level = _Handler(self.said), ours.level
        root.addHandler(handler)
        ours.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            ours.setLevel(level)
            root.removeHandler(handler)

    def about(self, target: str) -> None:
        self.said.append(target)

    def note(self, attributes: Mapping[Key, Value]) -> None:
        self.said.append(repr(attributes))

    def fail(self, kind: str) -> None:
        self.said.append(kind)

    @contextmanager
    def span(self, operation: Operation, target: str | None, attributes: Mapping[Key, Value]) -> Iterator[Span]:
        self.said.append(f"{operation} {target} {attributes!r}")
        yield self

    def measure(self, measure: Measure, value: float, attributes: Mapping[Key, Value]) -> None:
        self.said.append(f"{measure} {value} {attributes!r}")


class _Handler(logging.Handler):
    def __init__(self, said: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self._said = said

    def emit(self, record: logging.LogRecord) -> None:
        self._said.append(self.format(record))


def _with_canaries(entry: CatalogEntry) -> CatalogEntry:
    schema = entry.input_schema
    properties = schema.get("properties")
    word = _canary(entry, "parameter")
    parameter: Json = {"type": "string", "description": f"Number {_canary(entry, 'schema')}", "enum": [word]}
    schema["properties"] = {**(properties if isinstance(properties, dict) else {}), word: parameter}
    return redeclared(
        entry,
        name=f"{entry.name}_{_canary(entry, 'name')}",
        title=f"{entry.title or entry.name} {_canary(entry, 'title')}",
        description=f"{entry.description} {_canary(entry, 'description')}",
        input_schema=schema,
        summary=f"{entry.summary or ''} {_canary(entry, 'summary')}".strip(),
        examples=(*entry.examples, _canary(entry, "example")),
        keywords=(*entry.keywords, _canary(entry, "keyword")),
    )


def _decoy(entry: CatalogEntry) -> CatalogEntry:
    namespace = _canary(entry, "namespace")
    return redeclared(
        entry,
        tool_id=f"{namespace}.{entry.name}",
        namespace=namespace,
        source_server=_canary(entry, "server"),
        description=f"{entry.description} {_canary(entry, 'decoy')}",
    )


def _canary(entry: CatalogEntry, place: str) -> str:
    """Return a word that stands in no text of anyone, the same for the same place."""
    return f"cnry{hashlib.sha256(f'{entry.tool_id} {place}'.encode()).hexdigest()[:16]}"


def _listings(entries: Iterable[CatalogEntry], now: float) -> list[Listing]:
    servers: dict[str, list[CatalogEntry]] = {}
    for entry in entries:
        servers.setdefault(entry.source_server, []).append(entry)
    return [Listing(server=name, fetched_at=now, entries=tuple(found)) for name, found in servers.items()]
