"""Rollouts in SQLite: the history of changes, where conversations began, what was observed, and what it adds up to.

A change is durable before it returns, and the next reader of any process sees it: reading never waits. Observations
may lose their newest with the power, which only delays a promotion.
"""

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pegboard.adapters.sqlite_lanes import Lanes
from pegboard.adapters.sqlite_rows import checked, packer, unpack
from pegboard.adapters.sqlite_schema import writing
from pegboard.adapters.store_errors import damaged
from pegboard.core.names import Json, canonical_json, parse_json
from pegboard.engine.guards import Tally
from pegboard.engine.rollout import Change, setting_of

__all__ = ["SELECT_CHANGE", "SqliteRollout", "read_change"]

SELECT_CHANGE = "SELECT number, namespace, setting, was, by, why, at, automatic, evidence FROM rollout"
_CHANGES = f"{SELECT_CHANGE} WHERE number > ? ORDER BY number"
# What ends a call says nothing of its selection, so it takes that of the call.
_OBSERVE = (
    "INSERT INTO observed (at, body, selection_id, call_id) VALUES (?1, ?2, coalesce(?3, (SELECT selection_id"
    " FROM observed WHERE call_id = ?4 AND call_id IS NOT NULL ORDER BY number LIMIT 1)), ?4)"
)
_JOINED = (
    "WITH mine (selection_id) AS (SELECT value FROM json_each(?) UNION SELECT selection_id FROM observed"
    " WHERE call_id IN (SELECT value FROM json_each(?)) AND call_id IS NOT NULL AND selection_id IS NOT NULL),"
    " ranked AS (SELECT number, row_number() OVER (PARTITION BY selection_id ORDER BY number) AS place FROM observed"
    " WHERE selection_id IN mine AND selection_id IS NOT NULL)"
    " SELECT number, body FROM observed WHERE number IN (SELECT number FROM ranked WHERE place <= ?) ORDER BY number"
)
_TALLIES = (
    "SELECT at, selection_id, n, bad FROM tallies WHERE namespace = ? AND guard = ? AND at >= ?"
    " ORDER BY at DESC, selection_id DESC LIMIT ?"
)
_PRUNE = "DELETE FROM {0} WHERE rowid IN (SELECT rowid FROM {0} WHERE at < ? ORDER BY at LIMIT ?)"


