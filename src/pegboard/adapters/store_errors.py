"""What can go wrong in a store, each with what the operator can do: the only errors that leave one.

Whatever stands here, the last committed state is intact: every change is one transaction.

Source: SQLite's result codes, https://sqlite.org/rescode.html.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from pegboard.core.errors import StoreError

__all__ = ["damaged", "is_busy", "no_call", "no_version", "overtaken", "refused", "store_error", "translated"]

_FREE = "free some space and try again"
_FREE_OR_CHECK = "free some space, or check the disk, and try again"
_REPLACE = "restore the file from a backup, or move it away and run 'pegboard refresh' to build the catalog anew"

# Result code -> what it means here, and what helps; an extended code that has no row is taken by its primary code.
_FAULTS: dict[int, tuple[str, str]] = {
    sqlite3.SQLITE_BUSY: (
        "the store is locked by another process",
        "wait until the other command is done, or end the process that holds the file",
    ),
    sqlite3.SQLITE_LOCKED: (
        "the store is locked by another process",
        "wait until the other command is done, or end the process that holds the file",
    ),
    sqlite3.SQLITE_FULL: ("the disk is full, or the store has reached its size limit", _FREE),
    # How a full disk shows depends on the file that had to grow: the store, its log, or the index of the log.
    sqlite3.SQLITE_IOERR_WRITE: ("the store could not be written; the disk may be full", _FREE_OR_CHECK),
    sqlite3.SQLITE_IOERR_SHMSIZE: ("the store could not be written; the disk may be full", _FREE_OR_CHECK),
    sqlite3.SQLITE_IOERR_FSYNC: ("the store could not be written; the disk may be full", _FREE_OR_CHECK),
    sqlite3.SQLITE_READONLY: (
        "the store cannot be written",
        "make the file and its folder writable for this account, or name another 'store'",
    ),
    sqlite3.SQLITE_PERM: ("the store may not be accessed", "give this account access to the file"),
    sqlite3.SQLITE_CANTOPEN: (
        "the store cannot be opened",
        "check that its folder exists and that this account may write there",
    ),
    sqlite3.SQLITE_NOTADB: ("the file is no Pegboard store, or its first page is damaged", _REPLACE),
    sqlite3.SQLITE_CORRUPT: ("the store is damaged", _REPLACE),
    sqlite3.SQLITE_IOERR: ("the disk failed to read or write the store", "check the disk, then try again"),
    sqlite3.SQLITE_CONSTRAINT: (
        "the store refused a record: it is there already, or it contradicts another",
        "run 'pegboard catalog verify'",
    ),
    sqlite3.SQLITE_TOOBIG: ("a record is too large for the store", "reduce it; a record holds at most 1 GB"),
    sqlite3.SQLITE_NOMEM: ("memory ran out in the store", "give the process more memory"),
    sqlite3.SQLITE_ERROR: ("the store does not have the tables of its format", _REPLACE),
}
# What Python raises about a value on its way into SQLite or out of it -> the same.
_RAISED: dict[type[Exception], tuple[str, str]] = {
    MemoryError: _FAULTS[sqlite3.SQLITE_NOMEM],
    # Its own messages quote the file: a damaged schema is not even UTF-8.
    UnicodeDecodeError: ("the store is damaged: a text in it is not UTF-8", _REPLACE),
    UnicodeEncodeError: ("a text cannot be stored: it is not Unicode", "leave out what is not UTF-8 in it"),
    OverflowError: ("a number is too large for the store", "name a smaller one"),
}
_UNEXPECTED = ("the store failed", "run 'pegboard doctor'")


def store_error(error: sqlite3.Error, where: str) -> StoreError:
    """Say what an error of SQLite means to the operator; its own words stand at the end."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None and isinstance(error, sqlite3.OperationalError):
        # The one thing that Python's driver finds by itself: a text that is not UTF-8.
        return damaged(str(error), where)
    problem, fix = _UNEXPECTED if code is None else _FAULTS.get(code) or _FAULTS.get(code & 0xFF, _UNEXPECTED)
    return StoreError(problem=f"{problem} ({error})", where=where, fix=fix)


def is_busy(error: sqlite3.Error) -> bool:
    """Say whether trying again later may succeed."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Let only `StoreError` out, and each says where."""
    try:
        yield
    except StoreError as error:
        error.where = error.where or where
        raise
    except sqlite3.Error as error:
        raise store_error(error, where) from error
    except tuple(_RAISED) as error:
        problem, fix = next(row for kind, row in _RAISED.items() if isinstance(error, kind))
        raise StoreError(problem=problem, where=where, fix=fix) from error


def damaged(what: str, where: str | None = None) -> StoreError:
    """Something stored is not what was written."""
    return StoreError(problem=f"the store is damaged: {what}", where=where, fix=_REPLACE)


def overtaken(number: int, head: int) -> StoreError:
    """Someone else published first: nothing has changed."""
    return StoreError(
        problem=f"version {number} cannot follow: the served version is {head}",
        fix="another publish came first; run the command again",
    )


def no_version(number: int) -> StoreError:
    """An operator or a trace named a catalog version that is not kept."""
    return StoreError(
        problem=f"there is no catalog version {number}", fix="'pegboard catalog versions' lists those there are"
    )


def no_call(call_id: str) -> StoreError:
    """A call is closed that was never opened here."""
    return refused(f"there is no call {call_id!r} in the ledger")


def refused(what: str) -> StoreError:
    """A record contradicts one that stands."""
    return StoreError(problem=what, fix="this is a fault of the calling program: an id is used once")
