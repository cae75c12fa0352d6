"""Real tool servers behind the `ToolServers` port: over stdio or streamable HTTP, in both protocol eras.

The SDK's `ClientSession` speaks the protocol: a probe with `server/discover`, and where that brings nothing within
two seconds, the `initialize` handshake. Pages and results are handed out exactly as sent; who reads them judges tool
by tool. Nothing a server does can hold us longer than its time limits or fill more memory than its byte limit, and
only the port's errors leave.

A call is sent once. When it may have reached the server and no answer came, it is an `OutcomeUnknownError`; it is
sent again only where the server refused it for a missing header, which it does before it runs anything.

Source: MCP 2026-07-28 and 2025-11-25, lifecycle, tools and transports.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version

import anyio
from mcp import MCPError
from mcp.client.session import ClientSession
from mcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    EmptyResult,
    Implementation,
    ListToolsRequest,
    PaginatedRequestParams,
)
from pydantic import ValidationError

from pegboard.adapters.mcp_handshake import negotiate
from pegboard.adapters.mcp_http import HttpChannel, open_http
from pegboard.adapters.mcp_process import child_environment
from pegboard.adapters.mcp_settings import ServerSettings
from pegboard.adapters.mcp_stdio import StdioChannel, open_child
from pegboard.adapters.mcp_wire import TEXT_SHOWN, LossKind, LostError, RawResult, Wire
from pegboard.core.errors import (
    MalformedPageError,
    OutcomeUnknownError,
    PageLimitError,
    RefusedByServerError,
    UnreachableServerError,
    UpstreamError,
)
from pegboard.core.names import Json, compact_json
from pegboard.core.text import one_line
from pegboard.service.ports import Page, ToolServer

__all__ = ["McpServers", "ServerSettings", "UnsendableCallError"]

# Pages read to find the headers that one call must carry.
_PAGES_FOR_HEADERS = 64
_SHORTEST_SECRET = 6


@dataclass(unsafe_hash=True)
class UnsendableCallError(UpstreamError):
    """A call was not sent because its arguments cannot be written as JSON."""

    server: str
    problem: str

    def __str__(self) -> str:
        return f"the call to server {self.server!r} was not sent: its arguments are no JSON: {self.problem}"


class McpServers:
    """The configured tool servers; implements `ToolServers`."""

    def __init__(self, settings: Mapping[str, ServerSettings]) -> None:
        self._settings = dict(settings)

    def names(self) -> tuple[str, ...]:
        """Return the configured servers' names, sorted."""
        return tuple(sorted(self._settings))

    @asynccontextmanager
    async def connect(self, server: str) -> AsyncIterator[ToolServer]:
        """Open one session and close it at exit, child processes included.

        Raises (on entering):
            UnreachableServerError: It is not configured, cannot be started or reached, or does not answer in time.
        """
        settings = self._settings.get(server)
        if settings is None:
            raise UnreachableServerError(server, "no server of this name is configured")
        failure: BaseException | None = None
        try:
            async with _channel(settings) as channel:
                wire = Wire(channel)
                client = Implementation(name="pegboard", version=version("pegboard"))
                async with ClientSession(dispatcher=wire, client_info=client) as session:
                    await _shake_hands(settings, session, channel)
                    try:
                        yield _OpenServer(settings, session, wire)
                    except BaseException as error:
                        failure = error
                        raise
        except LostError as lost:
            raise _unreachable(settings, lost.problem) from lost
        except BaseExceptionGroup as group:
            # The task groups below wrap whatever passes through them; what was raised inside leaves as it was.
            failure = failure or _first(group)
        if failure is not None:
            raise failure


