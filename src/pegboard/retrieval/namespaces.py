"""Namespaces as ranking sees them: a number for each row's, and which of them a task names.

People name the product they mean ("in Stripe", "our GitLab"). A namespace is named by an operator, never by the
server, so no description can pretend to it. Whether one is named follows from its own name and the task alone (law 2).
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pegboard.core.catalog import CatalogEntry
from pegboard.retrieval.tokens import terms

__all__ = ["GENERIC", "Namespaces"]

# Words that say what a namespace is and not whose: a task need not hold them, and they alone name nothing.
GENERIC = frozenset(terms("mcp server api app tool service client"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Namespaces:
    """The namespaces of one snapshot."""

    codes: NDArray[np.int32]
    """By row: a number for its namespace."""
    holding: Mapping[str, tuple[int, ...]]
    """Term -> the numbers of the namespaces whose name holds it."""
    sizes: tuple[int, ...]
    """By number: distinct terms of the name."""

    @classmethod
    def of(cls, entries: Sequence[CatalogEntry]) -> "Namespaces":
        """Number the namespaces of all entries."""
        numbers: dict[str, int] = {}
        codes = np.array([numbers.setdefault(one.namespace, len(numbers)) for one in entries], dtype=np.int32)
        names = [frozenset(terms(name)) - GENERIC for name in numbers]
        holding: dict[str, list[int]] = {}
        for number, name in enumerate(names):
            for term in name:
                holding.setdefault(term, []).append(number)
        return cls(
            codes=codes,
            holding={term: tuple(held) for term, held in holding.items()},
            sizes=tuple(map(len, names)),
        )

    def named(self, asked: Collection[str]) -> NDArray[np.int32]:
        """Return the numbers of the namespaces all of whose words are among the terms *asked*, ascending."""
        counts = Counter(number for term in set(asked) for number in self.holding.get(term, ()))
        found = sorted(number for number, count in counts.items() if count == self.sizes[number])
        return np.array(found, dtype=np.int32)
