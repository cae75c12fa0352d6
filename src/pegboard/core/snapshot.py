"""A snapshot: one immutable state of the catalog, with a version that tells it from every other.

`<n>-<digest>`: a number that only grows, and what the entries hash to. Readers keep the snapshot they
began with; nothing in it ever changes. Callers never see its version: it would tell of tools they may not see.

Source: the snapshot role of The Update Framework.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from pegboard.core.catalog import CatalogEntry, to_row
from pegboard.core.errors import DuplicateToolError
from pegboard.core.names import Json

__all__ = ["Diff", "Snapshot", "diff", "snapshot_digest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Entries sorted by tool id (code point order), so that a row number is a tool's place everywhere."""

    number: int
    entries: tuple[CatalogEntry, ...]
    digest: str

    @classmethod
    def of(cls, number: int, entries: Iterable[CatalogEntry]) -> "Snapshot":
        """Sort, check and digest the entries.

        Raises:
            DuplicateToolError: Two entries have one tool id.
        """
        ordered = tuple(sorted(entries, key=lambda entry: entry.tool_id))
        for one, two in pairwise(ordered):
            if one.tool_id == two.tool_id:
                raise DuplicateToolError(one.tool_id, (one.source_server, two.source_server))
        return cls(number=number, entries=ordered, digest=snapshot_digest(ordered))

    @property
    def version(self) -> str:
        """Name this state: `<n>-<first 12 hex of the digest>`."""
        return f"{self.number}-{self.digest[:12]}"

    def position(self, tool_id: str) -> int | None:
        """Return the row of a tool, or None where there is no such tool."""
        place = bisect_left(self.entries, tool_id, key=lambda entry: entry.tool_id)
        found = place < len(self.entries) and self.entries[place].tool_id == tool_id
        return place if found else None

    def get(self, tool_id: str) -> CatalogEntry | None:
        """Return the entry of a tool, or None where there is no such tool."""
        place = self.position(tool_id)
        return None if place is None else self.entries[place]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """What one snapshot has that another has not; each part sorted by tool id."""

    added: tuple[str, ...]
    changed: tuple[tuple[str, tuple[str, ...]], ...]
    """Tool ids with the names of the fields that differ."""
    removed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    def to_json(self) -> dict[str, Json]:
        """Return the shape of `catalog diff --json`, without the two versions."""
        return {
            "added": list(self.added),
            "changed": [{"tool_id": tool_id, "fields": list(names)} for tool_id, names in self.changed],
            "removed": list(self.removed),
        }


def diff(old: Snapshot, new: Snapshot) -> Diff:
    """Compare two snapshots by content."""
    if new is old:
        return Diff(added=(), changed=(), removed=())
    before = {entry.tool_id: entry for entry in old.entries}
    after = {entry.tool_id: entry for entry in new.entries}
    return Diff(
        added=tuple(tool_id for tool_id in after if tool_id not in before),
        changed=tuple(
            (tool_id, changed_fields(before[tool_id], entry))
            for tool_id, entry in after.items()
            if tool_id in before and before[tool_id].row != entry.row
        ),
        removed=tuple(tool_id for tool_id in before if tool_id not in after),
    )


def changed_fields(old: CatalogEntry, new: CatalogEntry) -> tuple[str, ...]:
    """Name the fields in which two entries differ, as DESIGN section 3 calls them; digests are left out."""
    one, two = to_row(old), to_row(new)
    names = {name for name in one.keys() | two.keys() if one.get(name) != two.get(name)} - {"schema_hash"}
    return tuple(sorted(name.removesuffix("_json") for name in names))


def snapshot_digest(entries: Iterable[CatalogEntry]) -> str:
    """Digest the sorted (tool id, row) pairs: 64 hex digits of SHA-256."""
    total = hashlib.sha256()
    for entry in entries:
        total.update(f"{entry.tool_id}\n{entry.row}\n".encode())
    return total.hexdigest()
