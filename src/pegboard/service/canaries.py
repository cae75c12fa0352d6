"""Canaries: strings that stand in nothing but tools which a caller may not see, looked for in all that is produced.

They are planted in a catalog of its own, in memory: in names, titles, descriptions, schemas, examples and keywords of
what is hidden from a caller, and in the server and namespace of decoys, copies of the very tools that its tasks are
about. Then its tasks are asked through the verbs that serve, and selections, payloads for every model API, messages,
traces, spans, measurements, log lines, errors and the page of a report are read. One canary in them is an exposure
(law 2).

Source: DESIGN section 11; canary tokens.
"""

import hashlib
import re
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pegboard.core.catalog import CatalogEntry
from pegboard.core.lock import Lock
from pegboard.core.names import Json, compact_json
from pegboard.core.revocations import Revocation
from pegboard.engine.selection import Selection
from pegboard.engine.verdict import ProposedCall
from pegboard.evaluation.page import page
from pegboard.evaluation.report import Arm as ArmRuns
from pegboard.evaluation.report import report
from pegboard.evaluation.runs import Run
from pegboard.providers.capabilities import Api
from pegboard.providers.rendering import render
from pegboard.service.deployment import Deployment
from pegboard.service.evaluator import Arm, Asked, Bed, Evaluator
from pegboard.service.gatekeeper import Gatekeeper
from pegboard.service.labels import facts
from pegboard.service.overheard import Overheard
from pegboard.service.perturbing import redeclared
from pegboard.service.ports import Listing, TraceStore
from pegboard.service.published import Catalog
from pegboard.service.selector import Request, Selector
from pegboard.service.telemetry import Telemetry
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


async def exposure(build: Build, bed: Bed, deployment: Deployment, asked: Sequence[Asked]) -> dict[str, int]:
    """Return by task id how many different canaries were found in what its selection and calls produced.

    The arm's own tools, lock, templates and policies hide; what else a *deployment* says is as it is served. A sample:
    the first tasks of the first callers, who are told apart by what they may see. All tools are the same for every
    task, so of that arm one task of each.
    """
    callers: dict[str, list[Asked]] = {}
    for one in asked:
        seen = bed.view.see(one.context, bed.revocations)
        if seen.digest in callers or len(callers) < _CALLERS:
            callers.setdefault(seen.digest, []).append(one)
    found: dict[str, int] = {}
    for tasks in callers.values():
        found |= await _rehearsed(build, bed, deployment, tasks[: 1 if bed.arm.all_tools else _TASKS])
    return found


def found_in(texts: Iterable[str]) -> set[str]:
    """Return the canaries that stand in any of *texts*, in whatever letters."""
    return {word for text in texts for word in _CANARY.findall(text.lower())}


async def _rehearsed(build: Build, bed: Bed, deployment: Deployment, tasks: Sequence[Asked]) -> dict[str, int]:
    all_entries, policy = bed.view.snapshot.entries, bed.view.policy
    seen = bed.view.see(tasks[0].context, bed.revocations)
    visible = {all_entries[row].tool_id for row in seen.eligible.rows.tolist()}
    about = {tool for one in tasks for tool in one.task.accepted}
    entries = _some(all_entries, visible, about)
    hidden = [entry.tool_id for entry in entries if entry.tool_id not in visible]
    made, heard = planted(entries, policy.lock, hidden, about), Overheard()
    arm = replace(deployment, selection=bed.arm.selection, templates=policy.templates, layer=policy.layer)
    system = build(arm, heard)
    system.catalog.lock_file.write(made.lock)
    now = system.catalog.clock.now()
    # What is halted is hidden for that reason here too.
    for target in bed.revocations.targets:
        await system.catalog.policies.halt(Revocation(target=target, why="rehearsed", by="rehearsal", since=now))
    await system.catalog.publish(_listings(made.entries, now), by="rehearsal")
    own = await system.evaluator.bed(
        Arm(name=bed.arm.name, selection=bed.arm.selection, all_tools=bed.arm.all_tools, target=bed.arm.target)
    )
    found: dict[str, set[str]] = {}
    runs: list[Run] = []
    given: list[Selection] = []
    for number, one in enumerate(tasks):
        requests = [_request(own, one)]
        if hidden:
            # Asked for by its own id, a hidden tool is no nearer.
            requests.append(Request(tasks=(hidden[number % len(hidden)],)))
        produced = _produced(system, own, one, requests, heard, runs, given)
        found[one.task.task_id] = found_in([text async for text in produced])
    of_all = found_in([*_payloads(given), _page(own, tasks, runs)])
    return {task_id: len(canaries | of_all) for task_id, canaries in found.items()}