class SqliteRollout:
    """`RolloutStore` over the file of a `SqliteStore`."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes

    async def changes(self, after: int = 0) -> tuple[Change, ...]:
        """Return the changes that follow number *after*, oldest first."""
        return await self._lanes.soon(
            lambda connection: tuple(map(read_change, connection.execute(_CHANGES, (after,))))
        )

    async def change(self, change: Change) -> bool:
        """Put a change on record, durably; False where its number is not the next one."""
        return await self._lanes.surely(lambda connection: _add(connection, change))

    async def began(self, conversation: str, number: int, at: float) -> int:
        """Return the number under which a conversation began: this one, where it is new."""
        return await self._lanes.soon(lambda connection: _began(connection, conversation, number, at))

    async def observe(self, records: Sequence[tuple[float, Mapping[str, Json]]]) -> None:
        """Keep records as (time, body), all or none."""
        frames = packer()
        rows = [
            (at, frames.compress(canonical_json(body)), body.get("selection_id"), body.get("call_id"))
            for at, body in records
        ]
        await self._lanes.soon(lambda connection: _observe(connection, rows))

    async def observed(self, since: float, limit: int) -> tuple[Mapping[str, Any], ...]:
        """Return the newest *limit* records from *since* on, oldest first."""
        return await self._lanes.soon(lambda connection: _observed(connection, since, limit))

    async def joined(
        self, selections: Collection[str], calls: Collection[str], limit: int
    ) -> tuple[Mapping[str, Any], ...]:
        """Return the first *limit* records of each of these selections and of those of these calls, oldest first."""
        asked = (json.dumps(sorted(selections)), json.dumps(sorted(calls)), limit)
        return await self._lanes.soon(
            lambda connection: tuple(_record(*row) for row in connection.execute(_JOINED, asked))
        )

    async def tally(self, counted: Sequence[Tally]) -> None:
        """Keep what selections gave, all or none; what the same gave before is replaced."""
        rows = [(one.namespace, one.guard, one.at, one.selection_id, one.n, one.bad) for one in counted]
        await self._lanes.soon(lambda connection: _tally(connection, rows))

    async def tallies(self, namespace: str, guard: str, since: float, limit: int) -> tuple[Tally, ...]:
        """Return what the newest *limit* selections from *since* on gave, newest first."""
        return await self._lanes.soon(lambda connection: _tallies(connection, namespace, guard, since, limit))

    async def prune(self, before: float, limit: int) -> int:
        """Remove the oldest records, tallies and conversations from before a time, *limit* of each; say how many."""
        return await self._lanes.aside(lambda connection: _prune(connection, before, limit))


def read_change(row: Sequence[Any]) -> Change:
    """Rebuild a change from what `SELECT_CHANGE` returned.

    Raises:
        StoreError: The row is not what was written.
    """
    what = f"the change {row[0]} of the rollout"
    number, namespace, setting, was, by, why, at, automatic, evidence = checked(
        row, what, int, str, str, str, str, str, float, int, str
    )
    try:
        told: Any = parse_json(evidence)
        one, other = setting_of(setting), setting_of(was)
    except ValueError as error:
        raise damaged(what) from error
    checked((told,), what, dict)
    return Change(
        number=number,
        namespace=namespace,
        setting=one,
        was=other,
        by=by,
        why=why,
        at=at,
        automatic=bool(automatic),
        evidence=told,
    )


def _add(connection: sqlite3.Connection, change: Change) -> bool:
    evidence = canonical_json(dict(change.evidence)).decode()
    row = (str(change.setting), str(change.was), change.by, change.why, change.at, change.automatic, evidence)
    with writing(connection):
        (last,) = connection.execute("SELECT coalesce(max(number), 0) FROM rollout").fetchone()
        if change.number != last + 1:
            return False
        connection.execute(
            "INSERT INTO rollout (number, namespace, setting, was, by, why, at, automatic, evidence)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (change.number, change.namespace, *row),
        )
    return True


def _began(connection: sqlite3.Connection, conversation: str, number: int, at: float) -> int:
    asked = "SELECT number FROM conversations WHERE conversation = ?"
    found = connection.execute(asked, (conversation,)).fetchone()
    if found is None:
        with writing(connection):
            # INVARIANT: the first stands, whichever process wrote it.
            connection.execute("INSERT OR IGNORE INTO conversations VALUES (?, ?, ?)", (conversation, number, at))
            found = connection.execute(asked, (conversation,)).fetchone()
    return int(checked(found, "a conversation", int)[0])


def _observe(connection: sqlite3.Connection, rows: Sequence[tuple[float, bytes, Json, Json]]) -> None:
    with writing(connection):
        connection.executemany(_OBSERVE, rows)


def _tally(connection: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    with writing(connection):
        connection.executemany("INSERT OR REPLACE INTO tallies VALUES (?, ?, ?, ?, ?, ?)", rows)


def _tallies(connection: sqlite3.Connection, namespace: str, guard: str, since: float, limit: int) -> tuple[Tally, ...]:
    found = []
    for row in connection.execute(_TALLIES, (namespace, guard, since, max(0, limit))):
        at, selection_id, n, bad = checked(row, f"a tally of {namespace!r}", float, str, int, int)
        found.append(Tally(namespace=namespace, guard=guard, at=at, selection_id=selection_id, n=n, bad=bad))
    return tuple(found)


def _observed(connection: sqlite3.Connection, since: float, limit: int) -> tuple[Mapping[str, Any], ...]:
    newest = connection.execute(
        "SELECT number, body FROM observed WHERE at >= ? ORDER BY number DESC LIMIT ?", (since, max(0, limit))
    ).fetchall()
    return tuple(_record(*row) for row in reversed(newest))


def _record(number: int, packed: bytes) -> Mapping[str, Any]:
    what = f"the observation {number}"
    try:
        body: Any = parse_json(unpack(packed, what))
    except ValueError as error:
        raise damaged(what) from error
    checked((body,), what, dict)
    found: Mapping[str, Any] = body
    return found


def _prune(connection: sqlite3.Connection, before: float, limit: int) -> int:
    with writing(connection):
        tables = ("observed", "tallies", "conversations")
        return sum(connection.execute(_PRUNE.format(table), (before, limit)).rowcount for table in tables)
