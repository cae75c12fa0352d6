"""The HTTP side of the MCP door: whose request it is, before anything of it is read; and the stream of a session.

Sessions exist in the handshake era alone. One belongs to whoever opened it, and to the same principal with a newer
token; to anyone else it is not there. Over its stream a client hears that its list changed.

Source: MCP 2025-11-25, transports (session management, listening for messages from the server).
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import TypeAlias

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Message, Receive, Scope, Send

from pegboard.core.names import compact_json
from pegboard.gateway.callers import Caller, Callers
from pegboard.gateway.refusals import refused
from pegboard.service.identity import Refused

__all__ = ["Endpoint", "Hearing", "caller_in"]

_CALLER = "pegboard.caller"
_CHANGED = compact_json({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
_EVENT = f"event: message\r\ndata: {_CHANGED}\r\n\r\n".encode()

# Has a caller hear of changes of its list for the time of the body: (caller, tell, end).
Hearing: TypeAlias = Callable[
    [Caller, Callable[[], Awaitable[None]], Callable[[], None]], Awaitable[AbstractContextManager[None]]
]


class Endpoint:
    """The ASGI application of the MCP door."""

    def __init__(self, callers: Callers, sessions: StreamableHTTPSessionManager, hearing: Hearing) -> None:
        self._callers = callers
        self._sessions = sessions
        self._hearing = hearing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        headers = [value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"]
        caller = await self._callers.of(headers)
        if isinstance(caller, Refused):
            await refused(caller, self._callers.identity.settings).response()(scope, receive, send)
            return
        # The library compares the owner of a session by this; the token itself need not go in.
        token = AccessToken(token="", client_id=caller.context.identity, scopes=[])
        owned = {**scope, "user": AuthenticatedUser(token), _CALLER: caller}
        if scope["method"] == "GET":
            await self._stream(caller, owned, receive, send)
        else:
            await self._sessions.handle_request(owned, receive, send)

    async def _stream(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the stream of a session, and say on it when the caller's list changed."""
        stream = _Stream(send)
        over = anyio.CancelScope()
        with over, await self._hearing(caller, stream.say_changed, over.cancel):
            await self._sessions.handle_request(scope, receive, stream.send)


class _Stream:
    """One response, into which events can be put between those that the library sends."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._turn = anyio.Lock()
        self._open = False

    async def send(self, message: Message) -> None:
        async with self._turn:
            if message["type"] == "http.response.start":
                kinds = [value for name, value in message.get("headers", ()) if name.lower() == b"content-type"]
                self._open = message["status"] == 200 and any(one.startswith(b"text/event-stream") for one in kinds)
            elif not message.get("more_body", False):
                self._open = False
            await self._send(message)

    async def say_changed(self) -> None:
        async with self._turn:
            if self._open:
                await self._send({"type": "http.response.body", "body": _EVENT, "more_body": True})


def caller_in(scope: Scope) -> Caller:
    """Return whose request this is, as `Endpoint` found out."""
    caller = scope[_CALLER]
    assert isinstance(caller, Caller)
    return caller
