"""The SQLite file: its tables, its format number, and how a connection to it is made.

The format number is `PRAGMA user_version`. An older file is brought forward by the steps it lacks, in one
transaction; a newer one is refused, since what it means is not known here. WAL: readers and one writer at once.

Source: https://sqlite.org/wal.html, https://sqlite.org/pragma.html.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from pegboard.adapters.store_errors import is_busy
from pegboard.core.errors import StoreError

__all__ = ["STEPS", "Guarded", "Place", "connect", "create_private", "prepare", "reading", "writing"]

T = TypeVar("T")

# "PEGB": tells our file from any other application's database.
_APPLICATION_ID = 0x50454742
# After a large publish the log shrinks to this again, or it would stay as large as that publish was.
_LOG_BYTES = 4 * 1024 * 1024

# One row a format: the statements that lead to it from the one before. A released step never changes.
#
# `rows.id` is local to the file and small, so that a manifest of 100,000 tools takes bytes where 32-byte digests,
# which nothing compresses, would take 3 MB; digests are still checked whenever a version is read.
STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE rows (id INTEGER PRIMARY KEY, tool_id TEXT NOT NULL, row BLOB NOT NULL,"
        " schema_hash BLOB NOT NULL, body BLOB NOT NULL)",
        "CREATE UNIQUE INDEX rows_by_tool ON rows (tool_id, row)",
        "CREATE TABLE manifests (id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, tools INTEGER NOT NULL,"
        " ids BLOB NOT NULL)",
        "CREATE TABLE versions (number INTEGER PRIMARY KEY, digest TEXT NOT NULL, published_at REAL NOT NULL,"
        " by TEXT NOT NULL, tools INTEGER NOT NULL, manifests BLOB NOT NULL)",
        "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL)",
        "CREATE TABLE listings (server TEXT PRIMARY KEY, fetched_at REAL NOT NULL, manifest INTEGER NOT NULL,"
        " refused TEXT NOT NULL)",
        "CREATE TABLE halts (target TEXT PRIMARY KEY, why TEXT NOT NULL, by TEXT NOT NULL, since REAL NOT NULL,"
        " expires_at REAL)",
        "CREATE TABLE locks (number INTEGER PRIMARY KEY, digest TEXT NOT NULL, at REAL NOT NULL)",
        "CREATE TABLE documents (kind TEXT NOT NULL, digest TEXT NOT NULL, body BLOB NOT NULL,"
        " PRIMARY KEY (kind, digest))",
        "CREATE TABLE selections (selection_id TEXT PRIMARY KEY, principal TEXT NOT NULL, expires_at REAL NOT NULL,"
        " tools TEXT NOT NULL)",
        "CREATE TABLE traces (number INTEGER PRIMARY KEY, trace_id TEXT NOT NULL UNIQUE, at REAL NOT NULL,"
        " body BLOB NOT NULL)",
        "CREATE INDEX traces_by_time ON traces (at)",
        "CREATE TABLE calls (call_id TEXT PRIMARY KEY, opened_at REAL NOT NULL, record BLOB NOT NULL,"
        " closed_at REAL, outcome TEXT)",
        "CREATE TABLE vectors (model_id TEXT NOT NULL, digest TEXT NOT NULL, vector BLOB NOT NULL,"
        " PRIMARY KEY (model_id, digest)) WITHOUT ROWID",
        "CREATE TABLE prepared (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, body BLOB NOT NULL)",
    ),
    # The ledger with what the gate asks of it, approvals, and the operators' stream. `number` grows with each line.
    # An index that names `ended` holds only the lines that its question is about, however long the ledger grows.
    (
        "DROP TABLE calls",
        "CREATE TABLE ledger (number INTEGER PRIMARY KEY, call_id TEXT NOT NULL UNIQUE, trace_id TEXT NOT NULL,"
        " identity TEXT NOT NULL, principal TEXT NOT NULL, conversation TEXT, at REAL NOT NULL, tool_id TEXT NOT NULL,"
        " schema_hash TEXT NOT NULL, arguments TEXT NOT NULL, key TEXT, risk TEXT NOT NULL, flow TEXT NOT NULL,"
        " cost REAL NOT NULL, approval_id TEXT, record BLOB NOT NULL, ended TEXT, closed_at REAL, result BLOB)",
        "CREATE UNIQUE INDEX ledger_by_key ON ledger (identity, key)"
        " WHERE key IS NOT NULL AND (ended IS NULL OR ended <> 'not_sent')",
        "CREATE INDEX ledger_by_content ON ledger (identity, tool_id, arguments, at)"
        " WHERE ended IS NULL OR ended <> 'not_sent'",
        "CREATE INDEX ledger_by_unknown ON ledger (identity, tool_id, arguments, at)"
        " WHERE ended IS NULL OR ended = 'outcome_unknown'",
        "CREATE INDEX ledger_by_time ON ledger (identity, at, cost)",
        "CREATE INDEX ledger_by_flow ON ledger (identity, flow, at)"
        " WHERE flow <> '' AND (ended IS NULL OR ended <> 'not_sent')",
        "CREATE INDEX ledger_by_conversation ON ledger (identity, conversation, flow, at)"
        " WHERE flow <> '' AND (ended IS NULL OR ended <> 'not_sent')",
        "CREATE TABLE callers (identity TEXT PRIMARY KEY, sequence INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE approvals (number INTEGER PRIMARY KEY, approval_id TEXT NOT NULL UNIQUE, identity TEXT NOT NULL,"
        " tool_id TEXT NOT NULL, schema_hash TEXT NOT NULL, arguments TEXT NOT NULL, body BLOB NOT NULL,"
        " asked_at REAL NOT NULL, expires_at REAL NOT NULL, state TEXT NOT NULL, by TEXT, decided_at REAL,"
        " used_by TEXT)",
        "CREATE INDEX approvals_by_binding ON approvals (identity, tool_id, arguments, schema_hash)",
        "CREATE INDEX approvals_by_state ON approvals (state)",
        "CREATE TABLE audit (number INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, body BLOB NOT NULL,"
        " hash TEXT NOT NULL)",
        "CREATE INDEX selections_by_expiry ON selections (expires_at)",
        # What refreshes have revoked, apart from the operators' halts.
        "CREATE TABLE suspensions (target TEXT PRIMARY KEY, why TEXT NOT NULL, by TEXT NOT NULL, since REAL NOT NULL,"
        " expires_at REAL)",
    ),
    # Who may present what, and what applications stated of their callers: secrets are there by their digests alone.
    (
        "CREATE TABLE keys (number INTEGER PRIMARY KEY, key_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,"
        " workload TEXT NOT NULL, role TEXT NOT NULL, scopes TEXT, digest TEXT NOT NULL, by TEXT NOT NULL,"
        " made_at REAL NOT NULL, expires_at REAL, revoked_at REAL)",
        "CREATE UNIQUE INDEX keys_in_use ON keys (name) WHERE revoked_at IS NULL",
        "CREATE TABLE contexts (digest TEXT PRIMARY KEY, stage TEXT, flags TEXT NOT NULL, clearance INTEGER,"
        " by TEXT NOT NULL, at REAL NOT NULL, expires_at REAL NOT NULL)",
        "CREATE INDEX contexts_by_expiry ON contexts (expires_at)",
    ),
    # Which namespaces are served to whom, how that came to be, and what was observed of it. Operators' own records.
    (
        "CREATE TABLE rollout (number INTEGER PRIMARY KEY, namespace TEXT NOT NULL, setting TEXT NOT NULL,"
        " was TEXT NOT NULL, by TEXT NOT NULL, why TEXT NOT NULL, at REAL NOT NULL, automatic INTEGER NOT NULL,"
        " evidence TEXT NOT NULL)",
        "CREATE TABLE conversations (conversation TEXT PRIMARY KEY, number INTEGER NOT NULL, at REAL NOT NULL)",
        "CREATE INDEX conversations_by_time ON conversations (at)",
        "CREATE TABLE observed (number INTEGER PRIMARY KEY, at REAL NOT NULL, body BLOB NOT NULL)",
        "CREATE INDEX observed_by_time ON observed (at)",
    ),
    # What was observed is found by its selection, and what the guards need of it by the namespace that was set.
    (
        "ALTER TABLE observed ADD COLUMN selection_id TEXT",
        "ALTER TABLE observed ADD COLUMN call_id TEXT",
        "CREATE INDEX observed_by_selection ON observed (selection_id) WHERE selection_id IS NOT NULL",
        "CREATE INDEX observed_by_call ON observed (call_id) WHERE call_id IS NOT NULL",
        "CREATE TABLE tallies (namespace TEXT NOT NULL, guard TEXT NOT NULL, at REAL NOT NULL,"
        " selection_id TEXT NOT NULL, n INTEGER NOT NULL, bad INTEGER NOT NULL,"
        " PRIMARY KEY (namespace, guard, at, selection_id))",
        "CREATE INDEX tallies_by_time ON tallies (at)",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the file is, how long a connection waits for another's lock, and how large the file may grow."""

    path: str
    timeout_s: float
    max_bytes: int | None = None


