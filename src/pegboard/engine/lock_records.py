"""Lock records: a state of the lock, kept as what differs from an earlier one, so that keeping it costs its changes.

A record is whole, or follows the record of another lock, which it names by digest. `lock_of` puts a chain of them
together again; whoever keeps them sees to it that no chain grows long.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pegboard.core.lock import Lock, parse_lock
from pegboard.core.names import Json

__all__ = ["follows", "lock_of", "lock_record"]


def lock_record(lock: Lock, before: Lock | None = None, length: int = 1) -> dict[str, Json]:
    """Return the record of a lock: whole, or as what differs from *before*; *length* records make it then."""
    if before is None:
        return {"length": 1, "lines": [line.text for line in lock]}
    differing = sorted(lock.differing(before))
    return {
        "length": length,
        "follows": before.digest,
        "gone": [tool for tool in differing if tool not in lock.lines],
        "lines": [lock.lines[tool].text for tool in differing if tool in lock.lines],
    }


def follows(record: Mapping[str, Any]) -> str | None:
    """Return the digest of the lock whose record comes before this one, None where it is whole."""
    found: str | None = record.get("follows")
    return found


def lock_of(records: Sequence[Mapping[str, Any]]) -> Lock:
    """Rebuild a lock from its chain of records, the whole one first.

    Raises:
        LockError: A line is not valid any more.
    """
    lock = Lock.of()
    for record in records:
        lines = parse_lock("\n".join(record["lines"]), "the kept lock")
        lock = lock.without(record.get("gone", ())).granting(lines)
    return lock
