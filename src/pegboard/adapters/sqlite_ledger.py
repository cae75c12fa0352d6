"""The ledger in SQLite: what callers ran and run, and the approvals they asked for (law 10).

Lines, ends and decisions go over the connection that waits for the disk, so what was returned survives a loss of
power; a standing is read without waiting, as one state of the file. Every question has an index that holds the answer
at one end of a range, so what it costs does not grow with the ledger; only the lines within a limit's window are
counted one by one.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from types import NoneType
from typing import Any

from pegboard.adapters import sqlite_approvals as approvals
from pegboard.adapters.sqlite_forget import forget
from pegboard.adapters.sqlite_lanes import Lanes
from pegboard.adapters.sqlite_rows import checked, pack, unpack
from pegboard.adapters.sqlite_schema import reading, writing
from pegboard.adapters.store_errors import damaged, no_call, refused
from pegboard.core.catalog import Flow, Risk
from pegboard.engine.ledger import Approval, ApprovalState, Ended, Line, Past, Question, Standing
from pegboard.service.ports import Forgotten

__all__ = ["SELECT_LINE", "SqliteLedger", "read_line"]

# The columns of a line, with the kinds of their values.
_LINE: dict[str, type | tuple[type, ...]] = {
    "call_id": str,
    "trace_id": str,
    "identity": str,
    "principal": str,
    "conversation": (str, NoneType),
    "at": float,
    "tool_id": str,
    "schema_hash": str,
    "arguments": str,
    "key": (str, NoneType),
    "risk": str,
    "flow": str,
    "cost": float,
    "approval_id": (str, NoneType),
}
# … and those of its end.
_END: dict[str, type | tuple[type, ...]] = {
    "ended": (str, NoneType),
    "closed_at": (float, NoneType),
    "result": (bytes, NoneType),
}
SELECT_LINE = f"SELECT {', '.join((*_LINE, *_END))} FROM ledger"  # noqa: S608 -- our own words
_INSERT = f"INSERT INTO ledger ({', '.join(_LINE)}, record) VALUES ({', '.join('?' * (len(_LINE) + 1))})"  # noqa: S608
_CALL = f"{SELECT_LINE} WHERE call_id = ?"
_END_CALL = "UPDATE ledger SET ended = ?, closed_at = ?, result = ? WHERE call_id = ?"

# INVARIANT: in these words the indices name the lines that they hold; in other words SQLite would not use them.
_RAN = "(ended IS NULL OR ended <> 'not_sent')"
_UNKNOWN = "(ended IS NULL OR ended = 'outcome_unknown')"

_KEYED = f"{SELECT_LINE} WHERE identity = ? AND key = ? AND key IS NOT NULL AND {_RAN}"
_NEWEST = f"{SELECT_LINE} WHERE identity = ? AND tool_id = ? AND arguments = ? AND {{}} ORDER BY at DESC, number DESC"
_NEWEST_SINCE = _NEWEST.format(f"at > ? AND {_RAN}") + " LIMIT 1"
_NEWEST_UNKNOWN = _NEWEST.format(_UNKNOWN) + " LIMIT 1"
_WITHIN = "SELECT count(*), total(cost) FROM ledger WHERE identity = ? AND at > ?"
# One look at the index for each set of labels that a tool can have.
_SETS = [",".join(sorted(chosen)) for size in range(1, len(Flow) + 1) for chosen in combinations(Flow, size)]
_FIRST = (
    "SELECT at, number, call_id FROM ledger WHERE identity = ? AND {} AND flow = ? AND flow <> '' AND {}"
    " ORDER BY at, number LIMIT 1"
)
_FIRST_OF_CONVERSATION = _FIRST.format("conversation = ?", _RAN)
_FIRST_SINCE = _FIRST.format("at > ?", _RAN)


class SqliteLedger:
    """`Ledger` over the file of a `SqliteStore`."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes

    async def standing(self, question: Question) -> Standing:
        """Say what is on record of one caller, as of one moment."""
        return await self._lanes.soon(lambda connection: _standing(connection, question))

    async def open(self, line: Line, record: bytes, *, after: int) -> bool:
        """Write a line before its call is dispatched, and mark the approval that it names as used by it."""
        return await self._lanes.surely(lambda connection: _open(connection, line, record, after))

    async def close(self, call_id: str, at: float, ended: Ended, result: bytes | None = None) -> None:
        """Write how the call ended; the same again changes nothing."""
        await self._lanes.surely(lambda connection: _close(connection, call_id, at, ended, result))

    async def call(self, call_id: str) -> Past | None:
        """Return one line, None where there is none."""
        return await self._lanes.soon(lambda connection: _past(connection, _CALL, call_id))

    async def ask(self, approval: Approval) -> Approval:
        """Put a request on record, or return the one that already `answers` it: asked, granted or denied."""
        return await self._lanes.surely(lambda connection: approvals.ask(connection, approval))

    async def approval(self, approval_id: str) -> Approval | None:
        """Return one request, None where there is none."""
        return await self._lanes.soon(lambda connection: approvals.approval(connection, approval_id))

    async def approvals(
        self, limit: int, *, state: ApprovalState | None = None, identity: str | None = None
    ) -> tuple[Approval, ...]:
        """Return the newest requests, newest first; of one caller where its identity is given."""
        return await self._lanes.soon(lambda connection: approvals.newest(connection, limit, state, identity))

    async def decide(self, approval_id: str, state: ApprovalState, *, by: str, at: float) -> Approval | None:
        """Grant or deny an open request, once; None where it is not there, or no longer open at *at*."""
        return await self._lanes.surely(lambda connection: _decide(connection, approval_id, state, by, at))

    async def unknown(self, limit: int) -> tuple[Past, ...]:
        """Return the newest lines of which nobody knows how they ended, newest first."""
        return await self._lanes.soon(lambda connection: _unknown(connection, limit))

    async def settle(self, call_id: str, at: float, ended: Ended) -> Past | None:
        """Close a line of unknown outcome as a person says; None where it is not there, or its outcome is known."""
        return await self._lanes.surely(lambda connection: _settle(connection, call_id, at, ended))

    async def forget(self, before: float, *, apply: bool) -> Forgotten:
        """Remove what is older than a time and no law needs; without *apply* only count it."""
        return await self._lanes.aside(lambda connection: forget(connection, before, apply))


