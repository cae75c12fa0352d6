"""Law 5, over a whole refresh: whatever kills it, every restart serves whole versions and grants nothing new.

A child refreshes again and again, under `follow`, so that revoking, publishing, locking and publishing again follow
one another; it is killed 20 times in a normal run, 1,000 times under `PEGBOARD_SOAK=1`, at moments from a fixed seed.
"""

import os
import random
import select
import signal
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard.adapters.files import LockFileAt
from pegboard.adapters.sqlite import SqliteStore
from pegboard.core.catalog import Reach, Risk
from pegboard.core.policy import AccessTemplate
from pegboard.engine.trust import FOLLOW, Trust
from pegboard.service.audit import Audit
from pegboard.service.deployment import Deployment
from pegboard.service.encoding import Encoders
from pegboard.service.lockkeeper import LockKeeper
from pegboard.service.published import Catalog
from pegboard.service.refresher import Refresher
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import FixedClock
from tests.strategies import SOAK

KILLS = 1_000 if SOAK else 20
TOOLS = 12
SERVERS = ("crm", "billing")
FILLER = " ".join(f"word{number}" for number in range(120))


def listing(server: str, turn: int) -> list[dict[str, Any]]:
    """Return what a server lists at a turn: every sixth tool has another text than the turn before, one is gone."""
    kept = (number for number in range(TOOLS) if number != turn % TOOLS)
    return [
        tool(f"t{number}", description=f"{server} {number}: edition {(turn + number) // 6}. {FILLER}")
        for number in kept
    ]


class Place:
    """A deployment in a folder, at a turn of its servers."""

    def __init__(self, folder: Path, turn: int) -> None:
        clock = FixedClock(1_000.0 + turn)
        self.store = SqliteStore.open(folder / "pegboard.db")
        self.servers = {name: ScriptedToolServer(listing(name, turn)) for name in SERVERS}
        deployment = Deployment(
            templates={"all": AccessTemplate()}, used=frozenset(), trust=dict.fromkeys(SERVERS, Trust.FOLLOW)
        )
        self.catalog = Catalog(
            self.store,
            self.store,
            LockFileAt(folder / "pegboard.lock"),
            clock,
            deployment,
            Encoders({}, self.store),
            self.store,
            Audit(self.store.audit, clock),
        )
        self.keeper = LockKeeper(self.catalog)
        self.refresher = Refresher(self.catalog, ScriptedToolServers(self.servers), self.keeper)

    def lists(self, turn: int) -> None:
        for name, server in self.servers.items():
            server.lists(listing(name, turn))


async def first(folder: Path) -> None:
    """Lock everything that the servers will ever list, at turn 0; the tool that is missing there is never locked."""
    place = Place(folder, 0)
    await place.refresher.refresh()
    waiting = [one.tool_id for one in await place.keeper.drafts()]
    await place.keeper.approve(waiting, access="all", risk=Risk.READ, reach=Reach.BOUNDED, by="tests")
    place.store.close()


async def refresh_from(folder: Path, turn: int, said: int) -> None:
    """Refresh at one turn after the other, and say each before it begins."""
    place = Place(folder, turn)
    while True:
        os.write(said, f"{turn}\n".encode())
        place.lists(turn)
        await place.refresher.refresh()
        turn += 1


def killed(folder: Path, turn: int, delay_s: float) -> int:
    """Refresh in a child until it is killed; return the turn that it was at."""
    hears, says = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            anyio.run(refresh_from, folder, turn, says)
        finally:
            os._exit(1)
    os.close(says)
    heard = os.read(hears, 1)
    # Real time is what a kill falls into; nothing here depends on how much of it passes.
    deadline = time.monotonic() + delay_s
    while (left := deadline - time.monotonic()) > 0 and select.select([hears], [], [], left)[0]:
        heard += os.read(hears, 4096)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(hears, 4096):
        heard += more
    os.close(hears)
    return int(heard.split()[-1])


def contents(turn: int) -> set[tuple[str, str]]:
    return {(f"{server}.{one['name']}", one["description"]) for server in SERVERS for one in listing(server, turn)}


async def check_whole(folder: Path, turn: int) -> int:
    """Look at what a restart serves, then refresh once more without a fault; return how many versions there are."""
    place = Place(folder, turn)
    found = await place.store.verify()
    assert found.bad == ()
    published = await place.catalog.current()
    revoked = {one.target for one in await place.store.suspended()}
    served = {(entry.tool_id, entry.description) for entry in published.view.snapshot.entries}
    # A tool that comes back changed is served as it was locked in between, and still revoked.
    assert {tool_id for tool_id, _ in served - contents(turn) - contents(turn - 1)} <= revoked
    assert len({tool_id for tool_id, _ in served}) == len(served) >= len(SERVERS) * (TOOLS - 2)
    lock = place.keeper.show()
    assert {line.by for line in lock} <= {"tests", FOLLOW}
    await place.refresher.refresh()
    published = await place.catalog.current()
    assert {(entry.tool_id, entry.description) for entry in published.view.snapshot.entries} == contents(turn)
    # Everything that was ever granted is granted again, but for what is gone.
    revoked = {one.target for one in await place.store.suspended()}
    assert revoked == {line.tool for line in lock} - {tool_id for tool_id, _ in contents(turn)}
    assert all(lock.lines.keys() >= {tool_id} for tool_id in revoked)
    place.store.close()
    return found.versions


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a child is forked, which this system cannot")
def test_a_refresh_killed_at_any_moment_leaves_whole_versions_and_is_made_good_by_the_next(tmp_path: Path) -> None:
    dice, turn, versions, published = random.Random(20261201), 1, 0, 0
    for kill in range(KILLS):
        folder = tmp_path / str(kill // 20)
        if kill % 20 == 0:
            folder.mkdir()
            anyio.run(first, folder)
            turn, published, versions = 1, published + versions, 0
        turn = killed(folder, turn, dice.uniform(0, 0.25))
        versions = anyio.run(check_whole, folder, turn)
        turn += 1
    print(f"{KILLS} kills, {published + versions} versions published, none torn")
    assert published + versions > KILLS // 20


def test_of_two_processes_that_refresh_at_once_neither_loses_anything(tmp_path: Path) -> None:
    anyio.run(first, tmp_path)

    async def both() -> None:
        one, two = Place(tmp_path, 3), Place(tmp_path, 3)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.refresher.refresh, ["crm"])
            tasks.start_soon(two.refresher.refresh, ["billing"])
        place = Place(tmp_path, 3)
        served = (await place.catalog.current()).view.snapshot.entries
        assert {(entry.tool_id, entry.description) for entry in served} == contents(3)
        assert (await place.store.verify()).bad == ()
        for each in (one, two, place):
            each.store.close()

    anyio.run(both)
