"""The health of servers: one that is down is refused at once, tried again later, and hides no other."""

from dataclasses import replace

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.errors import (
    MalformedPageError,
    OutcomeUnknownError,
    PageLimitError,
    RefusedByServerError,
    UnreachableServerError,
    UpstreamError,
)
from pegboard.service.health import (
    DOWN_AT,
    FIRST_WAIT_S,
    LONGEST_WAIT_S,
    STRIKES,
    GuardedServers,
    Health,
    HealthBook,
    State,
    backoff_s,
    share,
)
from pegboard.service.ports import Page
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.steered import SteeredClock

pytestmark = pytest.mark.anyio

GONE = UnreachableServerError("crm", "it exited with status 1")
LOST = OutcomeUnknownError("crm", "no answer came within 120 s")


def guarded(clock: SteeredClock, **servers: ScriptedToolServer) -> tuple[GuardedServers, HealthBook]:
    book = HealthBook(servers, clock)
    return GuardedServers(ScriptedToolServers(servers), book), book


async def call(servers: GuardedServers, server: str = "crm") -> dict[str, object]:
    async with servers.connect(server) as session:
        return await session.call_tool("get", {})


async def walk(servers: GuardedServers, server: str = "crm") -> None:
    async with servers.connect(server) as session:
        cursor = None
        while (cursor := (await session.list_page(cursor)).next_cursor) is not None:
            pass


async def test_a_server_that_answers_is_up_and_one_that_nobody_asked_is_unknown():
    servers, book = guarded(SteeredClock(), crm=ScriptedToolServer(), mail=ScriptedToolServer())
    await call(servers)
    assert [(one.server, one.state, one.available) for one in book.read()] == [
        ("crm", State.UP, True),
        ("mail", State.UNKNOWN, True),
    ]


async def test_a_server_that_cannot_be_reached_is_refused_at_once_until_its_next_try_and_no_other_is():
    crm, clock = ScriptedToolServer(), SteeredClock()
    servers, book = guarded(clock, crm=crm, mail=ScriptedToolServer())
    crm.fails("connect", GONE)
    with pytest.raises(UnreachableServerError):
        await call(servers)
    tried = len(crm.principals)
    with pytest.raises(UnreachableServerError, match=r"down and is tried again in \d s; it failed with: .*status 1"):
        await call(servers)
    assert (len(crm.principals), book.of("crm").state, book.of("crm").available) == (tried, State.DOWN, False)
    assert await call(servers, "mail") == {"content": []}


async def test_a_server_that_is_back_is_up_after_its_next_try_without_a_restart():
    crm, clock = ScriptedToolServer(), SteeredClock()
    servers, book = guarded(clock, crm=crm)
    crm.fails("connect", GONE)
    with pytest.raises(UnreachableServerError):
        await call(servers)
    crm.recovers("connect")
    clock.time += FIRST_WAIT_S
    assert await call(servers) == {"content": []}
    assert book.of("crm") == Health(server="crm", state=State.UP)


async def test_only_one_is_let_through_to_see_and_the_others_are_refused_meanwhile():
    crm, clock = ScriptedToolServer(), SteeredClock()
    servers, book = guarded(clock, crm=crm)
    crm.fails("connect", GONE)
    with pytest.raises(UnreachableServerError):
        await call(servers)
    crm.recovers("connect")
    crm.stalls("call")
    clock.time += FIRST_WAIT_S
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call, servers)
        await crm.reached("call")
        assert book.of("crm").state is State.TRYING
        with pytest.raises(UnreachableServerError):
            await call(servers)
        crm.recovers("call")
    assert book.of("crm").state is State.UP


async def test_one_on_trial_that_is_cancelled_leaves_the_trial_to_the_next():
    crm, clock = ScriptedToolServer(), SteeredClock()
    servers, book = guarded(clock, crm=crm)
    crm.fails("connect", GONE)
    with pytest.raises(UnreachableServerError):
        await call(servers)
    crm.recovers("connect")
    crm.stalls("call")
    clock.time += FIRST_WAIT_S
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call, servers)
        await crm.reached("call")
        tasks.cancel_scope.cancel()
    assert book.of("crm").state is State.DOWN
    crm.recovers("call")
    assert await call(servers) == {"content": []}


async def test_each_failed_try_doubles_the_wait_up_to_the_longest():
    crm, clock = ScriptedToolServer(), SteeredClock()
    servers, book = guarded(clock, crm=crm)
    crm.fails("connect", GONE)
    waits = []
    for _ in range(12):
        with pytest.raises(UnreachableServerError):
            await call(servers)
        waits.append(book.of("crm").next_try_at - clock.time)
        clock.time = book.of("crm").next_try_at
    for number, wait in enumerate(waits):
        longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**number)
        assert longest / 2 <= wait <= longest


@pytest.mark.parametrize(("error", "failures_to_be_down"), [
    (GONE, 1),
    (LOST, 3),
    (RefusedByServerError("crm", -32602, "no"), None),
    (MalformedPageError("crm", "it is no page"), None),
    (PageLimitError("crm", "without end"), None),
])  # fmt: skip
async def test_each_error_counts_as_it_says_of_the_server(error: UpstreamError, failures_to_be_down: int | None):
    assert type(error) in STRIKES
    crm = ScriptedToolServer()
    servers, book = guarded(SteeredClock(), crm=crm)
    crm.fails("call", error)
    for number in range(1, DOWN_AT + 1):
        with pytest.raises(UpstreamError):
            await call(servers)
        down = failures_to_be_down is not None and number >= failures_to_be_down
        assert book.of("crm").state is (
            State.DOWN if down else State.UP if failures_to_be_down is None else State.UNKNOWN
        )
        if down:
            break


