"""The pool: sessions are used again, never across principals, and none outlives it."""

import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard.adapters.upstream import BusyServerError, PoolLimits, UpstreamPool
from pegboard.core.errors import (
    OutcomeUnknownError,
    RefusedByServerError,
    UnreachableServerError,
    UpstreamError,
)
from pegboard.core.names import Json
from pegboard.service.ports import Page, ToolServer
from tests.adapters.sessions import alive, pids, scripted
from tests.servers import tool
from tests.service.steered import SteeredClock

pytestmark = pytest.mark.anyio


class Opened:
    """One session of a fake server; it remembers for whom it was opened and who was served."""

    def __init__(self, server: str, principal: str | None) -> None:
        self.server, self.principal = server, principal
        self.calls: list[Mapping[str, Json]] = []
        self.standing = self.answers = True
        self.checked = 0
        self.open = True
        self.changes = 0
        self.error: UpstreamError | None = None
        self.go = anyio.Event()
        self.go.set()

    async def check(self) -> bool:
        self.checked += 1
        return self.answers

    async def list_page(self, cursor: str | None) -> Page:
        return Page(tools=[])

    async def call_tool(
        self, name: str, arguments: Mapping[str, Json], meta: Mapping[str, str] | None = None
    ) -> dict[str, Json]:
        self.calls.append(arguments)
        await self.go.wait()
        if self.error:
            raise self.error
        return {"content": []}

    async def listen(self, ring: Callable[[], None]) -> None:
        return


class Fakes:
    """Opens fake sessions and keeps them all for the test to look at."""

    def __init__(self) -> None:
        self.sessions: list[Opened] = []
        self.error: Exception | None = None
        self.stalled: anyio.Event | None = None

    def names(self) -> tuple[str, ...]:
        return "crm", "mail"

    @asynccontextmanager
    async def connect(self, server: str, principal: str | None = None) -> AsyncIterator[Opened]:
        if self.stalled:
            await self.stalled.wait()
        if self.error:
            raise self.error
        self.sessions.append(session := Opened(server, principal))
        try:
            yield session
        finally:
            session.open = False


@asynccontextmanager
async def pooled(
    *, shared: tuple[str, ...] = (), **limits: Any
) -> AsyncIterator[tuple[UpstreamPool, Fakes, SteeredClock]]:
    fakes, clock = Fakes(), SteeredClock()
    pool = UpstreamPool(fakes, clock, shared=shared, limits=PoolLimits(**limits), sleep=clock.sleep)
    async with pool.running():
        yield pool, fakes, clock
    assert not any(session.open for session in fakes.sessions)


async def call(pool: UpstreamPool, principal: str | None, server: str = "crm") -> Any:
    async with pool.connect(server, principal) as session:
        return await session.call_tool("get", {"for": principal})


# Whose session it is


async def test_a_principal_s_session_is_used_again_and_only_for_that_principal_and_server():
    async with pooled() as (pool, fakes, _):
        for principal in ("ann", "bob", "ann", "bob"):
            await call(pool, principal)
        await call(pool, "ann", "mail")
        assert [(one.server, one.principal, len(one.calls)) for one in fakes.sessions] == [
            ("crm", "ann", 2), ("crm", "bob", 2), ("mail", "ann", 1),
        ]  # fmt: skip
        assert all(said == {"for": one.principal} for one in fakes.sessions for said in one.calls)
        assert pool.open_sessions() == {"crm": 2, "mail": 1}


async def test_ten_thousand_uses_by_two_principals_at_once_never_cross():
    async with pooled() as (pool, fakes, _):

        async def use(principal: str) -> None:
            for _ in range(50):
                await call(pool, principal)

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(use, "ann" if number % 2 else "bob")
        assert {one.principal: len(one.calls) for one in fakes.sessions} == {"ann": 500, "bob": 500}
        assert all(said == {"for": one.principal} for one in fakes.sessions for said in one.calls)


async def test_the_operator_s_session_is_no_caller_s_even_where_callers_share_one():
    async with pooled(shared=("crm",)) as (pool, fakes, _):
        for principal in ("ann", None, "bob", None):
            await call(pool, principal)
        assert [[said["for"] for said in one.calls] for one in fakes.sessions] == [["ann", "bob"], [None, None]]
        assert [one.principal for one in fakes.sessions] == [None, None]


async def test_many_who_come_at_once_wait_for_one_session_to_open():
    async with pooled() as (pool, fakes, _):
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(call, pool, "ann")
        assert [len(one.calls) for one in fakes.sessions] == [10]


async def test_outside_of_its_running_each_use_has_a_session_of_its_own():
    fakes, clock = Fakes(), SteeredClock()
    pool = UpstreamPool(fakes, clock)
    for _ in range(2):
        await call(pool, "ann")
    assert [(one.principal, len(one.calls), one.open) for one in fakes.sessions] == [("ann", 1, False)] * 2


