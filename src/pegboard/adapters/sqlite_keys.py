"""API keys in SQLite: one row a key, its digest alone; a revoked key stays, so that its name can be accounted for.

A key that was revoked opens nothing for the next reader of any process: reading never waits.
"""

import sqlite3
from collections.abc import Sequence
from types import NoneType
from typing import Any

from pegboard.adapters.sqlite_lanes import Lanes
from pegboard.adapters.sqlite_rows import checked
from pegboard.adapters.sqlite_schema import writing
from pegboard.adapters.store_errors import damaged
from pegboard.core.names import canonical_json, parse_json
from pegboard.service.keys import ApiKey, KeyRole

__all__ = ["SqliteKeys", "read_texts", "write_texts"]

_FLOAT_OR_NONE = (float, NoneType)
_SELECT = "SELECT key_id, name, workload, role, scopes, digest, by, made_at, expires_at, revoked_at FROM keys"


class SqliteKeys:
    """`KeyStore` over the file of a `SqliteStore`."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes

    async def add(self, key: ApiKey) -> bool:
        """Keep a new key, durably; False where one of this name is there and not revoked."""
        return await self._lanes.surely(lambda connection: _add(connection, key))

    async def key(self, key_id: str) -> ApiKey | None:
        """Return one key, revoked and expired ones included; None where there is none."""
        found = await self._lanes.soon(lambda connection: _found(connection, "WHERE key_id = ?", key_id))
        return found[0] if found else None

    async def keys(self) -> tuple[ApiKey, ...]:
        """Return every key, the newest first."""
        return await self._lanes.soon(lambda connection: _found(connection, "ORDER BY number DESC"))

    async def revoke(self, name: str, at: float) -> ApiKey | None:
        """End the key of this name that is not revoked, durably; None where there is none."""
        return await self._lanes.surely(lambda connection: _revoke(connection, name, at))


def write_texts(texts: frozenset[str] | None) -> str | None:
    """Write a set of texts as sorted JSON."""
    return None if texts is None else canonical_json(sorted(texts)).decode()


def read_texts(written: str | None, what: str) -> frozenset[str] | None:
    """Read what `write_texts` wrote.

    Raises:
        StoreError: It is not what was written; *what* names it.
    """
    if written is None:
        return None
    try:
        found: Any = parse_json(written)
    except ValueError as error:
        raise damaged(what) from error
    checked((found,), what, list)
    return frozenset(checked(found, what, *[str] * len(found)))


def _add(connection: sqlite3.Connection, key: ApiKey) -> bool:
    row = (
        *(key.key_id, key.name, key.workload, str(key.role), write_texts(key.scopes), key.digest, key.by),
        *(key.made_at, key.expires_at, key.revoked_at),
    )
    with writing(connection):
        # The indexes on the id and on names in use decide.
        return (
            connection.execute(
                "INSERT OR IGNORE INTO keys (key_id, name, workload, role, scopes, digest, by, made_at, expires_at,"
                " revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            ).rowcount
            > 0
        )


def _revoke(connection: sqlite3.Connection, name: str, at: float) -> ApiKey | None:
    with writing(connection):
        found = _found(connection, "WHERE name = ? AND revoked_at IS NULL", name)
        if not found:
            return None
        connection.execute("UPDATE keys SET revoked_at = ? WHERE key_id = ?", (at, found[0].key_id))
        return _found(connection, "WHERE key_id = ?", found[0].key_id)[0]


def _found(connection: sqlite3.Connection, which: str, *values: str) -> tuple[ApiKey, ...]:
    return tuple(map(_read, connection.execute(f"{_SELECT} {which}", values)))


def _read(row: Sequence[Any]) -> ApiKey:
    what = f"the API key {row[0]!r}"
    kinds = (str, str, str, str, (str, NoneType), str, str, float, _FLOAT_OR_NONE, _FLOAT_OR_NONE)
    key_id, name, workload, role, scopes, digest, by, made_at, expires_at, revoked_at = checked(row, what, *kinds)
    if role not in list(KeyRole):
        raise damaged(what)
    return ApiKey(
        key_id=key_id,
        name=name,
        workload=workload,
        role=KeyRole(role),
        scopes=read_texts(scopes, what),
        digest=digest,
        by=by,
        made_at=made_at,
        expires_at=expires_at,
        revoked_at=revoked_at,
    )
