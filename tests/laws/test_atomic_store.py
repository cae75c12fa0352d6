"""Law 5, in the store: whatever kills a publish, a reader sees the whole old version or the whole new one.

Killed 20 times in a normal run, 1,000 times under `PEGBOARD_SOAK=1`, at moments drawn from a fixed seed.
"""

import random
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from pegboard.adapters.sqlite import SqliteStore
from tests.laws.publisher import catalog, listings
from tests.strategies import SOAK

KILLS = 1000 if SOAK else 20
# A file for so many kills; verifying reads all its versions again.
KILLS_A_FILE = 10
ROOT = Path(__file__).parents[2]
NEVER = 10**9


def start(path: Path, name: str, last: int = NEVER) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.laws.publisher", str(path), name, str(last)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def kill_after(child: "subprocess.Popen[str]", delay_s: float) -> list[int]:
    """Kill the child and return the numbers that it said were published."""
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(timeout=delay_s)
    child.kill()
    said, _ = child.communicate()
    # A kill can cut its last line off; that number it did not say.
    return [int(line) for line in said.split("\n")[:-1]]


async def check_whole(store: SqliteStore, said: int) -> int:
    """Read the served version and all that belongs to it; return its number."""
    head = await store.head()
    if head is None:
        assert said == 0
        return 0
    assert head.number >= said
    assert await store.load(head.number) == catalog(head.number)
    assert list(await store.listings()) == listings(head.number)
    assert [version.number for version in await store.versions()] == list(range(1, head.number + 1))
    for number in range(1, head.number + 1):
        # A trace is written behind its selection, never before it.
        assert await store.trace(f"t{number}") is None or await store.selection(f"s{number}") is not None
    found = await store.verify()
    assert found.bad == ()
    assert found.versions == head.number
    return head.number


def test_a_publisher_killed_at_any_moment_leaves_a_whole_version(tmp_path: Path) -> None:
    dice = random.Random(20261201)
    served = published = 0
    for kill in range(KILLS):
        path = tmp_path / f"{kill // KILLS_A_FILE}.db"
        if kill % KILLS_A_FILE == 0:
            published += served
            served = 0
        child = start(path, f"run-{kill}")
        assert child.stdout is not None
        first: list[int] = []
        # Every fourth is killed while it starts: the file may be half made.
        if kill % 4 != 3:
            first = [int(child.stdout.readline())]
        said = first + kill_after(child, dice.uniform(0, 0.1 if first else 0.6))
        with closing(SqliteStore.open(path)) as store:
            now = anyio.run(check_whole, store, max([served, *said]))
        assert now >= served
        served = now
    published += served
    print(f"{KILLS} kills, {published} versions published, none torn")
    assert published >= KILLS // 2


def test_of_two_processes_that_publish_at_once_one_wins_each_number(tmp_path: Path) -> None:
    last = 200 if SOAK else 40
    path = tmp_path / "pegboard.db"
    children = [start(path, name, last) for name in ("one", "two")]
    said = {
        number: child.args[4]  # type: ignore[index]
        for child in children
        for number in map(int, child.communicate(timeout=300)[0].split())
    }
    assert [child.returncode for child in children] == [0, 0]

    async def check(store: SqliteStore) -> None:
        versions = await store.versions()
        assert {version.number: version.by for version in versions} == said
        assert sorted(said) == list(range(1, last + 1))
        assert await check_whole(store, last) == last

    with closing(SqliteStore.open(path)) as store:
        anyio.run(check, store)


def test_a_reader_sees_whole_versions_while_another_process_publishes(tmp_path: Path) -> None:
    last = 200 if SOAK else 40
    path = tmp_path / "pegboard.db"
    child = start(path, "writer", last)

    async def read(store: SqliteStore) -> int:
        seen = 0
        while seen < last:
            assert child.poll() in (None, 0), "the publisher failed"
            head = await store.head()
            if head is not None:
                assert head.number >= seen
                seen = head.number
                assert (await store.load(seen)).digest == catalog(seen).digest == head.digest
                kept = await store.listings()
                # Both sides of one transaction: the listings of a version, never half of them.
                assert list(kept) == listings(int(kept[0].fetched_at))
        return seen

    with closing(SqliteStore.open(path)) as store:
        assert anyio.run(read, store) == last
    child.communicate(timeout=60)
    assert child.returncode == 0
