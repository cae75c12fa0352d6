"""Rollouts in memory. Nothing outlives the process."""

import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pegboard.core.names import Json, canonical_json, parse_json
from pegboard.engine.guards import Tally
from pegboard.engine.rollout import Change

__all__ = ["MemoryRollout"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """One record, with the selection that it belongs to and the call that it is about, where there is one."""

    at: float
    body: bytes
    selection: Json
    call: Json


class MemoryRollout:
    """`RolloutStore` in memory. Safe from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._changes: list[Change] = []
        self._conversations: dict[str, tuple[float, int]] = {}
        self._observed: list[_Kept] = []
        self._tallies: dict[tuple[str, str, float, str], Tally] = {}

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
        written = [(at, canonical_json(body), body.get("selection_id"), body.get("call_id")) for at, body in records]
        with self._guard:
            for at, body, selection, call in written:
                selection = selection or next(iter(self._selections_of({call})), None)
                self._observed.append(_Kept(at=at, body=body, selection=selection, call=call))

    async def observed(self, since: float, limit: int) -> tuple[Mapping[str, Any], ...]:
        """Return the newest *limit* records from *since* on, oldest first."""
        with self._guard:
            found = [one.body for one in self._observed if one.at >= since]
        records: list[Any] = [parse_json(body) for body in found[max(0, len(found) - max(0, limit)) :]]
        return tuple(records)

    async def joined(
        self, selections: Collection[str], calls: Collection[str], limit: int
    ) -> tuple[Mapping[str, Any], ...]:
        """Return the first *limit* records of each of these selections and of those of these calls, oldest first."""
        found: list[Any] = []
        with self._guard:
            first = Counter[Json]()
            mine = {*selections, *self._selections_of(calls)}
            for one in self._observed:
                if one.selection in mine and first[one.selection] < limit:
                    first[one.selection] += 1
                    found.append(parse_json(one.body))
        return tuple(found)

    async def tally(self, counted: Sequence[Tally]) -> None:
        """Keep what selections gave, all or none; what the same gave before is replaced."""
        with self._guard:
            self._tallies |= {(one.namespace, one.guard, one.at, one.selection_id): one for one in counted}

    async def tallies(self, namespace: str, guard: str, since: float, limit: int) -> tuple[Tally, ...]:
        """Return what the newest *limit* selections from *since* on gave, newest first."""
        with self._guard:
            newest = (self._tallies[key] for key in sorted(self._tallies, reverse=True))
            mine = (one for one in newest if (one.namespace, one.guard) == (namespace, guard) and one.at >= since)
            return tuple(islice(mine, max(0, limit)))

    async def prune(self, before: float, limit: int) -> int:
        """Remove the oldest records, tallies and conversations from before a time, *limit* of each; say how many."""
        with self._guard:
            old = sorted((one.at, place) for place, one in enumerate(self._observed) if one.at < before)[:limit]
            gone = {place for _, place in old}
            self._observed = [one for place, one in enumerate(self._observed) if place not in gone]
            counted = sorted((one.at, key) for key, one in self._tallies.items() if one.at < before)[:limit]
            for _, key in counted:
                del self._tallies[key]
            ended = sorted((at, name) for name, (at, _) in self._conversations.items() if at < before)[:limit]
            for _, name in ended:
                del self._conversations[name]
            return len(gone) + len(counted) + len(ended)

    def _selections_of(self, calls: Collection[Json]) -> list[Json]:
        return [one.selection for one in self._observed if one.call is not None and one.call in calls and one.selection]