def connect(place: Place, *, synchronous: str = "FULL") -> sqlite3.Connection:
    """Open one connection; transactions are begun by `reading` and `writing` alone.

    FULL survives a loss of power at every commit. NORMAL survives the death of every process, and may
    lose the newest commits with the power; none of them is ever half there.

    Raises:
        sqlite3.Error: The file cannot be opened or is no database.
    """
    connection = sqlite3.connect(place.path, timeout=place.timeout_s, isolation_level=None, check_same_thread=False)
    try:
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        if place.max_bytes is not None:
            (page,) = connection.execute("PRAGMA page_size").fetchone()
            connection.execute(f"PRAGMA max_page_count = {max(1, place.max_bytes // page)}")
    except BaseException:
        connection.close()
        raise
    return connection


def prepare(connection: sqlite3.Connection, place: Place, steps: Sequence[Sequence[str]] = STEPS) -> None:
    """Make sure that the file is ours and of the present format; create it or bring it forward where needed.

    Raises:
        StoreError: It is another application's, of a newer format, or on a disk that cannot hold a WAL.
        sqlite3.Error: It cannot be read or written.
    """
    # One transaction: between two reads another process may create the file, and half of its marks look foreign.
    with reading(connection):
        found = _format(connection, place, steps)
    if found == len(steps):
        return
    if (mode := _to_wal(connection, place)) != "wal":
        raise StoreError(
            problem=f"the store's disk cannot hold a write-ahead log (journal mode {mode!r})",
            where=place.path,
            fix="put the store on a local disk",
        )
    with writing(connection):
        # INVARIANT: read again under the write lock; another process may have done the work meanwhile.
        for step in steps[_format(connection, place, steps) :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(steps)}")