class _OpenServer:
    """An open session; implements `ToolServer`."""

    def __init__(self, settings: ServerSettings, session: ClientSession, wire: Wire) -> None:
        self._settings = settings
        self._session = session
        self._wire = wire

    async def list_page(self, cursor: str | None) -> Page:
        """Fetch one page of tools exactly as sent, at most `page_bytes` of it within `list_timeout_s`.

        Raises:
            UnreachableServerError: The server went away or did not answer in time.
            MalformedPageError: Its answer is no page. Whether each tool of a page is one is not judged here.
            PageLimitError: Its answer passes the limit.
            RefusedByServerError: It answered with an error.
        """
        name = self._settings.name
        request = ListToolsRequest(params=PaginatedRequestParams(cursor=cursor))
        try:
            return _page(name, await self._ask(request, self._settings.list_timeout_s))
        except LostError as lost:
            raise _lost_page(self._settings, lost) from lost
        except MCPError as refusal:
            raise RefusedByServerError(name, refusal.code, _said(self._settings, refusal)) from refusal

    async def call_tool(self, name: str, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Call a tool once, within `call_timeout_s`, and return the `CallToolResult` exactly as sent.

        Raises:
            UnsendableCallError: The arguments are no JSON; nothing was sent.
            UnreachableServerError: The server went away before anything was sent.
            OutcomeUnknownError: It was sent, or may have been, and no usable answer came.
            RefusedByServerError: The server answered with an error of the protocol.
        """
        server = self._settings.name
        request = self._call(name, arguments)
        if self._settings.url is not None:
            # MCP 2026-07-28, x-mcp-header: only the listing says which arguments a call repeats in its headers.
            # Asked before the call: after a refusal for a missing header the call would have to be sent again. Where
            # the listing fails the call goes out without them, and says itself what is wrong.
            with suppress(UpstreamError):
                await self._find_headers(name)
        try:
            result = await self._ask(request, self._settings.call_timeout_s)
        except LostError as lost:
            if not lost.sent:
                raise _unreachable(self._settings, lost.problem) from lost
            raise OutcomeUnknownError(server, _masked(self._settings, lost.problem)) from lost
        except MCPError as refusal:
            raise RefusedByServerError(server, refusal.code, _said(self._settings, refusal)) from refusal
        if not isinstance(result, dict):
            raise OutcomeUnknownError(server, "the answer is no JSON object")
        return result

    async def _ask(self, request: ListToolsRequest | CallToolRequest, timeout_s: float) -> object:
        try:
            return await self._session.send_request(request, EmptyResult, timeout_s)
        except RawResult as answer:
            return answer.value

    def _call(self, name: str, arguments: Mapping[str, Json]) -> CallToolRequest:
        try:
            # Checked here, since the session's models would quietly turn NaN into null.
            compact_json({"name": name, "arguments": dict(arguments)}).encode("utf-8")
            request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=dict(arguments)))
            request.model_dump(mode="json")
        except (TypeError, ValueError) as error:
            raise UnsendableCallError(self._settings.name, one_line(str(error), TEXT_SHOWN)) from error
        return request

    async def _find_headers(self, tool: str) -> None:
        """List pages until one says which headers a call of this tool carries."""
        cursor = None
        for _ in range(_PAGES_FOR_HEADERS):
            if self._wire.knows(tool):
                return
            page = await self.list_page(cursor)
            cursor = page.next_cursor
            if cursor is None:
                return


def _channel(settings: ServerSettings) -> AbstractAsyncContextManager[StdioChannel | HttpChannel]:
    if settings.command is not None:
        environment = child_environment(os.environ, settings.env)
        return open_child(settings.command, settings.cwd, environment, settings.page_bytes)
    assert settings.url is not None  # one of the two is set
    return open_http(settings.url, settings.headers, settings.page_bytes)


async def _shake_hands(settings: ServerSettings, session: ClientSession, channel: StdioChannel | HttpChannel) -> None:
    """Settle the era, within `connect_timeout_s`.

    Raises:
        UnreachableServerError: It is not settled.
    """
    with anyio.move_on_after(settings.connect_timeout_s):
        try:
            await negotiate(session)
        except LostError as lost:
            raise _unreachable(settings, lost.problem) from lost
        except MCPError as refusal:
            raise _unreachable(
                settings, f"it refused the handshake with error {refusal.code}: {_said(settings, refusal)}"
            ) from refusal
        except (ValidationError, RuntimeError) as error:
            problem = f"it answered the handshake with nonsense: {one_line(str(error), TEXT_SHOWN)}"
            raise _unreachable(settings, problem) from error
        return
    problem = f"it did not finish the handshake within {settings.connect_timeout_s:g} s{channel.last_words()}"
    raise _unreachable(settings, problem)


def _page(server: str, result: object) -> Page:
    tools = result.get("tools") if isinstance(result, dict) else None
    if not isinstance(result, dict) or not isinstance(tools, list):
        raise MalformedPageError(server, "it holds no list of tools")
    cursor = result.get("nextCursor")
    if cursor is not None and not isinstance(cursor, str):
        raise MalformedPageError(server, "its cursor is no text")
    ttl = result.get("ttlMs")
    lives = ttl if isinstance(ttl, int) and not isinstance(ttl, bool) and ttl >= 0 else None
    # An empty cursor is how some servers say that there is no further page.
    return Page(tools=tools, next_cursor=cursor or None, ttl_ms=lives)


def _lost_page(settings: ServerSettings, lost: LostError) -> UpstreamError:
    match lost.kind:
        case LossKind.TOO_BIG:
            return PageLimitError(settings.name, _masked(settings, lost.problem))
        case LossKind.GARBLED:
            return MalformedPageError(settings.name, _masked(settings, lost.problem))
        case LossKind.NO_ANSWER:
            return _unreachable(settings, lost.problem)


def _unreachable(settings: ServerSettings, problem: str) -> UnreachableServerError:
    fix = "run its command by hand to see why" if settings.command is not None else "check its url and headers"
    return UnreachableServerError(settings.name, _masked(settings, problem), f"servers.{settings.name}", fix)


def _said(settings: ServerSettings, refusal: MCPError) -> str:
    return _masked(settings, one_line(refusal.error.message, TEXT_SHOWN))


def _masked(settings: ServerSettings, text: str) -> str:
    """Take what was configured for the server out of what it says: some print the key that they were given."""
    for given in (*settings.env.values(), *settings.headers.values()):
        # "Bearer x" is masked by its parts too; what is shorter than a key would garble the text.
        for secret in (given, *given.split()):
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, "***")
    return text


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found
