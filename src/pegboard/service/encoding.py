"""Vectors: of the catalog's documents, made once for each text and kept, and of tasks, made at each request.

An encoder that fails costs a channel of the ranking and nothing else: the words of the task still rank, and the
trace says which channel was missing. It never costs the filter, and never loads more tools (law 7).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pegboard.core.catalog import CatalogEntry
from pegboard.core.errors import EncoderError
from pegboard.core.names import digest_bytes
from pegboard.retrieval.documents import dense_text, document
from pegboard.retrieval.index import Index
from pegboard.retrieval.query import Query, read
from pegboard.service.ports import Encoder, VectorStore

__all__ = ["Encoders", "Progress"]

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told a channel, how many of its texts are encoded, and how many there are."""

# Documents encoded between two looks at progress and two writes; what was written survives an interruption.
_BATCH = 256

Matrix = NDArray[np.int8]


class Encoders:
    """The encoders of a deployment by channel, and the store that keeps the vectors of documents."""

    def __init__(
        self,
        channels: Mapping[str, Encoder],
        store: VectorStore,
        progress: Progress = lambda channel, done, total: None,
    ) -> None:
        self._channels = dict(channels)
        self._store = store
        self._progress = progress

    @property
    def channels(self) -> Mapping[str, Encoder]:
        """Return the encoders by channel."""
        return self._channels

    def models(self, index: Index | None) -> dict[str, str]:
        """Return the model of each channel of an index that tasks are encoded for."""
        found = () if index is None else index.channels
        return {channel: self._channels[channel].model_id for channel in found if channel in self._channels}

    async def documents(
        self, entries: Sequence[CatalogEntry], channels: Sequence[str]
    ) -> tuple[dict[str, Matrix], dict[str, str]]:
        """Return the vectors of *entries* by channel, row by row, and the model ids that made them.

        A text that was encoded before is taken from the store. A channel whose encoder fails is left out whole.
        """
        texts = [dense_text(document(entry)) for entry in entries]
        matrices: dict[str, Matrix] = {}
        models: dict[str, str] = {}
        for channel in channels:
            encoder = self._channels[channel]
            try:
                matrices[channel] = await self._matrix(channel, encoder, texts)
            except EncoderError:
                continue
            models[channel] = encoder.model_id
        return matrices, models

    async def query(self, tasks: Sequence[str], index: Index | None) -> Query:
        """Analyse a request, with the vectors that an index can compare; a channel that fails is left out."""
        reading = read(tasks)
        return reading.query(await self._vectors(reading.texts, () if index is None else tuple(index.channels)))

    async def _vectors(self, texts: Sequence[str], channels: Sequence[str]) -> dict[str, tuple[bytes, ...]]:
        found: dict[str, tuple[bytes, ...]] = {}
        for channel in channels:
            encoder = self._channels.get(channel)
            if encoder is None or not texts:
                continue
            try:
                rows = _checked(encoder, await encoder.encode(texts), len(texts))
                found[channel] = tuple(row.tobytes() for row in rows)
            except EncoderError:
                continue
        return found

    async def _matrix(self, channel: str, encoder: Encoder, texts: Sequence[str]) -> Matrix:
        digests = [digest_bytes(text.encode()) for text in texts]
        known = await self._store.vectors(encoder.model_id, set(digests))
        missing = {key: text for key, text in zip(digests, texts, strict=True) if key not in known}
        keys = list(missing)
        for start in range(0, len(keys), _BATCH):
            batch = keys[start : start + _BATCH]
            rows = _checked(encoder, await encoder.encode([missing[key] for key in batch]), len(batch))
            made = {key: row.tobytes() for key, row in zip(batch, rows, strict=True)}
            await self._store.keep_vectors(encoder.model_id, made)
            known.update(made)
            self._progress(channel, min(start + _BATCH, len(keys)), len(keys))
        joined = b"".join(known[key] for key in digests)
        return np.frombuffer(joined, dtype=np.int8).reshape(len(texts), encoder.dimensions)


def _checked(encoder: Encoder, rows: Matrix, count: int) -> Matrix:
    """Refuse what is no vector for each text: a program may bring an encoder of its own.

    Raises:
        EncoderError: The answer has another shape or type.
    """
    if rows.shape != (count, encoder.dimensions) or rows.dtype != np.int8:
        problem = f"expected {count} vectors of {encoder.dimensions} int8, the answer is {rows.shape} {rows.dtype}"
        raise EncoderError(model=encoder.model_id, problem=problem)
    return rows
