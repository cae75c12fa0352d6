"""Kept locks: whatever was kept is read again, it costs its changes, and pruning leaves nothing that cannot be read."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from pegboard.adapters.memory import MemoryStore
from pegboard.core.catalog import Reach, Risk
from pegboard.core.errors import StoreError
from pegboard.core.lock import Lock, LockLine
from pegboard.service.locks import KeptLocks

pytestmark = pytest.mark.anyio

FIRST = Lock.of(
    LockLine(
        tool=f"crm.t{number:03}",
        hash=f"sha256:{number:064x}",
        access="all",
        risk=Risk.READ,
        reach=Reach.BOUNDED,
        by="tests",
        at="2026-12-01T09:00:00Z",
    )
    for number in range(100)
)


def changed(lock: Lock, turn: int) -> Lock:
    """Return the lock with one line another."""
    line = lock.lines[f"crm.t{turn % 100:03}"]
    return lock.granting([replace(line, hash=f"sha256:{turn + 1_000:064x}")])


def states(count: int) -> list[Lock]:
    found = [FIRST]
    for turn in range(count):
        found.append(changed(found[-1], turn))
    return found


async def sizes(store: MemoryStore) -> dict[str, int]:
    found = {}
    for digest in await store.documents("lock"):
        found[digest] = len(await store.document("lock", digest) or b"")
    return found


async def test_every_state_is_read_as_it_was_and_costs_its_changes():
    store = MemoryStore()
    kept, locks = KeptLocks(store), states(60)
    for lock in locks:
        await kept.keep(lock)
    assert [await KeptLocks(store).read(lock.digest) for lock in locks] == locks
    size = await sizes(store)
    # Of 61 records every fiftieth is whole.
    assert sum(one > 10_000 for one in size.values()) == 2
    assert max(one for one in size.values() if one < 10_000) < 500


async def test_another_process_goes_on_where_this_one_was_and_no_chain_grows_beyond_what_is_read():
    store, locks = MemoryStore(), states(60)
    for before, lock in pairwise(locks):
        kept = KeptLocks(store)
        await kept.keep(before)
        await kept.keep(lock)
    assert [await KeptLocks(store).read(lock.digest) for lock in locks] == locks
    assert sum(one > 10_000 for one in (await sizes(store)).values()) == 2


async def test_a_lock_of_which_much_has_changed_is_kept_whole():
    store, other = MemoryStore(), Lock.of(replace(line, by="someone") for line in list(FIRST)[:30])
    kept = KeptLocks(store)
    for lock in (FIRST, FIRST.granting(other)):
        await kept.keep(lock)
    assert all(one > 10_000 for one in (await sizes(store)).values())


async def test_what_a_named_lock_follows_is_used_and_the_rest_is_not():
    store, locks = MemoryStore(), states(4)
    kept = KeptLocks(store)
    for lock in locks:
        await kept.keep(lock)
    unused = await kept.unused([locks[2].digest])
    assert set(unused) == {locks[3].digest, locks[4].digest}
    await kept.forget(unused)
    assert await kept.read(locks[2].digest) == locks[2]
    with pytest.raises(StoreError):
        await kept.read(locks[3].digest)


async def test_a_lock_whose_predecessor_was_pruned_meanwhile_is_kept_whole():
    store, (one, two, three) = MemoryStore(), states(2)
    kept = KeptLocks(store)
    for lock in (one, two):
        await kept.keep(lock)
    await store.forget("lock", [one.digest, two.digest])
    await kept.keep(three)
    assert await KeptLocks(store).read(three.digest) == three


@pytest.mark.parametrize("body", [{"length": 1, "lines": []}, {"length": 2, "follows": FIRST.digest, "lines": []}])
async def test_a_record_that_is_not_of_its_lock_is_never_taken_for_it(body):
    store = MemoryStore()
    await store.keep("lock", FIRST.digest, json.dumps(body).encode())
    with pytest.raises(StoreError, match="the lock"):
        await KeptLocks(store).read(FIRST.digest)
