"""Failures that users of other systems reported, of servers that change, hang or are shared; each with its whole kind.

The number is that of the public report's kind in our collection; the name says what must not happen here.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from pegboard.adapters.mcp_client import McpServers
from pegboard.adapters.upstream import UpstreamPool
from pegboard.core.errors import UnreachableServerError
from pegboard.engine.verdict import VerdictKind
from pegboard.service.health import FIRST_WAIT_S, State
from pegboard.service.turns import LONGEST_GAP_S
from pegboard.service.walking import WALKS
from pegboard.service.watcher import POLL_S, Watcher
from tests.adapters.sessions import SERVER, settings
from tests.crm import AGENT
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.calls import Crm
from tests.service.made import system
from tests.service.steered import SteeredClock

pytestmark = pytest.mark.anyio


class Watched:
    """A whole system whose time the test moves."""

    def __init__(self, **servers: ScriptedToolServer) -> None:
        self.clock = SteeredClock()
        plain = ScriptedToolServers(servers)
        self.system = system(plain, self.clock)
        refresh = self.system.refresher.refresh
        self.watcher = Watcher(
            lambda names: refresh(names), plain, self.system.health, self.clock, {}, sleep=self.clock.sleep
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.watcher.run)
            await self.rest()
            yield
            tasks.cancel_scope.cancel()

    async def rest(self, seconds: float = 0.0) -> None:
        """Let time pass."""
        for _ in range(20):
            await self.clock.advance(seconds / 20)

    async def ids(self) -> list[str]:
        return [entry.tool_id for entry in (await self.system.catalog.current()).view.snapshot.entries]


# 18 storms: two hundred notices during one listing.


async def test_18_two_hundred_notices_during_one_listing_are_one_running_and_one_trailing_refresh():
    crm = ScriptedToolServer([tool("a")])
    watched = Watched(crm=crm)
    async with watched.running():
        await watched.rest(60)
        walks = len(crm.cursors)
        crm.stalls("list")
        crm.says_it_changed()
        await crm.reached("list")
        for number in range(200):
            crm.lists([tool("a"), tool(f"b{number}")])
            crm.says_it_changed()
        crm.recovers("list")
        await watched.rest(2 * LONGEST_GAP_S)
        assert len(crm.cursors) == walks + 2
        assert await watched.ids() == ["crm.a", "crm.b199"]


@pytest.mark.parametrize(("changing_walks", "served"), [
    (0, ["crm.a", "crm.b"]),
    (WALKS - 1, ["crm.a", "crm.b"]),
    (WALKS, []),
])  # fmt: skip
async def test_18_a_list_that_changes_between_its_pages_is_walked_again_and_kept_when_it_never_rests(
    changing_walks, served
):
    class Restless(ScriptedToolServer):
        async def list_page(self, cursor):
            if cursor is not None and len(self.cursors) < 2 * changing_walks:
                self.says_it_changed()
            return await super().list_page(cursor)

    made = system(ScriptedToolServers(crm=Restless([tool("a")], [tool("b")])))
    (report,) = (await made.refresher.refresh()).servers
    assert [entry.tool_id for entry in (await made.catalog.current()).view.snapshot.entries] == served
    assert ("changed during each of 3 walks" in (report.error or "")) is (not served)


async def test_18_a_list_of_one_page_is_taken_even_where_the_server_never_stops_notifying():
    class Noisy(ScriptedToolServer):
        async def list_page(self, cursor):
            self.says_it_changed()
            return await super().list_page(cursor)

    made = system(ScriptedToolServers(crm=Noisy([tool("a")])))
    assert (await made.refresher.refresh()).servers[0].error is None


# 19 stale: a tool is added and nobody is told.


async def test_19_a_tool_added_without_a_notice_is_found_within_the_stated_age_and_its_version_is_named():
    crm = ScriptedToolServer([tool("a")])
    watched = Watched(crm=crm)
    async with watched.running():
        before = (await watched.system.catalog.current()).view.snapshot.version
        crm.lists([tool("a"), tool("b")])
        await watched.rest(POLL_S)
        assert await watched.ids() == ["crm.a", "crm.b"]
        assert (await watched.system.catalog.current()).view.snapshot.version != before
        listed_at = watched.system.health.of("crm").listed_at
        assert listed_at is not None
        assert watched.clock.now() - listed_at <= POLL_S


# 20 sessions: two users behind one credential of ours.


async def test_20_each_caller_s_calls_go_over_a_session_of_its_own():
    crm = await Crm().start()
    eve = replace(AGENT, user="eve")
    for context in (AGENT, eve, replace(AGENT, tenant="other"), replace(AGENT, delegation=("bot",))):
        await crm.call(context=context, all_listed=True)
    callers = crm.server.principals[1:]
    assert crm.server.principals[0] is None
    assert len(callers) == 4
    assert len(set(callers)) == 4
    assert None not in callers


# 22 outage: one server hangs.


async def test_22_while_one_server_hangs_the_others_are_refreshed_and_its_last_listing_is_served():
    crm, mail = ScriptedToolServer([tool("a")]), ScriptedToolServer([tool("m")])
    watched = Watched(crm=crm, mail=mail)
    async with watched.running():
        crm.stalls("list")
        mail.lists([tool("m"), tool("n")])
        await watched.rest(2 * POLL_S)
        assert await watched.ids() == ["crm.a", "mail.m", "mail.n"]
        crm.lists([tool("a"), tool("b")])
        crm.recovers("list")
        await watched.rest()
        assert await watched.ids() == ["crm.a", "crm.b", "mail.m", "mail.n"]


async def test_22_a_call_of_a_server_that_is_down_is_unavailable_at_once_and_allowed_when_it_is_back():
    crm = await Crm().start()
    crm.server.fails("connect", UnreachableServerError("crm", "it did not finish the handshake within 30 s"))
    first = await crm.call()
    tried = len(crm.server.principals)
    second = await crm.call()
    assert (first.verdict.kind, second.verdict.kind) == (VerdictKind.UNAVAILABLE, VerdictKind.UNAVAILABLE)
    assert first.verdict.message == second.verdict.message
    assert len(crm.server.principals) == tried
    assert crm.system.health.of("crm").state is State.DOWN
    crm.server.recovers("connect")
    crm.clock.time += FIRST_WAIT_S
    third = await crm.call()
    assert (third.verdict.kind, crm.system.health.of("crm").state) == (VerdictKind.ALLOWED, State.UP)
    assert crm.server.calls == [("get_order", {"id": "7"})]


async def test_22_a_real_server_that_hangs_keeps_nobody_else_waiting():
    answers = '{"pages": [[{"name": "a", "inputSchema": {"type": "object"}}]]}'
    pool = UpstreamPool(
        McpServers({
            "hangs": settings(name="hangs", command=(sys.executable, SERVER, '{"on": {"start": [["sleep", 60]]}}')),
            "answers": settings(name="answers", command=(sys.executable, SERVER, answers)),
        }),
        SteeredClock(),
    )  # fmt: skip
    done = []

    async def hang() -> None:
        async with pool.connect("hangs", "ann"):
            pass

    async with pool.running(), anyio.create_task_group() as tasks:
        tasks.start_soon(hang)
        with anyio.fail_after(8):
            for _ in range(3):
                async with pool.connect("answers", "ann") as server:
                    done.append((await server.call_tool("a", {})).get("isError"))
        tasks.cancel_scope.cancel()
    assert done == [None] * 3
