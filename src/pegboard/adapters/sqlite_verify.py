"""`catalog verify` in SQLite: every digest computed anew, every reference followed, nothing believed.

It goes on after each fault, so that one damaged row does not hide the others. What has no digest (halts, traces,
selections) is held against the kinds of its columns here, and read whole when it is used.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from pegboard.adapters.sqlite_approvals import SELECT_APPROVAL, read_approval
from pegboard.adapters.sqlite_audit import SELECT_EVENT, read_event
from pegboard.adapters.sqlite_catalog import manifest_ids
from pegboard.adapters.sqlite_ledger import SELECT_LINE, read_line
from pegboard.adapters.sqlite_rollout import SELECT_CHANGE, read_change
from pegboard.adapters.sqlite_rows import TIMES, checked, key, read_entry, read_reasons, unpack, unpack_ids, unpacker
from pegboard.adapters.sqlite_schema import reading
from pegboard.core.catalog import CatalogEntry
from pegboard.core.chain import Walk
from pegboard.core.errors import StoreError
from pegboard.core.snapshot import snapshot_digest
from pegboard.service.ports import Verification

__all__ = ["verify"]


def verify(connection: sqlite3.Connection) -> Verification:
    """Check the file's structure, every row, manifest, version, listing, document, call, approval and event."""
    with reading(connection):
        rows: dict[int, CatalogEntry] = {}
        bad = [line for check in _CHECKS for line in _faults(check(connection, rows))]
        return Verification(versions=_count(connection, "versions"), rows=_count(connection, "rows"), bad=tuple(bad))


def _structure(connection: sqlite3.Connection, _: Mapping[int, CatalogEntry]) -> Iterator[str]:
    for (line,) in connection.execute("PRAGMA integrity_check"):
        if line != "ok":
            yield f"file: {line}"


def _columns(connection: sqlite3.Connection, _: Mapping[int, CatalogEntry]) -> Iterator[str]:
    tables = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
    ).fetchall()
    for (table,) in tables:
        columns = connection.execute('SELECT name, type, "notnull" FROM pragma_table_info(?)', (table,)).fetchall()
        for column, kind, needed in columns:
            (wrong,) = connection.execute(
                f'SELECT count(*) FROM "{table}" WHERE typeof("{column}") NOT IN (lower(?), ?)'  # noqa: S608 -- names
                f' OR (typeof("{column}") = \'real\' AND "{column}" NOT BETWEEN ? AND ?)',
                (kind, kind.lower() if needed else "null", *TIMES),
            ).fetchone()
            if wrong:
                yield f"{table}: {wrong} of its rows hold no valid {kind} as {column}"


def _rows(connection: sqlite3.Connection, rows: dict[int, CatalogEntry]) -> Iterator[str]:
    frames = unpacker()
    for number, tool_id, row, schema_hash, body in connection.execute(
        "SELECT id, tool_id, row, schema_hash, body FROM rows"
    ):
        try:
            entry = read_entry(tool_id, row, body, frames)
        except StoreError as error:
            yield error.problem
            continue
        if key(entry.schema_hash) != schema_hash:
            yield f"the row of {tool_id!r} is filed under another schema hash"
        # Only what a digest needs is kept: the whole of every version might not fit into memory.
        rows[number] = _address_of(entry)


def _manifests(connection: sqlite3.Connection, rows: Mapping[int, CatalogEntry]) -> Iterator[str]:
    for number, digest in connection.execute("SELECT id, digest FROM manifests").fetchall():
        yield from _list(f"the manifest {number}", partial(manifest_ids, connection, number), rows, digest)


def _versions(connection: sqlite3.Connection, rows: Mapping[int, CatalogEntry]) -> Iterator[str]:
    found = connection.execute("SELECT number, digest, tools, manifests FROM versions").fetchall()
    for number, digest, tools, manifests in found:
        what = f"the version {number}"

        def ids(manifests: bytes = manifests, what: str = what) -> list[int]:
            parts = unpack_ids(manifests, f"the list of servers of {what}")
            return sorted(
                (number for part in parts for number in manifest_ids(connection, part)),
                key=lambda number: rows[number].tool_id if number in rows else "",
            )

        yield from _list(what, ids, rows, digest, tools)


def _references(connection: sqlite3.Connection, _: Mapping[int, CatalogEntry]) -> Iterator[str]:
    newest, head = connection.execute("SELECT max(number), (SELECT number FROM head) FROM versions").fetchone()
    if newest != head:
        yield f"the head is {head} and the newest version is {newest}"
    for (server,) in connection.execute(
        "SELECT server FROM listings WHERE manifest NOT IN (SELECT id FROM manifests) ORDER BY server"
    ):
        yield f"the listing of {server!r} names a manifest that is not there"


