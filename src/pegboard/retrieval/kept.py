"""Kept values: a bounded memory of what was computed for an eligible set, so that the next request need not.

What is kept is a function of its key, so forgetting costs time and changes no byte.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Kept"]

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """Values by key, within a budget of bytes; what was used longest ago goes first."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._values: dict[bytes, tuple[Value, int]] = {}

    def get(self, key: bytes, make: Callable[[], Value], size: Callable[[Value], int]) -> Value:
        """Return the value of *key*, made now if it is not kept. One larger than the budget is not kept at all."""
        found = self._values.pop(key, None)
        if found is not None:
            # Inserted anew, it is the last to go: dictionaries keep their order of insertion.
            self._values[key] = found
            return found[0]
        value = make()
        if (bytes_of := size(value)) <= self._budget:
            self._values[key] = (value, bytes_of)
            self._shrink()
        return value

    def _shrink(self) -> None:
        # A copy, since another thread may keep something meanwhile.
        total = sum(size for _, size in list(self._values.values()))
        for key in list(self._values):
            if total <= self._budget:
                return
            total -= self._values.pop(key, (None, 0))[1]

    def __len__(self) -> int:
        return len(self._values)