def _request(bed: Bed, asked: Asked) -> Request:
    """Return what a caller sends in this arm: the task, or every tool that it may use."""
    if not bed.arm.all_tools:
        return Request(tasks=(asked.task.task,))
    rows = bed.view.see(asked.context, bed.revocations).eligible.rows.tolist()
    return Request(tasks=(), require=tuple(bed.view.snapshot.entries[row].tool_id for row in rows))


def _payloads(given: Sequence[Selection]) -> Iterator[str]:
    """Render all tools that one caller was given for every model API, each once: a schema takes milliseconds."""
    tools = {one.tool.tool_id: one for each in given for one in each.tools}
    for api in Api if given else ():
        yield compact_json(render(replace(given[0], tools=tuple(tools.values())), api).to_json())


def _page(bed: Bed, tasks: Sequence[Asked], runs: Sequence[Run]) -> str:
    """Write the page of what ran; whoever is shown it may be a caller too."""
    fixtures = [one.task for one in tasks]
    arm, tools = ArmRuns(name=bed.arm.name, runs=tuple(runs)), facts(bed.view, fixtures)
    return page(report(fixtures, [arm], tools, catalog_version="", fixtures={}, encoding=bed.view.encoding))


def _some(entries: Sequence[CatalogEntry], visible: Collection[str], about: Collection[str]) -> list[CatalogEntry]:
    """Return what tasks are about, and of what else is visible and hidden the first, so many that a build is quick."""
    ordered = sorted(range(len(entries)), key=lambda row: (entries[row].tool_id not in about, row))
    own = [row for row in ordered if entries[row].tool_id in visible][: _TOOLS // 2]
    rest = [row for row in ordered if entries[row].tool_id not in visible][: _TOOLS - len(own)]
    return [entries[row] for row in sorted((*own, *rest))]


async def _produced(
    system: Rehearsal,
    bed: Bed,
    asked: Asked,
    requests: Sequence[Request],
    heard: Overheard,
    runs: list[Run],
    given: list[Selection],
) -> AsyncIterator[str]:
    """Yield everything that comes of one task and its requests; its run and selections are added to the lists."""
    traces: list[str] = []
    wanted = next(iter(requests[-1].tasks), "")
    with heard.listening():
        for request in requests:
            try:
                selection, _ = await system.selector.select(request, asked.context)
                call = ProposedCall(tool=wanted, arguments={}, selection_id=selection.selection_id)
                answer = await system.gatekeeper.check(call, asked.context)
            except Exception as error:  # noqa: BLE001 - whatever a fault says is read like everything else
                yield f"{type(error).__name__}: {error}"
                continue
            yield compact_json(selection.to_json())
            yield compact_json(answer.to_json())
            given.append(selection)
            traces += filter(None, (selection.trace_id, answer.trace_id))
        async for run in system.evaluator.run(bed, [asked], {}):
            runs.append(run)
            yield compact_json(run.to_json())
        await system.writer.flush()
    for trace_id in traces:
        yield (await system.store.trace(trace_id) or b"").decode()
    for text in heard.said:
        yield text


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
