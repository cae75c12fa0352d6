"""The HTTP server: slow and idle clients, bounded heads, and an end that drains."""

import socket
from contextlib import asynccontextmanager

import anyio
import pytest

from pegboard.adapters.http_server import HEAD_BYTES, HttpServer, listening

pytestmark = pytest.mark.anyio

ASK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class App:
    """An application that answers when it is let."""

    def __init__(self):
        self.go, self.entered = anyio.Event(), anyio.Event()
        self.ended = 0

    async def __call__(self, scope, receive, send):
        self.entered.set()
        if scope["path"] == "/slow":
            await self.go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})
        self.ended += 1


@asynccontextmanager
async def serving(app=None, **settings):
    """Serve for the time of the body; give the server and its address."""
    with listening("127.0.0.1", 0) as listener:
        server = HttpServer(app or App(), **{"connections": 100, "drain_s": 5.0, **settings})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, listener)
            try:
                yield server, listener.getsockname()
            finally:
                server.end()
                server.end()


async def connect(address):
    return await anyio.connect_tcp(*address[:2])


async def answer(stream):
    """Read one answer of the application."""
    found = b""
    with anyio.fail_after(5):
        while not found.endswith(b"\r\n\r\nok"):
            found += await stream.receive()
    return found


async def everything(stream):
    """Read until the server closes the connection."""
    found = b""
    with anyio.fail_after(5):
        try:
            while True:
                found += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return found


async def test_requests_are_answered_one_after_another_on_one_connection():
    async with serving() as (_, address), await connect(address) as stream:
        for _ in range(3):
            await stream.send(ASK)
            assert (await answer(stream)).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "])
async def test_a_connection_on_which_no_whole_head_comes_is_closed(sent):
    async with serving(head_s=0.05) as (_, address), await connect(address) as stream:
        if sent:
            await stream.send(sent)
        assert await everything(stream) == b""


async def test_the_second_head_of_a_connection_may_not_be_slower_than_the_first():
    async with serving(head_s=0.05) as (_, address), await connect(address) as stream:
        await stream.send(ASK + b"GET /")
        await stream.send(b" HTTP")
        assert (await everything(stream)).count(b"HTTP/1.1 200") == 1


async def test_a_slow_answer_is_not_a_slow_head():
    app = App()
    async with serving(app, head_s=0.05) as (_, address), await connect(address) as stream:
        await stream.send(ASK.replace(b"/ ", b"/slow "))
        await app.entered.wait()
        await anyio.sleep(0.1)
        app.go.set()
        assert (await answer(stream)).startswith(b"HTTP/1.1 200")


async def test_a_head_beyond_the_limit_is_refused():
    async with serving() as (_, address), await connect(address) as stream:
        await stream.send(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * HEAD_BYTES + b"\r\n")
        assert (await everything(stream)).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("sent", [b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nBad Header\r\n\r\n"])
async def test_what_is_no_http_is_refused(sent):
    async with serving() as (_, address), await connect(address) as stream:
        await stream.send(sent)
        assert (await everything(stream)).startswith(b"HTTP/1.1 400")


async def test_connections_that_wait_idle_make_room_for_others():
    async with serving(connections=20) as (_, address):
        idle = [await connect(address) for _ in range(60)]
        async with await connect(address) as stream:
            await stream.send(ASK)
            assert (await answer(stream)).startswith(b"HTTP/1.1 200")
        for one in idle:
            await one.aclose()


async def test_one_that_is_told_to_end_answers_what_runs_and_takes_no_more():
    app, told = App(), []
    async with serving(app, on_end=lambda: told.append(True)) as (server, address), await connect(address) as stream:
        idle = await connect(address)
        await stream.send(ASK.replace(b"/ ", b"/slow "))
        await app.entered.wait()
        server.end()
        assert await everything(idle) == b""
        await idle.aclose()
        app.go.set()
        assert (await everything(stream)).startswith(b"HTTP/1.1 200")
        assert told == [True]
        with pytest.raises(OSError):  # noqa: PT012 - the socket may close a moment later
            while True:
                await (await connect(address)).aclose()
    assert app.ended == 1


async def test_one_that_is_told_twice_waits_for_nothing():
    app = App()
    with anyio.fail_after(5):
        async with serving(app, drain_s=60.0) as (_, address):
            stream = await connect(address)
            await stream.send(ASK.replace(b"/ ", b"/slow "))
            await app.entered.wait()
        await stream.aclose()
    assert app.ended == 0


def test_an_address_that_is_taken_is_an_error_and_port_0_is_any_that_is_free():
    with listening("127.0.0.1", 0) as one:
        port = one.getsockname()[1]
        assert port
        with pytest.raises(OSError), listening("127.0.0.1", port):
            pass
    with listening("::1", 0) as six:
        assert six.family is socket.AF_INET6
