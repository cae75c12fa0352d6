"""Dense scores: exact integer dot products of given int8 vectors. Never calls a model.

Every eligible row is scanned: with a filter, approximate indexes lose most of the right neighbours. Products are
taken as integers where `numkong` is installed, a quarter of the memory to read, else as float32, which stay exact
since a sum of up to 1,040 products of int8 is below 2**24. So the library, threads, block sizes and processors
change nothing (law 8).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from pegboard.retrieval.eligible import Eligible
from pegboard.retrieval.kept import Kept

__all__ = ["MAX_DIMENSIONS", "Vectors"]

MAX_DIMENSIONS = (1 << 24) // (127 * 127)  # 1,040
_BLOCK = 1_024  # rows at a time, so that all texts find them in the cache: half the time for three texts
_KEPT_ROWS = 65_536  # up to so many rows a copy is kept in the form that multiplies fastest; beyond, int8 as it is


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """One channel: an int8 vector for each row, values -127 to 127."""

    matrix: NDArray[np.int8]
    """Shape (rows, dimensions)."""
    kept: "Kept[_Rows]"
    kernels: ModuleType | None = None
    """`numkong`, where it is installed."""

    @classmethod
    def of(cls, matrix: NDArray[np.int8], *, budget: int) -> "Vectors":
        """Take a matrix; it is kept, not copied (it may be memory-mapped).

        Raises:
            ValueError: It is no int8 matrix, or its vectors are too long for exact sums.
        """
        if matrix.dtype != np.int8 or matrix.ndim != 2:
            raise ValueError(f"vectors must be a matrix of int8, not {matrix.ndim}-dimensional {matrix.dtype}")
        if matrix.shape[1] > MAX_DIMENSIONS:
            raise ValueError(f"vectors of {matrix.shape[1]} dimensions; exact sums hold up to {MAX_DIMENSIONS}")
        return cls(matrix, Kept(budget), _numkong())

    def takes(self, vectors: Sequence[bytes], texts: int) -> bool:
        """Say whether these are vectors of so many texts and can be compared with the rows."""
        return len(vectors) == texts > 0 and all(len(vector) == self.matrix.shape[1] for vector in vectors)

    def scores(self, vectors: Sequence[bytes], eligible: Eligible) -> NDArray[np.float64]:
        """Return the dot products, shape (vectors, eligible rows): exact integers."""
        asked = np.frombuffer(b"".join(vectors), dtype=np.int8).reshape(len(vectors), -1)
        rows = self.kept.get(eligible.key, lambda: self._rows(eligible), lambda found: found.nbytes)
        return rows.products(asked)

    def _rows(self, eligible: Eligible) -> "_Rows":
        rows = self.matrix if eligible.everything else self.matrix[eligible.rows]
        few = len(rows) <= _KEPT_ROWS
        if self.kernels is None:
            held = rows.astype(np.float32) if few else rows
            return _Rows(held.nbytes, lambda asked: _as_floats(held, asked))
        if few:
            multiply, packed = self.kernels.dots_packed, self.kernels.dots_pack(rows)
            return _Rows(packed.nbytes, lambda asked: np.asarray(multiply(asked, packed), dtype=np.float64))
        compare = self.kernels.cdist
        return _Rows(rows.nbytes, lambda asked: np.asarray(compare(asked, rows, "dot"), dtype=np.float64))


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Eligible rows in the form in which they are multiplied."""

    nbytes: int
    products: Callable[[NDArray[np.int8]], NDArray[np.float64]]


def _as_floats(rows: NDArray[np.int8] | NDArray[np.float32], asked: NDArray[np.int8]) -> NDArray[np.float64]:
    result = np.empty((len(asked), len(rows)))
    texts = asked.astype(np.float32)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK].astype(np.float32, copy=False)
        for text, one in enumerate(texts):
            result[text, start : start + _BLOCK] = block @ one
    return result


def _numkong() -> ModuleType | None:
    # Here and not at the top: it is optional, and `import pegboard` loads nothing optional.
    try:
        import numkong
    except ImportError:
        return None
    kernels: ModuleType = numkong
    return kernels
