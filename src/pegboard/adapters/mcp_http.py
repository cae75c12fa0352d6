"""A tool server over streamable HTTP: one POST a request, answered with JSON or with a stream of events.

The SDK's HTTP transport turns every failure into an error answer, so nobody can tell a refused call from one that may
have run, and it refuses a whole page for one bad byte; hence this one. It talks through the bare HTTP transport,
below the client class: no redirect is followed, no cookie kept, no proxy or credential taken from the environment,
and the only headers are the configured ones and the protocol's own. TLS is checked as the library does by default.

A server of the handshake era says what it says unasked on a stream of its own (GET). Not here: the resumption of a
broken stream of events.

Source: MCP 2026-07-28 and 2025-11-25, transports (streamable HTTP); WHATWG HTML, server-sent events.
"""

import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Any

import anyio
import httpx2
from mcp.shared.dispatcher import as_request_id, coerce_request_id
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER

from pegboard.adapters.mcp_bell import Bell
from pegboard.adapters.mcp_inputs import Inputs
from pegboard.adapters.mcp_messages import EventData, Lines, outcome, read_message
from pegboard.adapters.mcp_status import refuse_status
from pegboard.adapters.mcp_wire import NEVER_CANCELLED, NOISE_BYTES, TEXT_SHOWN, Attempt, LossKind, LostError
from pegboard.core.text import one_line

__all__ = ["HttpChannel", "open_http"]

_AUTHORIZATION = "authorization"
_SESSION_HEADER = "mcp-session-id"
_EVENTS = "text/event-stream"
_NO_STREAM = 405
_CLOSE_S = 2.0  # for the server to hear that its session is over


@asynccontextmanager
async def open_http(
    url: str, headers: Mapping[str, str], body_bytes: int, inputs: Inputs
) -> AsyncIterator["HttpChannel"]:
    """Make a channel to a URL and close it at exit; the first request connects."""
    async with httpx2.AsyncHTTPTransport(verify=_tls()) as transport:
        channel = HttpChannel(transport, url, headers, body_bytes, inputs)
        try:
            yield channel
        finally:
            with anyio.move_on_after(_CLOSE_S, shield=True):
                await channel.leave()


