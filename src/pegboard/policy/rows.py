"""Revocations over the rows of one snapshot: which tools a set of targets covers, without asking each tool.

Laid out once a snapshot: the row of a tool id, the rows of a server and of a namespace with everything inside
it, and the rows that go on under `halt all`. The reference is `Revocations.covers`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pegboard.core.policy import Policy, outlasts_halt
from pegboard.core.revocations import EVERYTHING, with_parents
from pegboard.core.snapshot import Snapshot

__all__ = ["Rows"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows:
    """Where in a snapshot each revocable thing stands. Build it with `of`."""

    snapshot: Snapshot
    groups: dict[str, list[int]]
    """Target (`server:…`, `namespace:…`) -> the places in `keys` that it covers."""
    group_of_row: NDArray[np.int32]
    """The place of each row's (server, namespace) pair."""
    pairs: int
    always: NDArray[np.bool_]

    @classmethod
    def of(cls, snapshot: Snapshot, policy: Policy) -> "Rows":
        """Lay out the rows of a snapshot."""
        pairs: dict[tuple[str, str], int] = {}
        numbers = [pairs.setdefault((e.source_server, e.namespace), len(pairs)) for e in snapshot.entries]
        groups: dict[str, list[int]] = {}
        for (server, namespace), place in pairs.items():
            for target in (f"server:{server}", *(f"namespace:{path}" for path in with_parents(namespace))):
                groups.setdefault(target, []).append(place)
        always = [outlasts_halt(entry, policy) for entry in snapshot.entries]
        return cls(
            snapshot=snapshot,
            groups=groups,
            group_of_row=np.array(numbers, dtype=np.int32),
            pairs=len(pairs),
            always=np.array(always, dtype=np.bool_),
        )

    def revoked(self, targets: Iterable[str]) -> NDArray[np.bool_] | None:
        """Return the rows that *targets* cover, as bool and read-only; None where they cover none."""
        groups = np.zeros(self.pairs, dtype=np.bool_)
        found = np.zeros(self.group_of_row.size, dtype=np.bool_)
        for target in targets:
            groups[self.groups.get(target, [])] = True
            if (row := self.snapshot.position(target)) is not None:
                found[row] = True
            if target == EVERYTHING:
                found |= ~self.always
        if groups.any():
            found |= groups.take(self.group_of_row)
        if not found.any():
            return None
        found.flags.writeable = False
        return found
