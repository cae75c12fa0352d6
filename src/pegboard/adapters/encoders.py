"""Texts to vectors with the models we ship: the static table of this wheel, the ONNX model of its companion.

Every encoder gives int8 rows of one length or raises `EncoderError`; nothing partial and nothing that is not finite
passes. The static table sums integers, so its vectors are the same bytes on every processor. The ONNX model quantises
activations over its whole input, so each text is run alone: in a batch, a text's vector would depend on its
neighbours and so on the catalog's order.

Models that the caller brings are in `callable_encoder.py` and `endpoint_encoder.py`. `training/README.md` says how
ours are made.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import BytesIO
from typing import Any

import anyio
import anyio.to_thread
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pegboard.adapters.model_files import ModelFiles
from pegboard.adapters.wordpiece import WordPiece
from pegboard.core.errors import EncoderError

__all__ = [
    "OnnxEncoder",
    "StaticEncoder",
    "int8_rows",
    "model_id_of",
]

SCALE = 127
STATIC_NAME, STATIC_FOLDER = "pegboard-static", "static_table"
COMPANION_NAME, COMPANION_PACKAGE = "pegboard-minilm", "pegboard_minilm"
# A worker thread costs about 0.1 ms: fewer characters than this are encoded by the static table at once.
INLINE_CHARACTERS = 4_000
CHUNK = 16  # texts between two chances to cancel


def int8_rows(vectors: ArrayLike, rows: int, dimensions: int, model: str) -> NDArray[np.int8]:
    """Bring float vectors to unit length, times 127, rounded half to even.

    Raises:
        EncoderError: Not *rows* vectors of *dimensions* finite numbers, or one without length.
    """
    try:
        given = np.asarray(vectors, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise EncoderError(model=model, problem="the answer is not a list of vectors of numbers") from error
    if given.shape != (rows, dimensions) and not (rows == 0 and given.size == 0):
        problem = f"expected {rows} vectors of length {dimensions}, the answer has the shape {given.shape}"
        raise EncoderError(model=model, problem=problem)
    given = given.reshape(rows, dimensions)
    if not np.isfinite(given).all():
        raise EncoderError(model=model, problem="a vector holds NaN or an infinite number")
    # Divided by the largest entry first: squares of huge or tiny numbers would overflow or vanish.
    largest = np.abs(given).max(axis=1, keepdims=True, initial=0)
    if (largest == 0).any():
        raise EncoderError(model=model, problem="a vector has length zero")
    given = given / largest
    levels: NDArray[np.float64] = np.rint(given / np.linalg.norm(given, axis=1, keepdims=True) * SCALE)
    return levels.astype(np.int8)


def model_id_of(name: str, *facts: str) -> str:
    """Make a model id where no manifest exists: the digest covers what the caller says of the model."""
    return f"{name}@{hashlib.sha256(json.dumps([name, *facts]).encode()).hexdigest()[:12]}"


class StaticEncoder:
    """The table of token vectors in this wheel: a text is the weighted sum of its tokens' rows.

    A text with no known word has the zero vector, which is equally far from everything.
    """

    def __init__(self, model: ModelFiles) -> None:
        """Read and check the table.

        Raises:
            EncoderError: A file is missing, damaged or of another shape.
        """
        self._model_id, self._limit = model.model_id, model.max_tokens
        self._rows = _array(model, "rows.npy", np.int8)
        self._weights = _array(model, "weights.npy", np.uint16).astype(np.float64)
        tokens = model.read("vocabulary.txt").decode("utf-8").split("\n")[:-1]
        if self._rows.shape != (len(tokens), model.dimensions) or self._weights.shape != (len(tokens),):
            raise EncoderError(model=model.model_id, problem="rows, weights and vocabulary are not of one size")
        self._unknown = len(tokens)
        self._words = WordPiece({token: place for place, token in enumerate(tokens)}, self._unknown)

    @classmethod
    def open(cls, folder: Traversable | None = None) -> "StaticEncoder":
        """Open the table that this wheel brings, or one of the same form in *folder*."""
        return cls(ModelFiles.open(folder or files("pegboard.adapters") / STATIC_FOLDER, STATIC_NAME))

    @property
    def model_id(self) -> str:
        """Return the name and the digest of the manifest."""
        return self._model_id

    @property
    def dimensions(self) -> int:
        """Return the length of a vector."""
        return int(self._rows.shape[1])

    async def encode(self, texts: Sequence[str]) -> NDArray[np.int8]:
        """Encode at once when there is little to do, else in a worker thread."""
        if sum(map(len, texts)) <= INLINE_CHARACTERS:
            return self.rows_of(texts)
        parts = [
            await anyio.to_thread.run_sync(self.rows_of, texts[start : start + 8 * CHUNK])
            for start in range(0, len(texts), 8 * CHUNK)
        ]
        return np.concatenate(parts)

    def rows_of(self, texts: Sequence[str]) -> NDArray[np.int8]:
        """Encode in this thread."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.int8)
        for vector, text in zip(vectors, texts, strict=True):
            places = [place for place in self._words.ids(text, self._limit) if place != self._unknown]
            # INVARIANT: every product and sum here is an integer under 2^53, so float64 is exact in any order; the
            # squared length is summed in int64 (under 2^63 by the table's limits). Root and division round correctly.
            total = self._weights[places] @ self._rows[places].astype(np.float64)
            whole = total.astype(np.int64)
            length = np.sqrt(np.float64(whole @ whole))
            if length:
                vector[:] = np.rint(total * SCALE / length)
        return vectors


