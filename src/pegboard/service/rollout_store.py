"""The port of a rollout: its history, where conversations began, what was observed and what that adds up to."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from pegboard.core.names import Json
from pegboard.engine.guards import Tally
from pegboard.engine.rollout import Change

__all__ = ["RolloutStore"]


class RolloutStore(Protocol):
    """The history of changes, and what was observed. For operators alone. Every method may raise StoreError."""

    async def changes(self, after: int = 0) -> tuple[Change, ...]:
        """Return the changes that follow number *after*, oldest first."""

    async def change(self, change: Change) -> bool:
        """Put a change on record, durably, before returning; False where its number is not the next one."""

    async def began(self, conversation: str, number: int, at: float) -> int:
        """Return the number under which a conversation began: this one, where it is new."""

    async def observe(self, records: Sequence[tuple[float, Mapping[str, Json]]]) -> None:
        """Keep records as (time, body), all or none, each with the `selection_id` and the `call_id` of its body.

        One that has only a call belongs to the selection of the record that has both.
        """

    async def observed(self, since: float, limit: int) -> tuple[Mapping[str, Any], ...]:
        """Return the newest *limit* records from *since* on, oldest first."""

    async def joined(
        self, selections: Collection[str], calls: Collection[str], limit: int
    ) -> tuple[Mapping[str, Any], ...]:
        """Return the first *limit* records of each of these selections and of those of these calls, oldest first."""

    async def tally(self, counted: Sequence[Tally]) -> None:
        """Keep what selections gave, all or none; what the same gave before is replaced."""

    async def tallies(self, namespace: str, guard: str, since: float, limit: int) -> tuple[Tally, ...]:
        """Return what the newest *limit* selections from *since* on gave, newest first."""

    async def prune(self, before: float, limit: int) -> int:
        """Remove the oldest records, tallies and conversations from before a time, *limit* of each; say how many."""