def _listings(connection: sqlite3.Connection, _: Mapping[int, CatalogEntry]) -> Iterator[str]:
    for row in connection.execute("SELECT server, fetched_at, refused FROM listings ORDER BY server"):
        what = f"the listing of {row[0]!r}"
        try:
            read_reasons(checked(row, what, str, float, str)[2], what)
        except StoreError as error:
            yield error.problem


def _documents(connection: sqlite3.Connection, _: Mapping[int, CatalogEntry]) -> Iterator[str]:
    for kind, digest, body in connection.execute("SELECT kind, digest, body FROM documents"):
        try:
            unpack(body, f"the {kind} {digest} cannot be unpacked")
        except StoreError as error:
            yield error.problem


def _records(
    select: str, read: Callable[[Sequence[Any]], object]
) -> Callable[[sqlite3.Connection, Mapping[int, CatalogEntry]], Iterator[str]]:
    def check(connection: sqlite3.Connection, _: Mapping[int, CatalogEntry]) -> Iterator[str]:
        for row in connection.execute(select):
            try:
                read(row)
            except StoreError as error:
                yield error.problem

    return check


def _contradictions(connection: sqlite3.Connection, _: Mapping[int, CatalogEntry]) -> Iterator[str]:
    for statement, what in _CONTRADICTIONS:
        for (name,) in connection.execute(statement):
            yield what.format(name)


def _chain(connection: sqlite3.Connection, _: Mapping[int, CatalogEntry]) -> Iterator[str]:
    walk = Walk()
    for row in connection.execute(f"{SELECT_EVENT} ORDER BY number"):
        try:
            event = read_event(row)
            walk.follow(event.number, event.at, event.kind, event.body, event.hash)
        except StoreError as error:
            yield error.problem
    yield from (f"the event {number} of the audit does not follow from the one before" for number in walk.broken)


# What no row says by itself: a statement that finds the name of what is wrong, and what is wrong with it.
_CONTRADICTIONS = (
    (
        "SELECT call_id FROM ledger WHERE (ended IS NULL) <> (closed_at IS NULL) ORDER BY number",
        "the call {!r} in the ledger has an end without a time, or a time without an end",
    ),
    (
        "SELECT call_id FROM ledger WHERE identity NOT IN (SELECT identity FROM callers) ORDER BY number",
        "the call {!r} in the ledger is of a caller without a sequence",
    ),
    (
        "SELECT call_id FROM ledger l WHERE approval_id IS NOT NULL AND (ended IS NULL OR ended <> 'not_sent') AND NOT"
        " EXISTS (SELECT 1 FROM approvals a WHERE a.approval_id = l.approval_id AND a.used_by = l.call_id)"
        " ORDER BY number",
        "the call {!r} in the ledger ran under an approval that was not used by it",
    ),
    (
        "SELECT approval_id FROM approvals a WHERE (state = 'used') <> (used_by IS NOT NULL) OR (state = 'used' AND NOT"
        " EXISTS (SELECT 1 FROM ledger l WHERE l.call_id = a.used_by AND l.approval_id = a.approval_id))"
        " ORDER BY number",
        "the approval {!r} is used by no call, or by one that does not name it",
    ),
)

# In this order: what a later row of the table needs, an earlier one has read.
_CHECKS: tuple[Callable[[sqlite3.Connection, dict[int, CatalogEntry]], Iterator[str]], ...] = (
    _structure,
    _columns,
    _rows,
    _manifests,
    _versions,
    _references,
    _listings,
    _documents,
    _records(SELECT_LINE, read_line),
    _records(SELECT_APPROVAL, read_approval),
    _records(SELECT_CHANGE, read_change),
    _contradictions,
    _chain,
)


def _faults(found: Iterable[str]) -> Iterator[str]:
    """Pass on what a check finds; a page that cannot be read is one more finding, and ends that check alone."""
    try:
        yield from found
    except (sqlite3.DatabaseError, StoreError, UnicodeDecodeError) as error:
        yield f"file: {error}"


def _list(
    what: str,
    read: Callable[[], list[int]],
    rows: Mapping[int, CatalogEntry],
    digest: str,
    tools: int | None = None,
) -> Iterator[str]:
    try:
        ids = read()
    except StoreError as error:
        yield error.problem
        return
    if missing := [number for number in ids if number not in rows]:
        yield f"{what} names {len(missing)} rows that are missing or damaged"
    elif snapshot_digest(rows[number] for number in ids) != digest:
        yield f"{what} has another digest"
    elif tools is not None and tools != len(ids):
        yield f"{what} has {len(ids)} tools, {tools} are recorded"


def _address_of(entry: CatalogEntry) -> CatalogEntry:
    return CatalogEntry(tool_id=entry.tool_id, row=entry.row, namespace="", source_server="", name="", schema_hash="")


def _count(connection: sqlite3.Connection, table: str) -> int:
    try:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 -- our own two words
    except sqlite3.DatabaseError:
        return 0
