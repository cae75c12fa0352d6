"""Law 5, with two processes that refresh one store at once: no change is lost, and every version is whole.

Both go through the same turns at their own pace, under `follow`, while the listings change: one server each, and then
both servers both. Four turns in a normal run, 150 under `PEGBOARD_SOAK=1`.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from pegboard.engine.trust import FOLLOW
from tests.laws.test_atomic_refresh import SERVERS, Place, contents, first
from tests.strategies import SOAK

TURNS = 150 if SOAK else 4


async def refresh_through(folder: Path, servers: Sequence[str]) -> None:
    """Refresh at one turn after the other; what is served never goes back."""
    place, number = Place(folder, 1), 0
    for turn in range(1, TURNS + 1):
        place.lists(turn)
        place.catalog.clock.time = 1_000.0 + turn
        await place.refresher.refresh(servers)
        published = await place.catalog.current()
        assert published.view.snapshot.number >= number
        number = published.view.snapshot.number


def refreshing(folder: Path, servers: Sequence[str]) -> int:
    """Begin to refresh in another process."""
    child = os.fork()
    if child == 0:
        try:
            anyio.run(refresh_through, folder, servers)
            os._exit(0)
        finally:
            os._exit(1)
    return child


async def check(folder: Path) -> None:
    """Look at what stands when both have come to an end, before anything else is refreshed."""
    place = Place(folder, TURNS)
    found = await place.store.verify()
    assert found.bad == ()
    versions = await place.store.versions()
    assert [one.number for one in versions] == list(range(1, len(versions) + 1))
    assert [(await place.store.load(one.number)).digest for one in versions] == [one.digest for one in versions]
    entries, lock = (await place.catalog.current()).view.snapshot.entries, place.keeper.show()
    # A tool that comes back changed is served as it was locked, and stays revoked until it was served again.
    stale = {(entry.tool_id, entry.description) for entry in entries} - contents(TURNS)
    assert {tool_id for tool_id, _ in stale} <= {one.target for one in await place.store.suspended()}
    assert {line.by for line in lock} <= {"tests", FOLLOW}
    # A tool that nobody approved is listed by now, and granted to nobody.
    assert {entry.tool_id for entry in entries} - lock.lines.keys() == {f"{name}.t0" for name in SERVERS}
    await place.refresher.refresh()
    entries = (await place.catalog.current()).view.snapshot.entries
    assert {(entry.tool_id, entry.description) for entry in entries} == contents(TURNS)
    gone = lock.lines.keys() - {entry.tool_id for entry in entries}
    assert {one.target for one in await place.store.suspended()} == gone
    place.store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="two processes are forked, which this system cannot")
@pytest.mark.parametrize("pairs", [(("crm",), ("billing",)), (SERVERS, SERVERS[::-1])], ids=["one each", "both both"])
def test_of_two_processes_that_refresh_again_and_again_neither_loses_anything(tmp_path: Path, pairs) -> None:
    anyio.run(first, tmp_path)
    children = [refreshing(tmp_path, servers) for servers in pairs]
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
    anyio.run(check, tmp_path)
