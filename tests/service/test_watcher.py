"""What starts a refresh: notices, age, failures and operators, each server by itself, in time that the test moves."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest

from pegboard.core.errors import PegboardError, StoreError, UnreachableServerError
from pegboard.service.health import FIRST_WAIT_S, GuardedServers, HealthBook, State
from pegboard.service.refresher import RefreshReport, ServerReport, Status
from pegboard.service.turns import FIRST_GAP_S, LONGEST_GAP_S
from pegboard.service.watcher import JITTER, POLL_S, SHORTEST_POLL_S, WORTH_HEARING_S, Watcher
from pegboard.wiring import read_config
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import system
from tests.service.steered import SteeredClock

pytestmark = pytest.mark.anyio

GONE = UnreachableServerError("crm", "it exited with status 1")


class Scene:
    """Scripted servers under a watcher whose refresh walks their lists."""

    def __init__(self, polls_s: dict[str, float] | None = None, **servers: ScriptedToolServer) -> None:
        self.clock = SteeredClock()
        self.book = HealthBook(servers, self.clock)
        self.raises: Exception | None = None
        self.running = 0
        plain = ScriptedToolServers(servers)
        self.guarded = GuardedServers(plain, self.book)
        self.watcher = Watcher(self.refresh, plain, self.book, self.clock, polls_s or {}, sleep=self.clock.sleep)
        self.begun: list[tuple[str, float]] = []
        self.seen: dict[str, tuple[object, ...]] = {}

    async def refresh(self, names: Sequence[str]) -> RefreshReport:
        (name,) = names
        self.begun.append((name, self.clock.time))
        self.running += 1
        assert self.running <= len(self.guarded.names())
        try:
            if self.raises:
                raise self.raises
            return RefreshReport(catalog_version=None, published=False, servers=(await self._walk(name),))
        finally:
            self.running -= 1

    async def _walk(self, name: str) -> ServerReport:
        tools: list[object] = []
        try:
            async with self.guarded.connect(name) as session:
                cursor = None
                while True:
                    page = await session.list_page(cursor)
                    tools += page.tools
                    if (cursor := page.next_cursor) is None:
                        break
        except PegboardError as error:
            return ServerReport(server=name, status=Status.FAILED, error=str(error))
        self.seen[name] = tuple(tools)
        return ServerReport(server=name, status=Status.OK)

    def times(self, server: str = "crm") -> list[float]:
        return [at - 1_000.0 for name, at in self.begun if name == server]

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.watcher.run)
            await self.clock.advance(0)
            yield
            tasks.cancel_scope.cancel()


async def test_every_server_is_refreshed_at_the_beginning_and_listened_to():
    crm, mail = ScriptedToolServer(), ScriptedToolServer()
    scene = Scene(crm=crm, mail=mail)
    async with scene.watched():
        assert sorted(name for name, _ in scene.begun) == ["crm", "mail"]
        assert (crm.heard_by, mail.heard_by) == (1, 1)


async def test_a_notice_starts_a_refresh_of_its_server_alone():
    crm = ScriptedToolServer([tool("a")])
    scene = Scene(crm=crm, mail=ScriptedToolServer())
    async with scene.watched():
        await scene.clock.advance(60)
        crm.lists([tool("a"), tool("b")])
        crm.says_it_changed()
        await scene.clock.advance(0)
        assert (scene.times("crm"), scene.times("mail")) == ([0, 60], [0])
        assert scene.seen["crm"] == (tool("a"), tool("b"))


async def test_two_hundred_notices_during_one_listing_are_one_trailing_refresh_that_sees_the_last_change():
    crm = ScriptedToolServer([tool("a")], [tool("b")])
    scene = Scene(crm=crm)
    async with scene.watched():
        await scene.clock.advance(60)
        crm.stalls("list")
        crm.says_it_changed()
        await crm.reached("list")
        crm.says_it_changed(200)
        crm.lists([tool("last")])
        crm.recovers("list")
        await scene.clock.advance(LONGEST_GAP_S)
        assert len(scene.times()) == 3
        assert scene.seen["crm"] == (tool("last"),)


async def test_a_server_that_always_notifies_cannot_keep_us_busy():
    crm = ScriptedToolServer()
    scene = Scene(crm=crm)
    async with scene.watched():
        for _ in range(1_200):
            crm.says_it_changed()
            await scene.clock.advance(0.5)
        assert len(scene.times()) < 20


async def test_a_tool_added_without_a_notice_is_found_before_the_listing_is_older_than_stated():
    crm = ScriptedToolServer([tool("a")])
    scene = Scene(crm=crm)
    async with scene.watched():
        crm.lists([tool("a"), tool("b")])
        await scene.clock.advance(POLL_S)
        assert scene.seen["crm"] == (tool("a"), tool("b"))
        assert POLL_S * (1 - JITTER) <= scene.times()[1] <= POLL_S


async def test_polls_of_several_servers_do_not_fall_together():
    scene = Scene(**{f"s{number}": ScriptedToolServer() for number in range(12)})
    async with scene.watched():
        await scene.clock.advance(POLL_S)
        assert len({at for _, at in scene.begun}) == 13


@pytest.mark.parametrize(("poll_s", "ttl_ms", "age"), [
    (20.0, None, 20.0),
    (200.0, 50_000, 50.0),
    (200.0, 900_000, 200.0),
    (200.0, 0, SHORTEST_POLL_S),
    (10.0, 0, 10.0),
])  # fmt: skip
async def test_a_listing_gets_as_old_as_configured_or_as_its_server_says(poll_s, ttl_ms, age):
    scene = Scene({"crm": poll_s}, crm=ScriptedToolServer([], ttl_ms=ttl_ms))
    async with scene.watched():
        await scene.clock.advance(age)
        assert len(scene.times()) == 2
        assert age * (1 - JITTER) <= scene.times()[1] <= age


async def test_a_server_that_is_not_polled_is_refreshed_by_notice_alone():
    crm = ScriptedToolServer([], ttl_ms=0)
    scene = Scene({"crm": 0}, crm=crm)
    async with scene.watched():
        await scene.clock.advance(10 * POLL_S)
        assert scene.times() == [0]
        crm.says_it_changed()
        await scene.clock.advance(0)
        assert len(scene.times()) == 2


async def test_a_server_that_hangs_delays_no_other_and_is_found_again_by_itself():
    crm, mail = ScriptedToolServer(), ScriptedToolServer()
    crm.fails("connect", GONE)
    scene = Scene(crm=crm, mail=mail)
    async with scene.watched():
        assert (scene.book.of("crm").state, scene.book.of("mail").state) == (State.DOWN, State.UP)
        crm.recovers("connect")
        await scene.clock.advance(FIRST_WAIT_S)
        assert scene.book.of("crm").state is State.UP
        assert crm.heard_by == 1


async def test_a_stalled_listing_keeps_the_last_age_and_starts_no_second_one():
    crm, mail = ScriptedToolServer(), ScriptedToolServer()
    scene = Scene(crm=crm, mail=mail)
    async with scene.watched():
        crm.stalls("list")
        await scene.clock.advance(3 * POLL_S)
        crm.says_it_changed(50)
        scene.watcher.ask("crm")
        await scene.clock.advance(POLL_S)
        assert len(scene.times("crm")) == 2
        assert len(scene.times("mail")) >= 4
        assert scene.book.of("crm").listed_at == 1_000.0


async def test_failures_are_tried_again_later_and_later():
    crm = ScriptedToolServer()
    crm.fails("connect", GONE)
    scene = Scene(crm=crm)
    async with scene.watched():
        await scene.clock.advance(3_600)
        assert 12 < len(scene.times()) < 40
        assert scene.book.of("crm").listing_error == "server 'crm' cannot be reached: it exited with status 1"


@pytest.mark.parametrize("error", [StoreError("the disk is full"), ValueError("a bug")])
async def test_a_refresh_that_fails_here_is_on_record_and_tried_again(error):
    scene = Scene(crm=ScriptedToolServer())
    scene.raises = error
    async with scene.watched():
        assert str(error) in (scene.book.of("crm").listing_error or "")
        scene.raises = None
        await scene.clock.advance(FIRST_WAIT_S)
        assert scene.book.of("crm").listing_error is None


async def test_an_operator_is_served_at_once_where_the_server_is_down():
    crm = ScriptedToolServer()
    crm.fails("connect", GONE)
    scene = Scene(crm=crm)
    async with scene.watched():
        await scene.clock.advance(600)
        crm.recovers("connect")
        scene.watcher.ask("crm")
        await scene.clock.advance(0)
        assert scene.times()[-1] == 600
        assert scene.book.of("crm").state is State.UP


async def test_a_stream_of_notices_that_breaks_is_followed_by_a_refresh_and_opened_again():
    crm = ScriptedToolServer()
    scene = Scene(crm=crm)
    async with scene.watched():
        await scene.clock.advance(WORTH_HEARING_S)
        crm.hangs_up()
        await scene.clock.advance(2 * FIRST_GAP_S)
        assert (len(scene.times()), crm.heard_by) == (2, 1)


async def test_a_stream_of_notices_that_ends_at_once_waits_for_the_next_refresh():
    crm = ScriptedToolServer()
    scene = Scene(crm=crm)
    async with scene.watched():
        crm.hangs_up()
        await scene.clock.advance(POLL_S / 2)
        assert (len(scene.times()), crm.heard_by) == (1, 0)
        await scene.clock.advance(POLL_S / 2)
        assert (len(scene.times()), crm.heard_by) == (2, 1)


async def test_a_failed_refresh_ends_the_session_on_which_notices_were_heard():
    crm = ScriptedToolServer()
    scene = Scene(crm=crm)
    async with scene.watched():
        crm.fails("list", GONE)
        scene.watcher.ask("crm")
        await scene.clock.advance(0)
        assert (crm.heard_by, crm.open) == (0, 0)


async def test_when_the_watcher_ends_no_session_stays():
    crm = ScriptedToolServer()
    async with Scene(crm=crm).watched():
        assert crm.open == 1
    assert crm.open == 0


async def test_the_watcher_of_a_wired_system_refreshes_it():
    crm = ScriptedToolServer([tool("a")])
    made = system(ScriptedToolServers(crm=crm))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.watcher.run)
        with anyio.fail_after(20):
            while made.health.of("crm").listed_at is None or await made.store.head() is None:
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    assert [entry.tool_id for entry in (await made.catalog.current()).view.snapshot.entries] == ["crm.a"]
    assert crm.principals[0] is None


def test_how_old_a_listing_may_get_is_configured(tmp_path):
    file = tmp_path / "pegboard.toml"
    file.write_text("[servers.crm]\ncommand = ['x']\npoll_s = 20\n[servers.mail]\ncommand = ['x']\n")
    assert read_config(file).deployment().polls_s == {"crm": 20.0}
