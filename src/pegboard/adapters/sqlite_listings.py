"""What servers last listed, read from SQLite: whole, or only what tells one listing from another."""

import json
import sqlite3
from collections.abc import Collection, Sequence
from typing import Any

from pegboard.adapters.sqlite_catalog import entries_of, manifest_ids
from pegboard.adapters.sqlite_rows import address, checked, read_reasons
from pegboard.adapters.sqlite_schema import reading
from pegboard.service.ports import Listing

__all__ = ["listing_stamps", "listings", "live"]

_LISTINGS = "SELECT server, fetched_at, manifest, refused FROM listings ORDER BY server"


def listings(connection: sqlite3.Connection, servers: Collection[str] | None = None) -> tuple[Listing, ...]:
    """Return the last listing of each server, or of these, by name."""
    with reading(connection):
        found = connection.execute(_LISTINGS).fetchall()
        return tuple(_listing(connection, row) for row in found if servers is None or row[0] in servers)


def listing_stamps(connection: sqlite3.Connection) -> dict[str, object]:
    """Return for each server what its row says: its manifest names the content."""
    return {server: tuple(rest) for server, *rest in connection.execute(_LISTINGS)}


def live(connection: sqlite3.Connection, servers: Collection[str] | None = None) -> tuple[tuple[str, str, str], ...]:
    """Return the (tool id, schema hash, server) of what all servers list, or these, without reading any content."""
    found: list[tuple[str, str, str]] = []
    with reading(connection):
        for server, manifest in connection.execute("SELECT server, manifest FROM listings ORDER BY server").fetchall():
            if servers is not None and server not in servers:
                continue
            rows = connection.execute(
                "SELECT tool_id, schema_hash FROM rows WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(manifest_ids(connection, manifest)),),
            )
            each = (checked(row, f"a row that {server!r} lists", str, bytes) for row in rows)
            found += ((tool_id, address(schema_hash), server) for tool_id, schema_hash in each)
    return tuple(found)


def _listing(connection: sqlite3.Connection, row: Sequence[Any]) -> Listing:
    what = f"the listing of {row[0]!r}"
    server, fetched_at, manifest, refused = checked(row, what, str, float, int, str)
    ids = manifest_ids(connection, manifest)
    entries = entries_of(connection, ids)
    listed = tuple(entries[number] for number in ids)
    return Listing(server=server, fetched_at=fetched_at, entries=listed, refused=read_reasons(refused, what))
