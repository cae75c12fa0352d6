"""Models that the caller has loaded: any function from texts to vectors, and the three libraries most often used.

No library is imported here; the caller gives its object. What a function returns is checked as an answer from outside.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import anyio
import anyio.to_thread
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pegboard.adapters.encoders import int8_rows, model_id_of
from pegboard.core.errors import EncoderError

__all__ = ["CallableEncoder", "from_fastembed", "from_model2vec", "from_sentence_transformers"]


class CallableEncoder:
    """Any function from texts to vectors, run in worker threads in batches."""

    def __init__(
        self,
        function: Callable[[list[str]], ArrayLike],
        *,
        model_id: str,
        dimensions: int,
        batch: int = 64,
        timeout_s: float = 60.0,
    ) -> None:
        """Wrap *function*; a batch is given up after *timeout_s*, and its thread ends when the function does."""
        self._function, self._model_id, self._dimensions = function, model_id, dimensions
        self._batch, self._timeout_s = batch, timeout_s

    @property
    def model_id(self) -> str:
        """Return the id that the caller gave."""
        return self._model_id

    @property
    def dimensions(self) -> int:
        """Return the length that the caller gave."""
        return self._dimensions

    async def encode(self, texts: Sequence[str]) -> NDArray[np.int8]:
        """Encode in batches, in order; the first failure fails the whole."""
        parts = [np.zeros((0, self._dimensions), dtype=np.int8)]
        for start in range(0, len(texts), self._batch):
            batch = list(texts[start : start + self._batch])
            try:
                with anyio.fail_after(self._timeout_s):
                    found = await anyio.to_thread.run_sync(self._function, batch, abandon_on_cancel=True)
            except TimeoutError as error:
                problem = f"no answer within {self._timeout_s:g} s"
                raise EncoderError(model=self._model_id, problem=problem) from error
            # The caller's function may raise anything; the port lets only `EncoderError` out.
            except Exception as error:
                raise EncoderError(model=self._model_id, problem=f"the function raised {error!r}") from error
            parts.append(int8_rows(found, len(batch), self._dimensions, self._model_id))
        return np.concatenate(parts)


class SentenceTransformer(Protocol):
    """What is used of `sentence_transformers.SentenceTransformer`, and of `model2vec.StaticModel`."""

    def encode(self, sentences: list[str]) -> Any:
        """Return one row a sentence."""


class TextEmbedding(Protocol):
    """What is used of `fastembed.TextEmbedding`."""

    def embed(self, documents: list[str]) -> Iterable[Any]:
        """Yield one row a document."""


def from_sentence_transformers(model: SentenceTransformer, *, name: str, revision: str) -> CallableEncoder:
    """Wrap a loaded SentenceTransformer; *revision* tells two versions of the weights apart."""
    return _measured(model.encode, name, revision)


def from_model2vec(model: SentenceTransformer, *, name: str, revision: str) -> CallableEncoder:
    """Wrap a loaded model2vec StaticModel; *revision* tells two versions of the weights apart."""
    return _measured(model.encode, name, revision)


def from_fastembed(model: TextEmbedding, *, name: str, revision: str) -> CallableEncoder:
    """Wrap a loaded fastembed TextEmbedding; *revision* tells two versions of the weights apart."""
    return _measured(lambda texts: np.stack(list(model.embed(texts))), name, revision)


def _measured(function: Callable[[list[str]], Any], name: str, revision: str) -> CallableEncoder:
    """Ask for one vector to learn the length; whatever is wrong with it shows at the first use."""
    dimensions = int(np.asarray(function(["length"])).shape[-1])
    return CallableEncoder(function, model_id=model_id_of(name, revision), dimensions=dimensions)
