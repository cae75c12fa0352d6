"""A client hears that its list changed when its own list did, in both eras, and not otherwise."""

from typing import Any

import anyio
import pytest

from pegboard.gateway.changes import ALL_EVERY, EVERY_S, Changes
from pegboard.gateway.listing import ListMode, ListSettings
from tests.gateway.made import LEGACY, MODERN, Desk, client
from tests.service.steered import SteeredClock

WHOLE = ListSettings(mode=ListMode.ALL)
SOON_S = 5.0


class Ears:
    """A client's handler of what its server says unasked."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._rung = anyio.Event()

    async def __call__(self, message: Any) -> None:
        self.heard.append(type(message).__name__)
        self._rung.set()

    async def hears(self) -> None:
        with anyio.fail_after(SOON_S):
            await self._rung.wait()


async def all_listen(desk: Desk, number: int) -> None:
    """Wait until so many listen."""
    with anyio.fail_after(SOON_S):
        while desk.gateway.changes.listening < number:
            await anyio.sleep(0)
    await desk.gateway.changes.look()


def test_over_http_who_lost_a_tool_hears_it_and_who_did_not_hears_nothing():
    desk = Desk(WHOLE)

    async def scene() -> tuple[list[str], list[str]]:
        await desk.start()
        sams, danas = Ears(), Ears()
        async with (
            desk.serving() as url,
            client(url, "sam", LEGACY, message_handler=sams),
            client(url, "dana", LEGACY, message_handler=danas),
            client(url, "sam") as sam,
            client(url, "dana") as dana,
            sam.listen(tools_list_changed=True) as hers,
            dana.listen(tools_list_changed=True) as his,
        ):
            await all_listen(desk, 4)
            await desk.halt("server:billing")
            await desk.gateway.changes.look()
            with anyio.fail_after(SOON_S):
                await anext(aiter(his))
            await danas.hears()
            # What sam would have heard by mistake has had its time: dana's came later on the same streams.
            await desk.halt("server:crm")
            await desk.gateway.changes.look()
            with anyio.fail_after(SOON_S):
                await anext(aiter(hers))
            await sams.hears()
            return sams.heard, danas.heard[:1]

    sams, danas = anyio.run(scene)
    assert sams == ["ToolListChangedNotification"]
    assert danas == ["ToolListChangedNotification"]


@pytest.mark.parametrize("mode", [MODERN, LEGACY])
def test_over_stdio_a_client_hears_it(mode: str):
    desk = Desk(WHOLE)

    async def scene() -> None:
        await desk.start()
        ears = Ears()
        async with desk.streams("sam", mode, message_handler=ears) as made:
            if mode == LEGACY:
                await made.list_tools()
                await all_listen(desk, 1)
                await desk.halt("server:crm")
                await desk.gateway.changes.look()
                await ears.hears()
                return
            async with made.listen(tools_list_changed=True) as stream:
                await all_listen(desk, 1)
                await desk.halt("server:crm")
                await desk.gateway.changes.look()
                with anyio.fail_after(SOON_S):
                    await anext(aiter(stream))

    anyio.run(scene)


class Told:
    """Someone who listens without a client."""

    def __init__(self) -> None:
        self.told = 0
        self.ended = 0

    async def tell(self) -> None:
        self.told += 1

    def end(self) -> None:
        self.ended += 1


async def listener(desk: Desk, token: str, changes: Changes, told: Told) -> Any:
    caller = await desk.gateway._callers.again(desk.credential(token))
    listed = await desk.gateway._lister.listed(caller.context)  # type: ignore[union-attr]
    return changes.heard_by(caller, listed.digest, told.tell, told.end)  # type: ignore[arg-type]


async def _locks(desk: Desk) -> None:
    desk.crm.lists([{"name": "find_late", "inputSchema": {"type": "object"}}])
    await desk.system.refresher.refresh(["crm"])
    await desk.lock("sales", "crm.find_late")


async def _scopes(desk: Desk) -> None:
    desk.tokens.claims["sam"]["scope"] = "crm money"


async def _nothing(desk: Desk) -> None:
    return None


async def _stage(desk: Desk) -> None:
    await desk.state("sam", "resolution")


async def _others(desk: Desk) -> None:
    await desk.halt("billing.create_refund")


@pytest.mark.parametrize(
    ("what", "told"),
    [(_locks, 1), (_scopes, 1), (_nothing, 0), (_stage, 0), (_others, 0)],
)
def test_what_changes_a_list_is_told_and_nothing_else_is(what: Any, told: int):
    """sam listens. A tool that is locked for it, and rights that its token has by now, are changes of its list."""
    desk, ears = Desk(WHOLE), Told()

    async def scene() -> None:
        await desk.start()
        changes = desk.gateway.changes
        with await listener(desk, "sam", changes, ears):
            await changes.look(everything=True)
            await what(desk)
            await changes.look(everything=True)
            await changes.look(everything=True)

    anyio.run(scene)
    assert ears.told == told


def test_a_listener_whose_credential_is_no_more_in_force_is_shown_out():
    desk, ears = Desk(WHOLE), Told()

    async def scene() -> None:
        await desk.start()
        with await listener(desk, "sam", desk.gateway.changes, ears):
            desk.tokens.expired.add("sam")
            await desk.halt("server:crm")
            await desk.gateway.changes.look()

    anyio.run(scene)
    assert (ears.told, ears.ended) == (0, 1)


def test_it_looks_once_a_second_and_at_everything_from_time_to_time():
    desk, ears, clock = Desk(WHOLE), Told(), SteeredClock()

    async def scene() -> list[int]:
        await desk.start()
        changes = Changes(desk.gateway._lister, desk.gateway._callers, sleep=clock.sleep)
        found = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(changes.run)
            with await listener(desk, "sam", changes, ears):
                await clock.advance(EVERY_S)
                await desk.halt("server:crm")
                await clock.advance(EVERY_S)
                found.append(ears.told)
                await desk.system.store.resume("server:crm")
                desk.tokens.claims["sam"]["scope"] = ""
                await clock.advance(EVERY_S)
                found.append(ears.told)
                desk.tokens.claims["sam"]["scope"] = "crm"
                await clock.advance(EVERY_S * ALL_EVERY)
                found.append(ears.told)
            tasks.cancel_scope.cancel()
        return found

    # The second look found the halt; the third no tools, as before it; one of the following thirty found them again.
    assert anyio.run(scene) == [1, 1, 2]


class Broken(Told):
    """Someone whose stream is broken."""

    async def tell(self) -> None:
        raise OSError("gone")


def test_a_broken_stream_ends_and_the_others_are_told():
    desk, broken, ears = Desk(WHOLE), Broken(), Told()

    async def scene() -> None:
        await desk.start()
        changes = desk.gateway.changes
        with await listener(desk, "sam", changes, broken), await listener(desk, "dana", changes, ears):
            await desk.halt("server:crm")
            await changes.look()

    anyio.run(scene)
    assert (broken.ended, ears.told, ears.ended) == (1, 1, 0)