class HttpChannel:
    """Moves messages to one endpoint; requests may overlap."""

    def __init__(
        self,
        transport: httpx2.AsyncHTTPTransport,
        url: str,
        headers: Mapping[str, str],
        body_bytes: int,
        inputs: Inputs,
    ) -> None:
        self._transport = transport
        self._inputs = inputs
        self._url = url
        self._configured = headers
        self._body_bytes = body_bytes
        self._session: str | None = None
        self._version: str | None = None
        self._shown: str | None = None
        self._bell = Bell()
        self._ended = False

    @property
    def bell(self) -> Bell:
        """Return the bell that rings when the server says that its list changed."""
        return self._bell

    @property
    def standing(self) -> bool:
        """Say whether the server has not said that the session is over."""
        return not self._ended

    @property
    def kept_by_server(self) -> bool:
        """Say whether the server gave the session a number, and forgets it when it starts anew."""
        return self._session is not None

    async def exchange(self, request: dict[str, Any], headers: Mapping[str, str], attempt: Attempt) -> object:
        """POST a request and read its answer; a cancelled wait ends the request."""
        if request["method"] == "initialize":
            self._version = None  # the probe's version does not belong on the handshake
        self._version = headers.get(MCP_PROTOCOL_VERSION_HEADER, self._version)
        self._shown = headers.get(_AUTHORIZATION, self._shown)
        try:
            async with self._send("POST", request, headers, attempt) as response:
                self._notice_end(response)
                refuse_status(response, request["method"], await self._error_body(response))
                if request["method"] == "initialize":
                    self._session = response.headers.get(_SESSION_HEADER)
                return outcome(await self._answer(response, request["id"], attempt))
        except (httpx2.RequestError, httpx2.InvalidURL, httpx2.StreamError) as error:
            raise LostError(_problem(error), attempt.sent) from error
        except anyio.get_cancelled_exc_class():
            # In the modern era the closed connection says it; before, only this notification does.
            if self._session is not None and request["method"] not in NEVER_CANCELLED:
                await self._cancel(request["id"])
            raise
        except RecursionError:
            raise LostError("the answer is nested too deeply", sent=True, kind=LossKind.GARBLED) from None

    async def tell(self, notification: dict[str, Any], headers: Mapping[str, str]) -> None:
        """POST a notification or a reply; how it is received changes nothing."""
        with suppress(httpx2.RequestError, httpx2.StreamError):
            async with self._send("POST", notification, headers, Attempt()):
                pass

    async def listen(self) -> None:
        """Read the stream of what the server says unasked, until cancelled; returns where it ends or there is none."""
        try:
            async with self._send("GET", None, {}, Attempt()) as response:
                self._notice_end(response)
                if response.status_code == _NO_STREAM:
                    return
                refuse_status(response, "GET", await self._error_body(response))
                if _content_type(response) == _EVENTS:
                    await self._from_events(response, None, Attempt())
        except (httpx2.RequestError, httpx2.InvalidURL, httpx2.StreamError) as error:
            raise LostError(_problem(error), sent=True) from error

    def last_words(self) -> str:
        """Return nothing: over HTTP a server says nothing outside the protocol."""
        return ""

    async def leave(self) -> None:
        """Tell the server that the session is over, where it opened one."""
        if self._session is not None:
            with suppress(httpx2.RequestError, httpx2.StreamError):
                async with self._send("DELETE", None, {}, Attempt()):
                    pass

    async def _cancel(self, number: int) -> None:
        params = {"requestId": number}
        with anyio.move_on_after(_CLOSE_S, shield=True):
            await self.tell({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}, {})

    @asynccontextmanager
    async def _send(
        self, verb: str, message: Mapping[str, Any] | None, headers: Mapping[str, str], attempt: Attempt
    ) -> AsyncIterator[httpx2.Response]:
        async def trace(event: str, _: Mapping[str, Any]) -> None:
            if event.endswith("send_request_headers.started"):
                attempt.sent = True

        response = await self._transport.handle_async_request(
            httpx2.Request(
                verb,
                self._url,
                headers=self._headers(headers),
                content=b"" if message is None else json.dumps(message, allow_nan=False).encode("ascii"),
                # No time limits of its own: every wait is bounded by who waits.
                extensions={"trace": trace, "timeout": {}},
            )
        )
        try:
            yield response
        finally:
            await response.aclose()

    def _headers(self, stamped: Mapping[str, str]) -> dict[str, str]:
        """Join the configured headers with the protocol's, which win."""
        own = {
            "accept": "application/json, text/event-stream",
            # A compressed body could unpack to any size.
            "accept-encoding": "identity",
            "content-type": "application/json",
            _AUTHORIZATION: self._shown,
            _SESSION_HEADER: self._session,
            MCP_PROTOCOL_VERSION_HEADER: self._version,
            **stamped,
        }
        configured = {name.lower(): value for name, value in self._configured.items()}
        return configured | {name: value for name, value in own.items() if value is not None}

    def _notice_end(self, response: httpx2.Response) -> None:
        # MCP 2025-11-25, session management: 404 to a request with a session's number says that the session is over.
        self._ended = self._ended or (response.status_code == 404 and self._session is not None)

    async def _error_body(self, response: httpx2.Response) -> dict[str, Any] | None:
        """Read the JSON-RPC error that a server may send with a status of refusal."""
        if response.status_code < 400 or _content_type(response) != "application/json":
            return None
        message = read_message(await self._body(response))
        return message if message is not None and "error" in message else None

    async def _answer(self, response: httpx2.Response, number: int, attempt: Attempt) -> dict[str, Any]:
        kind = _content_type(response)
        if kind == _EVENTS:
            if (found := await self._from_events(response, number, attempt)) is None:
                raise LostError("its stream of events ended without an answer", sent=True)
            return found
        if kind != "application/json":
            problem = f"it answered with content type {one_line(kind, TEXT_SHOWN)!r}"
            raise LostError(problem, sent=True, kind=LossKind.GARBLED)
        message = read_message(await self._body(response))
        if message is None or not _answers(message, number):
            raise LostError("its answer is no JSON-RPC answer to the request", sent=True, kind=LossKind.GARBLED)
        return message

    async def _from_events(
        self, response: httpx2.Response, number: int | None, attempt: Attempt
    ) -> dict[str, Any] | None:
        """Read events until one answers this request, and hear and answer the others; None where the stream ends."""
        lines, data, received = Lines(self._body_bytes), EventData(self._body_bytes), 0
        async for chunk in _chunks(response):
            received += len(chunk)
            if received > self._body_bytes + NOISE_BYTES:
                raise LostError(f"its answer passes {self._body_bytes:,} bytes", sent=True, kind=LossKind.TOO_BIG)
            for line in lines.feed(chunk):
                message = read_message(event) if (event := data.feed(line.removesuffix(b"\r"))) else None
                if message is None:
                    continue
                if number is not None and _answers(message, number):
                    return message
                if not self._bell.hear(message) and (reply := await self._inputs.reply(message, attempt)):
                    await self.tell(reply, {})
        return None

    async def _body(self, response: httpx2.Response) -> bytes:
        parts, size = [], 0
        async for chunk in _chunks(response):
            size += len(chunk)
            if size > self._body_bytes:
                raise LostError(f"its answer passes {self._body_bytes:,} bytes", sent=True, kind=LossKind.TOO_BIG)
            parts.append(chunk)
        return b"".join(parts)


@cache
def _tls() -> ssl.SSLContext:
    # Reading the trusted certificates takes 28 ms of processor, more than all the rest of a session's opening.
    return httpx2.create_ssl_context()


def _problem(error: Exception) -> str:
    return f"{type(error).__name__}: {one_line(str(error), TEXT_SHOWN)}".removesuffix(": ")


def _answers(message: Mapping[str, Any], number: int) -> bool:
    found = as_request_id(message.get("id"))
    is_answer = "method" not in message and ("result" in message or "error" in message)
    return is_answer and found is not None and coerce_request_id(found) == number


def _content_type(response: httpx2.Response) -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


async def _chunks(response: httpx2.Response) -> AsyncIterator[bytes]:
    encoding = response.headers.get("content-encoding", "identity").lower()
    if encoding != "identity":
        problem = f"its answer is compressed with {one_line(encoding, TEXT_SHOWN)!r}, which was not asked for"
        raise LostError(problem, sent=True, kind=LossKind.GARBLED)
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    async for chunk in response.stream:
        yield chunk
