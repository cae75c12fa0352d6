"""Catalog versions in SQLite: rows stored once by content, a manifest for each server, a head that moves last.

A publish is one transaction: until its commit every reader has the version before, afterwards the new one
(law 5). A server whose tools did not change costs nothing; a changed one costs its changed rows and a
manifest of a few bytes a change.

Source: the snapshot role of The Update Framework; git's trees for manifests.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pegboard.adapters.sqlite_rows import (
    address,
    checked,
    key,
    pack_ids,
    packer,
    read_entry,
    unpack_ids,
    unpacker,
    write_entry,
)
from pegboard.adapters.sqlite_schema import reading, writing
from pegboard.adapters.store_errors import damaged, no_version, overtaken
from pegboard.core.catalog import CatalogEntry
from pegboard.core.snapshot import Snapshot, snapshot_digest
from pegboard.service.ports import Head, Listing

__all__ = ["entries_of", "find", "head", "keep_listings", "load", "manifest_ids", "publish", "versions"]

_HEAD = "SELECT number, digest, published_at, by, tools FROM versions"


def head(connection: sqlite3.Connection) -> Head | None:
    """Return the served version, None in an empty store."""
    found = connection.execute(f"{_HEAD} JOIN head USING (number)").fetchone()
    return None if found is None else _head(found)


def versions(connection: sqlite3.Connection) -> tuple[Head, ...]:
    """Return all versions, oldest first."""
    return tuple(map(_head, connection.execute(f"{_HEAD} ORDER BY number")))


def load(connection: sqlite3.Connection, number: int) -> Snapshot:
    """Read one version whole and check every digest in it.

    Raises:
        StoreError: There is no such version, or a part of it is not what was published.
    """
    with reading(connection):
        found = connection.execute("SELECT digest, manifests FROM versions WHERE number = ?", (number,)).fetchone()
        if found is None:
            raise no_version(number)
        digest, manifests = checked(found, f"the version {number}", str, bytes)
        ids: list[int] = []
        for manifest in unpack_ids(manifests, f"the list of servers of version {number}"):
            ids += manifest_ids(connection, manifest)
        snapshot = Snapshot.of(number, entries_of(connection, ids).values())
    if snapshot.digest != digest:
        raise damaged(f"version {number} has the digest {snapshot.digest[:12]}, published was {digest[:12]}")
    return snapshot


def publish(
    connection: sqlite3.Connection,
    snapshot: Snapshot,
    *,
    by: str,
    at: float,
    listed: Sequence[Listing],
) -> Head:
    """Write what is new of a snapshot and of the listings, and move the head, all or nothing.

    Raises:
        StoreError: The head is not the version before this one.
    """
    new = Head(
        number=snapshot.number,
        digest=snapshot.digest,
        published_at=at,
        by=by,
        tools=len(snapshot.entries),
    )
    parts = [*_by_server(snapshot.entries), *(listing.entries for listing in listed)]
    draft = _Draft.of(connection, parts)
    with writing(connection):
        before = head(connection)
        if (served := 0 if before is None else before.number) != new.number - 1:
            raise overtaken(new.number, served)
        manifests = draft.store(connection)
        own = len(parts) - len(listed)
        connection.execute(
            "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?)",
            (new.number, new.digest, at, by, new.tools, pack_ids(manifests[:own])),
        )
        _write_listings(connection, listed, manifests[own:])
        connection.execute("INSERT OR REPLACE INTO head VALUES (1, ?)", (new.number,))
    return new


def keep_listings(connection: sqlite3.Connection, listed: Sequence[Listing], gone: Sequence[str]) -> None:
    """Replace these listings and drop those of *gone*, all or nothing."""
    draft = _Draft.of(connection, [listing.entries for listing in listed])
    with writing(connection):
        connection.executemany("DELETE FROM listings WHERE server = ?", ((server,) for server in gone))
        _write_listings(connection, listed, draft.store(connection))


def find(connection: sqlite3.Connection, tool_id: str, schema_hash: str, server: str) -> CatalogEntry | None:
    """Return the entry of this server's tool with this declared content that was stored last, or None."""
    found = connection.execute(
        "SELECT row, body FROM rows WHERE tool_id = ? AND schema_hash = ? ORDER BY id DESC",
        (tool_id, key(schema_hash)),
    )
    for row, body in found:
        entry = read_entry(tool_id, row, body, unpacker())
        # The column only finds it; what the lock grants is the content itself (law 6).
        if entry.schema_hash != schema_hash:
            raise damaged(f"the row of {tool_id!r} is filed under another schema hash")
        if entry.source_server == server:
            return entry
    return None


def manifest_ids(connection: sqlite3.Connection, manifest: int) -> list[int]:
    """Return the row numbers of a manifest, in its order."""
    found = connection.execute("SELECT ids FROM manifests WHERE id = ?", (manifest,)).fetchone()
    if found is None:
        raise damaged(f"the manifest {manifest} is missing")
    return unpack_ids(found[0], f"the manifest {manifest}")


