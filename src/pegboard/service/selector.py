"""Answer a live request: read once, select, put on record.

The selection is stored before the answer returns, so that a later call can be bound to it; its trace is written
behind. Of namespaces that the production path still decides (`engine/rollout.py`) nothing is served, and what would
have been is observed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json, canonical_json, compact_json
from pegboard.core.revocations import Revocations
from pegboard.core.text import well_formed
from pegboard.engine.asking import Ask
from pegboard.engine.explain import Explanation, explain
from pegboard.engine.records import revocations_record
from pegboard.engine.rollout import left_to_production
from pegboard.engine.select import select
from pegboard.engine.selection import Selection
from pegboard.engine.trace import Trace, Versions, trace_of
from pegboard.engine.view import Seen
from pegboard.service.observer import Observer, Offered
from pegboard.service.ports import StoredSelection, TraceStore
from pegboard.service.published import Catalog, Published
from pegboard.service.rollout import Rollouts
from pegboard.service.telemetry import QUIET, Key, Measure, Operation, Telemetry, Value
from pegboard.service.tracing import TraceWriter

__all__ = ["Request", "Selector"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a caller asks. Several tasks are sub-tasks; `require` and `loaded` are tool ids.

    Half a surrogate pair, which no store and no wire takes, is replaced in every text.
    """

    tasks: tuple[str, ...]
    limit: int | None = None
    budget_tokens: int | None = None
    require: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()
    answer_without_tool: bool = False

    def __post_init__(self) -> None:
        """Make every text one that can be written down."""
        for name in ("tasks", "require", "loaded"):
            object.__setattr__(self, name, tuple(map(well_formed, getattr(self, name))))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """A whole selection, whoever is given it, and what it was made of."""

    selection: Selection
    trace: Trace
    published: Published
    versions: Versions
    seen: Seen
    revocations: Revocations
    ms: float

    def namespaces(self, loaded: Iterable[str]) -> dict[str, str]:
        """Return the namespace of each tool that was selected, or is loaded."""
        tools = {*(one.tool.tool_id for one in self.selection.tools), *loaded}
        snapshot = self.published.view.snapshot
        return {tool: entry.namespace for tool in tools if (entry := snapshot.get(tool)) is not None}

    def offered(self, request: Request, context: RuntimeContext) -> Offered:
        """Return what of it is observed."""
        return Offered(
            selection=self.selection,
            view=self.published.view,
            context=context,
            revocations=self.revocations,
            loaded=request.loaded,
            seen=self.seen,
            ms=self.ms,
        )


