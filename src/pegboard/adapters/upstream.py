"""The pool: sessions with tool servers that stay open between uses, none of them ever lent across principals.

Each session has an owner, a task that opens it, holds it and closes it, so that whoever borrows it may go at any
moment. A session belongs to one server and one principal; only a server that is configured as `shared` serves all
principals with one. The operator's own, which lists and listens, is apart from both. What a session sends is built
from the configuration, and a credential of its own principal where the server is shown callers: nothing of another
could cross over.

A session is looked at before it is lent: one that broke, or that its server has forgotten, is opened again, once. That
is before the call is judged and sent; nothing is ever sent a second time.

Outside `running` each use opens a session of its own, as a command that makes one call needs.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import anyio
from anyio.abc import TaskGroup

from pegboard.core.errors import RefusedByServerError, UnreachableServerError, UpstreamError
from pegboard.service.ports import Clock, ToolServer

__all__ = ["BusyServerError", "PoolLimits", "Session", "Sessions", "UpstreamPool"]

_Key: TypeAlias = tuple[str, str | None]


@dataclass(unsafe_hash=True)
class BusyServerError(UpstreamError):
    """Too many use a server now; nothing was sent."""

    server: str
    problem: str

    def __str__(self) -> str:
        return f"server {self.server!r} is busy: {self.problem}"


class Session(ToolServer, Protocol):
    """A session that says whether it still stands."""

    @property
    def standing(self) -> bool:
        """Say whether it stands as far as it is known here."""

    async def check(self) -> bool:
        """Say whether it still stands, and ask the server where only that knows."""


class Sessions(Protocol):
    """Opens the sessions that the pool keeps."""

    def names(self) -> tuple[str, ...]:
        """Return the configured servers' names, sorted."""

    def connect(self, server: str, principal: str | None = None) -> AbstractAsyncContextManager[Session]:
        """Open one session and close it at exit, child processes included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """The most that one server is given."""

    at_once: int = 32
    """Calls at the same time."""
    waiting: int = 128
    """Callers who wait for a place; the next is refused."""
    wait_s: float = 10.0
    """How long one waits for a place. After that a model's turn is lost anyway."""
    sessions: int = 64
    """Open sessions of principals. With a local server each is a process."""
    idle_s: float = 300.0
    """After this long without use a session is closed."""
    check_after_s: float = 5.0
    """A session that was used since is lent as it is."""
    drain_s: float = 10.0
    """How long calls may still take when the pool is closed."""