def entries_of(connection: sqlite3.Connection, ids: Sequence[int]) -> dict[int, CatalogEntry]:
    """Return the entries of these rows by number, each checked."""
    frames = unpacker()
    found = {
        number: read_entry(tool_id, row, body, frames)
        for number, tool_id, row, body in connection.execute(
            "SELECT id, tool_id, row, body FROM rows WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(ids),)
        )
    }
    if missing := set(ids) - found.keys():
        raise damaged(f"{len(missing)} rows are missing, the first is {min(missing)}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """What has to be written for some lists of entries, prepared before the write lock is taken."""

    lists: Mapping[str, Sequence[CatalogEntry]]
    """By digest: equal lists, such as a server's part of a snapshot and its listing, are stored once."""
    order: Sequence[str]
    known: "_Known"
    bodies: Mapping[str, bytes]

    @classmethod
    def of(cls, connection: sqlite3.Connection, lists: Iterable[Sequence[CatalogEntry]]) -> "_Draft":
        order = [(snapshot_digest(entries), entries) for entries in lists]
        by_digest = dict(order)
        known = _Known.read(connection, by_digest)
        frames = packer()
        bodies = {row: write_entry(entry, frames) for row, entry in known.new_entries(by_digest).items()}
        return cls(lists=by_digest, order=[digest for digest, _ in order], known=known, bodies=bodies)

    def store(self, connection: sqlite3.Connection) -> list[int]:
        """Write the missing rows and manifests; return each list's manifest. Needs the write lock."""
        same = _commits(connection) == self.known.commits
        known = self.known if same else _Known.read(connection, self.lists)
        fresh = known.new_entries(self.lists)
        (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM rows").fetchone()
        rows = {**known.rows, **{row: number for number, row in enumerate(fresh, start=last + 1)}}
        frames = packer()
        connection.executemany(
            "INSERT INTO rows (id, tool_id, row, schema_hash, body) VALUES (?, ?, ?, ?, ?)",
            (
                (
                    rows[row],
                    entry.tool_id,
                    key(row),
                    key(entry.schema_hash),
                    self.bodies.get(row) or write_entry(entry, frames),
                )
                for row, entry in fresh.items()
            ),
        )
        manifests = dict(known.manifests)
        for digest in self.lists.keys() - manifests.keys():
            ids = pack_ids([rows[entry.row] for entry in self.lists[digest]])
            added = connection.execute(
                "INSERT INTO manifests (digest, tools, ids) VALUES (?, ?, ?)", (digest, len(self.lists[digest]), ids)
            )
            manifests[digest] = added.lastrowid or 0
        return [manifests[digest] for digest in self.order]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What the file already holds: manifests by digest, and the rows of the tools in the other lists."""

    commits: int
    """SQLite's counter of other connections' commits, read before the rest: when it moved, read again."""
    manifests: Mapping[str, int]
    rows: Mapping[str, int]

    @classmethod
    def read(cls, connection: sqlite3.Connection, lists: Mapping[str, Sequence[CatalogEntry]]) -> "_Known":
        commits = _commits(connection)
        manifests: dict[str, int] = dict(
            connection.execute(
                "SELECT digest, id FROM manifests WHERE digest IN (SELECT value FROM json_each(?))",
                (json.dumps(list(lists)),),
            )
        )
        rows: dict[str, int] = {}
        for digest in lists.keys() - manifests.keys():
            found = connection.execute(
                "SELECT row, id FROM rows WHERE tool_id IN (SELECT value FROM json_each(?))",
                (json.dumps([entry.tool_id for entry in lists[digest]]),),
            )
            rows.update((address(row), number) for row, number in found)
        return cls(commits=commits, manifests=manifests, rows=rows)

    def new_entries(self, lists: Mapping[str, Sequence[CatalogEntry]]) -> dict[str, CatalogEntry]:
        """Return the entries that have no row yet, by row; in the order of the lists, so that neighbours stay so."""
        return {
            entry.row: entry
            for digest, entries in lists.items()
            if digest not in self.manifests
            for entry in entries
            if entry.row not in self.rows
        }


def _commits(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def _by_server(entries: Iterable[CatalogEntry]) -> list[Sequence[CatalogEntry]]:
    """Split sorted entries by server, each part still sorted by tool id."""
    ordered = sorted(entries, key=lambda entry: entry.source_server)
    return [tuple(group) for _, group in groupby(ordered, key=lambda entry: entry.source_server)]


def _head(row: Sequence[Any]) -> Head:
    number, digest, at, by, tools = checked(row, f"the version {row[0]}", int, str, float, str, int)
    return Head(number=number, digest=digest, published_at=at, by=by, tools=tools)


def _write_listings(connection: sqlite3.Connection, listed: Sequence[Listing], manifests: Sequence[int]) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO listings VALUES (?, ?, ?, ?)",
        (
            (listing.server, listing.fetched_at, manifest, json.dumps(listing.refused))
            for listing, manifest in zip(listed, manifests, strict=True)
        ),
    )