class Selector:
    """Makes selections over what is published."""

    def __init__(
        self,
        catalog: Catalog,
        traces: TraceStore,
        writer: TraceWriter,
        rollouts: Rollouts,
        observer: Observer,
        telemetry: Telemetry = QUIET,
    ) -> None:
        self._catalog = catalog
        self._traces = traces
        self._writer = writer
        self._rollouts = rollouts
        self._observer = observer
        self._telemetry = telemetry
        self._kept: set[str] = set()

    async def select(
        self, request: Request, context: RuntimeContext, conversation: str | None = None
    ) -> tuple[Selection, dict[str, Json]]:
        """Select for one caller.

        Args:
            request: What is asked.
            context: For whom.
            conversation: The application's own name of the conversation, by which a canary is chosen, else by caller.

        Returns:
            The selection, which may be shown to the caller, and the operator's part, which may not.

        Raises:
            LockError: The lock cannot be read.
            StoreError: The store cannot be read, or the selection cannot be put on record.
        """
        began = self._catalog.clock.ticks()
        with self._telemetry.span(Operation.SELECT, None, {Key.OPERATION: Operation.SELECT.value}) as span:
            selection, made = await self._selected(request, context, conversation)
            span.note(_noted(selection, made.versions))
        self._telemetry.measure(
            Measure.SELECT_DURATION, self._catalog.clock.ticks() - began, {Key.OUTCOME: selection.outcome.value}
        )
        return selection, _operator(made.published, made.versions, made.seen)

    async def shadow(
        self, selection_id: str, request: Request, context: RuntimeContext, listed: Sequence[str] | None
    ) -> None:
        """Make the selection that would have been served beside production; nobody is given it, it is only observed.

        Raises:
            LockError: The lock cannot be read.
            StoreError: The store cannot be read.
        """
        sides = await self._rollouts.sides(context)
        made = await self._made(selection_id, request, context)
        self._observer.offered(made.offered(request, context), sides=sides, served=frozenset(), listed=listed)
        await self._on_record(made, {"shadow": True})

    async def explain(self, request: Request, context: RuntimeContext, tool: str | None = None) -> Explanation:
        """Say, to an operator, how many tools each check removed and why one tool is or is not there."""
        published, revocations = await self._catalog.current(), await self._catalog.revocations()
        ask = await self._asked(request, published)
        return explain(ask, published.view, context, revocations, self._catalog.deployment.selection, tool)

    async def _selected(
        self, request: Request, context: RuntimeContext, conversation: str | None
    ) -> tuple[Selection, _Made]:
        """Select, leave to production what is its own, and keep what is served."""
        sides = await self._rollouts.sides(context, conversation)
        made = await self._made(self._catalog.clock.new_id("sel"), request, context)
        selection, rollout = made.selection, dict[str, Json]()
        if sides is not None:
            namespaces = made.published.view.namespaces(made.seen)
            served = frozenset(filter(sides.serves, namespaces))
            self._observer.offered(made.offered(request, context), sides=sides, served=served)
            known = made.namespaces(request.loaded)
            selection = left_to_production(selection, set(namespaces) - served, known, request.loaded)
            rollout = {"number": sides.now.number, "production": list(selection.production)}
        stored = StoredSelection(
            selection_id=selection.selection_id,
            principal=context.identity,
            expires_at=self._catalog.clock.now() + self._catalog.deployment.selection_lifetime_s,
            tools={one.alias: (one.tool.tool_id, one.tool.schema_hash) for one in selection.tools},
        )
        await self._traces.save_selection(stored)
        await self._on_record(made, rollout)
        return selection, made

    async def _on_record(self, made: _Made, rollout: dict[str, Json]) -> None:
        """Hand the trace of the whole selection on, with the side that its caller was on."""
        trace = made.trace.to_json() | ({"rollout": rollout} if rollout else {})
        await self._writer.put(made.trace.trace_id, made.trace.at, compact_json(trace).encode(), keep=False)

    async def _made(self, selection_id: str, request: Request, context: RuntimeContext) -> _Made:
        """Select of everything that is eligible."""
        clock, deployment = self._catalog.clock, self._catalog.deployment
        published, revocations = await self._catalog.current(), await self._catalog.revocations()
        began = clock.ticks()
        ask = await self._asked(request, published)
        analysed = clock.ticks()
        selection = select(
            ask,
            published.view,
            context,
            revocations,
            deployment.selection,
            selection_id=selection_id,
            trace_id=clock.new_id("tr"),
        )
        ended = clock.ticks()
        versions = replace(
            published.versions(revocations, deployment.packages),
            models=self._catalog.encoders.models(published.view.index),
        )
        trace = trace_of(
            selection,
            ask,
            published.view,
            record=deployment.record,
            naming=deployment.naming,
            tasks=request.tasks,
            versions=versions,
            context=context,
            revocations=revocations,
            at=clock.now(),
            timings={"analyse_ms": (analysed - began) * 1e3, "select_ms": (ended - analysed) * 1e3},
        )
        await self._keep_revocations(versions.revocations, revocations)
        return _Made(
            selection=selection,
            trace=trace,
            published=published,
            versions=versions,
            seen=published.view.see(context, revocations),
            revocations=revocations,
            ms=(ended - began) * 1e3,
        )

    async def _asked(self, request: Request, published: Published) -> Ask:
        return Ask(
            query=await self._catalog.encoders.query(request.tasks, published.view.index),
            limit=request.limit,
            budget_tokens=request.budget_tokens,
            require=request.require,
            loaded=request.loaded,
            answer_without_tool=request.answer_without_tool,
        )

    async def _keep_revocations(self, digest: str, revocations: Revocations) -> None:
        """Keep what was revoked, which replay reads; once, since keeping waits for the disk."""
        if digest not in self._kept:
            await self._catalog.policies.keep("revocations", digest, canonical_json(revocations_record(revocations)))
            self._kept.add(digest)


def _noted(selection: Selection, versions: Versions) -> dict[Key, Value]:
    """Return what a span tells of a selection: nothing but what its caller was given, and versions."""
    found: dict[Key, Value] = {
        Key.DATA_SOURCE: "catalog",
        Key.CATALOG: versions.catalog,
        Key.POLICY: versions.policy,
        Key.OUTCOME: selection.outcome.value,
        Key.SELECTED: [one.tool.tool_id for one in selection.tools],
        Key.SELECTION_ID: selection.selection_id,
        Key.TRACE_ID: selection.trace_id,
    }
    return found if selection.cause is None else {**found, Key.FALLBACK: selection.cause.value}


def _operator(published: Published, versions: Versions, seen: Seen) -> dict[str, Json]:
    """Tell an operator what the caller must not learn, and what loading every eligible tool would have cost."""
    return {
        "catalog_version": versions.catalog,
        "policy_version": versions.policy,
        "lock_version": versions.lock,
        "index_version": versions.index,
        "waiting": published.waiting,
        "fix": _fix(published),
        "all_eligible": {"tools": seen.eligible.count, "tokens": published.view.all_tokens(seen)},
    }


def _fix(published: Published) -> str | None:
    """Name what an operator should run next, None where nothing waits.

    Which of the waiting tools have a complete proposal is for `classify` to find out: a request does not read them.
    """
    if published.head is None:
        return "`pegboard refresh`"
    return "`pegboard classify`, then `pegboard review`" if published.waiting else None
