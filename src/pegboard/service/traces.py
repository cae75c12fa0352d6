"""Read what happened: selections and calls, each call joined to the selection that it came from.

Source: DESIGN section 10; SURFACE `traces`.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from pegboard.engine.trace import spellings
from pegboard.service.ports import TraceStore
from pegboard.service.tracing import TraceWriter

__all__ = ["Traces", "Wanted"]

# How many ids are read at once, so that a month of traces is not held in memory.
PAGE = 10_000
SELECTION = "selection"
_CALL = "call"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which traces are asked for. Times are Unix seconds; `until` is no longer in it; what is None is not asked.

    `principal` is a name, as `RuntimeContext.principal` writes it, or what a trace holds in its place.
    """

    since: float = 0.0
    until: float | None = None
    principal: str | None = None
    outcome: str | None = None
    """The outcome of a selection, or the verdict on a call."""
    kind: str | None = None
    """`selection` or `call`."""

    def takes(self, trace: Mapping[str, Any]) -> bool:
        """Say whether a trace is one of them, whatever its time."""
        return (
            self.kind in (None, trace.get("kind"))
            and self.outcome in (None, trace.get("outcome"), trace.get("verdict"))
            and (self.principal is None or trace.get("principal") in spellings(self.principal))
        )


class Traces:
    """Reads traces, those that this process has not written yet included."""

    def __init__(self, store: TraceStore, writer: TraceWriter, lifetime_s: float) -> None:
        """Join by *lifetime_s*, after which no call can name a selection."""
        self._store = store
        self._writer = writer
        self._lifetime_s = lifetime_s

    async def newest(self, wanted: Wanted) -> AsyncGenerator[dict[str, Any], None]:
        """Read the traces that are wanted, newest first; a selection has its `calls` of that time, oldest first.

        Raises:
            StoreError: The store could not be read, or what waits could not be written.
        """
        # A call is later than its selection, so it is met before it.
        calls: dict[str, list[dict[str, Any]]] = {}
        async for body in self._bodies(wanted.since, wanted.until):
            trace = json.loads(body)
            if trace.get("kind") == SELECTION:
                trace["calls"] = calls.pop(trace["selection_id"], [])[::-1]
            elif trace.get("selection_id") is not None:
                calls.setdefault(trace["selection_id"], []).append(trace)
            if wanted.takes(trace):
                yield trace

    async def body(self, trace_id: str) -> bytes | None:
        """Read one trace as it was written, None where there is none. Raises as `one` does."""
        await self._writer.flush()
        return await self._store.trace(trace_id)

    async def one(self, trace_id: str) -> dict[str, Any] | None:
        """Read one trace, None where there is none; a selection has its `calls`, oldest first, a call its `selection`.

        Raises:
            StoreError: The store could not be read, or what waits could not be written.
        """
        body = await self.body(trace_id)
        if body is None:
            return None
        trace: dict[str, Any] = json.loads(body)
        if trace.get("kind") == SELECTION:
            return {**trace, "calls": (await self._of(trace["selection_id"], trace["at"], _CALL))[::-1]}
        if trace.get("selection_id") is None:
            return trace
        found = await self._of(trace["selection_id"], trace["at"] - self._lifetime_s, SELECTION)
        return {**trace, "selection": found[0] if found else None}

    async def _of(self, selection_id: str, since: float, kind: str) -> list[dict[str, Any]]:
        """Read what is on record of one selection. No index leads there: an operator looks, a request never does."""
        wanted, needle = Wanted(kind=kind), json.dumps(selection_id, ensure_ascii=False).encode()
        near = [json.loads(one) async for one in self._bodies(since, since + self._lifetime_s + 1.0) if needle in one]
        return [one for one in near if wanted.takes(one) and one["selection_id"] == selection_id]

    async def _bodies(self, since: float, until: float | None) -> AsyncIterator[bytes]:
        await self._writer.flush()
        skip = 0
        while page := await self._store.traces(PAGE, since=since, until=until, skip=skip):
            for trace_id, _ in page:
                # One that was pruned meanwhile is no longer there.
                if (body := await self._store.trace(trace_id)) is not None:
                    yield body
            skip += len(page)
