"""The eligible set as ranking sees it: which rows of an index a caller may be shown.

It is decided elsewhere (`policy/`), before any ranking. Whatever is computed from it is a function of the
eligible rows alone.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Eligible"]


@dataclass(frozen=True, eq=False)
class Eligible:
    """Rows of one snapshot. Build it with `of_mask`; what follows from the mask is computed when first asked."""

    mask: NDArray[np.bool_]

    @classmethod
    def of_mask(cls, mask: NDArray[np.bool_]) -> "Eligible":
        """Take a mask over all rows; it is kept, not copied, and must not change afterwards."""
        return cls(mask)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Return the eligible rows, ascending."""
        return np.flatnonzero(self.mask)

    @cached_property
    def count(self) -> int:
        """Return how many rows are eligible."""
        return int(np.count_nonzero(self.mask))

    @property
    def everything(self) -> bool:
        """Say whether every row is eligible."""
        return self.count == len(self.mask)

    @cached_property
    def key(self) -> bytes:
        """Identify the set by its content: what arrays derived from it are cached under."""
        return hashlib.blake2b(np.packbits(self.mask).tobytes(), digest_size=16).digest()
