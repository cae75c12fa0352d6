"""Real HTTP servers on the loopback: the SDK's own MCP server, and raw answers that no decent server would give.

`serving(app)` runs an ASGI application under uvicorn in a thread and yields its URL. `mcp_app()` is a low-level SDK
server, which speaks both eras; `without_probe` hides the modern one from clients. `RawServer` answers by the table
`RAW`: one row a way to misbehave, applied to `tools/list` and `tools/call`, the handshake being ordinary.
"""

import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import anyio
import uvicorn
from mcp.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

from tests.servers import tool

Asgi = Callable[[Any, Any, Any], Any]


@contextmanager
def serving(app: Asgi) -> Iterator[str]:
    """Serve an application and yield its URL."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)  # connections wait here until the server accepts them, so nobody polls for its start
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join(10)


def mcp_app(calls: list[tuple[str, Any]], **options: Any) -> Asgi:
    """Serve two pages of tools and record the calls that were run."""
    places = {"place": {"type": "string", "x-mcp-header": "Place"}}
    pages = {
        None: ([Tool(name="echo", input_schema={"type": "object"})], "2"),
        "2": ([Tool(name="weather", input_schema={"type": "object", "properties": places})], None),
    }

    async def list_tools(_: Any, params: Any) -> ListToolsResult:
        tools, following = pages[params.cursor if params else None]
        return ListToolsResult(tools=tools, next_cursor=following)

    async def call_tool(_: Any, params: Any) -> CallToolResult:
        calls.append((params.name, params.arguments))
        return CallToolResult(content=[TextContent(type="text", text=json.dumps(params.arguments))])

    return Server("real", on_list_tools=list_tools, on_call_tool=call_tool).streamable_http_app(**options)


def changing_app(**options: Any) -> Asgi:
    """Serve one tool, "change", which says that the list changed, to clients of both eras."""
    bus = InMemorySubscriptionBus()

    async def list_tools(_: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="change", input_schema={"type": "object"})])

    async def call_tool(ctx: Any, _: Any) -> CallToolResult:
        await bus.publish(ToolsListChanged())
        await ctx.session.send_tool_list_changed()
        return CallToolResult(content=[])

    server = Server(
        "changing", on_list_tools=list_tools, on_call_tool=call_tool, on_subscriptions_listen=ListenHandler(bus)
    )
    return server.streamable_http_app(**options)


def without_probe(app: Asgi, methods: list[str]) -> Asgi:
    """Answer the probe as a server does that has never heard of it, and note each request's method."""

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)
        message = await receive()
        methods.append(json.loads(message["body"] or b"{}").get("method", scope["method"]))
        if methods[-1] == "server/discover":
            return await _respond(send, 404, b"not found", {"content-type": "text/plain"})

        async def again() -> Any:
            nonlocal message
            given, message = message, None
            return given or await receive()

        return await app(scope, again, send)

    return wrapped


