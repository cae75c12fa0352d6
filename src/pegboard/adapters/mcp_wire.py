"""The wire under an MCP session: requests out, answers back raw, and how an answer can fail to come.

`Wire` is the dispatcher that the SDK's `ClientSession` runs on: the session speaks the protocol (both eras, their
stamps and capabilities), a `Channel` moves the bytes. Answers to `tools/list` and `tools/call` leave untouched, past
the session's typed models, which drop what they do not know and refuse a whole page for one odd tool.

Whatever goes wrong is either the server's own error answer (`MCPError`) or a `LostError`, which says whether the
request may have reached the server. Nothing is ever sent twice here; what a channel does with a request that was
refused for want of another credential is in `mcp_authorized`.

Source: MCP 2026-07-28, basic protocol and `x-mcp-header`; JSON-RPC 2.0.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, TypeAlias

import anyio
from anyio.abc import TaskStatus
from mcp import MCPError
from mcp.shared.dispatcher import CallOptions, Dispatcher, OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.inbound import find_invalid_x_mcp_header, mcp_param_headers, x_mcp_header_map
from mcp.shared.transport_context import TransportContext
from mcp.types import REQUEST_TIMEOUT

from pegboard.adapters.mcp_bell import Bell

__all__ = [
    "NEVER_CANCELLED",
    "NOISE_BYTES",
    "PROBE_TIMEOUT_S",
    "TEXT_SHOWN",
    "Attempt",
    "Channel",
    "LossKind",
    "LostError",
    "RawResult",
    "Wire",
]

# Of 63 real servers 44 know only the handshake, and four leave the probe unanswered for 12 s.
PROBE_TIMEOUT_S = 2.0
# What a server may send between two answers that is no answer: logs, progress, answers to nobody.
NOISE_BYTES = 16 * 1024 * 1024
# Characters of a server's own words that an error message repeats.
TEXT_SHOWN = 200

NEVER_CANCELLED = ("initialize", "server/discover")  # MCP 2026-07-28, cancellation

# Tools of which a session remembers the headers; a server that lists ever new ones makes it begin anew.
_TOOLS_KEPT = 50_000
_RAW_METHODS = ("tools/list", "tools/call")


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
    wait: anyio.CancelScope | None = None
    """How long the answer is waited for."""


class Channel(Protocol):
    """Moves JSON-RPC messages to one server and back."""

    async def exchange(self, request: dict[str, Any], headers: Mapping[str, str], attempt: Attempt) -> object:
        """Send a request once and return its result, whatever JSON that is. A cancelled wait tells the server so.

        Raises:
            MCPError: The server answered with an error.
            LostError: No usable answer came.
        """

    @property
    def bell(self) -> Bell:
        """Return the bell that rings when the server says that its list changed."""

    @property
    def standing(self) -> bool:
        """Say whether the session stands as far as it is known here."""

    @property
    def kept_by_server(self) -> bool:
        """Say whether the server keeps the session, so that it alone knows whether it has lost it."""

    async def tell(self, notification: dict[str, Any], headers: Mapping[str, str]) -> None:
        """Send a notification; one that cannot be delivered is dropped."""

    async def listen(self) -> None:
        """Hear what a server of the handshake era says unasked, until cancelled; returns where it says nothing so.

        Raises:
            MCPError: It refuses.
            LostError: It went away or says too much.
        """

    def last_words(self) -> str:
        """Return what the server said last outside the protocol, ready to follow a message; empty where unknown."""


Declared: TypeAlias = Callable[[str, Mapping[str, Any] | None], Mapping[str, Any] | None]
"""Says in a request's parameters what its client answers."""


class Wire(Dispatcher[TransportContext]):
    """A session's dispatcher over a channel: numbers requests, bounds waits, hands results out raw."""

    def __init__(self, channel: Channel, declared: Declared = lambda method, params: params) -> None:
        self.channel = channel
        self._declared = declared
        self._sent = 0
        self._param_headers: dict[str, Mapping[tuple[str, ...], str]] = {}
        self._unfit: dict[str, str] = {}
        self._listed_at = 0  # how often the bell had rung then

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
        if params := self._declared(method, params):
            request["params"] = dict(params)
        attempt = Attempt()
        result: object = None
        with anyio.move_on_after(limit_s) as wait:
            attempt.wait = wait
            result = await self.channel.exchange(request, headers, attempt)
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
        await self.channel.tell(message, (opts or {}).get("headers", {}))

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Stay open until cancelled: the channel answers what servers ask of us, and hears what is used of the rest."""
        task_status.started()
        await anyio.sleep_forever()

    def knows(self, tool: str) -> bool:
        """Say whether it is known here which arguments of a tool are mirrored in headers, if any."""
        if self.channel.bell.rung != self._listed_at or len(self._param_headers) > _TOOLS_KEPT:
            self._listed_at = self.channel.bell.rung
            self._param_headers, self._unfit = {}, {}
        return tool in self._param_headers

    def unfit(self, tool: str) -> str | None:
        """Say why no client may call a tool, None where it may: its headers cannot be written (`x-mcp-header`)."""
        return self._unfit.get(tool)

    def remember(self, tool: str) -> None:
        """Note that the listing was read, and what it says of this tool is known."""
        self._param_headers.setdefault(tool, {})

    def _learn(self, method: str, result: object) -> None:
        """Keep which arguments of the listed tools must be mirrored in HTTP headers (`x-mcp-header`)."""
        tools = result.get("tools") if method == "tools/list" and isinstance(result, dict) else None
        for tool in tools if isinstance(tools, list) else ():
            schema = tool.get("inputSchema") if isinstance(tool, dict) else None
            name = tool.get("name") if schema is not None else None
            if not isinstance(name, str):
                continue
            if (problem := find_invalid_x_mcp_header(schema)) is not None:
                self._param_headers[name], self._unfit[name] = {}, problem
            elif found := x_mcp_header_map(schema):
                self._param_headers[name] = found

    def _mirrored(self, method: str, params: Mapping[str, Any] | None) -> dict[str, str]:
        if method != "tools/call" or not params:
            return {}
        return mcp_param_headers(self._param_headers.get(params["name"], {}), params.get("arguments") or {})
