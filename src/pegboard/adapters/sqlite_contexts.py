"""Stated contexts in SQLite: one row a credential, which is there by its digest alone. Reading never waits."""

import sqlite3
from types import NoneType

from pegboard.adapters.sqlite_keys import read_texts, write_texts
from pegboard.adapters.sqlite_lanes import Lanes
from pegboard.adapters.sqlite_rows import checked
from pegboard.adapters.sqlite_schema import writing
from pegboard.service.stated import Bound, Stated

__all__ = ["SqliteContexts"]


class SqliteContexts:
    """`ContextStore` over the file of a `SqliteStore`."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes

    async def bind(self, digest: str, bound: Bound) -> None:
        """Keep what holds for this credential from now on, durably, and drop what has expired."""
        await self._lanes.surely(lambda connection: _bind(connection, digest, bound))

    async def bound(self, digest: str) -> Bound | None:
        """Return what was last stated, expired or not; None where nothing was."""
        return await self._lanes.soon(lambda connection: _bound(connection, digest))


def _bind(connection: sqlite3.Connection, digest: str, bound: Bound) -> None:
    stated = bound.stated
    row = (digest, stated.stage, write_texts(stated.flags), stated.clearance, bound.by, bound.at, bound.expires_at)
    with writing(connection):
        connection.execute("DELETE FROM contexts WHERE expires_at <= ?", (bound.at,))
        connection.execute(
            "INSERT OR REPLACE INTO contexts (digest, stage, flags, clearance, by, at, expires_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            row,
        )


def _bound(connection: sqlite3.Connection, digest: str) -> Bound | None:
    row = connection.execute(
        "SELECT stage, flags, clearance, by, at, expires_at FROM contexts WHERE digest = ?", (digest,)
    ).fetchone()
    if row is None:
        return None
    what = "a stated context"
    kinds = ((str, NoneType), str, (int, NoneType), str, float, float)
    stage, flags, clearance, by, at, expires_at = checked(row, what, *kinds)
    stated = Stated(stage=stage, flags=read_texts(flags, what) or frozenset(), clearance=clearance)
    return Bound(stated=stated, by=by, at=at, expires_at=expires_at)
