"""The second layer over the rows of one snapshot: asked once for each kind of tool and of caller, and remembered.

Tools that the layer cannot tell apart are one kind, and so are callers; both keys are the layer's. Only kinds that
the attribute table lets some tool of through are asked. Nothing is remembered of a layer that raises.
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pegboard.core.catalog import CatalogEntry
from pegboard.core.context import RuntimeContext
from pegboard.core.layer import Layer, Ruling
from pegboard.core.lock import LockLine
from pegboard.core.policy import Policy
from pegboard.core.snapshot import Snapshot

__all__ = ["Considered"]

# Kinds of callers whose rulings are kept; each takes one object a kind of tool.
_KEPT = 256
# A tool without a lock line is of no kind: the attribute table has denied it.
_NONE = -1


@dataclass(frozen=True, eq=False, kw_only=True)
class Considered:
    """The kinds of tools of a snapshot, and what was ruled on them. Build it with `of`."""

    layer: Layer
    kinds: tuple[tuple[CatalogEntry, LockLine], ...]
    """One tool of each kind."""
    kind_of_row: NDArray[np.int32]
    _ruled: "OrderedDict[Hashable, dict[int, Ruling]]" = field(default_factory=OrderedDict, repr=False)

    @classmethod
    def of(cls, layer: Layer, snapshot: Snapshot, policy: Policy) -> "Considered":
        """Sort the tools of a snapshot into kinds."""
        places: dict[Hashable, int] = {}
        kinds: list[tuple[CatalogEntry, LockLine]] = []
        numbers = np.full(len(snapshot.entries), _NONE, dtype=np.int32)
        for row, entry in enumerate(snapshot.entries):
            line = policy.lock.lines.get(entry.tool_id)
            if line is not None:
                numbers[row] = place = places.setdefault(layer.tool_key(entry, line), len(kinds))
                if place == len(kinds):
                    kinds.append((entry, line))
        return cls(layer=layer, kinds=tuple(kinds), kind_of_row=numbers)

    def refused(self, mask: NDArray[np.bool_], context: RuntimeContext) -> NDArray[np.bool_]:
        """Return the kinds among the rows of *mask* that are refused, as bool, one a kind. Raises as the layer does."""
        refused = np.zeros(len(self.kinds), dtype=np.bool_)
        for kind, ruling in self._rulings(mask, context).items():
            refused[kind] = ruling.allowed is not True
        return refused

    def rows(self, kinds: NDArray[np.bool_], mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the rows of *mask* that are of these kinds."""
        found: NDArray[np.bool_] = mask & (self.kind_of_row != _NONE)
        found[found] = kinds.take(self.kind_of_row[found])
        return found

    def noted(self, mask: NDArray[np.bool_], context: RuntimeContext) -> Mapping[str, int]:
        """Return how many of the rows of *mask* each log-only policy would have decided otherwise, by its id."""
        rows = np.bincount(self.kind_of_row[mask & (self.kind_of_row != _NONE)], minlength=len(self.kinds))
        found: dict[str, int] = {}
        for kind, ruling in self._rulings(mask, context).items():
            for policy in ruling.noted:
                found[policy] = found.get(policy, 0) + int(rows[kind])
        return dict(sorted(found.items()))

    def _rulings(self, mask: NDArray[np.bool_], context: RuntimeContext) -> dict[int, Ruling]:
        """Return what is ruled on each kind among the rows of *mask*, asking what was not asked before."""
        present = np.flatnonzero(np.bincount(self.kind_of_row[mask & (self.kind_of_row != _NONE)])).tolist()
        key = self.layer.caller_key(context)
        known = self._ruled.pop(key, {})
        if asked := [kind for kind in present if kind not in known]:
            rulings = self.layer.consider([self.kinds[kind] for kind in asked], context)
            known = {**known, **dict(zip(asked, rulings, strict=True))}
        self._ruled[key] = known
        while len(self._ruled) > _KEPT:
            self._ruled.popitem(last=False)
        return {kind: known[kind] for kind in present}
