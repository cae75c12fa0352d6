"""Halts, lock versions and kept documents in SQLite.

A halt is durable before `halt` returns, and the next reader of any process sees it: reading never waits.
"""

import sqlite3
from collections.abc import Iterable
from types import NoneType

from pegboard.adapters.sqlite_rows import checked, pack, unpack
from pegboard.adapters.sqlite_schema import writing
from pegboard.core.lock import Lock
from pegboard.core.names import short
from pegboard.core.revocations import Revocation

__all__ = ["document", "documents", "forget", "halt", "halts", "keep", "lock_version", "resume", "suspend", "suspended"]


def halts(connection: sqlite3.Connection) -> tuple[Revocation, ...]:
    """Return every halt on record, by target."""
    return _revocations(connection, "halts")


def halt(connection: sqlite3.Connection, revocation: Revocation) -> None:
    """Put a halt in force; it replaces one of the same target."""
    with writing(connection):
        connection.execute(
            "INSERT OR REPLACE INTO halts (target, why, by, since, expires_at) VALUES (?, ?, ?, ?, ?)",
            (revocation.target, revocation.why, revocation.by, revocation.since, revocation.expires_at),
        )


def resume(connection: sqlite3.Connection, target: str) -> bool:
    """Lift a halt; False where there was none."""
    with writing(connection):
        return connection.execute("DELETE FROM halts WHERE target = ?", (target,)).rowcount > 0


def suspended(connection: sqlite3.Connection) -> tuple[Revocation, ...]:
    """Return what refreshes have revoked, by target."""
    return _revocations(connection, "suspensions")


def suspend(connection: sqlite3.Connection, revocations: Iterable[Revocation], lifted: Iterable[str]) -> None:
    """Revoke tools on a refresh's behalf and lift others, all or nothing."""
    with writing(connection):
        connection.executemany(
            "INSERT OR REPLACE INTO suspensions (target, why, by, since, expires_at) VALUES (?, ?, ?, ?, ?)",
            ((one.target, one.why, one.by, one.since, one.expires_at) for one in revocations),
        )
        connection.executemany("DELETE FROM suspensions WHERE target = ?", ((target,) for target in lifted))


def lock_version(connection: sqlite3.Connection, lock: Lock, at: float) -> str:
    """Return `<n>-<digest>` of this state of the lock; a state that is not the last becomes a new version."""
    # Most calls find it unchanged, and those take no write lock.
    if (last := _last_lock(connection))[1] == lock.digest:
        return _version(*last)
    with writing(connection):
        number, digest = _last_lock(connection)
        if digest != lock.digest:
            number += 1
            connection.execute("INSERT INTO locks VALUES (?, ?, ?)", (number, lock.digest, at))
        return _version(number, lock.digest)


def keep(connection: sqlite3.Connection, kind: str, digest: str, body: bytes) -> None:
    """Keep a document under its digest; the first stands."""
    packed = pack(body)
    with writing(connection):
        connection.execute("INSERT OR IGNORE INTO documents VALUES (?, ?, ?)", (kind, digest, packed))


def document(connection: sqlite3.Connection, kind: str, digest: str) -> bytes | None:
    """Return a kept document, None where there is none."""
    found = connection.execute("SELECT body FROM documents WHERE kind = ? AND digest = ?", (kind, digest)).fetchone()
    return None if found is None else unpack(found[0], f"the {kind} {digest} cannot be unpacked")


def documents(connection: sqlite3.Connection, kind: str) -> tuple[str, ...]:
    """Return the digests of the kept documents of one kind, sorted."""
    found = connection.execute("SELECT digest FROM documents WHERE kind = ? ORDER BY digest", (kind,))
    return tuple(digest for (digest,) in found)


def forget(connection: sqlite3.Connection, kind: str, digests: Iterable[str]) -> None:
    """Remove documents that nothing refers to any more, all or none."""
    with writing(connection):
        connection.executemany(
            "DELETE FROM documents WHERE kind = ? AND digest = ?", ((kind, digest) for digest in digests)
        )


def _revocations(connection: sqlite3.Connection, table: str) -> tuple[Revocation, ...]:
    found = connection.execute(f"SELECT target, why, by, since, expires_at FROM {table} ORDER BY target")  # noqa: S608 -- our own two names
    return tuple(
        Revocation(target=target, why=why, by=by, since=since, expires_at=expires_at)
        for target, why, by, since, expires_at in (
            checked(row, f"the revocation of {row[0]!r}", str, str, str, float, (float, NoneType)) for row in found
        )
    )


def _last_lock(connection: sqlite3.Connection) -> tuple[int, str]:
    found = connection.execute("SELECT number, digest FROM locks ORDER BY number DESC LIMIT 1").fetchone()
    if found is None:
        return 0, ""
    number, digest = checked(found, f"the lock version {found[0]}", int, str)
    return number, digest


def _version(number: int, digest: str) -> str:
    return f"{number}-{short(digest)}"
