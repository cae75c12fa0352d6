"""What starts a refresh: a server's notice that its list changed, the listing's age, a failure's next try, an operator.

Each server is watched by itself, so one that hangs delays no other. How old a listing may get is `poll_s`, or what
the server says (`ttlMs`) where that is less; a little earlier at random, so that servers are not all asked at once.
Notices come on a session that stays open. While none can be heard, age alone starts a refresh.

Source: DESIGN section 9; MCP 2026-07-28, caching (`ttlMs`) and `subscriptions/listen`; MCP 2025-11-25,
`notifications/tools/list_changed`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio
from anyio.abc import TaskGroup

from pegboard.core.errors import PegboardError, UpstreamError
from pegboard.service.health import HealthBook, backoff_s, share
from pegboard.service.ports import Clock, ToolServers
from pegboard.service.refresher import RefreshReport
from pegboard.service.turns import Turn

__all__ = ["POLL_S", "Watcher"]

POLL_S = 300.0
# A server that says its listing holds for less is asked no more often for that: it can send a notice.
SHORTEST_POLL_S = 30.0
# The part of a wait that jitter may take off.
JITTER = 0.1
# Each local server is a process; more at once would only make all of them slow.
AT_ONCE = 16
# A stream that was heard for less than this is opened again with the next refresh, not at once.
WORTH_HEARING_S = 10.0


class Watcher:
    """Refreshes every server whenever something asks for it."""

    def __init__(
        self,
        refresh: Callable[[Sequence[str]], Awaitable[RefreshReport]],
        servers: ToolServers,
        book: HealthBook,
        clock: Clock,
        polls_s: Mapping[str, float],
        *,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        """Watch with *refresh*.

        Args:
            refresh: Refreshes the named servers.
            servers: Where notices are heard: not guarded, so that listening is never the one that is on trial.
            book: The servers' health; its `next_try_at` and `ttl_ms` are heeded.
            clock: Its ticks and dice.
            polls_s: How old a listing may get, by server, where it is not `POLL_S`; 0: it is never asked by itself.
            sleep: Waits so many seconds of *clock*.
        """
        self._refresh = refresh
        self._servers = servers
        self._book = book
        self._clock = clock
        self._polls_s = polls_s
        self._sleep = sleep
        self._turns = {server: Turn() for server in servers.names()}
        self._moved = {server: anyio.Event() for server in self._turns}
        self._failures = dict.fromkeys(self._turns, 0)
        self._hearing: dict[str, anyio.CancelScope] = {}
        self._slots = anyio.CapacityLimiter(AT_ONCE)

    async def run(self) -> None:
        """Watch all servers until cancelled, beginning with a refresh of each."""
        async with anyio.create_task_group() as tasks:
            for server in self._turns:
                tasks.start_soon(self._watch, server, tasks)

    def hear(self, server: str) -> None:
        """Take a notice that a server's list changed."""
        self._move(server, self._turns[server].hear(self._clock.ticks()))

    def ask(self, server: str) -> None:
        """Take an operator's request: the server is refreshed now, even where it is down."""
        self._book.try_now(server)
        self._move(server, self._turns[server].ask(self._clock.ticks()))

    async def _watch(self, server: str, tasks: TaskGroup) -> None:
        while True:
            await self._until_due(server)
            self._move(server, self._turns[server].begin())
            async with self._slots:
                if server not in self._hearing:
                    # Before the list is read, so that what changes while it is read is heard.
                    tasks.start_soon(self._listen, server)
                well = await self._refreshed(server)
            if not well and server in self._hearing:
                self._hearing[server].cancel()
            self._failures[server] = 0 if well else self._failures[server] + 1
            self._move(server, self._turns[server].end(self._clock.ticks(), next_in_s=self._next_in_s(server)))

    async def _refreshed(self, server: str) -> bool:
        try:
            report = await self._refresh([server])
        except PegboardError as error:
            self._book.listing_failed(server, str(error))
            return False
        except Exception as error:  # noqa: BLE001 - a watcher that ended would leave its server stale for ever
            self._book.listing_failed(server, f"{type(error).__name__}: {error}")
            return False
        for one in report.servers:
            if one.error is not None:
                self._book.listing_failed(server, one.error)
        return not report.failed

    def _next_in_s(self, server: str) -> float | None:
        """Return when the next refresh is due by itself: at the next try after a failure, else by age."""
        if failures := self._failures[server]:
            next_try_at = self._book.of(server).next_try_at or 0.0
            return max(backoff_s(failures, share(self._clock)), next_try_at - self._clock.now())
        poll_s = self._polls_s.get(server, POLL_S)
        if not poll_s:
            return None
        ttl_ms = self._book.ttl_ms(server)
        if ttl_ms is not None:
            poll_s = min(poll_s, max(SHORTEST_POLL_S, ttl_ms / 1000))
        return poll_s * (1 - JITTER * share(self._clock))

    async def _listen(self, server: str) -> None:
        """Hear notices until the server ends it, or a refresh fails."""
        began = self._clock.ticks()
        with anyio.CancelScope() as self._hearing[server]:
            try:
                async with self._servers.connect(server) as session:
                    await session.listen(lambda: self.hear(server))
            except UpstreamError:
                pass  # what it means for the server, the refreshes find out
            except Exception:  # noqa: BLE001, S110 - as in `_refreshed`; age still starts refreshes
                pass
        cancelled = self._hearing.pop(server).cancel_called
        if not cancelled and self._clock.ticks() - began >= WORTH_HEARING_S:
            self.hear(server)  # what changed since it ended, nobody said

    async def _until_due(self, server: str) -> None:
        while True:
            moved, due_at = self._moved[server], self._turns[server].due_at
            if due_at is not None and due_at <= self._clock.ticks():
                return
            async with anyio.create_task_group() as tasks:
                if due_at is not None:
                    tasks.start_soon(self._alarm, due_at - self._clock.ticks(), moved)
                await moved.wait()
                tasks.cancel_scope.cancel()

    async def _alarm(self, seconds: float, moved: anyio.Event) -> None:
        await self._sleep(seconds)
        moved.set()

    def _move(self, server: str, turn: Turn) -> None:
        if turn == self._turns[server]:
            return  # one more of a burst
        self._turns[server] = turn
        self._moved[server].set()
        self._moved[server] = anyio.Event()
