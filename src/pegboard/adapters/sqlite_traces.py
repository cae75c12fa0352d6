"""Traces and stored selections in SQLite. An id is used once: a second record under it is refused."""

import json
import math
import sqlite3
from collections.abc import Iterable
from typing import Any

from pegboard.adapters.sqlite_rows import checked, packer, read_pair, unpack
from pegboard.adapters.sqlite_schema import writing
from pegboard.adapters.store_errors import damaged
from pegboard.core.names import parse_json
from pegboard.service.ports import StoredSelection

__all__ = ["prune", "save_selection", "save_traces", "selection", "trace", "traces"]


_PRUNE_TRACES = "DELETE FROM traces WHERE rowid IN (SELECT rowid FROM traces WHERE at < ? ORDER BY at LIMIT ?)"
_PRUNE_SELECTIONS = (
    "DELETE FROM selections WHERE rowid IN"
    " (SELECT rowid FROM selections WHERE expires_at < ? ORDER BY expires_at LIMIT ?)"
)


def save_selection(connection: sqlite3.Connection, found: StoredSelection) -> None:
    """Keep a selection."""
    tools = json.dumps({alias: list(meant) for alias, meant in found.tools.items()}, ensure_ascii=False)
    with writing(connection):
        connection.execute(
            "INSERT INTO selections VALUES (?, ?, ?, ?)", (found.selection_id, found.principal, found.expires_at, tools)
        )


def selection(connection: sqlite3.Connection, selection_id: str) -> StoredSelection | None:
    """Return a selection, expired or not; None where there is none."""
    found = connection.execute(
        "SELECT principal, expires_at, tools FROM selections WHERE selection_id = ?", (selection_id,)
    ).fetchone()
    if found is None:
        return None
    what = f"the selection {selection_id!r}"
    principal, expires_at, tools = checked(found, what, str, float, str)
    try:
        aliases: Any = parse_json(tools)
    except ValueError as error:
        raise damaged(what) from error
    checked((aliases,), what, dict)
    meant = {alias: read_pair(found, what) for alias, found in aliases.items()}
    return StoredSelection(selection_id=selection_id, principal=principal, expires_at=expires_at, tools=meant)


def save_traces(connection: sqlite3.Connection, found: Iterable[tuple[str, float, bytes]]) -> None:
    """Keep traces, all or none."""
    frames = packer()
    # Packed before the transaction: nobody waits for that.
    rows = [(trace_id, at, frames.compress(body)) for trace_id, at, body in found]
    with writing(connection):
        connection.executemany("INSERT INTO traces (trace_id, at, body) VALUES (?, ?, ?)", rows)


def trace(connection: sqlite3.Connection, trace_id: str) -> bytes | None:
    """Return one trace, None where there is none."""
    found = connection.execute("SELECT body FROM traces WHERE trace_id = ?", (trace_id,)).fetchone()
    return None if found is None else unpack(found[0], f"the trace {trace_id!r} cannot be unpacked")


def traces(
    connection: sqlite3.Connection, limit: int, since: float = 0.0, until: float | None = None, skip: int = 0
) -> tuple[tuple[str, float], ...]:
    """Return ids and times of the newest traces, newest first; of one time, the one written last comes first."""
    found = connection.execute(
        "SELECT trace_id, at FROM traces WHERE at >= ? AND at < ? ORDER BY at DESC, number DESC LIMIT ? OFFSET ?",
        (since, math.inf if until is None else until, max(0, limit), skip),
    )
    return tuple(
        (trace_id, at) for trace_id, at in (checked(row, f"the trace {row[0]!r}", str, float) for row in found)
    )


def prune(connection: sqlite3.Connection, before: float, now: float, limit: int) -> int:
    """Remove the oldest traces and the selections that expired first, at most *limit* of each."""
    with writing(connection):
        traces_gone = connection.execute(_PRUNE_TRACES, (before, limit)).rowcount
        return traces_gone + connection.execute(_PRUNE_SELECTIONS, (now, limit)).rowcount
