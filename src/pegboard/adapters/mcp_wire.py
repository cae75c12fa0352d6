"""The wire under an MCP session: requests out, answers back raw, and how an answer can fail to come.

`Wire` is the dispatcher that the SDK's `ClientSession` runs on: the session speaks the protocol (both eras, their
stamps and capabilities), a `Channel` moves the bytes. Answers to `tools/list` and `tools/call` leave untouched, past
the session's typed models, which drop what they do not know and refuse a whole page for one odd tool.

Whatever goes wrong is either the server's own error answer (`MCPError`) or a `LostError`, which says whether the
request may have reached the server. Nothing is ever sent twice here.

Source: MCP 2026-07-28, basic protocol and `x-mcp-header`; JSON-RPC 2.0.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import anyio
from anyio.abc import TaskStatus
from mcp import MCPError
from mcp.shared.dispatcher import CallOptions, Dispatcher, OnNotify, OnNotifyIntercept, OnRequest, as_request_id
from mcp.shared.inbound import find_invalid_x_mcp_header, mcp_param_headers, x_mcp_header_map
from mcp.shared.transport_context import TransportContext
from mcp.types import METHOD_NOT_FOUND, REQUEST_TIMEOUT

from pegboard.core.text import one_line

__all__ = [
    "NEVER_CANCELLED",
    "NOISE_BYTES",
    "PROBE_TIMEOUT_S",
    "TEXT_SHOWN",
    "Attempt",
    "Channel",
    "Lines",
    "LossKind",
    "LostError",
    "RawResult",
    "Wire",
    "answer_for",
    "outcome",
    "read_message",
]

# Of 63 real servers 44 know only the handshake, and four leave the probe unanswered for 12 s.
PROBE_TIMEOUT_S = 2.0
# What a server may send between two answers that is no answer: logs, progress, answers to nobody.
NOISE_BYTES = 16 * 1024 * 1024
# Characters of a server's own words that an error message repeats.
TEXT_SHOWN = 200

NEVER_CANCELLED = ("initialize", "server/discover")  # MCP 2026-07-28, cancellation

_RAW_METHODS = ("tools/list", "tools/call")
# Python refuses to convert longer ones (CVE-2020-10735); as infinities they cost one tool, not the page.
_INTEGER_DIGITS = 4000


class LossKind(Enum):
    """Why no usable answer came."""

    NO_ANSWER = "no answer"
    TOO_BIG = "too big"
    GARBLED = "garbled"


@dataclass(unsafe_hash=True)
class LostError(Exception):
    """No usable answer came; *sent* is False only where the server cannot have seen the request."""

    problem: str
    sent: bool
    kind: LossKind = LossKind.NO_ANSWER

    def __str__(self) -> str:
        return self.problem


class RawResult(Exception):
    """Carries a result as it was sent out through the session's typed parsing, which is never reached."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value


@dataclass(slots=True)
class Attempt:
    """What is known of one request on its way; its channel sets *sent* before the first byte can leave."""

    sent: bool = False


class Channel(Protocol):
    """Moves JSON-RPC messages to one server and back."""

    async def exchange(self, request: dict[str, Any], headers: Mapping[str, str], attempt: Attempt) -> object:
        """Send a request once and return its result, whatever JSON that is. A cancelled wait tells the server so.

        Raises:
            MCPError: The server answered with an error.
            LostError: No usable answer came.
        """

    async def tell(self, notification: dict[str, Any], headers: Mapping[str, str]) -> None:
        """Send a notification; one that cannot be delivered is dropped."""

    def last_words(self) -> str:
        """Return what the server said last outside the protocol, ready to follow a message; empty where unknown."""