def read_line(row: Sequence[Any]) -> Past:
    """Rebuild a line and its end from what `SELECT_LINE` returned.

    Raises:
        StoreError: The row is not what was written.
    """
    what = f"the call {row[0]!r} in the ledger"
    values = checked(row, what, *_LINE.values(), *_END.values())
    fields = dict(zip(_LINE, values, strict=False))
    ended, closed_at, result = values[len(_LINE) :]
    try:
        fields["risk"] = Risk(fields["risk"])
        fields["flow"] = frozenset(map(Flow, filter(None, fields["flow"].split(","))))
        how = None if ended is None else Ended(ended)
    except ValueError as error:
        raise damaged(what) from error
    answer = None if result is None else unpack(result, f"the answer of {what}")
    return Past(line=Line(**fields), ended=how, closed_at=closed_at, result=answer)


def _standing(connection: sqlite3.Connection, question: Question) -> Standing:
    who, since = question.identity, question.now - question.repeat_window_s
    content = (who, question.tool_id, question.arguments)
    with reading(connection):
        within = [
            connection.execute(_WITHIN, (who, question.now - window_s)).fetchone()
            for window_s in question.limit_windows_s
        ]
        return Standing(
            sequence=_sequence(connection, who),
            recorded=_keyed(connection, who, question.key),
            # One of unknown outcome within the window is among those within the window.
            like=_past(connection, _NEWEST_SINCE, *content, since) or _past(connection, _NEWEST_UNKNOWN, *content),
            calls=tuple(calls for calls, _ in within),
            spent=tuple(spent for _, spent in within),
            touched=_touched(connection, question),
            granted=approvals.granted(connection, question),
        )