def _array(model: ModelFiles, name: str, dtype: type[np.generic]) -> NDArray[Any]:
    try:
        found = np.load(BytesIO(model.read(name)), allow_pickle=False)
    except ValueError as error:
        raise EncoderError(model=model.model_id, problem=f"{name} is not an array") from error
    if not isinstance(found, np.ndarray) or found.dtype != dtype:
        raise EncoderError(model=model.model_id, problem=f"{name} is not an array of {dtype.__name__}")
    return found


class OnnxEncoder:
    """MiniLM in int8 through onnxruntime, one text a run, in worker threads."""

    def __init__(self, model: ModelFiles, threads: int = 1) -> None:
        """Read and check the files and start the runtime; *threads* texts are run at a time.

        Raises:
            EncoderError: onnxruntime is not installed, or a file is missing, damaged or not a model.
        """
        self._model_id, self._dimensions, self._limit = model.model_id, model.dimensions, model.max_tokens
        try:
            vocabulary: Mapping[str, int] = json.loads(model.read("tokenizer.json"))["model"]["vocab"]
            self._words = WordPiece(vocabulary, vocabulary["[UNK]"])
            self._first, self._last = vocabulary["[CLS]"], vocabulary["[SEP]"]
        except (ValueError, KeyError, TypeError) as error:
            raise EncoderError(model=model.model_id, problem="tokenizer.json holds no BERT vocabulary") from error
        self._session = _session(model)
        self._limiter = anyio.CapacityLimiter(threads)

    @classmethod
    def open(cls, folder: Traversable | None = None, threads: int = 1) -> "OnnxEncoder":
        """Open the companion distribution's model, or one of the same form in *folder*."""
        if folder is None:
            try:
                folder = files(COMPANION_PACKAGE)
            except ModuleNotFoundError as error:
                problem = "the companion distribution that holds it is not installed"
                fix = "install models/pegboard-minilm of the Pegboard repository"
                raise EncoderError(model=COMPANION_NAME, problem=problem, fix=fix) from error
        return cls(ModelFiles.open(folder, COMPANION_NAME), threads)

    @property
    def model_id(self) -> str:
        """Return the name and the digest of the manifest."""
        return self._model_id

    @property
    def dimensions(self) -> int:
        """Return the length of a vector."""
        return self._dimensions

    async def encode(self, texts: Sequence[str]) -> NDArray[np.int8]:
        """Encode each text alone, a few texts a worker thread at a time."""
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.int8)
        failures: list[EncoderError] = []

        async def fill(start: int) -> None:
            chunk = texts[start : start + CHUNK]
            try:
                rows = await anyio.to_thread.run_sync(self.rows_of, chunk, limiter=self._limiter)
            except EncoderError as error:
                failures.append(error)
                group.cancel_scope.cancel()
            else:
                vectors[start : start + CHUNK] = rows

        async with anyio.create_task_group() as group:
            for start in range(0, len(texts), CHUNK):
                group.start_soon(fill, start)
        # Raised here: out of the group it would come wrapped in an ExceptionGroup, which the port does not know.
        if failures:
            raise failures[0]
        return vectors

    def rows_of(self, texts: Sequence[str]) -> NDArray[np.int8]:
        """Encode in this thread."""
        vectors = np.empty((len(texts), self._dimensions), dtype=np.float32)
        for place, text in enumerate(texts):
            ids = np.array([[self._first, *self._words.ids(text, self._limit - 2), self._last]], dtype=np.int64)
            try:
                (found,) = self._session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
                vectors[place] = found[0]
            # The runtime raises types of its own; the port lets only `EncoderError` out.
            except Exception as error:
                raise EncoderError(model=self._model_id, problem=f"the runtime failed: {error}") from error
        return int8_rows(vectors, len(texts), self._dimensions, self._model_id)


def _session(model: ModelFiles) -> Any:
    """Start onnxruntime on the model's bytes with one thread a run: the sums then have one order."""
    try:
        from onnxruntime import InferenceSession, SessionOptions
    except ImportError as error:
        fix = "install pegboard[accurate]"
        raise EncoderError(model=model.model_id, problem="onnxruntime is not installed", fix=fix) from error
    options = SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    content = model.read("model.onnx")
    try:
        return InferenceSession(content, options, providers=["CPUExecutionProvider"])
    # The runtime raises types of its own; the port lets only `EncoderError` out.
    except Exception as error:
        raise EncoderError(model=model.model_id, problem=f"model.onnx cannot be loaded: {error}") from error
