"""Tool servers in memory: the one fake that stands behind the `ToolServer` and `ToolServers` ports.

A `ScriptedToolServer` is told what to list and how to behave, and remembers what was asked of it:

    crm = ScriptedToolServer([tool("get_order"), tool("refund")], [tool("close_case")])   # two pages
    crm.answers("get_order", {"content": [], "structuredContent": {"id": 7}})
    crm.changes_after(1, [tool("get_order")])       # the listing changes between two pages of a walk
    crm.fails("call", OutcomeUnknownError("crm", "it exited with status 1"))
    crm.stalls("list"); await crm.reached("list"); crm.recovers("list")
    crm.says_it_changed()                           # to whoever listens
    servers = ScriptedToolServers(crm=crm)

It lies as real servers do (`repeats_its_cursor`, `never_ends`, pages with anything in them), and keeps the ports'
contract in one thing: it raises only what the test told it to raise, and hands out what it was given, untouched.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeAlias

import anyio

from pegboard.core.errors import PegboardError, UnreachableServerError
from pegboard.service.ports import Page

__all__ = ["Occasion", "ScriptedToolServer", "ScriptedToolServers", "tool"]

Occasion: TypeAlias = Literal["connect", "list", "call"]


def tool(name: str, **declared: Any) -> dict[str, Any]:
    """Declare a tool as a server would: whatever is not given is left out, but for an empty input schema."""
    return {"name": name, "inputSchema": {"type": "object"}, **declared}


class ScriptedToolServer:
    """One tool server that does as it is told and remembers what it was asked."""

    def __init__(self, *pages: Sequence[Any], ttl_ms: int | None = None) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        """Each call that was received, in order, answered or not."""
        self.metas: list[dict[str, str]] = []
        """What came along with each of them."""
        self.cursors: list[str | None] = []
        """The cursor of each page that was asked for."""
        self.open = 0
        """How many sessions are open now."""
        self.connected = 0
        """How many sessions were ever opened."""
        self.principals: list[str | None] = []
        """For whom each session was opened."""
        self.changes = 0
        """How often it said that its list changed."""
        self._listeners: list[tuple[Callable[[], None], anyio.Event]] = []
        self._pages = pages or ([],)
        self._ttl_ms = ttl_ms
        self._next: tuple[int, tuple[Sequence[Any], ...]] | None = None
        self._cursor: str | None = None
        self._endless = False
        self._results: dict[str, dict[str, Any]] = {}
        self._errors: dict[Occasion, PegboardError] = {}
        self._stalls: dict[Occasion, anyio.Event] = {}
        self._reached: dict[Occasion, anyio.Event] = {}

    # What to do

    def lists(self, *pages: Sequence[Any]) -> None:
        """List these pages from now on."""
        self._pages = pages or ([],)

    def changes_after(self, pages_fetched: int, *pages: Sequence[Any]) -> None:
        """List these pages once so many more pages have been fetched."""
        self._next = (len(self.cursors) + pages_fetched, pages)

    def repeats_its_cursor(self) -> None:
        """Give every page the same cursor for what follows."""
        self._cursor = "again"

    def never_ends(self) -> None:
        """Follow the last page with it, for ever, each time under a new cursor."""
        self._endless = True

    def answers(self, name: str, result: dict[str, Any]) -> None:
        """Answer calls of this tool with this result; others answer with an empty one."""
        self._results[name] = result

    def fails(self, on: Occasion, error: PegboardError) -> None:
        """Raise this error there until `recovers`; a failing call is received all the same."""
        self._errors[on] = error

    def stalls(self, on: Occasion) -> None:
        """Do not answer there until `recovers`."""
        self._stalls[on] = anyio.Event()
        self._reached[on] = anyio.Event()

    def recovers(self, on: Occasion) -> None:
        """Neither fail nor stall there any longer; who waits goes on."""
        self._errors.pop(on, None)
        if stall := self._stalls.pop(on, None):
            stall.set()

    def says_it_changed(self, times: int = 1) -> None:
        """Tell whoever listens that the list changed."""
        for _ in range(times):
            self.changes += 1
            for ring, _ in self._listeners:
                ring()

    def hangs_up(self) -> None:
        """End the streams on which changes are heard."""
        for _, ended in self._listeners:
            ended.set()

    @property
    def heard_by(self) -> int:
        """Return how many listen for changes now."""
        return len(self._listeners)

    async def reached(self, on: Occasion) -> None:
        """Wait until someone waits for the stalled answer."""
        await self._reached[on].wait()

    # The port

    async def list_page(self, cursor: str | None) -> Page:
        self.cursors.append(cursor)
        await self._pass("list")
        if self._next is not None and len(self.cursors) > self._next[0]:
            self._pages, self._next = self._next[1], None
        at = min(self._place(cursor), len(self._pages) - 1)
        more = self._endless or at + 1 < len(self._pages)
        following = f"page-{self._place(cursor) + 1}" if more else None
        return Page(tools=self._pages[at], next_cursor=self._cursor or following, ttl_ms=self._ttl_ms)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], meta: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        self.calls.append((name, dict(arguments)))
        self.metas.append(dict(meta or {}))
        await self._pass("call")
        return self._results.get(name, {"content": []})

    async def listen(self, ring: Callable[[], None]) -> None:
        listener = (ring, anyio.Event())
        self._listeners.append(listener)
        try:
            await listener[1].wait()
        finally:
            self._listeners.remove(listener)

    @asynccontextmanager
    async def session(self, principal: str | None = None) -> AsyncIterator["ScriptedToolServer"]:
        """Open a session, or fail or stall as told for "connect"."""
        self.principals.append(principal)
        await self._pass("connect")
        self.open += 1
        self.connected += 1
        try:
            yield self
        finally:
            self.open -= 1

    def _place(self, cursor: str | None) -> int:
        if cursor is None or cursor == self._cursor:
            return 0
        return int(cursor.removeprefix("page-"))

    async def _pass(self, occasion: Occasion) -> None:
        if stall := self._stalls.get(occasion):
            self._reached[occasion].set()
            await stall.wait()
        if error := self._errors.get(occasion):
            raise error


class ScriptedToolServers:
    """The configured servers, each a `ScriptedToolServer` under its name."""

    def __init__(self, servers: Mapping[str, ScriptedToolServer] | None = None, **named: ScriptedToolServer) -> None:
        self._servers = {**(servers or {}), **named}

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._servers))

    @asynccontextmanager
    async def connect(self, server: str, principal: str | None = None) -> AsyncIterator[ScriptedToolServer]:
        if server not in self._servers:
            raise UnreachableServerError(server, "no server of this name is configured")
        async with self._servers[server].session(principal) as session:
            yield session
