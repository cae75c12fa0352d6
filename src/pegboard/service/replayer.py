"""Replay stored traces: fetch what each was made from, and run it again, on that or on something else (law 8)."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from pegboard.core.errors import ConfigError, StoreError
from pegboard.core.lock import Lock
from pegboard.core.policy import Policy
from pegboard.core.revocations import Revocations
from pegboard.engine.asking import Ask, SelectionSettings
from pegboard.engine.comparing import Replay, replay, replay_against
from pegboard.engine.records import policy_of, revocations_of, settings_of
from pegboard.engine.trace import Trace
from pegboard.engine.view import View
from pegboard.service.composing import EMPTY
from pegboard.service.published import Catalog
from pegboard.service.traces import SELECTION, Traces, Wanted

__all__ = ["Against", "Replayer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """What is taken in place of what a trace was made with; the rest stays its own."""

    catalog: int | None = None
    """The number of a catalog version."""
    lock: Lock | None = None
    policy: bool = False
    """Today's access templates, dimensions and switches; the lock is the trace's own unless another is named."""
    settings: bool = False
    """Today's settings of selections."""
    model: bool = False
    """Today's encoders; only a trace that kept its task can be asked again with others."""

    def __bool__(self) -> bool:
        return self != Against()


class Replayer:
    """Runs traces again."""

    def __init__(self, catalog: Catalog, traces: Traces) -> None:
        self._catalog = catalog
        self._traces = traces
        self._views: dict[tuple[object, ...], View] = {}

    async def trace(self, trace_id: str) -> Trace:
        """Fetch one trace.

        Raises:
            ConfigError: There is no such trace, or it is not the trace of a selection.
        """
        body = await self._traces.body(trace_id)
        if body is None:
            raise ConfigError(problem=f"no trace {trace_id!r}", fix="`pegboard traces list` names those that are kept")
        try:
            return Trace.from_json(json.loads(body))
        except ValueError as error:
            raise ConfigError(problem=f"trace {trace_id!r} cannot be replayed: {error}") from None

    async def replay(self, trace_ids: Sequence[str], against: Against = Against()) -> tuple[Replay, ...]:
        """Run traces again.

        Raises:
            ConfigError: One is not there.
            StoreError: What one was made from is no longer kept.
        """
        return tuple([await self._one(await self.trace(trace_id), against) for trace_id in trace_ids])

    async def replay_all(self, wanted: Wanted, against: Against = Against()) -> AsyncIterator[tuple[Trace, Replay]]:
        """Run every selection that is wanted again, newest first.

        Raises:
            StoreError: What one was made from is no longer kept.
        """
        async for found in self._traces.newest(replace(wanted, kind=SELECTION)):
            trace = Trace.from_json(found)
            yield trace, await self._one(trace, against)

    async def _one(self, trace: Trace, against: Against) -> Replay:
        revocations = await self._revocations(trace)
        view = await self._view(trace, against)
        if not against:
            return replay(trace, view, revocations, await self._settings(trace), self._catalog.deployment.packages)
        settings = self._catalog.deployment.selection if against.settings else await self._settings(trace)
        return replay_against(trace, await self._ask(trace, view, against), view, revocations, settings)

    async def _ask(self, trace: Trace, view: View, against: Against) -> Ask | None:
        """Return the ranking input, made anew of the task where its vectors are of a model that is not here."""
        same = trace.versions.models == self._catalog.encoders.models(view.index)
        if trace.ask is None or (same and not against.model):
            return trace.ask
        if trace.tasks is None:
            return None
        return replace(trace.ask, query=await self._catalog.encoders.query(trace.tasks, view.index))

    async def _view(self, trace: Trace, against: Against) -> View:
        number = int(trace.versions.catalog.partition("-")[0]) if against.catalog is None else against.catalog
        lock = None if against.lock is None else against.lock.digest
        key = (number, trace.versions.policy, lock, against.policy, trace.versions.index is not None)
        if key not in self._views:
            snapshot = await self._catalog.snapshots.load(number) if number else EMPTY
            policy = await self._policy(trace, against)
            # The last one alone: traces that are replayed together mostly share it, and a view may be large.
            self._views = {key: await self._catalog.view(snapshot, policy, index=trace.versions.index is not None)}
        return self._views[key]

    async def _policy(self, trace: Trace, against: Against) -> Policy:
        record = json.loads(await self._document("policy", trace.versions.policy))
        own = policy_of(record, await self._catalog.locks.read(record["lock"]))
        lock = own.lock if against.lock is None else against.lock
        return self._catalog.policy(lock) if against.policy else replace(own, lock=lock)

    async def _revocations(self, trace: Trace) -> Revocations:
        targets = json.loads(await self._document("revocations", trace.versions.revocations))
        return revocations_of(targets, trace.revocations_as_of)

    async def _settings(self, trace: Trace) -> SelectionSettings:
        return settings_of(json.loads(await self._document("settings", trace.versions.settings)))

    async def _document(self, kind: str, digest: str) -> bytes:
        body = await self._catalog.policies.document(kind, digest)
        if body is None:
            raise StoreError(problem=f"the {kind} {digest} of this trace is no longer kept")
        return body
