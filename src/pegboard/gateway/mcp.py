"""The MCP door: one endpoint in front of all tool servers, for clients of both eras, over HTTP and stdio.

Each request is its caller's own: whose it is is found out before the protocol's library sees it, and a session of the
handshake era belongs to whoever opened it. Resources and prompts are not offered: nothing in them is known to the
lock, so nothing of them could be granted. What a tool server asks while a call runs is in `asking` and `holding`.

The library's own telemetry is taken out, since it writes names that were asked for and denied into spans; and results
go around its models, which would drop what they do not know.

Source: MCP 2026-07-28 and 2025-11-25; DESIGN section 12.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, TypeAlias

import anyio
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.runner import serve_dual_era_loop
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp.types import (
    INTERNAL_ERROR,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
    SubscriptionFilter,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.types import ASGIApp

from pegboard.core.errors import PegboardError
from pegboard.gateway.callers import Caller, Callers
from pegboard.gateway.changes import Changes
from pegboard.gateway.endpoint import Endpoint, caller_in
from pegboard.gateway.holding import HeldCalls
from pegboard.gateway.listing import Lister
from pegboard.gateway.progressing import passed_on
from pegboard.gateway.running import Running
from pegboard.gateway.settings import GatewaySettings
from pegboard.gateway.verbs import Verbs
from pegboard.service.acting import presenting
from pegboard.service.identity import Credential, CredentialKind, Refused
from pegboard.service.telemetry import QUIET, Telemetry

__all__ = ["McpGateway"]

_INSTRUCTIONS = (
    "Tools of several servers. If search_tools is listed, most tools are found by it: say there what is to be done, "
    "then call what it finds with call_tool."
)
_FAILED = "this cannot be answered now; nothing more was done; try again later"
_TOO_MANY = "too many clients listen for changes"
# Handshake sessions that nobody ends. A client that comes back after that begins a new one.
_SESSIONS = 10_000
_SESSION_IDLE_S = 15 * 60.0
_LISTENING = 2_000
# A change is a hint to list again: a client that has not read so many needs no more of them.
_UNREAD = 16

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Work:
    """One request: who asks, and the result as it is to be sent."""

    caller: Caller
    result: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stdio:
    """One client over stdio: as whom it counts, and what ends with it."""

    credential: Credential
    until_it_leaves: ExitStack


_Context: TypeAlias = ServerRequestContext[Any, Any]


class McpGateway:
    """The MCP door of a running system."""

    def __init__(self, running: Running, settings: GatewaySettings, telemetry: Telemetry = QUIET) -> None:
        self._telemetry = telemetry
        self._callers = Callers(running.identity, profile=settings.profile)
        self._lister = Lister(running.catalog, settings.listing, running.rollouts)
        self._verbs = Verbs(running, self._lister)
        self._held = HeldCalls(running.catalog.clock)
        self.changes = Changes(self._lister, self._callers)
        self._server = self._made(settings.listing.ttl_ms)
        self._sessions = StreamableHTTPSessionManager(
            self._server,
            max_request_body_size=settings.body_bytes,
            session_idle_timeout=_SESSION_IDLE_S,
            max_sessions=_SESSIONS,
        )

    def asgi(self) -> ASGIApp:
        """Return the application that serves MCP at whatever path it is mounted; it works inside `serving`."""
        return Endpoint(self._callers, self._sessions, self._hearing)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Keep sessions and look for changes for the time of the body; once a gateway."""
        async with self._sessions.run(), self._held.running(), anyio.create_task_group() as tasks:
            tasks.start_soon(self.changes.run)
            yield
            tasks.cancel_scope.cancel()

    async def serve_stdio(self, profile: str) -> None:
        """Serve the client at this process's standard streams as *profile*, until it closes them."""
        async with stdio_server() as (read, write):
            await self.serve_streams(read, write, profile)

    async def serve_streams(self, read: ReadStream[Any], write: WriteStream[SessionMessage], profile: str) -> None:
        """Serve one client over a pair of streams as *profile*."""
        credential = Credential(kind=CredentialKind.PROFILE, text=profile)
        with ExitStack() as stack:
            async with self._held.running(), anyio.create_task_group() as tasks:
                tasks.start_soon(self.changes.run)
                client = _Stdio(credential=credential, until_it_leaves=stack)
                options = self._server.create_initialization_options()
                await serve_dual_era_loop(self._server, read, write, lifespan_state=client, init_options=options)
                tasks.cancel_scope.cancel()

    def _made(self, ttl_ms: int) -> "_Server":
        async def list_tools(ctx: _Context, params: PaginatedRequestParams | None) -> ListToolsResult:
            work: _Work = ctx.lifespan_context
            work.result = await self._verbs.page(work.caller.context, params.cursor if params else None)
            return ListToolsResult(tools=[], ttl_ms=ttl_ms, cache_scope="private")

        async def call_tool(ctx: _Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
            work: _Work = ctx.lifespan_context
            meta = _meta(ctx)
            context = work.caller.context

            async def deed() -> Mapping[str, Any]:
                return await self._verbs.call(context, params.name, params.arguments or {}, meta)

            async with passed_on(ctx, asked="progressToken" in meta):
                found = await self._held.call(ctx, context.identity, params, deed)
            if isinstance(found, InputRequiredResult):
                return found
            work.result = found
            return CallToolResult(content=[])

        server = _Server(
            "pegboard",
            version=version("pegboard"),
            title="Pegboard",
            instructions=_INSTRUCTIONS,
            # Arguments are read where they are, so that no header can differ from them.
            get_tool_input_schema=lambda name: None,
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_subscriptions_listen=self._listen,
        )
        server.add_notification_handler("notifications/initialized", NotificationParams, self._initialized)
        server.middleware[:] = [self._door]
        return server

    async def _door(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        """Find out whose request it is, and let the result pass as it is."""
        if ctx.request_id is None:
            return await call_next(ctx)
        try:
            work = _Work(await self._caller(ctx))
            caller = work.caller
            with self._telemetry.within(_carrier(_meta(ctx))), presenting(caller.credential, caller.context):
                shaped = await call_next(replace(ctx, lifespan_context=work))
        except (MCPError, ValidationError):
            raise
        except PegboardError as error:
            _log.error("a request failed: %s", error.kind)
            raise MCPError(INTERNAL_ERROR, _FAILED) from None
        except Exception as error:  # noqa: BLE001 - the process's edge: what failed may name what nobody may see
            _log.error("a request failed: %s", type(error).__name__)
            raise MCPError(INTERNAL_ERROR, _FAILED) from None
        return shaped if work.result is None else _joined(shaped, work.result, ctx.protocol_version)

    async def _caller(self, ctx: _Context) -> Caller:
        if ctx.request is not None:
            return caller_in(ctx.request.scope)
        client: _Stdio = ctx.lifespan_context
        caller = await self._callers.again(client.credential)
        if isinstance(caller, Refused):
            raise MCPError(INTERNAL_ERROR, caller.description)
        return caller

    async def _hearing(
        self, caller: Caller, tell: Callable[[], Awaitable[None]], end: Callable[[], None]
    ) -> AbstractContextManager[None]:
        try:
            digest = (await self._lister.listed(caller.context)).digest
        except PegboardError:
            digest = ""  # whatever it is when it can be read again, it is another
        return self.changes.heard_by(caller, digest, tell, end)

    async def _listen(self, ctx: _Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """Serve a listening stream of the present era. Of all that can be asked for, only the list of tools changes."""
        if self.changes.listening >= _LISTENING:
            raise MCPError(INTERNAL_ERROR, _TOO_MANY)
        bus = InMemorySubscriptionBus()
        stream = ListenHandler(bus, max_buffered_events=_UNREAD)
        wanted = SubscriptionFilter(tools_list_changed=params.notifications.tools_list_changed)
        caller = ctx.lifespan_context.caller
        with await self._hearing(caller, lambda: bus.publish(ToolsListChanged()), stream.close):
            return await stream(ctx, params.model_copy(update={"notifications": wanted}))

    async def _initialized(self, ctx: _Context, params: NotificationParams) -> None:
        """Have a client over stdio hear of changes, as the handshake era does: without being asked."""
        if ctx.request is not None:
            return  # it hears on its session's stream
        client: _Stdio = ctx.lifespan_context
        caller = await self._callers.again(client.credential)
        if isinstance(caller, Caller):
            hearing = await self._hearing(caller, ctx.session.send_tool_list_changed, lambda: None)
            client.until_it_leaves.enter_context(hearing)


class _Server(Server[Any]):
    """The library's server, which says to clients of the handshake era too that it tells of changes."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Return what `initialize` answers."""
        told = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(told, experimental_capabilities, extensions)


def _meta(ctx: _Context) -> Mapping[str, Any]:
    found = (ctx.params or {}).get("_meta")
    return found if isinstance(found, Mapping) else {}


def _carrier(meta: Mapping[str, Any]) -> dict[str, str]:
    return {name: meta[name] for name in ("traceparent", "tracestate") if isinstance(meta.get(name), str)}


def _joined(shaped: HandlerResult, result: Mapping[str, Any], revision: str) -> dict[str, Any]:
    """Put a result into the envelope that the library made for the client's revision."""
    assert isinstance(shaped, dict)
    envelope, own = shaped.get("_meta"), result.get("_meta")
    joined = {**shaped, **result}
    if envelope or own:
        joined["_meta"] = {**(own or {}), **(envelope or {})}
    if revision in HANDSHAKE_PROTOCOL_VERSIONS and not isinstance(joined.get("structuredContent", {}), dict):
        # Before 2026-07-28 it is an object or not there; the text says the same.
        del joined["structuredContent"]
    return joined