# What becomes of a session


async def test_a_session_that_cannot_open_is_the_error_of_all_who_wait_and_the_next_tries_again():
    async with pooled() as (pool, fakes, _):
        fakes.error = UnreachableServerError("crm", "it is down")
        for _ in range(2):
            with pytest.raises(UnreachableServerError) as raised:
                await call(pool, "ann")
            assert raised.value == fakes.error
        fakes.error = None
        await call(pool, "ann")


async def test_a_bug_in_one_session_ends_no_other():
    async with pooled() as (pool, fakes, _):
        await call(pool, "bob")
        fakes.error = ZeroDivisionError()
        with pytest.raises(ZeroDivisionError):
            await call(pool, "ann")
        fakes.error = None
        await call(pool, "bob")
        assert [len(one.calls) for one in fakes.sessions] == [2]


@pytest.mark.parametrize(("broken", "idle_s", "sessions", "checked"), [
    ({}, 4, 1, 0),
    ({}, 6, 1, 1),
    ({"standing": False}, 0, 2, 0),
    ({"answers": False}, 6, 2, 1),
])  # fmt: skip
async def test_a_session_is_looked_at_before_it_is_lent_and_opened_again_once(broken, idle_s, sessions, checked):
    async with pooled() as (pool, fakes, clock):
        await call(pool, "ann")
        for name, value in broken.items():
            setattr(fakes.sessions[0], name, value)
        await clock.advance(idle_s)
        await call(pool, "ann")
        assert len(fakes.sessions) == sessions
        assert fakes.sessions[0].checked == checked
        assert fakes.sessions[0].open is (sessions == 1)


async def test_a_session_in_use_is_not_asked_whether_it_stands():
    async with pooled() as (pool, fakes, clock):
        await call(pool, "ann")
        fakes.sessions[0].go = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, pool, "ann")
            await clock.advance(60)
            tasks.start_soon(call, pool, "ann")
            await clock.advance(0)
            assert fakes.sessions[0].checked == 0
            fakes.sessions[0].go.set()


@pytest.mark.parametrize(("error", "kept"), [
    (RefusedByServerError("crm", -32602, "no"), True),
    (UnreachableServerError("crm", "gone"), False),
    (OutcomeUnknownError("crm", "no answer"), False),
])  # fmt: skip
async def test_after_a_failure_a_session_is_lent_to_nobody_and_a_call_is_never_sent_again(error, kept):
    async with pooled() as (pool, fakes, _):
        await call(pool, "ann")
        fakes.sessions[0].error = error
        with pytest.raises(type(error)):
            await call(pool, "ann")
        assert len(fakes.sessions[0].calls) == 2
        fakes.sessions[0].error = None
        await call(pool, "ann")
        assert len(fakes.sessions) == (1 if kept else 2)


async def test_a_failed_session_is_closed_when_its_last_user_has_gone():
    async with pooled() as (pool, fakes, clock):
        async with pool.connect("crm", "ann") as one:
            fakes.sessions[0].error = OutcomeUnknownError("crm", "no answer")
            with pytest.raises(OutcomeUnknownError):
                await call(pool, "ann")
            assert fakes.sessions[0].open
            await one.list_page(None)
        await clock.advance(0)
        assert not fakes.sessions[0].open


async def test_an_idle_session_is_closed_and_one_in_use_is_not():
    async with pooled(idle_s=300) as (pool, fakes, clock):
        await call(pool, "ann")
        async with pool.connect("crm", "bob"):
            await clock.advance(451)
            assert [one.open for one in fakes.sessions] == [False, True]


async def test_a_caller_that_goes_away_leaves_the_session_to_others():
    async with pooled() as (pool, fakes, clock):
        await call(pool, "ann")
        fakes.sessions[0].go = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, pool, "ann")
            await clock.advance(0)
            tasks.cancel_scope.cancel()
        fakes.sessions[0].go.set()
        await call(pool, "ann")
        assert (len(fakes.sessions), fakes.sessions[0].open) == (1, True)


async def test_an_opening_goes_on_for_the_next_caller_when_the_first_has_gone():
    async with pooled() as (pool, fakes, clock):
        fakes.stalled = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, pool, "ann")
            await clock.advance(0)
            tasks.cancel_scope.cancel()
        fakes.stalled.set()
        await clock.advance(0)
        assert [one.open for one in fakes.sessions] == [True]
        await call(pool, "ann")
        assert [len(one.calls) for one in fakes.sessions] == [1]


async def test_closing_gives_up_what_is_still_opening():
    refused = []

    async def tell(pool: UpstreamPool) -> None:
        with pytest.raises(UnreachableServerError) as raised:
            await call(pool, "ann")
        refused.append(raised.value)

    async with anyio.create_task_group() as tasks, pooled() as (pool, fakes, clock):
        fakes.stalled = anyio.Event()
        tasks.start_soon(tell, pool)
        await clock.advance(0)
    assert refused == [UnreachableServerError("crm", "the pool was closed")]


