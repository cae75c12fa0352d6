"""Answer a live request: read once, select, put on record.

The selection and its trace are stored before the answer returns, so that a later call can be bound to it.
"""

from dataclasses import dataclass

from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json, canonical_json
from pegboard.core.revocations import Revocations
from pegboard.core.text import well_formed
from pegboard.engine.asking import Ask
from pegboard.engine.explain import Explanation, explain
from pegboard.engine.records import revocations_record
from pegboard.engine.select import select
from pegboard.engine.selection import Selection
from pegboard.engine.trace import Versions, trace_of
from pegboard.engine.view import Seen
from pegboard.retrieval.query import analyse
from pegboard.service.ports import StoredSelection, TraceStore
from pegboard.service.published import Catalog, Published

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


class Selector:
    """Makes selections over what is published."""

    def __init__(self, catalog: Catalog, traces: TraceStore) -> None:
        self._catalog = catalog
        self._traces = traces
        self._kept: set[str] = set()

    async def select(self, request: Request, context: RuntimeContext) -> tuple[Selection, dict[str, Json]]:
        """Select for one caller.

        Returns:
            The selection, which may be shown to the caller, and the operator's part, which may not.

        Raises:
            LockError: The lock cannot be read.
            StoreError: The store cannot be read, or the selection cannot be put on record.
        """
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
            selection_id=clock.new_id("sel"),
            trace_id=clock.new_id("tr"),
        )
        timings = {"analyse_ms": (analysed - began) * 1e3, "select_ms": (clock.ticks() - analysed) * 1e3}
        versions = published.versions(revocations, deployment.packages)
        now = clock.now()
        trace = trace_of(
            selection,
            ask,
            published.view,
            record=deployment.record,
            tasks=request.tasks,
            versions=versions,
            context=context,
            revocations=revocations,
            at=now,
            timings=timings,
        )
        await self._keep_revocations(versions.revocations, revocations)
        stored = StoredSelection(
            selection_id=selection.selection_id,
            principal=context.identity,
            expires_at=now + deployment.selection_lifetime_s,
            tools={one.alias: (one.tool.tool_id, one.tool.schema_hash) for one in selection.tools},
        )
        await self._traces.save_selection(stored, selection.trace_id, now, canonical_json(trace.to_json()))
        return selection, _operator(published, versions, published.view.see(context, revocations))

    async def explain(self, request: Request, context: RuntimeContext, tool: str | None = None) -> Explanation:
        """Say, to an operator, how many tools each check removed and why one tool is or is not there."""
        published, revocations = await self._catalog.current(), await self._catalog.revocations()
        ask = await self._asked(request, published)
        return explain(ask, published.view, context, revocations, self._catalog.deployment.selection, tool)

    async def _asked(self, request: Request, published: Published) -> Ask:
        """Analyse the tasks, with the vectors that the index can compare."""
        index = published.view.index
        vectors = await self._catalog.encoders.tasks(request.tasks, tuple(index.channels) if index else ())
        return Ask(
            query=analyse(request.tasks, vectors),
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
