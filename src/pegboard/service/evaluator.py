"""Evaluate: ask labelled tasks of several arms, all in one run, and note what each gave.

An arm is a way to select: the deployment's own settings, all tools, or what `[arms.NAME]` changes of them, the catalog,
the lock, the policies and the encoders among it. Nothing here is put on record, and nothing that is served is touched.

Source: DESIGN section 11.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from anyio import to_thread

from pegboard.core.catalog import CatalogEntry
from pegboard.core.context import RuntimeContext
from pegboard.core.layer import Layer
from pegboard.core.lock import Lock
from pegboard.core.names import Json, compact_json
from pegboard.core.policy import AccessTemplate
from pegboard.core.revocations import Revocations
from pegboard.core.snapshot import Snapshot
from pegboard.engine.asking import Ask, SelectionSettings
from pegboard.engine.schemas import Compiled, Validators
from pegboard.engine.select import select
from pegboard.engine.selection import Outcome, Selection, Why
from pegboard.engine.view import Seen, View
from pegboard.evaluation.fixtures import Fixture
from pegboard.evaluation.measures import MEASURES, measured
from pegboard.evaluation.runs import KEPT_RANKS, Run
from pegboard.evaluation.sweeps import Point
from pegboard.providers.capabilities import Api
from pegboard.providers.rendering import render
from pegboard.retrieval.query import Query, analyse
from pegboard.service.encoding import Encoders
from pegboard.service.models import Calling, Hand, ModelServer, in_the_loop, recorded
from pegboard.service.published import Catalog
from pegboard.service.ranked import ranked

__all__ = ["Arm", "Asked", "Bed", "Calls", "Evaluator"]

_RANKED = frozenset({Why.RANKED, Why.EXACT})
_SWEPT = [one for name in ("candidate_recall", "definition_tokens") for one in MEASURES if one.name == name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A way to select. `said` is what a report says of its settings."""

    name: str
    selection: SelectionSettings
    all_tools: bool = False
    """Everything eligible is served, whatever the task."""
    version: int | None = None
    """The number of a former catalog version; None: what is served now."""
    entries: tuple[CatalogEntry, ...] | None = None
    """The tools of another catalog in place of those that are served."""
    lock: Lock | None = None
    """Another lock than the present one."""
    templates: Mapping[str, AccessTemplate] | None = None
    """Other access templates than the deployment's."""
    layers: tuple[Layer, ...] | None = None
    """The policies beside the attributes, none or one, in place of the deployment's; None: the deployment's own."""
    encoders: Encoders | None = None
    """What ranks beside words, in place of the deployment's."""
    target: Api | None = None
    """The model API that definitions are counted for; None: as MCP lists them."""
    said: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bed:
    """What an arm selects from."""

    arm: Arm
    view: View
    revocations: Revocations
    catalog: Catalog
    """What made the view, and encodes tasks for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A task with the context that it is asked in."""

    task: Fixture
    context: RuntimeContext


Calls = Callable[[Asked], Calling]
"""Says what answers the calls that a model makes for a task."""


