"""Traces, stored selections and the ledger of calls in SQLite.

An id is used once: a second record under it is refused, and how a call ended is written once.
"""

import json
import sqlite3
from typing import Any

from pegboard.adapters.sqlite_rows import checked, pack, read_pair, unpack
from pegboard.adapters.sqlite_schema import writing
from pegboard.adapters.store_errors import damaged, refused
from pegboard.core.names import parse_json
from pegboard.service.ports import StoredSelection

__all__ = ["close_call", "open_call", "save_selection", "save_trace", "selection", "trace", "traces"]


def save_selection(
    connection: sqlite3.Connection, found: StoredSelection, trace_id: str, at: float, trace: bytes
) -> None:
    """Keep a selection and its trace, both or neither."""
    tools = json.dumps({alias: list(meant) for alias, meant in found.tools.items()}, ensure_ascii=False)
    packed = pack(trace)
    with writing(connection):
        connection.execute(
            "INSERT INTO selections VALUES (?, ?, ?, ?)", (found.selection_id, found.principal, found.expires_at, tools)
        )
        connection.execute("INSERT INTO traces (trace_id, at, body) VALUES (?, ?, ?)", (trace_id, at, packed))


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


def save_trace(connection: sqlite3.Connection, trace_id: str, at: float, body: bytes) -> None:
    """Keep the trace of a call."""
    packed = pack(body)
    with writing(connection):
        connection.execute("INSERT INTO traces (trace_id, at, body) VALUES (?, ?, ?)", (trace_id, at, packed))


def trace(connection: sqlite3.Connection, trace_id: str) -> bytes | None:
    """Return one trace, None where there is none."""
    found = connection.execute("SELECT body FROM traces WHERE trace_id = ?", (trace_id,)).fetchone()
    return None if found is None else unpack(found[0], f"the trace {trace_id!r} cannot be unpacked")


def traces(connection: sqlite3.Connection, limit: int) -> tuple[tuple[str, float], ...]:
    """Return ids and times of the newest traces, newest first; of one time, the one written last comes first."""
    found = connection.execute(
        "SELECT trace_id, at FROM traces ORDER BY at DESC, number DESC LIMIT ?", (max(0, limit),)
    )
    return tuple(
        (trace_id, at) for trace_id, at in (checked(row, f"the trace {row[0]!r}", str, float) for row in found)
    )


def open_call(connection: sqlite3.Connection, call_id: str, at: float, record: bytes) -> None:
    """Write a call to the ledger before it is dispatched."""
    packed = pack(record)
    with writing(connection):
        connection.execute("INSERT INTO calls (call_id, opened_at, record) VALUES (?, ?, ?)", (call_id, at, packed))


def close_call(connection: sqlite3.Connection, call_id: str, at: float, outcome: str) -> None:
    """Write how a call ended; the same again changes nothing.

    Raises:
        StoreError: There is no such call, or it ended otherwise.
    """
    with writing(connection):
        found = connection.execute("SELECT outcome FROM calls WHERE call_id = ?", (call_id,)).fetchone()
        if found is None:
            raise refused(f"there is no call {call_id!r} in the ledger")
        if found[0] not in (None, outcome):
            raise refused(f"the call {call_id!r} ended as {found[0]!r} and cannot end as {outcome!r}")
        connection.execute(
            "UPDATE calls SET closed_at = coalesce(closed_at, ?), outcome = ? WHERE call_id = ?", (at, outcome, call_id)
        )
