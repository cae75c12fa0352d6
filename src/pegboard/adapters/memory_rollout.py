"""Rollouts in memory. Nothing outlives the process."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from pegboard.core.names import Json, canonical_json, parse_json
from pegboard.engine.rollout import Change

__all__ = ["MemoryRollout"]


class MemoryRollout:
    """`RolloutStore` in memory. Safe from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._changes: list[Change] = []
        self._conversations: dict[str, tuple[float, int]] = {}
        self._observed: list[tuple[float, bytes]] = []

    async def changes(self, after: int = 0) -> tuple[Change, ...]:
        """Return the changes that follow number *after*, oldest first."""
        with self._guard:
            return tuple(self._changes[max(0, after) :])

    async def change(self, change: Change) -> bool:
        """Put a change on record; False where its number is not the next one."""
        with self._guard:
            if change.number != len(self._changes) + 1:
                return False
            self._changes.append(change)
            return True

    async def began(self, conversation: str, number: int, at: float) -> int:
        """Return the number under which a conversation began: this one, where it is new."""
        with self._guard:
            return self._conversations.setdefault(conversation, (at, number))[1]

    async def observe(self, records: Sequence[tuple[float, Mapping[str, Json]]]) -> None:
        """Keep records as (time, body), all or none."""
        written = [(at, canonical_json(body)) for at, body in records]
        with self._guard:
            self._observed += written

    async def observed(self, since: float, limit: int) -> tuple[Mapping[str, Any], ...]:
        """Return the newest *limit* records from *since* on, oldest first."""
        with self._guard:
            found = [body for at, body in self._observed if at >= since]
        records: list[Any] = [parse_json(body) for body in found[max(0, len(found) - max(0, limit)) :]]
        return tuple(records)

    async def prune(self, before: float, limit: int) -> int:
        """Remove the oldest records and conversations from before a time, at most *limit* of each; say how many."""
        with self._guard:
            old = sorted((at, place) for place, (at, _) in enumerate(self._observed) if at < before)[:limit]
            gone = {place for _, place in old}
            self._observed = [one for place, one in enumerate(self._observed) if place not in gone]
            ended = sorted((at, name) for name, (at, _) in self._conversations.items() if at < before)[:limit]
            for _, name in ended:
                del self._conversations[name]
            return len(gone) + len(ended)