async def test_an_error_that_says_nothing_of_the_server_changes_nothing():
    class BusyError(UpstreamError):
        pass

    crm = ScriptedToolServer()
    servers, book = guarded(SteeredClock(), crm=crm)
    crm.fails("connect", BusyError())
    with pytest.raises(BusyError):
        await call(servers)
    assert book.of("crm") == Health(server="crm")


async def test_an_answer_between_lost_calls_takes_the_strikes_back():
    crm = ScriptedToolServer()
    servers, book = guarded(SteeredClock(), crm=crm)
    for _ in range(DOWN_AT):
        crm.fails("call", LOST)
        with pytest.raises(OutcomeUnknownError):
            await call(servers)
        crm.recovers("call")
        await call(servers)
    assert book.of("crm").state is State.UP


async def test_a_whole_listing_has_an_age_and_a_failed_one_a_reason_beside_it():
    crm, clock = ScriptedToolServer([tool("a")], [tool("b")]), SteeredClock(500.0)
    servers, book = guarded(clock, crm=crm)
    await walk(servers)
    clock.time = 900.0
    crm.fails("list", MalformedPageError("crm", "it is no page"))
    with pytest.raises(MalformedPageError):
        await walk(servers)
    health = book.of("crm")
    assert (health.state, health.listed_at) == (State.UP, 500.0)
    assert health.listing_error == "server 'crm' sent a malformed page: it is no page"
    crm.recovers("list")
    await walk(servers)
    assert (book.of("crm").listed_at, book.of("crm").listing_error) == (900.0, None)


async def test_a_listing_that_its_reader_gave_up_is_no_younger_than_the_one_before():
    servers, book = guarded(clock := SteeredClock(500.0), crm=ScriptedToolServer([tool("a")]))
    await walk(servers)
    clock.time = 900.0

    async def give_up() -> None:
        async with servers.connect("crm") as session:
            await session.list_page(None)
            raise PageLimitError("crm", "more than 50,000 tools")

    with pytest.raises(PageLimitError):
        await give_up()
    assert (book.of("crm").listed_at, book.of("crm").available) == (500.0, True)
    assert book.of("crm").listing_error == "server 'crm' listed without end: more than 50,000 tools"


async def test_the_age_that_a_listing_may_have_is_the_least_that_a_page_of_the_last_one_said():
    book = HealthBook(["crm"], SteeredClock())
    book.page_came("crm", None, Page(tools=[], ttl_ms=60_000, next_cursor="2"))
    book.page_came("crm", "2", Page(tools=[], ttl_ms=5_000))
    assert book.ttl_ms("crm") == 5_000
    book.page_came("crm", None, Page(tools=[], ttl_ms=90_000))
    assert book.ttl_ms("crm") == 90_000
    book.page_came("crm", None, Page(tools=[]))
    assert book.ttl_ms("crm") is None


async def test_an_operator_need_not_wait_for_the_next_try():
    crm = ScriptedToolServer()
    servers, book = guarded(SteeredClock(), crm=crm)
    crm.fails("connect", GONE)
    with pytest.raises(UnreachableServerError):
        await call(servers)
    crm.recovers("connect")
    book.try_now("crm")
    assert await call(servers) == {"content": []}


@given(st.integers(1, 2_000), st.floats(0, 1))
def test_a_wait_is_at_least_half_of_its_length_and_never_past_the_longest(outages: int, part: float):
    longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(outages - 1, 60))
    assert longest / 2 <= backoff_s(outages, part) <= longest


def test_shares_lie_between_nothing_and_all_and_differ():
    clock = SteeredClock()
    drawn = [share(clock) for _ in range(200)]
    assert all(0 <= one <= 1 for one in drawn)
    assert len(set(drawn)) == 200
    assert min(drawn) < 0.1 < 0.9 < max(drawn)


@given(st.lists(st.sampled_from(["answered", "gone", "lost", "refused", "admit", "left", "try_now", "wait"])))
def test_a_server_is_either_down_with_a_next_try_or_lets_calls_through(story: list[str]):
    clock = SteeredClock()
    book = HealthBook(["crm"], clock)
    deeds = {
        "answered": lambda: book.answered("crm"),
        "gone": lambda: book.failed("crm", GONE),
        "lost": lambda: book.failed("crm", LOST),
        "refused": lambda: book.failed("crm", RefusedByServerError("crm", 1, "no")),
        "left": lambda: book.left("crm"),
        "try_now": lambda: book.try_now("crm"),
    }
    for deed in story:
        if deed == "wait":
            clock.time += 7
        elif deed == "admit":
            before = book.of("crm")
            try:
                assert book.admit("crm") is (before.state is State.DOWN)
                assert before.available or clock.time >= before.next_try_at
            except UnreachableServerError:
                assert before.state is State.TRYING or clock.time < before.next_try_at
        else:
            deeds[deed]()
        health = book.of("crm")
        assert health.available is (health.state in (State.UP, State.UNKNOWN))
        assert (health.next_try_at is None) is health.available
        assert health.state is not State.UP or health == replace(health, strikes=health.strikes % DOWN_AT)
