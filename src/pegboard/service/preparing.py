"""Prepare a snapshot for requests: read its documents, encode them, count their tokens; and keep all of it.

Only what changed is made: whatever was made of an entry before, by its address, is carried over. What is kept for the
next process is written again when enough of it is new, so a publish costs its changes; the next process carries over
what was kept, and makes the rest.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from anyio import to_thread
from numpy.typing import NDArray

from pegboard.core.aliases import alias
from pegboard.core.catalog import CatalogEntry
from pegboard.core.names import compact_json, digest
from pegboard.core.snapshot import Snapshot
from pegboard.engine.rendering import served_tool
from pegboard.engine.selection import mcp_tool
from pegboard.retrieval.building import Rows, carry, read
from pegboard.retrieval.index import Index
from pegboard.retrieval.stored import rows_from_bytes, rows_key, rows_to_bytes
from pegboard.service.encoding import Encoders
from pegboard.service.ports import VectorStore

__all__ = ["Preparer"]

# Up to so many tools everything is kept at each change: it takes a few MB, and the next process finds all of it.
_SMALL = 5_000
# Beyond, when a twentieth of it would have to be made again.
_NEW_SHARE = 20
_ADDRESS = 32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Made:
    """What was made of some entries, row by row; a part that is not to be had is None or left out."""

    snapshot: str = ""
    addresses: bytes = b""
    """The digests of the entries' rows, one after the other."""
    rows: Rows | None = None
    tokens: NDArray[np.int32] | None = None
    matrices: Mapping[str, NDArray[np.int8]] = field(default_factory=dict)
    """By model id."""

    def places(self, entries: Sequence[CatalogEntry]) -> NDArray[np.int64]:
        """Return for each entry its row here, -1 where nothing was made of it."""
        known = {self.addresses[at : at + _ADDRESS]: at // _ADDRESS for at in range(0, len(self.addresses), _ADDRESS)}
        return np.array([known.get(_address(entry), -1) for entry in entries], dtype=np.int64)


class Preparer:
    """Makes indexes and token counts, or carries them over from where they were made before."""

    def __init__(
        self, encoders: Encoders, store: VectorStore, encoding: str, count_tokens: Callable[[str], int]
    ) -> None:
        self._encoders = encoders
        self._store = store
        self._encoding = encoding
        self._count = count_tokens
        self._last: _Made | None = None
        self._unkept = 0

    async def index(self, snapshot: Snapshot) -> Index:
        """Return the index of a snapshot; texts that were read or encoded before are not again."""
        made = await self._prepared(snapshot)
        models = {
            channel: encoder.model_id
            for channel, encoder in self._encoders.channels.items()
            if encoder.model_id in made.matrices
        }
        vectors = {channel: made.matrices[model] for channel, model in models.items()}
        return await to_thread.run_sync(lambda: Index.build(snapshot.entries, vectors, None, models, made.rows))

    async def tokens(self, snapshot: Snapshot) -> NDArray[np.int32]:
        """Return the tokens of each tool's definition as MCP lists it, row by row."""
        tokens = (await self._prepared(snapshot)).tokens
        assert tokens is not None
        return tokens

    async def _prepared(self, snapshot: Snapshot) -> _Made:
        """Make what is missing of a snapshot, and keep all of it where enough is new."""
        before = self._last or await self._load()
        if before.snapshot == snapshot.digest:
            return before
        entries = snapshot.entries
        places = before.places(entries)
        rows = await to_thread.run_sync(lambda: _rows(entries, before.rows, places))
        tokens = await to_thread.run_sync(lambda: _tokens(entries, before.tokens, places, self._count))
        made = _Made(
            snapshot=snapshot.digest,
            addresses=b"".join(map(_address, entries)),
            rows=rows,
            tokens=tokens,
            matrices=await self._matrices(entries, before.matrices, places),
        )
        self._unkept += int(np.count_nonzero(places < 0))
        if self._unkept and (len(entries) <= _SMALL or self._unkept * _NEW_SHARE >= len(entries)):
            await self._keep(made)
            self._unkept = 0
        self._last = made
        return made

    async def _matrices(
        self, entries: Sequence[CatalogEntry], before: Mapping[str, NDArray[np.int8]], places: NDArray[np.int64]
    ) -> dict[str, NDArray[np.int8]]:
        """Return a matrix for each model; a channel whose encoder fails is left out whole."""
        found = {}
        for channel, encoder in self._encoders.channels.items():
            old = before.get(encoder.model_id)
            at = places if old is not None else np.full(len(entries), -1, dtype=np.int64)
            if old is not None and np.array_equal(at, np.arange(len(old))):
                # Of the same entries. It may be mapped, and a copy would be shared with no other process.
                found[encoder.model_id] = old
                continue
            new = at < 0
            made, _ = await self._encoders.documents([entries[row] for row in np.flatnonzero(new).tolist()], [channel])
            if channel not in made:
                continue
            matrix = np.empty((len(entries), encoder.dimensions), dtype=np.int8)
            matrix[new] = made[channel]
            if old is not None:
                matrix[~new] = old[at[~new]]
            found[encoder.model_id] = matrix
        return found

    async def _keep(self, made: _Made) -> None:
        """Keep everything, each part with a mark of the entries that its rows are of."""
        assert made.rows is not None
        assert made.tokens is not None
        parts = {
            _ADDRESSES: made.addresses,
            rows_key("rows"): _mark(made.addresses) + rows_to_bytes(made.rows),
            self._tokens_key: _mark(made.addresses) + made.tokens.astype("<i4").tobytes(),
            **{_matrix_key(model): _mark(made.addresses) + one.tobytes() for model, one in made.matrices.items()},
        }
        for key, body in parts.items():
            await self._store.keep_prepared(key, body)

    async def _load(self) -> _Made:
        """Read what was kept, as far as it is there and belongs together."""
        addresses = bytes(await self._store.prepared(_ADDRESSES) or b"")
        if not addresses or len(addresses) % _ADDRESS:
            return _Made()
        count = len(addresses) // _ADDRESS
        rows = tokens = None
        if (body := await self._part(rows_key("rows"), addresses)) is not None:
            try:
                rows = rows_from_bytes(bytes(body))
            except ValueError:
                # Made again: it is a copy of what the entries say.
                rows = None
        if (body := await self._part(self._tokens_key, addresses)) is not None and len(body) == 4 * count:
            tokens = np.frombuffer(body, dtype="<i4")
        matrices = {}
        for encoder in self._encoders.channels.values():
            body = await self._part(_matrix_key(encoder.model_id), addresses)
            if body is not None and len(body) == count * encoder.dimensions:
                matrices[encoder.model_id] = np.frombuffer(body, dtype=np.int8).reshape(-1, encoder.dimensions)
        rows = rows if rows is not None and len(rows.digests) == count else None
        return _Made(addresses=addresses, rows=rows, tokens=tokens, matrices=matrices)

    async def _part(self, key: str, addresses: bytes) -> bytes | memoryview | None:
        body = await self._store.prepared(key)
        mark = _mark(addresses)
        return body[len(mark) :] if body is not None and body[: len(mark)] == mark else None

    @property
    def _tokens_key(self) -> str:
        return digest(["tokens", self._encoding])


_ADDRESSES = digest(["addresses"])


def _matrix_key(model_id: str) -> str:
    return digest(["matrix", rows_key("rows"), model_id])


def _mark(addresses: bytes) -> bytes:
    return hashlib.sha256(addresses).digest()


def _address(entry: CatalogEntry) -> bytes:
    return bytes.fromhex(entry.row.removeprefix("sha256:"))


def _rows(entries: Sequence[CatalogEntry], before: Rows | None, places: NDArray[np.int64]) -> Rows:
    return read(entries) if before is None else carry(entries, before, places)


def _tokens(
    entries: Sequence[CatalogEntry],
    before: NDArray[np.int32] | None,
    places: NDArray[np.int64],
    count: Callable[[str], int],
) -> NDArray[np.int32]:
    at = places if before is not None else np.full(len(entries), -1, dtype=np.int64)
    found = np.empty(len(entries), dtype=np.int32)
    if before is not None:
        found[at >= 0] = before[at[at >= 0]]
    for row in np.flatnonzero(at < 0).tolist():
        tool = served_tool(entries[row], entries[row].mentions)
        found[row] = count(compact_json(mcp_tool(tool, alias(tool.tool_id))))
    return found
