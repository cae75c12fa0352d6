"""A model over HTTP, for evaluations: chat completions of the OpenAI form, or messages of Anthropic.

One request, one answer, taken only whole and of the API's form; nothing is tried again, since a measure of how long
something took must not hide that it failed. Neither tasks nor the key stand in an error.

Source: OpenAI API reference, "Create chat completion"; Anthropic API reference, "Messages".
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import anyio
import httpx2

from pegboard.core.names import Json
from pegboard.providers.capabilities import Api
from pegboard.service.models import ModelError, Said, Usage

__all__ = ["ModelEndpoint"]

_ANTHROPIC_VERSION = "2023-06-01"
# What one answer may generate, which Anthropic wants to be told.
_MAX_TOKENS = 4_096
_ANSWER_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Form:
    """What differs between the two: path, headers, the request's own words, and how an answer is read."""

    path: str
    headers: Callable[[str | None], dict[str, str]]
    words: Mapping[str, Json]
    read: Callable[[Mapping[str, Any]], Said]


class ModelEndpoint:
    """One model behind one endpoint; holds a connection pool, so close it."""

    def __init__(
        self, api: Api, base_url: str, model: str, *, key: str | None = None, timeout_s: float = 60.0, turns: int = 8
    ) -> None:
        """Describe the endpoint; nothing is sent yet. *base_url* is what stands before the API's own path."""
        self.api, self.model, self.turns = api, model, turns
        self._form = _FORMS[api]
        self._url = f"{base_url.rstrip('/')}{self._form.path}"
        self._timeout_s = timeout_s
        self._client = httpx2.AsyncClient(headers=self._form.headers(key), timeout=timeout_s)

    async def ask(self, messages: Sequence[Json], request: Mapping[str, Json]) -> Said:
        """Send one request and read its whole answer. Raises ModelError where there is none of the API's form."""
        body = {"model": self.model, "messages": list(messages), **self._form.words, **request}
        betas = body.pop("betas", None)
        if not body.get("tools"):
            body.pop("tools", None)
        headers = {"anthropic-beta": ",".join(map(str, betas))} if isinstance(betas, list) else {}
        content = await self._sent(body, headers)
        try:
            value = json.loads(content)
            if not isinstance(value, dict):
                raise TypeError("no object")
            return self._form.read(value)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
            raise ModelError(f"the answer is not of the form of {self.api}") from None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def __aenter__(self) -> "ModelEndpoint":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _sent(self, body: Mapping[str, Json], headers: Mapping[str, str]) -> bytes:
        try:
            with anyio.fail_after(self._timeout_s):
                async with self._client.stream("POST", self._url, json=body, headers=dict(headers)) as response:
                    if response.status_code != 200:
                        raise ModelError(f"the endpoint answered with status {response.status_code}")
                    content = bytearray()
                    async for piece in response.aiter_bytes():
                        content += piece
                        if len(content) > _ANSWER_BYTES:
                            raise ModelError(f"the answer is longer than {_ANSWER_BYTES:,} bytes")
                    return bytes(content)
        except (TimeoutError, httpx2.TimeoutException):
            raise ModelError(f"no whole answer within {self._timeout_s:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ModelError(f"the request failed ({type(error).__name__})") from None


def _bearer(key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def _x_api_key(key: str | None) -> dict[str, str]:
    return {"anthropic-version": _ANTHROPIC_VERSION, **({"x-api-key": key} if key else {})}


def _completion(value: Mapping[str, Any]) -> Said:
    message = value["choices"][0]["message"]
    if not isinstance(message, dict):
        raise TypeError("no message")
    usage = value.get("usage") or {}
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
    total = usage.get("prompt_tokens")
    # A server that says nothing of its cache has not said that nothing was cached.
    uncached = None if total is None else total - (cached or 0)
    text = message.get("content")
    return Said(
        response=value,
        history={"role": "assistant", **message},
        text=text if isinstance(text, str) else "",
        usage=Usage(cached=cached, uncached=uncached),
    )


def _message(value: Mapping[str, Any]) -> Said:
    content = value["content"]
    if not isinstance(content, list):
        raise TypeError("no content")
    usage = value.get("usage") or {}
    written = usage.get("cache_creation_input_tokens") or 0
    uncached = usage.get("input_tokens")
    return Said(
        response=value,
        history={"role": "assistant", "content": content},
        text="\n".join(str(block.get("text", "")) for block in content if block.get("type") == "text"),
        usage=Usage(
            cached=usage.get("cache_read_input_tokens"), uncached=None if uncached is None else uncached + written
        ),
    )


_FORMS: Mapping[Api, _Form] = {
    Api.CHAT: _Form("/chat/completions", _bearer, {}, _completion),
    Api.ANTHROPIC: _Form("/messages", _x_api_key, {"max_tokens": _MAX_TOKENS}, _message),
}