# How many


async def test_calls_past_a_server_s_places_wait_and_are_refused_past_the_waiting_ones():
    async with pooled(at_once=2, waiting=1, wait_s=60) as (pool, fakes, clock):
        await call(pool, "ann")
        fakes.sessions[0].go = anyio.Event()
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(call, pool, "ann")
            await clock.advance(0)
            assert len(fakes.sessions[0].calls) == 1 + 2
            with pytest.raises(BusyServerError) as raised:
                await call(pool, "ann")
            assert raised.value == BusyServerError("crm", "1 callers wait already")
            await call(pool, "ann", "mail")
            async with pool.connect("crm") as session:
                await session.list_page(None)
            fakes.sessions[0].go.set()
        assert len(fakes.sessions[0].calls) == 1 + 3


async def test_a_place_that_does_not_become_free_in_time_is_refused():
    async with pooled(at_once=1, wait_s=0.05) as (pool, fakes, _), pool.connect("crm", "ann"):
        with pytest.raises(BusyServerError) as raised:
            await call(pool, "bob")
        assert raised.value == BusyServerError("crm", "no place was free within 0.05 s")
        assert len(fakes.sessions) == 1


async def test_past_its_sessions_the_longest_idle_one_makes_room_and_none_in_use_does():
    async with pooled(sessions=2) as (pool, fakes, clock):
        for principal in ("ann", "bob"):
            await call(pool, principal)
            await clock.advance(1)
        await call(pool, "cat")
        assert [(one.principal, one.open) for one in fakes.sessions] == [("ann", False), ("bob", True), ("cat", True)]
        async with pool.connect("crm", "bob"), pool.connect("crm", "cat"):
            with pytest.raises(BusyServerError):
                await call(pool, "dan")
            await call(pool, None)


async def test_closing_waits_for_calls_and_then_ends_them():
    fakes, clock = Fakes(), SteeredClock()
    pool = UpstreamPool(fakes, clock, limits=PoolLimits(drain_s=0.05), sleep=clock.sleep)
    async with anyio.create_task_group() as tasks:
        async with pool.running():
            await call(pool, "ann")
            fakes.sessions[0].go = anyio.Event()
            tasks.start_soon(call, pool, "ann")
            await clock.advance(0)
        assert not fakes.sessions[0].open
        fakes.sessions[0].go.set()


async def test_an_error_of_the_body_leaves_as_it_was():
    with pytest.raises(ZeroDivisionError):
        async with pooled():
            raise ZeroDivisionError


# With real processes


async def test_a_child_serves_many_calls_is_started_anew_when_it_died_and_is_reaped_at_the_end(tmp_path: Path):
    diary, clock = tmp_path / "diary", SteeredClock()
    pool = UpstreamPool(scripted(diary=str(diary), pages=[[tool("a")]], on={"tools/list": [["leave", 1]]}), clock)

    async def said(server: ToolServer, number: int) -> Any:
        return json.loads((await server.call_tool("a", {"n": number}))["content"][0]["text"])["n"]

    async with pool.running():
        for number in range(3):
            async with pool.connect("s", "ann") as server:
                assert await said(server, number) == number
        with pytest.raises(UnreachableServerError):
            async with pool.connect("s", "ann") as server:
                await server.list_page(None)
        async with pool.connect("s", "ann") as server:
            assert await said(server, 7) == 7
        assert len(pids(diary)) == 2
    assert not any(map(alive, pids(diary)))


async def test_a_child_that_died_between_two_calls_is_started_anew_before_the_second_is_sent(tmp_path: Path):
    diary = tmp_path / "diary"
    pool = UpstreamPool(scripted(diary=str(diary)), SteeredClock())
    async with pool.running():
        async with pool.connect("s", "ann") as server:
            await server.call_tool("a", {})
        os.kill(pids(diary)[0], signal.SIGKILL)
        while server.standing:
            await anyio.sleep(0.01)
        async with pool.connect("s", "ann") as server:
            assert not (await server.call_tool("a", {})).get("isError")
    assert len(pids(diary)) == 2
    assert diary.read_text().count("tools/call") == 2


async def test_a_cancelled_program_leaves_no_child(tmp_path: Path):
    diary = tmp_path / "diary"
    pool = UpstreamPool(scripted(diary=str(diary), on={"tools/call": [["silence"]]}), SteeredClock())

    async def program() -> None:
        async with pool.running(), pool.connect("s", "ann") as server:
            await server.call_tool("a", {})

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(program)
        while not (diary.exists() and "tools/call" in diary.read_text()):
            await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    assert pids(diary)
    assert not any(map(alive, pids(diary)))
