"""The HTTP server in front of an ASGI application: sockets, slow clients, and an end that drains.

uvicorn serves; what it lacks is here. A connection on which no whole request head comes in time is closed, and where
there are too many, the ones that wait idle make room. Headers are bounded; nothing of a request is logged.

Source: RFC 9112, section 9; CWE-400 ("Slowloris").
"""

import logging
import socket
from asyncio import Transport
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]

__all__ = ["HttpServer", "listening"]

# A head holds a token of at most 16 KiB, and what proxies add.
HEAD_BYTES = 32 * 1024
HEAD_S = 10.0
IDLE_S = 30.0
# Files that the process needs besides its connections: stores, and the pipes of tool servers.
_OTHER_FILES = 256


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Open a listening socket; port 0 takes any free one.

    Raises:
        OSError: The address cannot be listened on.
    """
    family = socket.AF_INET6 if _is_ipv6(host) else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
        listener.setblocking(False)
        yield listener


class HttpServer:
    """Serves one ASGI application on one socket until it is told to end."""

    def __init__(
        self,
        app: Any,
        *,
        connections: int,
        drain_s: float,
        on_end: Callable[[], None] = lambda: None,
        head_s: float = HEAD_S,
    ) -> None:
        """Serve *app*.

        Args:
            app: The application.
            connections: How many are kept at most.
            drain_s: How long running requests may take once it is told to end.
            on_end: Is called when it is told to end, before anything else.
            head_s: How long the head of a request may take.
        """
        _allow_files(connections + _OTHER_FILES)
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
        self._on_end = on_end
        self._server = _Server(
            uvicorn.Config(
                app,
                http=_protocol(connections, head_s),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                h11_max_incomplete_event_size=HEAD_BYTES,
                timeout_keep_alive=int(IDLE_S),
                timeout_graceful_shutdown=max(1, int(drain_s)),
            )
        )

    async def serve(self, listener: socket.socket) -> None:
        """Serve until `end` is called and what runs has ended, or has had its time."""
        await self._server.serve([listener])

    def end(self) -> None:
        """Take no more, and end when what runs has ended; called a second time, at once."""
        if self._server.should_exit:
            self._server.force_exit = True
        self._server.should_exit = True
        self._on_end()


class _Server(uvicorn.Server):
    """uvicorn's server, whose signals are handled by whoever runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _protocol(connections: int, seconds: float) -> type[H11Protocol]:
    """Return the protocol of a server that keeps so many connections and waits so long for a head."""

    class Protocol(_Patient):
        most = connections
        head_s = seconds

    return Protocol


class _Patient(H11Protocol):
    """One connection, whose patience has an end."""

    most = 0
    head_s = HEAD_S

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        self._head: Any = None
        super().connection_made(transport)
        self._await_head()
        if len(self.connections) > self.most:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unset_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._unset_head()
        elif self._head is None:
            # The first bytes of a further request, on a connection that was kept.
            self._await_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._unset_head()
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            # The next request has begun, in the same breath as this one.
            self._await_head()

    @property
    def idle(self) -> bool:
        """Say whether nothing is asked on this connection."""
        return self.cycle is None or self.cycle.response_complete

    def _await_head(self) -> None:
        self._head = self.loop.call_later(self.head_s, self.transport.close)

    def _unset_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _make_room(self) -> None:
        """Close a connection that waits idle; where none does, this one."""
        others = (one for one in self.connections if one is not self and isinstance(one, _Patient) and one.idle)
        next(others, self).transport.close()


def _allow_files(count: int) -> None:
    """Let the process have so many files open, as far as the system allows it."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _is_ipv6(host: str) -> bool:
    try:
        return ip_address(host).version == 6
    except ValueError:
        return False
