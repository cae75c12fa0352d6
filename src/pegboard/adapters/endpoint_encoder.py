"""Texts to vectors over HTTP, at any endpoint of the OpenAI embeddings form.

An answer is taken only whole: the status, the number of vectors, their indexes, their length and every number are
checked, and a body is read up to a bound. A request that may succeed later (no connection, timeout, 408, 409, 429,
5xx) is tried again a few times with a growing pause; every other failure, and the last one, is an `EncoderError`.
Neither texts nor the key stand in an error.

Source: OpenAI API reference, "Create embeddings"; RFC 9110, 10.2.3 for Retry-After.
"""

import json
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import anyio
import httpx2
import numpy as np
from numpy.typing import NDArray

from pegboard.adapters.encoders import int8_rows, model_id_of
from pegboard.core.errors import EncoderError

__all__ = ["EndpointEncoder"]

RETRIED = frozenset({408, 409, 429})
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 8.0
# A number takes up to about 25 characters of JSON; twice that, and a little for the frame around it.
BYTES_A_NUMBER, BYTES_A_FRAME = 50, 65_536


class _TryAgain(Exception):
    """This attempt failed and the next one may not."""

    def __init__(self, problem: str, pause_s: float | None = None) -> None:
        super().__init__(problem)
        self.problem, self.pause_s = problem, pause_s


class EndpointEncoder:
    """One model behind one endpoint; holds a connection pool, so close it."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        dimensions: int,
        key: str | None = None,
        batch: int = 64,
        attempts: int = 3,
        timeout_s: float = 10.0,
        first_pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        """Describe the endpoint; nothing is sent yet.

        Args:
            base_url: What stands before `/embeddings`, for instance `https://models.example.com/v1`.
            model: The model's name there. The model id covers this, the address and the length: whoever serves other
            weights
                under the same three must clear the vector cache.
            dimensions: The length of a vector. It is not asked for, so that servers without that parameter work.
            key: Sent as a bearer token.
            batch: Texts a request.
            attempts: Requests a batch at most.
            timeout_s: For one whole request and its answer, however slowly the answer trickles.
            first_pause_s: Before the second attempt; doubled for each further one. The server's Retry-After counts,
            up to 8 s.
        """
        self._url, self._model, self._dimensions = f"{base_url.rstrip('/')}/embeddings", model, dimensions
        self._batch, self._attempts, self._timeout_s, self._pause_s = batch, attempts, timeout_s, first_pause_s
        self._model_id = model_id_of(model, self._url, str(dimensions))
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx2.AsyncClient(headers=headers, timeout=timeout_s)

    @property
    def model_id(self) -> str:
        """Return the model's name and a digest of name, address and length."""
        return self._model_id

    @property
    def dimensions(self) -> int:
        """Return the length of a vector."""
        return self._dimensions

    async def encode(self, texts: Sequence[str]) -> NDArray[np.int8]:
        """Encode in batches, in order; the first batch that fails fails the whole."""
        starts = range(0, len(texts), self._batch)
        parts = [await self._encode_batch(list(texts[start : start + self._batch])) for start in starts]
        return np.concatenate([np.zeros((0, self._dimensions), dtype=np.int8), *parts])

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def __aenter__(self) -> "EndpointEncoder":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _encode_batch(self, texts: list[str]) -> NDArray[np.int8]:
        for attempt in range(self._attempts):
            try:
                answer = await self._ask(texts)
                return int8_rows(self._vectors(answer, len(texts)), len(texts), self._dimensions, self._model_id)
            except _TryAgain as failure:
                if attempt + 1 == self._attempts:
                    raise self._failed(f"{failure.problem}, {self._attempts} times") from failure
                pause_s = self._pause_s * 2**attempt if failure.pause_s is None else failure.pause_s
            await anyio.sleep(min(pause_s, LONGEST_PAUSE_S))
        raise self._failed("no attempt is allowed")

    async def _ask(self, texts: list[str]) -> bytes:
        """Send one request and read its whole answer."""
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        try:
            with anyio.fail_after(self._timeout_s):
                async with self._client.stream("POST", self._url, json=body) as response:
                    self._check_status(response)
                    return await self._read(response, len(texts))
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise _TryAgain(f"no whole answer within {self._timeout_s:g} s") from error
        except httpx2.TransportError as error:
            raise _TryAgain(f"the connection failed ({type(error).__name__})") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._failed(f"the request failed ({type(error).__name__})") from error

    def _check_status(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status in RETRIED or status >= 500:
            raise _TryAgain(f"the endpoint answered with status {status}", _seconds(response.headers))
        if status != 200:
            raise self._failed(f"the endpoint answered with status {status}")

    async def _read(self, response: httpx2.Response, rows: int) -> bytes:
        """Read a body up to what *rows* vectors can take."""
        limit = BYTES_A_FRAME + rows * (self._dimensions + 8) * BYTES_A_NUMBER
        content = bytearray()
        async for piece in response.aiter_bytes():
            content += piece
            if len(content) > limit:
                raise self._failed(f"the answer is longer than {limit} bytes")
        return bytes(content)

    def _vectors(self, content: bytes, rows: int) -> list[Any]:
        """Put the vectors in the order of the texts; each index must stand there once."""
        try:
            found = {int(row["index"]): row["embedding"] for row in json.loads(content)["data"]}
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._failed("the answer is not of the embeddings form") from error
        if sorted(found) != list(range(rows)):
            raise self._failed(f"{rows} texts were sent and {len(found)} vectors with their indexes came back")
        return [found[place] for place in range(rows)]

    def _failed(self, problem: str) -> EncoderError:
        return EncoderError(model=self._model_id, problem=problem)


def _seconds(headers: Mapping[str, str]) -> float | None:
    """Read Retry-After in its form of seconds; the form of a date is treated as not there."""
    value = headers.get("retry-after", "")
    return float(value) if value.isascii() and value.isdigit() else None
