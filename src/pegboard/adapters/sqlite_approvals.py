"""Approvals in SQLite: requests, what became of them, and which call used each.

Which one allows a call is `Approval.allows`, the same for every store; here they are only found.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import NoneType
from typing import Any

from pegboard.adapters.sqlite_rows import checked, pack, unpack
from pegboard.adapters.sqlite_schema import writing
from pegboard.adapters.store_errors import damaged, refused
from pegboard.core.names import canonical_json, parse_json
from pegboard.engine.ledger import Approval, ApprovalState, Line, Question

__all__ = ["SELECT_APPROVAL", "approval", "ask", "decide", "give_back", "granted", "newest", "read_approval", "use"]

# The columns of a request, with the kinds of their values; the rest of it is in its body.
_COLUMNS: dict[str, type | tuple[type, ...]] = {
    "approval_id": str,
    "identity": str,
    "tool_id": str,
    "schema_hash": str,
    "arguments": str,
    "body": bytes,
    "asked_at": float,
    "expires_at": float,
    "state": str,
    "by": (str, NoneType),
    "decided_at": (float, NoneType),
    "used_by": (str, NoneType),
}
SELECT_APPROVAL = f"SELECT {', '.join(_COLUMNS)} FROM approvals"  # noqa: S608 -- our own words
_INSERT = f"INSERT INTO approvals ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
# A used one is good for nothing any more: it is not even unpacked.
_BOUND = (
    f"{SELECT_APPROVAL} WHERE identity = ? AND tool_id = ? AND schema_hash = ? AND arguments = ? AND state <> 'used'"
    " ORDER BY number DESC"
)
_USED = "UPDATE approvals SET state = ?, used_by = ? WHERE approval_id = ?"


def ask(connection: sqlite3.Connection, asked: Approval) -> Approval:
    """Put a request on record, or return the one that already `answers` it: asked, granted or denied."""
    values = _written(asked)
    with writing(connection):
        for found in _all(connection, _BOUND, *asked.binding):
            if found.answers(asked):
                return found
        connection.execute(_INSERT, values)
    return asked


def approval(connection: sqlite3.Connection, approval_id: str) -> Approval | None:
    """Return one request, None where there is none."""
    return next(_all(connection, f"{SELECT_APPROVAL} WHERE approval_id = ?", approval_id), None)


def newest(
    connection: sqlite3.Connection, limit: int, state: ApprovalState | None, identity: str | None
) -> tuple[Approval, ...]:
    """Return the newest requests, newest first; of one caller where its identity is given."""
    asked = {"state = ?": state, "identity = ?": identity}
    given = {words: str(value) for words, value in asked.items() if value is not None}
    where = f" WHERE {' AND '.join(given)}" if given else ""
    statement = f"{SELECT_APPROVAL}{where} ORDER BY number DESC LIMIT ?"
    return tuple(_all(connection, statement, *given.values(), max(0, limit)))


def granted(connection: sqlite3.Connection, question: Question) -> tuple[Approval, ...]:
    """Return every request that a call with this binding may use now, newest first."""
    bound = _all(connection, _BOUND, *question.binding)
    return tuple(found for found in bound if found.good_for(question.binding, question.now))


def decide(
    connection: sqlite3.Connection, approval_id: str, state: ApprovalState, by: str, at: float
) -> Approval | None:
    """Grant or deny an open request, within the caller's transaction."""
    found = approval(connection, approval_id)
    if found is None or found.state is not ApprovalState.ASKED or not found.alive(at):
        return None
    connection.execute(
        "UPDATE approvals SET state = ?, by = ?, decided_at = ? WHERE approval_id = ?",
        (str(state), by, at, approval_id),
    )
    return replace(found, state=state, by=by, decided_at=at)


def use(connection: sqlite3.Connection, line: Line) -> bool:
    """Mark the approval that a line names as used by it, within the caller's transaction; False where it may not."""
    found = approval(connection, line.approval_id or "")
    if found is None or not found.allows(line):
        return False
    connection.execute(_USED, (str(ApprovalState.USED), line.call_id, found.approval_id))
    return True


def give_back(connection: sqlite3.Connection, line: Line) -> None:
    """Let the approval that a call had used be used by another, within the caller's transaction."""
    connection.execute(_USED, (str(ApprovalState.GRANTED), None, line.approval_id))


def read_approval(row: Sequence[Any]) -> Approval:
    """Rebuild a request from what `SELECT_APPROVAL` returned.

    Raises:
        StoreError: The row is not what was written.
    """
    what = f"the approval {row[0]!r}"
    fields = dict(zip(_COLUMNS, checked(row, what, *_COLUMNS.values()), strict=True))
    try:
        body: Any = parse_json(unpack(fields.pop("body"), what))
        fields["state"] = ApprovalState(fields["state"])
        texts = [body["principals"], body["reasons"], body["earlier"]]
        checked((body["principal"], *texts), what, str, list, list, list)
        principals, reasons, earlier = (tuple(checked(each, what, *[str] * len(each))) for each in texts)
        return Approval(
            **fields,
            principal=body["principal"],
            principals=frozenset(principals),
            shown=body["shown"],
            reasons=reasons,
            earlier=earlier,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(what) from error


def _all(connection: sqlite3.Connection, statement: str, *values: Any) -> Iterator[Approval]:
    return map(read_approval, connection.execute(statement, values))


def _written(asked: Approval) -> tuple[Any, ...]:
    body = {
        "principal": asked.principal,
        "principals": sorted(asked.principals),
        "shown": asked.shown,
        "reasons": list(asked.reasons),
        "earlier": list(asked.earlier),
    }
    try:
        packed = pack(canonical_json(body))
    except ValueError as error:
        raise refused(f"the approval {asked.approval_id!r} cannot be written: {error}") from error
    fields = {name: packed if name == "body" else getattr(asked, name) for name in _COLUMNS}
    return tuple((fields | {"state": str(asked.state)}).values())
