"""Prepare a snapshot for requests: read its documents, encode them, count their tokens; and keep all of it.

A catalog version is prepared once. The next process finds what was kept, by the snapshot's digest, the recipe and
the models, and starts in the time that reading a file takes.
"""

from collections.abc import Callable, Mapping

import numpy as np
from anyio import to_thread
from numpy.typing import NDArray

from pegboard.core.aliases import alias
from pegboard.core.names import compact_json, digest
from pegboard.core.snapshot import Snapshot
from pegboard.engine.rendering import served_tool
from pegboard.engine.selection import mcp_tool
from pegboard.retrieval.index import Index
from pegboard.retrieval.stored import rows_from_bytes, rows_key, rows_to_bytes
from pegboard.service.encoding import Encoders
from pegboard.service.ports import VectorStore

__all__ = ["Preparer"]


class Preparer:
    """Makes indexes and token counts, or finds them where they were made before."""

    def __init__(
        self, encoders: Encoders, store: VectorStore, encoding: str, count_tokens: Callable[[str], int]
    ) -> None:
        self._encoders = encoders
        self._store = store
        self._encoding = encoding
        self._count = count_tokens

    async def index(self, snapshot: Snapshot, previous: Index | None = None) -> Index:
        """Return the index of a snapshot; texts that were read or encoded before are not again."""
        key = rows_key(snapshot.digest)
        kept = await self._store.prepared(key)
        rows = None
        if kept is not None:
            try:
                rows = rows_from_bytes(kept)
            except ValueError:
                # Made again below: it is a copy of what the entries say.
                rows = None
        vectors, models = await self._vectors(snapshot)
        index = await to_thread.run_sync(lambda: Index.build(snapshot.entries, vectors, previous, models, rows))
        if rows is None:
            await self._store.keep_prepared(key, rows_to_bytes(index.rows))
        return index

    async def tokens(self, snapshot: Snapshot) -> NDArray[np.int32]:
        """Return the tokens of each tool's definition as MCP lists it, row by row."""
        key = digest(["tokens", snapshot.digest, self._encoding])
        kept = await self._store.prepared(key)
        if kept is not None and len(kept) == 4 * len(snapshot.entries):
            return np.frombuffer(kept, dtype="<i4")
        counted = await to_thread.run_sync(lambda: _counted(snapshot, self._count))
        await self._store.keep_prepared(key, counted.astype("<i4").tobytes())
        return counted

    async def _vectors(self, snapshot: Snapshot) -> tuple[Mapping[str, NDArray[np.int8]], dict[str, str]]:
        """Return a matrix for each channel, kept whole for this snapshot."""
        matrices: dict[str, NDArray[np.int8]] = {}
        models: dict[str, str] = {}
        missing = []
        for channel, encoder in self._encoders.channels.items():
            kept = await self._store.prepared(_matrix_key(snapshot, encoder.model_id))
            if kept is not None and len(kept) == len(snapshot.entries) * encoder.dimensions:
                matrices[channel] = np.frombuffer(kept, dtype=np.int8).reshape(-1, encoder.dimensions)
                models[channel] = encoder.model_id
            else:
                missing.append(channel)
        if missing:
            made, made_by = await self._encoders.documents(snapshot.entries, missing)
            for channel, matrix in made.items():
                await self._store.keep_prepared(_matrix_key(snapshot, made_by[channel]), matrix.tobytes())
            matrices.update(made)
            models.update(made_by)
        return matrices, models


def _matrix_key(snapshot: Snapshot, model_id: str) -> str:
    return digest(["matrix", rows_key(snapshot.digest), model_id])


def _counted(snapshot: Snapshot, count: Callable[[str], int]) -> NDArray[np.int32]:
    served = (served_tool(entry, entry.mentions) for entry in snapshot.entries)
    counts = (count(compact_json(mcp_tool(tool, alias(tool.tool_id)))) for tool in served)
    return np.fromiter(counts, np.int32, len(snapshot.entries))
