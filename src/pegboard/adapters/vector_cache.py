"""Vectors that need not be made again: those of the latest tasks, in memory."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pegboard.service.ports import Encoder

__all__ = ["RememberingEncoder"]


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
