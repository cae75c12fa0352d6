"""How entries, lists of row numbers and documents look in the file, and how damage to them is found.

A row's body is the canonical JSON whose SHA-256 is the row's address, so reading it checks it. Documents and
traces have no such address; their frames carry a checksum. SQLite keeps any kind of value in any column, so what is
used as it stands goes through `checked`.

Source: RFC 8878 (Zstandard).
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from pegboard.adapters.store_errors import damaged, refused
from pegboard.core.catalog import CatalogEntry, from_row, row_bytes
from pegboard.core.names import digest_bytes, parse_json

__all__ = [
    "TIMES",
    "address",
    "checked",
    "key",
    "pack",
    "pack_ids",
    "packer",
    "read_entry",
    "read_pair",
    "read_reasons",
    "unpack",
    "unpack_ids",
    "unpacker",
    "write_entry",
]

# A damaged frame may claim any size; nothing we write comes near this.
_MAX_BYTES = 1 << 30
_HASH = "sha256:"
# The first second of the year 1 and the last of 9999: a time beyond them is none that a clock told.
TIMES = (-62135596800.0, 253402300799.0)
_DECODER = json.JSONDecoder()


def key(digest: str) -> bytes:
    """Turn `sha256:<hex>` into its 32 bytes; anything else is a key that nothing has."""
    try:
        return bytes.fromhex(digest.removeprefix(_HASH))
    except ValueError:
        return b""


def address(found: bytes) -> str:
    """Turn 32 bytes into `sha256:<hex>`.

    Raises:
        StoreError: What the column holds is no bytes.
    """
    checked((found,), "a digest", bytes)
    return _HASH + found.hex()


def checked(row: Sequence[Any], what: str, *kinds: type | tuple[type, ...]) -> Sequence[Any]:
    """Return a row of the file, each value of its kind; a float is a time.

    Raises:
        StoreError: A value is of another kind, or a time is outside the calendar; *what* names the row.
    """
    for value, kind in zip(row, kinds, strict=True):
        if not isinstance(value, kind) or (isinstance(value, float) and not TIMES[0] <= value <= TIMES[1]):
            raise damaged(what)
    return row


def packer() -> zstandard.ZstdCompressor:
    """Return a compressor for one thread. Level 3: on 2,583 real tools level 9 took 3.7 times as long for 4% less."""
    return zstandard.ZstdCompressor(level=3, write_checksum=True)


def unpacker() -> zstandard.ZstdDecompressor:
    """Return a decompressor for one thread."""
    return zstandard.ZstdDecompressor()


def pack(body: bytes) -> bytes:
    """Compress one body."""
    return packer().compress(body)


def unpack(packed: bytes, what: str, frames: zstandard.ZstdDecompressor | None = None) -> bytes:
    """Decompress and check one body.

    Raises:
        StoreError: It is not what was written; *what* names it.
    """
    try:
        if not 0 <= zstandard.frame_content_size(packed) <= _MAX_BYTES:
            raise damaged(what)
        return (frames or unpacker()).decompress(packed)
    except (zstandard.ZstdError, TypeError) as error:
        raise damaged(what) from error


def write_entry(entry: CatalogEntry, frames: zstandard.ZstdCompressor) -> bytes:
    """Return the packed body of an entry.

    Raises:
        StoreError: The entry's `row` is not the digest of its fields; stored, it could never be read again.
    """
    try:
        body = row_bytes(entry)
    except ValueError as error:
        raise refused(f"the entry {entry.tool_id!r} cannot be written: {error}") from error
    if digest_bytes(body) != entry.row:
        raise refused(f"the entry {entry.tool_id!r} does not have the digest of its fields")
    return frames.compress(body)


def read_entry(tool_id: str, row: bytes, packed: bytes, frames: zstandard.ZstdDecompressor) -> CatalogEntry:
    """Rebuild an entry from its row, whose digest is checked.

    Raises:
        StoreError: The row is not what was written.
    """
    body = unpack(packed, f"the row of {tool_id!r} cannot be unpacked", frames)
    if hashlib.sha256(body).digest() != row:
        raise damaged(f"the row of {tool_id!r} is not that of the digest {address(row)}")
    try:
        entry = from_row(_DECODER.decode(body.decode("utf-8")), address(row))
    except (ValueError, RecursionError) as error:
        raise damaged(f"the row of {tool_id!r} is no catalog entry") from error
    if entry.tool_id != tool_id:
        raise damaged(f"the row of {entry.tool_id!r} is filed under {tool_id!r}")
    return entry


def read_reasons(written: str, what: str) -> tuple[tuple[str, str], ...]:
    """Read the names of refused tools, each with its reason.

    Raises:
        StoreError: It is not what was written; *what* names it.
    """
    try:
        found: Any = parse_json(written)
    except ValueError as error:
        raise damaged(what) from error
    checked((found,), what, list)
    return tuple(read_pair(each, what) for each in found)


def read_pair(found: Any, what: str) -> tuple[str, str]:
    """Take two texts.

    Raises:
        StoreError: It is anything else; *what* names it.
    """
    if not isinstance(found, list) or len(found) != 2:
        raise damaged(what)
    one, two = checked(found, what, str, str)
    return one, two


def pack_ids(ids: Sequence[int]) -> bytes:
    """Write row numbers in their order; neighbours that were stored together take next to nothing."""
    steps = np.diff(np.asarray(ids, dtype="<i8"), prepend=0)
    return pack(steps.astype("<i8").tobytes())


def unpack_ids(packed: bytes, what: str) -> list[int]:
    """Read what `pack_ids` wrote.

    Raises:
        StoreError: It is not what was written; *what* names it.
    """
    body = unpack(packed, what)
    if len(body) % 8:
        raise damaged(what)
    steps: NDArray[np.int64] = np.frombuffer(body, dtype="<i8")
    return [int(number) for number in np.cumsum(steps).tolist()]