def _open(connection: sqlite3.Connection, line: Line, record: bytes, after: int) -> bool:
    fields = {name: getattr(line, name) for name in _LINE}
    fields |= {"risk": str(line.risk), "flow": ",".join(sorted(line.flow))}
    packed = pack(record)
    with writing(connection):
        if _sequence(connection, line.identity) != after or _keyed(connection, line.identity, line.key):
            return False
        if line.approval_id is not None and not approvals.use(connection, line):
            return False
        connection.execute(_INSERT, (*fields.values(), packed))
        _move(connection, line.identity)
        return True


def _close(connection: sqlite3.Connection, call_id: str, at: float, ended: Ended, result: bytes | None) -> None:
    """Write how a call ended; the same again changes nothing.

    Raises:
        StoreError: There is no such call, or it ended otherwise.
    """
    packed = None if result is None else pack(result)
    with writing(connection):
        past = _past(connection, _CALL, call_id)
        if past is None:
            raise no_call(call_id)
        if past.ended not in (None, ended):
            raise refused(f"the call {call_id!r} ended as '{past.ended}' and cannot end as '{ended}'")
        if past.ended is None:
            _end(connection, past.line, at, ended, packed)


def _unknown(connection: sqlite3.Connection, limit: int) -> tuple[Past, ...]:
    # A person asks, and the index has few lines: sorting them costs less than an index of their numbers would.
    statement = f"{SELECT_LINE} INDEXED BY ledger_by_unknown WHERE {_UNKNOWN} ORDER BY number DESC LIMIT ?"
    return tuple(map(read_line, connection.execute(statement, (max(0, limit),))))


def _settle(connection: sqlite3.Connection, call_id: str, at: float, ended: Ended) -> Past | None:
    with writing(connection):
        past = _past(connection, _CALL, call_id)
        if past is None or not past.unknown:
            return None
        _end(connection, past.line, at, ended, None)
        return replace(past, ended=ended, closed_at=at)


def _end(connection: sqlite3.Connection, line: Line, at: float, ended: Ended, packed: bytes | None) -> None:
    connection.execute(_END_CALL, (str(ended), at, packed, line.call_id))
    if ended is Ended.NOT_SENT:
        approvals.give_back(connection, line)
    _move(connection, line.identity)


def _decide(
    connection: sqlite3.Connection, approval_id: str, state: ApprovalState, by: str, at: float
) -> Approval | None:
    with writing(connection):
        decided = approvals.decide(connection, approval_id, state, by, at)
        if decided is not None:
            _move(connection, decided.identity)
        return decided


def _sequence(connection: sqlite3.Connection, identity: str) -> int:
    found = connection.execute("SELECT sequence FROM callers WHERE identity = ?", (identity,)).fetchone()
    return 0 if found is None else int(checked(found, "the sequence of a caller", int)[0])


def _move(connection: sqlite3.Connection, identity: str) -> None:
    connection.execute(
        "INSERT INTO callers VALUES (?, 1) ON CONFLICT (identity) DO UPDATE SET sequence = sequence + 1", (identity,)
    )


def _past(connection: sqlite3.Connection, statement: str, *values: Any) -> Past | None:
    found = connection.execute(statement, values).fetchone()
    return None if found is None else read_line(found)


def _keyed(connection: sqlite3.Connection, identity: str, key: str | None) -> Past | None:
    """Return the call that holds the key: one that was not sent leaves it free."""
    return None if key is None else _past(connection, _KEYED, identity, key)


def _touched(connection: sqlite3.Connection, question: Question) -> Mapping[Flow, str]:
    statement, reach = (
        (_FIRST_SINCE, question.now - question.flow_window_s)
        if question.conversation is None
        else (_FIRST_OF_CONVERSATION, question.conversation)
    )
    first = [(labels, connection.execute(statement, (question.identity, reach, labels)).fetchone()) for labels in _SETS]
    touched: dict[Flow, str] = {}
    for (_, _, call_id), labels in sorted((found, labels) for labels, found in first if found is not None):
        for label in labels.split(","):
            touched.setdefault(Flow(label), call_id)
    return touched
