"""The health of tool servers: what each last did, how old its listing is, and when it is tried again.

A server that cannot be reached is down: who wants it is told so at once and waits for nothing, until its next try.
Then one is let through; if it is answered the server is up again, without a restart of anything, and if not the wait
doubles. The servers are apart from each other, and what was listed before stays served.

For operators: errors quote servers. Nothing here is durable; a process begins knowing nothing.

Source: DESIGN section 9; M. Nygard, Release It!, 2nd ed., "Circuit Breaker"; the jitter is the "equal jitter" of
M. Brooker, Exponential Backoff and Jitter, AWS Architecture Blog, 2015.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum

from pegboard.core.errors import (
    MalformedPageError,
    OutcomeUnknownError,
    PageLimitError,
    RefusedByServerError,
    UnreachableServerError,
    UpstreamError,
)
from pegboard.core.names import Json, digest_bytes
from pegboard.service.ports import Clock, Page, ToolServer, ToolServers

__all__ = ["GuardedServers", "Health", "HealthBook", "State", "backoff_s", "share"]

# Strikes at which a server is down.
DOWN_AT = 3
# What an error says of its server: the strikes it counts. With 0 it answered, however oddly. Other errors say nothing.
STRIKES: Mapping[type[UpstreamError], int] = {
    UnreachableServerError: DOWN_AT,
    OutcomeUnknownError: 1,
    RefusedByServerError: 0,
    MalformedPageError: 0,
    PageLimitError: 0,
}
# The first wait is short: most outages are a restart. The longest is how long one that is back may go unseen.
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 300.0


class State(StrEnum):
    """Whether a server can be reached."""

    UNKNOWN = "unknown"
    """Nothing was tried in this process."""
    UP = "up"
    DOWN = "down"
    """Nothing is tried before `next_try_at`."""
    TRYING = "trying"
    """It was down, and one is let through to see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What is known of one server. Times are Unix seconds."""

    server: str
    state: State = State.UNKNOWN
    error: str | None = None
    """What went wrong last, until it answers again."""
    strikes: int = 0
    outages: int = 0
    """How often in a row it went down, or stayed so when tried."""
    next_try_at: float | None = None
    listed_at: float | None = None
    """When its last whole listing came."""
    listing_error: str | None = None
    """Why a later one did not come."""

    @property
    def available(self) -> bool:
        """Say whether a call of its tools would be tried."""
        return self.state in (State.UNKNOWN, State.UP)

    def to_json(self) -> dict[str, Json]:
        """Return it as it is shown to operators."""
        return {
            "server": self.server,
            "state": str(self.state),
            "error": self.error,
            "next_try_at": self.next_try_at,
            "listed_at": self.listed_at,
            "listing_error": self.listing_error,
        }


def backoff_s(outages: int, part: float) -> float:
    """Return how long to wait after so many failures in a row, with *part* (0 to 1) of the half that is jitter."""
    longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(outages - 1, 30))
    return longest / 2 + longest / 2 * part


def share(clock: Clock) -> float:
    """Draw a number from 0 to 1 from the clock's dice, so that what waits does not all end its wait at once."""
    return int(digest_bytes(clock.new_id("wait").encode())[-8:], 16) / 0xFFFFFFFF


