"""Vectors for the measurements: the two encoders that are shipped, each text encoded once and kept in a file.

The file's name holds the model id, so another model is never taken for this one.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import anyio
import numpy as np
from numpy.typing import NDArray

from pegboard.adapters.encoders import OnnxEncoder, StaticEncoder
from pegboard.core.catalog import CatalogEntry
from pegboard.retrieval.documents import dense_text, document
from pegboard.retrieval.query import Query, read

__all__ = ["Encoders"]

_COMPANION = Path(__file__).resolve().parents[1] / "models" / "pegboard-minilm" / "src" / "pegboard_minilm"
_SAVE_EVERY = 1_000


class Encoders:
    """Both channels, behind a cache in *folder*."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.models: dict[str, StaticEncoder | OnnxEncoder] = {
            "static": StaticEncoder.open(),
            "encoder": anyio.run(_open_companion),
        }
        self._known = {name: self._read(name) for name in self.models}

    def documents(self, entries: Sequence[CatalogEntry]) -> dict[str, NDArray[np.int8]]:
        """Encode tools: channel -> a row each."""
        texts = [dense_text(document(entry)) for entry in entries]
        return {name: np.array(self.encode(name, texts)) for name in self.models}

    def query(self, task: str, channels: Sequence[str] = ("static", "encoder")) -> Query:
        """Analyse a task, with vectors for *channels*."""
        reading = read([task])
        return reading.query(
            {name: tuple(row.tobytes() for row in self.encode(name, reading.texts)) for name in channels}
        )

    def encode(self, name: str, texts: Sequence[str]) -> list[NDArray[np.int8]]:
        """Return a vector for each text, encoding what is new."""
        known = self._known[name]
        new = list(dict.fromkeys(text for text in texts if _key(text) not in known))
        for start in range(0, len(new), _SAVE_EVERY):
            chunk = new[start : start + _SAVE_EVERY]
            known.update(zip(map(_key, chunk), self.models[name].rows_of(chunk), strict=True))
            if len(chunk) == _SAVE_EVERY:
                self.save()
        return [known[_key(text)] for text in texts]

    def save(self) -> None:
        """Write what is known."""
        for name, known in self._known.items():
            keys = np.frombuffer(b"".join(known), dtype=np.uint8).reshape(len(known), 16)
            np.savez(self._path(name), keys=keys, rows=np.array(list(known.values()), dtype=np.int8))

    def _read(self, name: str) -> dict[bytes, NDArray[np.int8]]:
        if not self._path(name).exists():
            return {}
        found: Mapping[str, NDArray[np.generic]] = np.load(self._path(name))
        return {key.tobytes(): row for key, row in zip(found["keys"], found["rows"], strict=True)}  # type: ignore[misc]

    def _path(self, name: str) -> Path:
        return self._folder / f"{self.models[name].model_id.replace('@', '-')}.npz"


async def _open_companion() -> OnnxEncoder:
    return OnnxEncoder.open(_COMPANION)


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
