"""The rows of an index as bytes, so that the same catalog version need not be read again by the next process.

The key names everything that reading depends on; bytes kept under another key are never taken.
"""

import json

import numpy as np
from numpy.typing import NDArray

from pegboard.core.names import digest
from pegboard.retrieval.building import BUILDING_VERSION, Rows
from pegboard.retrieval.documents import DOCUMENTS_VERSION
from pegboard.retrieval.tokens import TOKENS_VERSION

__all__ = ["rows_from_bytes", "rows_key", "rows_to_bytes"]

_ARRAYS = (("terms", "<i4"), ("frequencies", "|u1"), ("ends", "<i8"), ("lengths", "<i8"))


def rows_key(snapshot_digest: str) -> str:
    """Return what the rows of a snapshot are kept under, as this version of the recipe reads it."""
    return digest([snapshot_digest, DOCUMENTS_VERSION, TOKENS_VERSION, BUILDING_VERSION])


def rows_to_bytes(rows: Rows) -> bytes:
    """Write rows: a line of JSON with the vocabulary and the sizes, then the arrays."""
    arrays = [np.ascontiguousarray(getattr(rows, name), dtype=kind) for name, kind in _ARRAYS]
    head = {
        "vocabulary": list(rows.vocabulary),
        "digests": list(rows.digests),
        "sizes": [len(array) for array in arrays],
    }
    return b"\n".join((json.dumps(head).encode(), b"".join(array.tobytes() for array in arrays)))


def rows_from_bytes(data: bytes) -> Rows:
    """Read what `rows_to_bytes` wrote.

    Raises:
        ValueError: It is not that.
    """
    head, _, body = data.partition(b"\n")
    try:
        told = json.loads(head)
        arrays: dict[str, NDArray[np.generic]] = {}
        start = 0
        for (name, kind), size in zip(_ARRAYS, told["sizes"], strict=True):
            arrays[name] = np.frombuffer(body, dtype=kind, count=size, offset=start)
            start += arrays[name].nbytes
        vocabulary = {term: number for number, term in enumerate(told["vocabulary"])}
        digests = tuple(told["digests"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"not the rows of an index: {error}") from error
    if start != len(body) or len(digests) != len(arrays["ends"]) != len(arrays["lengths"]):
        raise ValueError("not the rows of an index: the sizes do not agree")
    return Rows(vocabulary=vocabulary, digests=digests, **arrays)  # type: ignore[arg-type]