def _format(connection: sqlite3.Connection, place: Place, steps: Sequence[Sequence[str]]) -> int:
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if owner != _APPLICATION_ID and (owner or found or tables):
        raise StoreError(
            problem="the file is a database of another application",
            where=place.path,
            fix="name another file as 'store'",
        )
    if found > len(steps):
        raise StoreError(
            problem=f"the store has format {found}; this release reads up to {len(steps)}",
            where=place.path,
            fix="use the newer Pegboard that wrote it, or name another file as 'store'",
        )
    return int(found)


def _to_wal(connection: sqlite3.Connection, place: Place) -> str:
    """Switch to WAL, trying again while another process does the same: SQLite itself does not wait for that."""
    pause_s = 0.02
    for _ in range(max(1, int(place.timeout_s / pause_s))):
        try:
            return str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            threading.Event().wait(pause_s)
    return str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])


def create_private(path: str) -> None:
    """Create the file, readable by its owner alone, where there is none: traces tell what people asked.

    SQLite gives the files beside it (`-wal`, `-shm`) the same permissions.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    except (OSError, ValueError) as error:
        raise StoreError(
            problem=f"the store cannot be created: {getattr(error, 'strerror', None) or error}",
            where=path,
            fix="check that its folder exists and that this account may write there",
        ) from error


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold the write lock; commit at the end, or leave everything as it was."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        _end(connection)
        raise


@contextmanager
def reading(connection: sqlite3.Connection) -> Iterator[None]:
    """See one state of the file throughout, whatever is published meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        _end(connection)


def _end(connection: sqlite3.Connection) -> None:
    # SQLite has rolled back by itself after some errors (a full disk).
    if connection.in_transaction:
        connection.execute("ROLLBACK")


class Guarded:
    """A connection that one thread uses at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._guard = threading.Lock()

    def use(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do *work* on the connection."""
        with self._guard:
            return work(self._connection)

    def close(self) -> None:
        """Close the connection, after whoever uses it."""
        with self._guard:
            self._connection.close()
