"""One open session with a tool server: list, call, listen for changes of the list, and ask whether it still stands.

Pages and results are handed out exactly as sent; who reads them judges tool by tool. A call is sent once: when it may
have reached the server and no answer came, it is an `OutcomeUnknownError`. One that stops to ask goes on with answers.

Source: MCP 2026-07-28 and 2025-11-25, tools, `subscriptions/listen`, ping; MCP 2026-07-28, `x-mcp-header`,
multi-round-trip requests.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from mcp import MCPError
from mcp.client.session import ClientSession
from mcp.types import (
    METHOD_NOT_FOUND,
    CallToolRequest,
    CallToolRequestParams,
    EmptyResult,
    InputResponseRequestParams,
    ListToolsRequest,
    PaginatedRequestParams,
    PingRequest,
    RequestParamsMeta,
    SubscriptionFilter,
    SubscriptionsListenRequest,
    SubscriptionsListenRequestParams,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from pegboard.adapters.mcp_faults import lost_page, masked, said, unreachable
from pegboard.adapters.mcp_inputs import Inputs
from pegboard.adapters.mcp_settings import ServerSettings
from pegboard.adapters.mcp_wire import TEXT_SHOWN, LostError, RawResult, Wire
from pegboard.core.errors import (
    MalformedPageError,
    OutcomeUnknownError,
    RefusedByServerError,
    UpstreamError,
)
from pegboard.core.names import Json, compact_json
from pegboard.core.text import one_line
from pegboard.service.ports import Page
from pegboard.service.progress import hears_progress

__all__ = ["OpenServer", "UnsendableCallError"]

# Pages read to find the headers that one call must carry.
_PAGES_FOR_HEADERS = 64
_PING_S = 5.0
# How often one call may ask; the SDK's own client goes along as often.
_ROUNDS = 10


@dataclass(unsafe_hash=True)
class UnsendableCallError(UpstreamError):
    """A call was not sent because it cannot be written: its arguments as JSON, or its headers."""

    server: str
    problem: str

    def __str__(self) -> str:
        return f"the call to server {self.server!r} was not sent: it cannot be written: {self.problem}"


class OpenServer:
    """An open session; implements `ToolServer`."""

    def __init__(self, settings: ServerSettings, session: ClientSession, wire: Wire, inputs: Inputs) -> None:
        self._settings = settings
        self._inputs = inputs
        self._session = session
        self._wire = wire

    @property
    def changes(self) -> int:
        """Return how often the server has said on this session that its list changed."""
        return self._wire.channel.bell.rung

    @property
    def standing(self) -> bool:
        """Say whether the session stands as far as it is known here."""
        return self._wire.channel.standing

    async def list_page(self, cursor: str | None) -> Page:
        """Fetch one page of tools exactly as sent, at most `page_bytes` of it within `list_timeout_s`.

        Raises:
            UnreachableServerError: The server went away or did not answer in time.
            MalformedPageError: Its answer is no page. Whether each tool of a page is one is not judged here.
            PageLimitError: Its answer passes the limit.
            RefusedByServerError: It answered with an error.
        """
        request = ListToolsRequest(params=PaginatedRequestParams(cursor=cursor))
        try:
            return _page(self._settings.name, await self._ask(request, self._settings.list_timeout_s))
        except LostError as lost:
            raise lost_page(self._settings, lost) from lost
        except MCPError as refusal:
            raise self._refused(refusal) from refusal

    async def call_tool(
        self, name: str, arguments: Mapping[str, Json], meta: Mapping[str, str] | None = None
    ) -> dict[str, Json]:
        """Call a tool once, within `call_timeout_s`, and return the `CallToolResult` exactly as sent.

        Raises:
            UnsendableCallError: The arguments are no JSON, or the tool asks for headers that are none.
            UnreachableServerError: The server went away before anything was sent.
            OutcomeUnknownError: It was sent, or may have been, and no usable answer came.
            RefusedByServerError: The server answered with an error of the protocol.
        """
        with self._wire.channel.bell.progress_of(hears_progress()) as along:
            return await self._called(name, arguments, {**(meta or {}), **along})

    async def _called(self, name: str, arguments: Mapping[str, Json], meta: Mapping[str, str]) -> dict[str, Json]:
        server = self._settings.name
        request = self._call(name, arguments, meta)
        if self._settings.url is not None and self._session.protocol_version in MODERN_PROTOCOL_VERSIONS:
            # MCP 2026-07-28, x-mcp-header: only the listing says which arguments a call repeats in its headers.
            # Asked before the call: after a refusal for a missing header the call would have to be sent again. Where
            # the listing fails the call goes out without them, and says itself what is wrong.
            with suppress(UpstreamError):
                await self._find_headers(name)
            if (problem := self._wire.unfit(name)) is not None:
                raise UnsendableCallError(server, one_line(problem, TEXT_SHOWN))
        result = await self._sent(request)
        for _ in range(_ROUNDS):
            # MCP 2026-07-28: the server has stopped there and goes on with the answers, so nothing runs twice.
            if (going_on := await self._answered(request, result)) is None:
                break
            try:
                result = await self._sent(going_on)
            except RefusedByServerError:
                raise
            except UpstreamError as lost:
                raise OutcomeUnknownError(server, f"it had begun, and asked: {lost}") from lost
        return result

    async def _answered(self, request: CallToolRequest, result: Mapping[str, Json]) -> CallToolRequest | None:
        """Return the call with answers to what its result asks, None where it asks nothing or is not answered."""
        if result.get("resultType") != "input_required" or (found := await self._inputs.responses(result)) is None:
            return None
        try:
            said = {"inputResponses": found, "requestState": result.get("requestState")}
            more = InputResponseRequestParams.model_validate(said)
        except ValidationError:
            return None
        changed = {"input_responses": more.input_responses, "request_state": more.request_state}
        return CallToolRequest(params=request.params.model_copy(update=changed))

    async def _sent(self, request: CallToolRequest) -> dict[str, Json]:
        server = self._settings.name
        try:
            result = await self._ask(request, self._settings.call_timeout_s)
        except LostError as lost:
            if not lost.sent:
                raise unreachable(self._settings, lost.problem) from lost
            raise OutcomeUnknownError(server, masked(self._settings, lost.problem)) from lost
        except MCPError as refusal:
            raise self._refused(refusal) from refusal
        if not isinstance(result, dict):
            raise OutcomeUnknownError(server, "the answer is no JSON object")
        return result

    async def listen(self, ring: Callable[[], None]) -> None:
        """Call *ring* whenever the server says that its list changed, until cancelled.

        Raises:
            UpstreamError: It refused, broke the protocol, or went away.
        """
        with self._wire.channel.bell.heard_by(ring):
            try:
                if self._session.protocol_version not in MODERN_PROTOCOL_VERSIONS:
                    return await self._wire.channel.listen()
                wanted = SubscriptionFilter(tools_list_changed=True)
                params = SubscriptionsListenRequestParams(notifications=wanted)
                with suppress(ValidationError):  # the answer is the end of the stream, whatever it says
                    await self._session.send_request(SubscriptionsListenRequest(params=params), EmptyResult)
            except LostError as lost:
                raise lost_page(self._settings, lost) from lost
            except MCPError as refusal:
                if refusal.error.code != METHOD_NOT_FOUND:
                    raise self._refused(refusal) from refusal

    async def check(self) -> bool:
        """Say whether the session still stands, and ask the server where it keeps the session and may have lost it."""
        if not self.standing or not self._wire.channel.kept_by_server:
            return self.standing
        try:
            await self._session.send_request(PingRequest(), EmptyResult, _PING_S)
        except MCPError as refusal:
            return refusal.error.code == METHOD_NOT_FOUND  # it knows the session, and no ping
        except (LostError, ValidationError):
            return False
        return True

    async def _ask(self, request: ListToolsRequest | CallToolRequest, timeout_s: float) -> object:
        try:
            return await self._session.send_request(request, EmptyResult, timeout_s)
        except RawResult as answer:
            return answer.value

    def _call(self, name: str, arguments: Mapping[str, Json], meta: Mapping[str, str]) -> CallToolRequest:
        try:
            # Checked here, since the session's models would quietly turn NaN into null.
            compact_json({"name": name, "arguments": dict(arguments)}).encode("utf-8")
            along = cast(RequestParamsMeta, dict(meta)) if meta else None
            request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=dict(arguments), _meta=along))
            request.model_dump(mode="json")
        except (TypeError, ValueError) as error:
            raise UnsendableCallError(self._settings.name, one_line(str(error), TEXT_SHOWN)) from error
        return request

    async def _find_headers(self, tool: str) -> None:
        """List pages until one says which headers a call of this tool carries; asked once a session and listing."""
        cursor = None
        for _ in range(_PAGES_FOR_HEADERS):
            if self._wire.knows(tool):
                return
            page = await self.list_page(cursor)
            cursor = page.next_cursor
            if cursor is None:
                break
        self._wire.remember(tool)

    def _refused(self, refusal: MCPError) -> RefusedByServerError:
        return RefusedByServerError(self._settings.name, refusal.error.code, said(self._settings, refusal))


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