class UpstreamPool:
    """The configured servers behind sessions that stay open; implements `ToolServers`."""

    def __init__(
        self,
        servers: Sessions,
        clock: Clock,
        *,
        shared: Collection[str] = (),
        limits: PoolLimits | None = None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._servers = servers
        self._clock = clock
        self._shared = frozenset(shared)
        self._limits = limits or PoolLimits()
        self._sleep = sleep
        self._tasks: TaskGroup | None = None
        self._leases: dict[_Key, _Lease] = {}
        self._places: dict[str, anyio.Semaphore] = {}

    def names(self) -> tuple[str, ...]:
        """Return the configured servers' names, sorted."""
        return self._servers.names()

    def open_sessions(self) -> dict[str, int]:
        """Return how many sessions each server has open, or opening."""
        return {name: sum(server == name for server, _ in self._leases) for name in self.names()}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep sessions open for the time of the body, in its event loop, and close them all at its end."""
        failure: Exception | None = None
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            tasks.start_soon(self._close_idle)
            try:
                yield
            except Exception as error:  # noqa: BLE001 - raised below, outside the group, which would wrap it
                failure = error
            finally:
                self._tasks = None
                with anyio.CancelScope(shield=True):
                    await self._close_all()
                tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure

    @asynccontextmanager
    async def connect(self, server: str, principal: str | None = None) -> AsyncIterator[ToolServer]:
        """Lend the session of a server and a principal, opened where there is none.

        Raises (on entering):
            UnreachableServerError: It cannot be started or reached, or does not answer in time.
            BusyServerError: No place was free in time.
        """
        if self._tasks is None:
            async with self._servers.connect(server, principal) as session:
                yield session
            return
        key = (server, "" if server in self._shared and principal is not None else principal)
        async with self._place(server, principal):
            with self._use(key) as lease:
                if await lease.stands(self._clock.ticks(), self._limits.check_after_s):
                    yield lease.session
                    return
            self._retire(lease)
            with self._use(key) as lease:
                await lease.opened.wait()
                yield lease.session

    @asynccontextmanager
    async def _place(self, server: str, principal: str | None) -> AsyncIterator[None]:
        """Wait for a place among a server's callers. The operator needs none, so calls cannot keep out a refresh."""
        if principal is None:
            yield
            return
        places = self._places.setdefault(server, anyio.Semaphore(self._limits.at_once))
        if places.statistics().tasks_waiting >= self._limits.waiting:
            raise BusyServerError(server, f"{self._limits.waiting} callers wait already")
        with anyio.move_on_after(self._limits.wait_s) as wait:
            await places.acquire()
        if wait.cancelled_caught:
            raise BusyServerError(server, f"no place was free within {self._limits.wait_s:g} s")
        try:
            yield
        finally:
            places.release()

    @contextmanager
    def _use(self, key: _Key) -> Iterator["_Lease"]:
        lease = self._leases.get(key) or self._open(key)
        lease.users += 1
        try:
            yield lease
        except UpstreamError as error:
            # A refusal is an answer. After anything else nobody can say what state the session is in.
            if not isinstance(error, RefusedByServerError):
                self._retire(lease)
            raise
        finally:
            lease.users -= 1
            lease.used_at = self._clock.ticks()
            if lease.retired and not lease.users:
                lease.end()

    def _open(self, key: _Key) -> "_Lease":
        if self._tasks is None:
            raise UnreachableServerError(key[0], "the pool was closed")
        if key[1] is not None:
            self._make_room(key[0])
        lease = self._leases[key] = _Lease(key)
        self._tasks.start_soon(self._own, lease)
        return lease

    def _make_room(self, server: str) -> None:
        """Close the session that was idle for longest where a server has as many as it may."""
        theirs = [lease for lease in self._leases.values() if lease.key[0] == server and lease.key[1] is not None]
        if len(theirs) < self._limits.sessions:
            return
        idle = [lease for lease in theirs if not lease.users]
        if not idle:
            raise BusyServerError(server, f"all of its {self._limits.sessions} sessions are in use")
        self._retire(min(idle, key=lambda lease: lease.used_at))

    def _retire(self, lease: "_Lease") -> None:
        """Lend a session to nobody any more; it is closed when its last user has gone."""
        lease.retired = True
        if self._leases.get(lease.key) is lease:
            del self._leases[lease.key]
        if not lease.users:
            lease.end()

    async def _own(self, lease: "_Lease") -> None:
        server, principal = lease.key
        try:
            with lease.scope:
                async with self._servers.connect(server, principal or None) as session:
                    lease.open(session)
                    await lease.over.wait()
        except Exception as error:  # noqa: BLE001 - what is wrong with one session must not end those of others
            lease.fail(error)
        finally:
            self._retire(lease)
            lease.fail(UnreachableServerError(server, "the pool was closed"))

    async def _close_idle(self) -> None:
        while True:
            await self._sleep(self._limits.idle_s / 2)
            now = self._clock.ticks()
            for lease in tuple(self._leases.values()):
                if not lease.users and now - lease.used_at >= self._limits.idle_s:
                    self._retire(lease)

    async def _close_all(self) -> None:
        """Let calls come to their end for a while, then close what is still in use."""
        leases = tuple(self._leases.values())
        for lease in leases:
            self._retire(lease)
            if not lease.opened.is_set():
                lease.end()
        with anyio.move_on_after(self._limits.drain_s):
            for lease in leases:
                await lease.gone.wait()
        for lease in leases:
            lease.end()
            await lease.gone.wait()


class _Lease:
    """One session with who uses it."""

    def __init__(self, key: _Key) -> None:
        self.key = key
        self.users = 0
        self.used_at = 0.0
        self.retired = False
        self.opened = anyio.Event()
        self.over = anyio.Event()
        self.scope = anyio.CancelScope()
        self.gone = anyio.Event()
        self._found: Session | Exception | None = None

    @property
    def session(self) -> Session:
        """Return the session, or raise what kept it from opening."""
        if isinstance(self._found, Exception):
            raise self._found
        assert self._found is not None  # `opened` is set with it
        return self._found

    def open(self, session: Session) -> None:
        self._found = session
        self.opened.set()

    def end(self) -> None:
        """Have the owner close the session, or give up opening it."""
        self.over.set()
        if not self.opened.is_set():
            self.scope.cancel()

    def fail(self, error: Exception) -> None:
        """Keep why there is no session, unless that is known."""
        if not isinstance(self._found, Exception):
            self._found = error
        self.opened.set()
        self.gone.set()

    async def stands(self, now: float, check_after_s: float) -> bool:
        """Wait for it to open, and say whether it can be used; raises what kept it from opening."""
        fresh = not self.opened.is_set()
        await self.opened.wait()
        session = self.session
        if self.retired or not session.standing:
            return False
        # In use: it answers someone, or they will find out.
        return fresh or self.users > 1 or now - self.used_at < check_after_s or await session.check()
