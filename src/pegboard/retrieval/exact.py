"""Exact names: eligible tools that a task names outright. They come before everything ranked.

A name resolves by tool id, by `namespace/name`, or by bare name, upper and lower case alike, and among the
eligible tools alone: for a caller who may not see a tool, its name is a word like any other.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pegboard.core.catalog import CatalogEntry
from pegboard.retrieval.eligible import Eligible

__all__ = ["MAX_NAMESAKES", "Names"]

# A bare name that more eligible tools share than this names none of them: "search" of forty servers is a wish.
MAX_NAMESAKES = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Names:
    """Every way to name each row, as sorted hashes: a million tools take 36 MB, and a look-up is a bisection."""

    entries: Sequence[CatalogEntry]
    hashes: NDArray[np.uint64]
    rows: NDArray[np.int32]

    @classmethod
    def of(cls, entries: Sequence[CatalogEntry]) -> "Names":
        """Hash the names of all entries."""
        pairs = [(_hash(name), row) for row, entry in enumerate(entries) for name in _names(entry)]
        hashes = np.array([one for one, _ in pairs], dtype=np.uint64)
        rows = np.array([row for _, row in pairs], dtype=np.int32)
        order = np.lexsort((rows, hashes))
        return cls(entries=entries, hashes=hashes[order], rows=rows[order])

    def find(self, names: Sequence[str], eligible: Eligible) -> tuple[tuple[int, ...], ...]:
        """Return for each name that resolves its eligible rows, ascending; an id resolves to that tool alone."""
        found = (self._rows(name.casefold(), eligible) for name in names)
        return tuple(rows for rows in found if 0 < len(rows) <= MAX_NAMESAKES)

    def _rows(self, name: str, eligible: Eligible) -> tuple[int, ...]:
        wanted = _hash(name)
        low, high = self.hashes.searchsorted(wanted, "left"), self.hashes.searchsorted(wanted, "right")
        rows = [int(row) for row in self.rows[low:high] if eligible.mask[row] and name in _names(self.entries[row])]
        ids = tuple(row for row in rows if self.entries[row].tool_id.casefold() == name)
        return ids or tuple(rows)


def _names(entry: CatalogEntry) -> set[str]:
    return {
        entry.tool_id.casefold(),
        entry.name.casefold(),
        f"{entry.namespace}/{entry.name}".casefold(),
        f"{entry.namespace}.{entry.name}".casefold(),
    }


def _hash(name: str) -> np.uint64:
    digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))