class Wire(Dispatcher[TransportContext]):
    """A session's dispatcher over a channel: numbers requests, bounds waits, hands results out raw."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._sent = 0
        self._param_headers: dict[str, Mapping[tuple[str, ...], str]] = {}

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Send one request and wait at most `opts["timeout"]` seconds for its answer.

        Raises:
            RawResult: The answer to `tools/list` or `tools/call`.
            MCPError: The server answered with an error, or left the probe unanswered.
            LostError: No usable answer came.
        """
        opts = opts or {}
        limit_s = opts.get("timeout")
        probe = method == "server/discover"
        if probe:
            limit_s = PROBE_TIMEOUT_S if limit_s is None else min(limit_s, PROBE_TIMEOUT_S)
        headers = {**opts.get("headers", {}), **self._mirrored(method, params)}
        self._sent += 1
        request: dict[str, Any] = {"jsonrpc": "2.0", "id": self._sent, "method": method}
        if params:
            request["params"] = dict(params)
        attempt = Attempt()
        result: object = None
        with anyio.move_on_after(limit_s) as wait:
            result = await self._channel.exchange(request, headers, attempt)
        if wait.cancelled_caught:
            if probe:
                raise MCPError(REQUEST_TIMEOUT, "the probe was not answered")
            raise LostError(f"no answer came within {limit_s:g} s", attempt.sent)
        if method in _RAW_METHODS:
            self._learn(method, result)
            raise RawResult(result)
        if not isinstance(result, dict):
            raise LostError(f"the answer to {method!r} is no JSON object", attempt.sent, LossKind.GARBLED)
        return result

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Send a notification, once."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params:
            message["params"] = dict(params)
        await self._channel.tell(message, (opts or {}).get("headers", {}))

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Stay open until cancelled: the channel answers what servers ask of us, and no notification is used here."""
        task_status.started()
        await anyio.sleep_forever()

    def knows(self, tool: str) -> bool:
        """Say whether a page on this session listed this tool with arguments to mirror in headers."""
        return tool in self._param_headers

    def _learn(self, method: str, result: object) -> None:
        """Keep which arguments of the listed tools must be mirrored in HTTP headers (`x-mcp-header`)."""
        tools = result.get("tools") if method == "tools/list" and isinstance(result, dict) else None
        for tool in tools if isinstance(tools, list) else ():
            schema = tool.get("inputSchema") if isinstance(tool, dict) else None
            name = tool.get("name") if schema is not None else None
            if (
                isinstance(name, str)
                and find_invalid_x_mcp_header(schema) is None
                and (found := x_mcp_header_map(schema))
            ):
                self._param_headers[name] = found

    def _mirrored(self, method: str, params: Mapping[str, Any] | None) -> dict[str, str]:
        if method != "tools/call" or not params:
            return {}
        return mcp_param_headers(self._param_headers.get(params["name"], {}), params.get("arguments") or {})


class Lines:
    """Cuts a stream of bytes into lines, holding at most *limit* bytes of an unfinished one."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that this chunk completes, without their ends.

        Raises:
            LostError: A line passes the limit. What came before it has been yielded.
        """
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            self._keep(piece)
            line = b"".join(self._parts)
            self._parts, self._size = [], 0
            yield line
        self._keep(rest)

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._limit:
            self._parts = []
            raise LostError(f"one message passes {self._limit:,} bytes", sent=True, kind=LossKind.TOO_BIG)
        self._parts.append(piece)


def read_message(data: bytes) -> dict[str, Any] | None:
    """Read a JSON-RPC message, None where it is none.

    Lenient inside, so that one broken tool does not cost its page: bytes that are no UTF-8 become lone surrogates,
    and NaN and integers of thousands of digits become floats that no canonical form has. Who reads tools refuses those.

    Raises:
        RecursionError: It is nested too deeply to read.
    """
    try:
        message = json.loads(data.decode("utf-8", "surrogateescape"), parse_int=_integer)
    except ValueError:
        return None
    return message if isinstance(message, dict) and message.get("jsonrpc") == "2.0" else None


def outcome(message: Mapping[str, Any]) -> object:
    """Return the result of an answer.

    Raises:
        MCPError: It is an error answer. A malformed error is still an error.
    """
    if "error" not in message:
        return message["result"]
    error = message["error"]
    fields = error if isinstance(error, dict) else {"message": error}
    code = fields.get("code")
    text = one_line(str(fields.get("message", "")), TEXT_SHOWN)
    raise MCPError(code if isinstance(code, int) else 0, text, fields.get("data"))


def answer_for(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """Answer what a server asks of its client: a ping, and nothing else; None where it asks nothing."""
    number = as_request_id(message.get("id"))
    if number is None or not isinstance(message.get("method"), str):
        return None
    if message["method"] == "ping":
        return {"jsonrpc": "2.0", "id": number, "result": {}}
    refusal = {"code": METHOD_NOT_FOUND, "message": "this client offers nothing to servers"}
    return {"jsonrpc": "2.0", "id": number, "error": refusal}


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _INTEGER_DIGITS else float(digits)
