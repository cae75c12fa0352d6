"""The operators' stream in a list. The same chain as on disk; nothing outlives the process."""

import threading
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from pegboard.adapters.store_errors import refused
from pegboard.core.chain import START, chained
from pegboard.core.names import Json, canonical_json, parse_json
from pegboard.service.ports import AuditEvent

__all__ = ["MemoryAudit"]


class MemoryAudit:
    """`AuditStore` in memory. Safe from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._events: list[AuditEvent] = []
        self._removed = 0

    async def append(self, events: Sequence[tuple[float, str, Mapping[str, Json]]]) -> int:
        """Write events as (time, kind, body), all or none; return the last one's number."""
        with self._guard:
            new: list[AuditEvent] = []
            last = self._events[-1].hash if self._events else START
            for number, (at, kind, body) in enumerate(events, self._removed + len(self._events) + 1):
                try:
                    last = chained(last, number, at, kind, body)
                    # What a file would give back.
                    kept: Any = parse_json(canonical_json(body))
                except ValueError as error:
                    raise refused(f"the event {kind!r} cannot be written: {error}") from error
                new.append(AuditEvent(number=number, at=at, kind=kind, body=kept, hash=last))
            self._events += new
            return self._removed + len(self._events)

    async def events(self, after: int, limit: int) -> tuple[AuditEvent, ...]:
        """Return the events that follow number *after*, oldest first."""
        with self._guard:
            return tuple(self._events[max(0, after - self._removed) :][: max(0, limit)])

    async def older(self, before: float) -> AuditEvent | None:
        """Return the last of the events that stand before the first one from *before* on, never the newest of all."""
        with self._guard:
            old = list(takewhile(lambda one: one.at < before, self._events[:-1]))
            return old[-1] if old else None

    async def forget(self, through: int) -> int:
        """Remove the events up to that number, the newest never; say how many."""
        with self._guard:
            count = max(0, min(through - self._removed, len(self._events) - 1))
            del self._events[:count]
            self._removed += count
            return count