class HealthBook:
    """Keeps the health of each server of this process."""

    def __init__(self, servers: Iterable[str], clock: Clock) -> None:
        self._clock = clock
        self._of = {server: Health(server=server) for server in servers}
        self._ttl_ms: dict[str, int] = {}

    def read(self) -> tuple[Health, ...]:
        """Return the health of every server, by name."""
        return tuple(self._of[server] for server in sorted(self._of))

    def of(self, server: str) -> Health:
        """Return the health of one server."""
        return self._of.get(server) or Health(server=server)

    def ttl_ms(self, server: str) -> int | None:
        """Return how long the server said that its listing holds: the least that a page of the last one said."""
        return self._ttl_ms.get(server)

    def admit(self, server: str) -> bool:
        """Let someone through, and say whether it is on trial.

        Raises:
            UnreachableServerError: The server is down.
        """
        found, now = self.of(server), self._clock.now()
        if found.available:
            return False
        if found.state is State.DOWN and found.next_try_at is not None and now >= found.next_try_at:
            self._of[server] = replace(found, state=State.TRYING)
            return True
        wait_s = max(0.0, (found.next_try_at or now) - now)
        raise UnreachableServerError(
            server, f"it is down and is tried again in {wait_s:.0f} s; it failed with: {found.error}"
        )

    def answered(self, server: str) -> None:
        """Note that the server answered."""
        found = self.of(server)
        if (found.state, found.strikes) != (State.UP, 0):
            self._of[server] = replace(found, state=State.UP, error=None, strikes=0, outages=0, next_try_at=None)

    def failed(self, server: str, error: UpstreamError) -> None:
        """Note what went wrong, and take the server for down where it is."""
        strikes = STRIKES.get(type(error))
        if strikes == 0:
            self.answered(server)
        if not strikes:
            return
        found = self.of(server)
        found = replace(found, error=str(error), strikes=found.strikes + strikes)
        if found.state is State.TRYING or (found.strikes >= DOWN_AT and found.state is not State.DOWN):
            wait_s = backoff_s(found.outages + 1, share(self._clock))
            found = replace(found, state=State.DOWN, outages=found.outages + 1, next_try_at=self._clock.now() + wait_s)
        self._of[server] = found

    def left(self, server: str) -> None:
        """Note that the one on trial went without an answer or an error: the next may try."""
        found = self.of(server)
        if found.state is State.TRYING:
            self._of[server] = replace(found, state=State.DOWN)

    def try_now(self, server: str) -> None:
        """Let the next one through, as an operator asks."""
        found = self.of(server)
        if found.state is State.DOWN:
            self._of[server] = replace(found, next_try_at=self._clock.now())

    def page_came(self, server: str, cursor: str | None, page: Page) -> None:
        """Note how long a page holds."""
        if cursor is None:
            self._ttl_ms.pop(server, None)
        if page.ttl_ms is not None:
            self._ttl_ms[server] = min(page.ttl_ms, self._ttl_ms.get(server, page.ttl_ms))

    def listed(self, server: str) -> None:
        """Note that a whole listing came and was taken."""
        self._of[server] = replace(self.of(server), listed_at=self._clock.now(), listing_error=None)

    def listing_failed(self, server: str, error: str) -> None:
        """Note why a listing did not come, or was not taken."""
        self._of[server] = replace(self.of(server), listing_error=error)


class GuardedServers:
    """The servers with their health kept; implements `ToolServers`. One that is down is not waited for."""

    def __init__(self, servers: ToolServers, book: HealthBook) -> None:
        self._servers = servers
        self._book = book

    def names(self) -> tuple[str, ...]:
        """Return the configured servers' names, sorted."""
        return self._servers.names()

    @asynccontextmanager
    async def connect(self, server: str, principal: str | None = None) -> AsyncIterator[ToolServer]:
        """Open or borrow a session.

        Raises (on entering):
            UpstreamError: The server is down, or the session does not come.
        """
        on_trial, entered = self._book.admit(server), False
        try:
            async with self._servers.connect(server, principal) as session:
                entered = True
                guarded = _GuardedServer(session, server, self._book)
                yield guarded
            if guarded.listed:
                self._book.listed(server)
        except UpstreamError as error:
            # What goes wrong inside is noted where it does, but for a walk that its reader gave up.
            if not entered:
                self._book.failed(server, error)
            elif isinstance(error, MalformedPageError | PageLimitError):
                self._book.listing_failed(server, str(error))
            raise
        finally:
            if on_trial:
                self._book.left(server)


class _GuardedServer:
    """A session whose answers and failures are noted; implements `ToolServer`."""

    def __init__(self, session: ToolServer, server: str, book: HealthBook) -> None:
        self._session = session
        self._server = server
        self._book = book
        self.listed = False
        """Whether its last page came."""

    @property
    def changes(self) -> int:
        return self._session.changes

    async def list_page(self, cursor: str | None) -> Page:
        try:
            page = await self._session.list_page(cursor)
        except UpstreamError as error:
            self._book.failed(self._server, error)
            self._book.listing_failed(self._server, str(error))
            raise
        self._book.answered(self._server)
        self._book.page_came(self._server, cursor, page)
        self.listed = page.next_cursor is None
        return page

    async def call_tool(
        self, name: str, arguments: Mapping[str, Json], meta: Mapping[str, str] | None = None
    ) -> dict[str, Json]:
        try:
            result = await self._session.call_tool(name, arguments, meta)
        except UpstreamError as error:
            self._book.failed(self._server, error)
            raise
        self._book.answered(self._server)
        return result

    async def listen(self, ring: Callable[[], None]) -> None:
        # The end of this stream says nothing of calls: many servers end it when it is idle.
        await self._session.listen(ring)
