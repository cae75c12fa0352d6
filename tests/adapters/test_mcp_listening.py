"""Hearing that a list changed, in both eras and over both transports; and noticing that a session is over."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from pegboard.adapters.mcp_client import McpServers
from pegboard.adapters.upstream import UpstreamPool
from pegboard.core.errors import PageLimitError, RefusedByServerError, UnreachableServerError, UpstreamError
from pegboard.service.ports import ToolServer
from tests.adapters.scripted_http_server import (
    RAW,
    RawServer,
    changing_app,
    mcp_app,
    serving,
    without_probe,
)
from tests.adapters.sessions import during, scripted, settings
from tests.servers import tool
from tests.service.steered import SteeredClock

pytestmark = pytest.mark.anyio


def over_http(url: str, **changed: Any) -> McpServers:
    return McpServers({"s": settings(url=url, **changed)})


def heard_after(servers: McpServers, deed: Callable[[ToolServer], Awaitable[object]], rings: int) -> int:
    """Listen, do something, wait for so many rings, and return how many changes the session counted."""

    async def scene(server: ToolServer) -> int:
        left, heard = rings, anyio.Event()

        def ring() -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                heard.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.listen, ring)
            with anyio.fail_after(5):
                while not heard.is_set():
                    await deed(server)
                    with anyio.move_on_after(0.05):
                        await heard.wait()
            tasks.cancel_scope.cancel()
        return server.changes

    found: int = during(servers, scene)
    return found


def change(server: ToolServer) -> Awaitable[object]:
    return server.call_tool("change", {})


def list_once(server: ToolServer) -> Awaitable[object]:
    return server.list_page(None)


@pytest.mark.parametrize("era", ["modern", "handshake"])
def test_a_real_http_server_is_heard_when_its_list_changes(era: str):
    app = changing_app()
    with serving(app if era == "modern" else without_probe(app, [])) as url:
        assert heard_after(over_http(url), change, 1) >= 1


@pytest.mark.parametrize("era", ["modern", "handshake"])
def test_a_child_is_heard_when_its_list_changes(era: str):
    on = {"tools/list": [["notify", 1]], "subscriptions/listen": [["notify", 1], ["silence"]]}
    assert heard_after(scripted(era=era, on=on), list_once, 1) >= 1


def test_ten_thousand_notices_of_a_child_are_heard_and_hinder_nothing():
    servers = scripted(pages=[[tool("a")]], on={"tools/list": [["notify", 10_000]]})

    async def scene(server: ToolServer) -> tuple[object, int]:
        return (await server.list_page(None)).tools, server.changes

    assert during(servers, scene) == ([tool("a")], 10_000)


def test_notices_are_heard_on_the_stream_of_an_answer_too():
    app = RawServer("plain")
    with serving(app) as url:
        app.behaviour = RAW["answer after changes"]

        async def scene(server: ToolServer) -> int:
            await server.list_page(None)
            return server.changes

        assert during(over_http(url), scene) == 2


def listened_until_its_end(servers: McpServers) -> tuple[int, UpstreamError | None]:
    rings = 0

    def ring() -> None:
        nonlocal rings
        rings += 1

    async def scene(server: ToolServer) -> UpstreamError | None:
        try:
            with anyio.fail_after(10):
                await server.listen(ring)
        except UpstreamError as error:
            return error
        return None

    error = during(servers, scene)
    return rings, error


@pytest.mark.parametrize(("stream", "rings", "error"), [
    ("no stream", 0, None),
    ("changes", 2, None),
    ("unauthorized", 0, RefusedByServerError("s", -32600, "HTTP 401: it wants a credential")),
    ("html", 0, None),
    ("gateway", 0, UnreachableServerError("s", "it answered with HTTP 502", "servers.s", "check its url and headers")),
    ("events flood", 0, PageLimitError("s", "its answer passes 1,000,000 bytes")),
])  # fmt: skip
def test_each_way_in_which_a_stream_of_notices_ends(stream: str, rings: int, error: UpstreamError | None):
    app = RawServer("plain")
    app.stream = RAW[stream]
    with serving(app) as url:
        found = listened_until_its_end(over_http(url, page_bytes=1_000_000))
    assert found[0] == rings
    assert found[1] == error or (stream == "events flood" and isinstance(found[1], PageLimitError))


@pytest.mark.parametrize(("script", "error"), [
    ({"era": "modern"}, None),
    ({"era": "modern", "on": {"subscriptions/listen": [["instead", '{"jsonrpc":"2.0","id":$ID,"result":{}}']]}}, None),
    ({"era": "modern", "on": {"subscriptions/listen": [["leave", 3]]}}, "it exited with status 3"),
    ({"on": {"notifications/initialized": [["sleep", 0.1], ["leave", 3]]}}, "it exited with status 3"),
])  # fmt: skip
def test_each_way_in_which_a_child_is_no_longer_heard(script: dict[str, Any], error: str | None):
    found = listened_until_its_end(scripted(**script))[1]
    assert found == (error and UnreachableServerError("s", error, "servers.s", "run its command by hand to see why"))


async def test_a_server_that_forgot_the_session_is_initialised_again_once_and_no_call_is_repeated():
    app, clock = RawServer("plain"), SteeredClock()
    with serving(app) as url:
        pool = UpstreamPool(over_http(url), clock)

        async def call() -> None:
            async with pool.connect("s", "ann") as server:
                await server.call_tool("a", {})

        async with pool.running():
            await call()
            app.forgets = True
            with pytest.raises(RefusedByServerError, match="the session has ended"):
                await call()
            await call()
            app.forgets = True
            clock.time += 60
            await call()
    asked = [method for method, _ in app.requests if method in ("initialize", "ping", "tools/call")]
    assert asked == [
        "initialize", "tools/call", "tools/call",
        "initialize", "tools/call",
        "ping", "initialize", "tools/call",
    ]  # fmt: skip


async def test_which_headers_a_call_carries_is_asked_once_a_session():
    calls: list[Any] = []
    methods: list[str] = []
    with serving(noting(mcp_app(calls), methods)) as url:
        pool = UpstreamPool(over_http(url), SteeredClock())
        async with pool.running():
            for name in ("weather", "echo", "weather", "echo"):
                async with pool.connect("s", "ann") as server:
                    await server.call_tool(name, {"place": "Oslo"})
    assert len(calls) == 4
    assert methods.count("tools/list") == 4  # both pages for each of the two tools


def noting(app: Any, methods: list[str]) -> Any:
    """Note the method of each request that the protocol's header names."""

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            methods.append(dict(scope["headers"]).get(b"mcp-method", b"").decode())
        await app(scope, receive, send)

    return wrapped
