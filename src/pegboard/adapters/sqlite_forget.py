"""`calls prune` in SQLite: lines of the ledger that are old and that no law needs, and approvals that have expired.

What stays whatever its age: a call of unknown outcome (law 10), and the call by which a conversation that an
application named was first surely touched by a set of labels, since a conversation never ends by itself. Removed a few
thousand at a time, so that no call waits long for it.
"""

# ruff: noqa: S608  (every statement is made of the words of this file)

import sqlite3

from pegboard.adapters.sqlite_schema import reading, writing
from pegboard.service.ports import Forgotten

__all__ = ["forget"]

AT_ONCE = 2_000
# INVARIANT: in these words the ledger's indices name the lines that they hold.
_RAN = "(ended IS NULL OR ended <> 'not_sent')"
_UNKNOWN = "(ended IS NULL OR ended = 'outcome_unknown')"
_LABELLED = f"conversation IS NOT NULL AND flow <> '' AND {_RAN}"
_FIRST = (
    f"({_LABELLED} AND NOT EXISTS (SELECT 1 FROM ledger AS other WHERE other.identity = ledger.identity"
    " AND other.conversation = ledger.conversation AND other.flow = ledger.flow AND other.flow <> ''"
    " AND (other.ended IS NULL OR other.ended <> 'not_sent')"
    # One of unknown outcome may be settled as not sent; whatever touched the conversation after it still did.
    " AND other.ended <> 'outcome_unknown'"
    " AND (other.at, other.number) < (ledger.at, ledger.number)))"
)
_GONE = f"at < :before AND NOT {_UNKNOWN} AND NOT {_FIRST}"
# What is counted, in the order of `Forgotten`'s fields. An approval that a call has used goes with its line.
_COUNTS: dict[str, str] = {
    "lines": f"ledger WHERE {_GONE}",
    "approvals": (
        "approvals WHERE (used_by IS NULL AND expires_at < :before)"
        f" OR used_by IN (SELECT call_id FROM ledger WHERE {_GONE})"
    ),
    "unknown": f"ledger WHERE at < :before AND {_UNKNOWN}",
    "labels": f"ledger WHERE at < :before AND NOT {_UNKNOWN} AND {_FIRST}",
}
_LINES = f"SELECT call_id, approval_id FROM ledger WHERE {_GONE} LIMIT :most"
_UNUSED = (
    "DELETE FROM approvals WHERE number IN"
    " (SELECT number FROM approvals WHERE used_by IS NULL AND expires_at < :before LIMIT :most)"
)


def forget(connection: sqlite3.Connection, before: float, apply: bool) -> Forgotten:
    """Remove what is older than a time and no law needs; without *apply* only count it."""
    with reading(connection):
        counted = {
            name: int(connection.execute(f"SELECT count(*) FROM {what}", {"before": before}).fetchone()[0])
            for name, what in _COUNTS.items()
        }
    while apply and _remove(connection, before):
        pass
    return Forgotten(**counted)


def _remove(connection: sqlite3.Connection, before: float) -> bool:
    """Remove some of it; False where there is no more."""
    asked = {"before": before, "most": AT_ONCE}
    with writing(connection):
        lines = connection.execute(_LINES, asked).fetchall()
        connection.executemany("DELETE FROM approvals WHERE used_by = ? AND approval_id = ?", lines)
        connection.executemany("DELETE FROM ledger WHERE call_id = ?", [line[:1] for line in lines])
        return bool(lines) | bool(connection.execute(_UNUSED, asked).rowcount)