class Evaluator:
    """Runs arms over labelled tasks."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._validators = Validators()

    async def bed(self, arm: Arm) -> Bed:
        """Prepare what an arm selects from.

        Raises:
            StoreError: There is no such catalog version.
        """
        view, revocations = (await self._catalog.current()).view, await self._catalog.revocations()
        snapshot, policy, catalog = view.snapshot, view.policy, self._catalog
        if arm.version is not None:
            snapshot = await catalog.snapshots.load(arm.version)
        if arm.entries is not None:
            snapshot = Snapshot.of(snapshot.number + 1, arm.entries)
        if arm.lock is not None:
            policy = replace(policy, lock=arm.lock)
        if arm.templates is not None:
            policy = replace(policy, templates=arm.templates)
        if arm.layers is not None:
            policy = replace(policy, layer=next(iter(arm.layers), None))
        if arm.encoders is not None:
            catalog = catalog.ranked_by(arm.encoders)
        if (snapshot, policy, catalog) != (view.snapshot, view.policy, self._catalog):
            view = await catalog.view(snapshot, policy, index=True)
        return Bed(arm=arm, view=view, revocations=revocations, catalog=catalog)

    async def run(
        self,
        bed: Bed,
        tasks: Sequence[Asked],
        done: Mapping[str, Run],
        model: ModelServer | None = None,
        calls: Calls = lambda asked: recorded(asked.task),
    ) -> AsyncIterator[Run]:
        """Yield a run of each task in order; those of *done* are given back as they are.

        The others are put to *model*, and *calls* says what answers the calls that it makes for a task.
        """
        for asked in tasks:
            run = done.get(asked.task.task_id)
            yield await self._one(bed, asked, model, calls) if run is None else run

    async def sweep(
        self, bed: Bed, tasks: Sequence[Asked], setting: str, values: Sequence[float]
    ) -> AsyncIterator[Point]:
        """Yield what each of *values* for one setting of the arm came to; a task is encoded once."""
        queries = [await self._query(bed, asked.task.task) for asked in tasks]
        fixtures = [asked.task for asked in tasks]
        for value in values:
            changed: dict[str, Any] = {setting: value}
            settings = replace(bed.arm.selection, **changed)
            other = replace(bed, arm=replace(bed.arm, selection=settings))
            runs = [
                await to_thread.run_sync(partial(self._selected, other, asked, query, 0.0))
                for asked, query in zip(tasks, queries, strict=True)
            ]
            recall, tokens = (measured(one, fixtures, runs).value for one in _SWEPT)
            yield Point(setting=setting, value=value, candidate_recall=recall, tokens=tokens)

    async def _one(self, bed: Bed, asked: Asked, model: ModelServer | None, calls: Calls) -> Run:
        clock = self._catalog.clock
        began = clock.ticks()
        query = await self._query(bed, asked.task.task)
        analysed = clock.ticks() - began
        run = await to_thread.run_sync(lambda: self._selected(bed, asked, query, analysed))
        if model is None:
            return run
        return await in_the_loop(model, self._hand(bed, asked, query, calls(asked)), run, clock.ticks)

    def _hand(self, bed: Bed, asked: Asked, query: Query, call: Calling) -> Hand:
        view, revocations = bed.view, _narrowed(bed, asked.task)
        seen = view.see(asked.context, revocations)
        ids = _ids(view, seen.eligible.rows.tolist())
        # All tools are what nothing but their names asks for.
        ask = Ask(query=analyse(()), require=ids) if bed.arm.all_tools else Ask(query=query)

        async def find(task: str, limit: int | None, loaded: Sequence[str]) -> Selection:
            more = Ask(query=await self._query(bed, task), limit=limit, loaded=tuple(loaded))
            return self._select(bed, more, asked.context, revocations)

        def schema(tool: str) -> Compiled | None:
            entry = view.snapshot.get(tool)
            return None if entry is None else self._validators.of(entry)

        return Hand(
            task=asked.task,
            selection=self._select(bed, ask, asked.context, revocations),
            namespaces={view.snapshot.entries[row].namespace for row in seen.eligible.rows.tolist()},
            find=find,
            schema=schema,
            call=call,
        )

    async def _query(self, bed: Bed, task: str) -> Query:
        return await bed.catalog.encoders.query((task,), None if bed.arm.all_tools else bed.view.index)

    def _selected(self, bed: Bed, asked: Asked, query: Query, analysed_s: float) -> Run:
        clock = self._catalog.clock
        revocations = _narrowed(bed, asked.task)
        began = clock.ticks()
        seen = bed.view.see(asked.context, revocations)
        if bed.arm.all_tools:
            return _everything(bed.view, seen, asked.task, (clock.ticks() - began) * 1e3)
        view, ranking = ranked(bed.view, seen, query, max(KEPT_RANKS, bed.arm.selection.limit))
        selection = self._select(replace(bed, view=view), Ask(query=query), asked.context, revocations)
        took_ms = (clock.ticks() - began + analysed_s) * 1e3
        tokens, all_tokens = self._tokens(bed.arm, selection), view.all_tokens(seen)
        return Run(
            task_id=asked.task.task_id,
            outcome=str(selection.outcome),
            cause=None if selection.cause is None else str(selection.cause),
            loaded=tuple(one.tool.tool_id for one in selection.tools),
            ranked=tuple(one.tool.tool_id for one in selection.tools if one.why in _RANKED),
            ranking=None if ranking is None else _ids(view, ranking.rows[:KEPT_RANKS].tolist()),
            tokens=tokens,
            # Of everything eligible only the form of MCP was counted beforehand.
            tokens_all_tools=all_tokens if bed.arm.target is None else None,
            eligible=seen.eligible.count,
            fits=selection.confidence.fits,
            ms=took_ms,
        )

    def _select(self, bed: Bed, ask: Ask, context: RuntimeContext, revocations: Revocations) -> Selection:
        ids = {"selection_id": "sel_evaluation", "trace_id": "tr_evaluation"}
        return select(ask, bed.view, context, revocations, bed.arm.selection, **ids)

    def _tokens(self, arm: Arm, selection: Selection) -> int:
        if arm.target is None:
            return sum(one.tokens for one in selection.tools)
        payload = render(selection, arm.target).payload["tools"]
        return self._catalog.deployment.count_tokens(compact_json(payload)) if payload else 0


def _narrowed(bed: Bed, task: Fixture) -> Revocations:
    """Let nothing but the task's candidates be eligible, where it names some: the others count as revoked."""
    if task.candidates is None:
        return bed.revocations
    others = {entry.tool_id for entry in bed.view.snapshot.entries} - task.candidates
    return replace(bed.revocations, targets=bed.revocations.targets | others)


def _ids(view: View, rows: Sequence[int]) -> tuple[str, ...]:
    return tuple(view.snapshot.entries[row].tool_id for row in rows)


def _everything(view: View, seen: Seen, task: Fixture, ms: float) -> Run:
    """Note what all tools are: each of them stands before the model, as if it had been ranked there."""
    ids = _ids(view, seen.eligible.rows.tolist())
    tokens = view.all_tokens(seen)
    return Run(
        task_id=task.task_id,
        outcome=str(Outcome.ALL_TOOLS),
        loaded=ids,
        ranked=ids,
        tokens=tokens,
        tokens_all_tools=tokens,
        eligible=len(ids),
        ms=ms,
    )
