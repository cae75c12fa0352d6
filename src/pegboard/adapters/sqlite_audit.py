"""The operators' stream in SQLite: one row an event, each chained to the one before, none ever changed.

Several processes may write: each takes the write lock before it reads the newest event.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from pegboard.adapters.sqlite_lanes import Lanes
from pegboard.adapters.sqlite_rows import checked, pack, unpack
from pegboard.adapters.sqlite_schema import writing
from pegboard.adapters.store_errors import damaged, refused
from pegboard.core.chain import START, chained
from pegboard.core.names import Json, canonical_json, parse_json
from pegboard.service.ports import AuditEvent

__all__ = ["SELECT_EVENT", "SqliteAudit", "read_event"]

SELECT_EVENT = "SELECT number, at, kind, body, hash FROM audit"
_OLDER = (
    f"{SELECT_EVENT} WHERE number < coalesce((SELECT min(number) FROM audit WHERE at >= ?),"  # noqa: S608 -- our own words
    " (SELECT max(number) FROM audit)) ORDER BY number DESC LIMIT 1"
)


class SqliteAudit:
    """`AuditStore` over the file of a `SqliteStore`."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes

    async def append(self, events: Sequence[tuple[float, str, Mapping[str, Json]]]) -> int:
        """Write events as (time, kind, body), all or none, durably; return the last one's number."""
        return await self._lanes.surely(lambda connection: _append(connection, events))

    async def events(self, after: int, limit: int) -> tuple[AuditEvent, ...]:
        """Return the events that follow number *after*, oldest first."""
        return await self._lanes.soon(lambda connection: _events(connection, after, limit))

    async def older(self, before: float) -> AuditEvent | None:
        """Return the last of the events that stand before the first one from *before* on, never the newest of all."""
        return await self._lanes.aside(
            lambda connection: next(map(read_event, connection.execute(_OLDER, (before,))), None)
        )

    async def forget(self, through: int) -> int:
        """Remove the events up to that number, the newest never; say how many."""
        return await self._lanes.surely(lambda connection: _forget(connection, through))


def read_event(row: Sequence[Any]) -> AuditEvent:
    """Rebuild an event from what `SELECT_EVENT` returned. The chain is checked by whoever reads several.

    Raises:
        StoreError: The row is not what was written.
    """
    what = f"the event {row[0]} of the audit"
    number, at, kind, packed, hash_ = checked(row, what, int, float, str, bytes, str)
    try:
        body: Any = parse_json(unpack(packed, what))
    except ValueError as error:
        raise damaged(what) from error
    checked((body,), what, dict)
    return AuditEvent(number=number, at=at, kind=kind, body=body, hash=hash_)


def _events(connection: sqlite3.Connection, after: int, limit: int) -> tuple[AuditEvent, ...]:
    found = connection.execute(f"{SELECT_EVENT} WHERE number > ? ORDER BY number LIMIT ?", (after, max(0, limit)))
    return tuple(map(read_event, found))


def _forget(connection: sqlite3.Connection, through: int) -> int:
    with writing(connection):
        # INVARIANT: the newest stays, since the next event takes its number and its hash from it.
        newest = "(SELECT max(number) FROM audit)"
        return connection.execute(f"DELETE FROM audit WHERE number <= ? AND number < {newest}", (through,)).rowcount  # noqa: S608


def _append(connection: sqlite3.Connection, found: Sequence[tuple[float, str, Mapping[str, Json]]]) -> int:
    with writing(connection):
        last = connection.execute("SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1").fetchone()
        number, hash_ = (0, START) if last is None else checked(last, "the newest event of the audit", int, str)
        for at, kind, body in found:
            number += 1
            try:
                hash_ = chained(hash_, number, at, kind, body)
            except ValueError as error:
                raise refused(f"the event {kind!r} cannot be written: {error}") from error
            row = (number, at, kind, pack(canonical_json(body)), hash_)
            connection.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?)", row)
    return int(number)
