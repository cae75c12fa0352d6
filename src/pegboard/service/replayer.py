"""Replay stored traces: fetch what each was made from, and run it again (law 8)."""

import json
from collections.abc import Sequence

from pegboard.core.errors import ConfigError, StoreError
from pegboard.core.revocations import Revocations
from pegboard.engine.asking import SelectionSettings
from pegboard.engine.records import policy_of, revocations_of, settings_of
from pegboard.engine.trace import Replay, Trace, replay
from pegboard.engine.view import View
from pegboard.service.ports import TraceStore
from pegboard.service.published import EMPTY, Catalog

__all__ = ["Replayer"]


class Replayer:
    """Runs traces again on their own catalog, policy and settings versions."""

    def __init__(self, catalog: Catalog, traces: TraceStore) -> None:
        self._catalog = catalog
        self._traces = traces
        self._views: dict[tuple[str, str], View] = {}

    async def trace(self, trace_id: str) -> Trace:
        """Fetch one trace.

        Raises:
            ConfigError: There is no such trace, or it is not the trace of a selection.
        """
        body = await self._traces.trace(trace_id)
        if body is None:
            raise ConfigError(problem=f"no trace {trace_id!r}", fix="`pegboard traces list` names those that are kept")
        try:
            return Trace.from_json(json.loads(body))
        except ValueError as error:
            raise ConfigError(problem=f"trace {trace_id!r} cannot be replayed: {error}") from None

    async def replay(self, trace_ids: Sequence[str]) -> tuple[Replay, ...]:
        """Run traces again.

        Raises:
            ConfigError: One is not there.
            StoreError: What one was made from is no longer kept.
        """
        return tuple([await self._one(await self.trace(trace_id)) for trace_id in trace_ids])

    async def _one(self, trace: Trace) -> Replay:
        return replay(
            trace,
            await self._view(trace),
            await self._revocations(trace),
            await self._settings(trace),
            self._catalog.deployment.packages,
        )

    async def _view(self, trace: Trace) -> View:
        key = (trace.versions.catalog, trace.versions.policy)
        if key not in self._views:
            number = int(trace.versions.catalog.partition("-")[0])
            snapshot = await self._catalog.snapshots.load(number) if number else EMPTY
            policy = policy_of(json.loads(await self._document("policy", trace.versions.policy)))
            # The last one alone: traces that are replayed together mostly share it, and a view may be large.
            self._views = {key: await self._catalog.view(snapshot, policy, index=trace.versions.index is not None)}
        return self._views[key]

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