class RawServer:
    """Answers the two tool methods as its row of `RAW` says; remembers headers and methods."""

    def __init__(self, behaviour: str) -> None:
        self.behaviour = RAW[behaviour]
        self.stream = RAW["no stream"]
        """What a GET is answered with."""
        self.forgets = False
        """Whether it has lost every session that it opened so far."""
        self._sessions = 0
        self.requests: list[tuple[str, dict[str, str]]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while (part := await receive())["type"] == "http.request":
            body += part["body"]
            if not part.get("more_body"):
                break
        message = json.loads(body) if body else {}
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.requests.append((message.get("method", scope["method"]), headers))
        if headers.get("mcp-session-id") == f"session-{self._sessions}" and self.forgets:
            await _respond(send, 404, b"", {})
        elif scope["method"] == "GET":
            await self.stream(0, send)
        elif message.get("method") == "ping":
            await _respond(send, 200, _answer(message["id"], {}), JSON)
        elif message.get("method") == "initialize":
            self._sessions, self.forgets = self._sessions + 1, False
            info = {"name": "raw", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
            await _respond(
                send, 200, _answer(message["id"], result), {**JSON, "mcp-session-id": f"session-{self._sessions}"}
            )
        elif message.get("method", "").startswith("tools/"):
            await self.behaviour(message["id"], send)
        else:
            await _respond(send, 202 if "id" not in message else 400, b"", {})


JSON = {"content-type": "application/json"}
EVENTS = {"content-type": "text/event-stream"}
PAGE = {"tools": [tool("one")], "content": []}


def _answer(number: Any, result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()


def _status(status: int, body: bytes = b"", headers: Mapping[str, str] = JSON) -> Any:
    async def behave(number: Any, send: Any) -> None:
        await _respond(send, status, body.replace(b'"$ID"', json.dumps(number).encode()), headers)

    return behave


def _events(*events: bytes) -> Any:
    async def behave(number: Any, send: Any) -> None:
        await _start(send, 200, EVENTS)
        for event in events:
            given = event.replace(b"$ANSWER", _answer(number, PAGE))
            await send({"type": "http.response.body", "body": given + b"\r\n\r\n", "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    return behave


async def _big(number: Any, send: Any) -> None:
    await _start(send, 200, JSON)
    for _ in range(50):
        await send({"type": "http.response.body", "body": b" " * 1_000_000, "more_body": True})
    await send({"type": "http.response.body", "body": _answer(number, PAGE)})


async def _hang_up(number: Any, send: Any) -> None:
    await _start(send, 200, {**JSON, "content-length": "1000"})
    await send({"type": "http.response.body", "body": b'{"jsonrpc"', "more_body": True})
    raise ConnectionAbortedError  # uvicorn closes the connection on an application's error


async def _stall(number: Any, send: Any) -> None:
    await anyio.sleep(30)


CHANGED = b'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
RAW: dict[str, Any] = {
    "no stream": _status(405),
    "answer after changes": _events(CHANGED, CHANGED, b"data: $ANSWER"),
    "changes": _events(b": hello", CHANGED, b'data: {"jsonrpc":"2.0","method":"notifications/message"}', CHANGED),
    "plain": _status(200, b'{"jsonrpc":"2.0","id":"$ID","result":{"tools":[{"name":"one","odd":[1,null]}, 7]}}'),
    "one broken tool": _status(
        200, b'{"jsonrpc":"2.0","id":"$ID","result":{"tools":[{"name":"\\ud800"},{"name":"\xff"}]}}'
    ),
    "events": _events(b": hello", b"event: ping\r\ndata: no json", b'data: {"level":"info"}', b"data: $ANSWER"),
    "split event": _events(b'data: {"jsonrpc":"2.0","id":77,"result":{}}', b"id: 4\r\ndata: $ANSWER\r\ndata: "),
    "server asks": _events(b'data: {"jsonrpc":"2.0","id":"s1","method":"ping"}', b"data: $ANSWER"),
    "events end": _events(b": hello"),
    "events flood": _events(*[b"data: " + b"x" * 1_000_000] * 60),
    "big": _big,
    "hangs up": _hang_up,
    "stalls": _stall,
    "redirects": _status(307, headers={"location": "http://127.0.0.1:9/elsewhere"}),
    "unauthorized": _status(401),
    "gateway": _status(502, b"bad gateway", {"content-type": "text/html"}),
    "error in body": _status(400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no such tool"}}'),
    "accepted": _status(202),
    "html": _status(200, b"<html>", {"content-type": "text/html"}),
    "no json": _status(200, b"{"),
    "compressed": _status(200, gzip.compress(b"{}"), {**JSON, "content-encoding": "gzip"}),
    "nested": _status(200, b'{"jsonrpc":"2.0","id":"$ID","result":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
}


async def _start(send: Any, status: int, headers: Mapping[str, str]) -> None:
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})


async def _respond(send: Any, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    await _start(send, status, headers)
    await send({"type": "http.response.body", "body": body})
