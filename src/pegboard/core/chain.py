"""A hash chain: each event's hash covers the event and the hash before it, so that none can be changed or left out.

A chain whose beginning was removed says so itself, by a later event that names the last one that went. What it does
not show is that its newest events were cut off; whoever needs that keeps the last hash elsewhere.

Source: Haber and Stornetta, "How to time-stamp a digital document", 1991.
"""

import hashlib
from collections.abc import Mapping

from pegboard.core.names import Json, canonical_json

__all__ = ["PRUNED", "START", "Walk", "chained"]

# What stands before the first event: no hash at all.
START = ""
PRUNED = "audit_pruned"
"""The kind of the event that says which was the last to be removed: `through`, its number, and `hash`; and which of
those that went did not follow: `broken`."""


def chained(before: str, number: int, at: float, kind: str, body: Mapping[str, Json]) -> str:
    """Return the hash (hex) of an event that follows one with the hash *before*.

    Raises:
        ValueError: The body has no canonical form.
    """
    return hashlib.sha256(before.encode() + canonical_json([number, at, kind, body])).hexdigest()


class Walk:
    """Follows a chain event by event, oldest first, and notes which do not follow from the one before."""

    def __init__(self) -> None:
        self.events = 0
        """How many there were."""
        self.last = START
        """The hash of the newest so far."""
        self._number = 0
        self._broken: list[int] = []
        self._first: tuple[int, float, str, Mapping[str, Json], str] | None = None
        self._removed: dict[int, str] = {}
        self._removed_broken: set[int] = set()

    @property
    def pruned(self) -> int:
        """Say how many events stood before the first one."""
        return 0 if self._first is None else self._first[0] - 1

    @property
    def broken(self) -> tuple[int, ...]:
        """Return the numbers of the events that do not follow, removed ones among them, once all were followed."""
        if self._first is None:
            return ()
        number, at, kind, body, hash_ = self._first
        before = START if number == 1 else self._removed.get(number - 1)
        follows = before is not None and hash_ == chained(before, number, at, kind, body)
        return tuple(sorted({*self._removed_broken, *(() if follows else (number,)), *self._broken}))

    def follow(self, number: int, at: float, kind: str, body: Mapping[str, Json], hash_: str) -> None:
        """Take the next event."""
        if self._first is None:
            # What stood before it, where anything did, is only told further on.
            self._first = (number, at, kind, body, hash_)
        elif number != self._number + 1 or hash_ != chained(self.last, number, at, kind, body):
            self._broken.append(number)
        through, removed, broken = body.get("through"), body.get("hash"), body.get("broken")
        if kind == PRUNED and isinstance(through, int) and isinstance(removed, str):
            self._removed[through] = removed
            known = broken if isinstance(broken, list) else ()
            self._removed_broken.update(one for one in known if isinstance(one, int))
        self.events, self.last, self._number = self.events + 1, hash_, number
