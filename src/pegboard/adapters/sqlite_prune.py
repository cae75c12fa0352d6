"""`catalog prune` in SQLite: versions that nobody needs, and the rows and manifests that nothing refers to then.

One transaction, so that whatever ends it leaves the file as it was; the pages come back to the file for what is
written next. A row stays as long as a manifest or the lock names it.
"""

import sqlite3
from collections.abc import Collection, Iterable

from pegboard.adapters.sqlite_catalog import manifest_ids
from pegboard.adapters.sqlite_rows import key, unpack_ids
from pegboard.adapters.sqlite_schema import reading, writing
from pegboard.service.ports import Discarded

__all__ = ["discard"]


def discard(
    connection: sqlite3.Connection, versions: Collection[int], contents: Collection[tuple[str, str]], apply: bool
) -> Discarded:
    """Remove *versions*, never the head, and what nothing refers to then; without *apply* only count it."""
    with writing(connection) if apply else reading(connection):
        known = connection.execute("SELECT number, manifests FROM versions").fetchall()
        (head,) = connection.execute("SELECT coalesce((SELECT number FROM head), 0)").fetchone()
        gone = [number for number, _ in known if number in versions and number != head]
        kept = {manifest for (manifest,) in connection.execute("SELECT manifest FROM listings")}
        for number, packed in known:
            if number not in gone:
                kept.update(unpack_ids(packed, f"the list of servers of version {number}"))
        manifests = [one for (one,) in connection.execute("SELECT id FROM manifests") if one not in kept]
        used = {row for manifest in kept for row in manifest_ids(connection, manifest)}
        locked = {(tool_id, key(schema_hash)) for tool_id, schema_hash in contents}
        rows, size = [], 0
        for number, tool_id, schema_hash, length in connection.execute(
            "SELECT id, tool_id, schema_hash, length(body) FROM rows"
        ):
            if number not in used and (tool_id, schema_hash) not in locked:
                rows.append(number)
                size += length
        if apply:
            _delete(connection, "versions", "number", gone)
            _delete(connection, "manifests", "id", manifests)
            _delete(connection, "rows", "id", rows)
        return Discarded(versions=len(gone), rows=len(rows), size_bytes=size)


def _delete(connection: sqlite3.Connection, table: str, column: str, numbers: Iterable[int]) -> None:
    connection.executemany(
        f"DELETE FROM {table} WHERE {column} = ?",  # noqa: S608 -- our own names
        ((number,) for number in numbers),
    )
