"""Vectors that need not be made again: of the latest tasks in memory, and of a catalog's documents by digest."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pegboard.core.errors import EncoderError
from pegboard.service.ports import Encoder

__all__ = ["RememberingEncoder", "encode_missing"]


class RememberingEncoder:
    """Another encoder with its latest single texts remembered, by digest: the texts themselves are not kept."""

    def __init__(self, encoder: Encoder, limit: int = 4_096) -> None:
        """Remember up to *limit* vectors; the one not asked for longest is dropped first."""
        self._encoder, self._limit = encoder, limit
        self._kept: OrderedDict[bytes, NDArray[np.int8]] = OrderedDict()

    @property
    def model_id(self) -> str:
        """Return the other encoder's id."""
        return self._encoder.model_id

    @property
    def dimensions(self) -> int:
        """Return the other encoder's length."""
        return self._encoder.dimensions

    async def encode(self, texts: Sequence[str]) -> NDArray[np.int8]:
        """Encode only what is not remembered; a long list passes through, so that a catalog does not push tasks out."""
        if len(texts) > self._limit // 8:
            return await self._encoder.encode(texts)
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        known = {key: self._kept[key] for key in keys if key in self._kept}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            known.update(zip(missing, await self._encoder.encode(list(missing.values())), strict=True))
        for key in keys:
            self._kept[key] = known[key]
            self._kept.move_to_end(key)
        while len(self._kept) > self._limit:
            self._kept.popitem(last=False)
        return np.stack([known[key] for key in keys]) if keys else np.zeros((0, self.dimensions), dtype=np.int8)


async def encode_missing(
    encoder: Encoder,
    digests: Sequence[str],
    texts: Sequence[str],
    known: Mapping[str, bytes],
    progress: Callable[[int, int], None] = lambda done, total: None,
    batch: int = 256,
) -> dict[str, bytes]:
    """Encode the documents whose digest is not in *known*, each digest once.

    Args:
        encoder: Its `model_id` is part of the key: pass what is known for this model only.
        digests: The digest of each text, in the order of *texts*.
        texts: The documents.
        known: Vectors by digest. One of another length is encoded again.
        progress: Called with (encoded, to encode) before the first and after each batch.
        batch: Texts given to the encoder at a time.

    Returns:
        The new vectors alone, `dimensions` bytes each.

    Raises:
        EncoderError: A batch failed; nothing is returned then.
    """
    missing = {
        digest: text
        for digest, text in zip(digests, texts, strict=True)
        if len(known.get(digest, b"")) != encoder.dimensions
    }
    waiting = list(missing.items())
    made: dict[str, bytes] = {}
    progress(0, len(waiting))
    for start in range(0, len(waiting), batch):
        part = waiting[start : start + batch]
        vectors = await encoder.encode([text for _, text in part])
        if vectors.shape != (len(part), encoder.dimensions) or vectors.dtype != np.int8:
            raise EncoderError(
                model=encoder.model_id, problem=f"{len(part)} texts gave vectors of shape {vectors.shape}"
            )
        made.update((digest, vector.tobytes()) for (digest, _), vector in zip(part, vectors, strict=True))
        progress(len(made), len(waiting))
    return made
