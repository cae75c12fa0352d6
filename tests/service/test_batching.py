"""Writing behind: nothing waits, nothing is lost without being counted, and a batch is all or none."""

import asyncio

import anyio
import pytest

from pegboard.core.errors import StoreError
from pegboard.service.batching import TRIES, Batches

pytestmark = pytest.mark.anyio


class Shelf:
    """Where batches go; it fails as often as it is told."""

    def __init__(self, *, fails: int = 0) -> None:
        self.batches: list[list[int]] = []
        self.fails = fails
        self.came = anyio.Event()

    async def write(self, items) -> None:
        await anyio.lowlevel.checkpoint()
        if self.fails:
            self.fails -= 1
            raise StoreError("the disk is full")
        self.batches.append(list(items))
        self.came.set()

    @property
    def items(self) -> list[int]:
        return [item for batch in self.batches for item in batch]


async def test_what_is_offered_is_written_by_itself_soon():
    shelf = Shelf()
    batches = Batches(shelf.write, linger_s=0.0)
    batches.offer(1)
    batches.offer(2)
    with anyio.fail_after(5):
        await shelf.came.wait()
    assert shelf.batches == [[1, 2]]


async def test_a_full_batch_does_not_linger():
    shelf = Shelf()
    batches = Batches(shelf.write, batch=2, linger_s=3600.0)
    batches.offer(1)
    batches.offer(2)
    with anyio.fail_after(5):
        await shelf.came.wait()
    assert shelf.batches == [[1, 2]]
    await batches.flush()


async def test_what_is_left_of_a_full_batch_lingers_for_the_next():
    shelf = Shelf()
    batches = Batches(shelf.write, batch=2, linger_s=3600.0)
    for item in range(3):
        batches.offer(item)
    with anyio.fail_after(5):
        await shelf.came.wait()
    await anyio.wait_all_tasks_blocked()
    assert shelf.batches == [[0, 1]]
    await batches.flush()
    assert shelf.batches == [[0, 1], [2]]


async def test_a_flush_leaves_no_task_behind_and_the_next_item_is_written_all_the_same():
    shelf = Shelf()
    batches = Batches(shelf.write, batch=2, linger_s=3600.0)
    before = asyncio.all_tasks()
    batches.offer(1)
    await batches.flush()
    for item in (2, 3):
        batches.offer(item)
    await anyio.wait_all_tasks_blocked()
    assert shelf.batches == [[1], [2, 3]]
    batches.offer(4)
    shelf.fails = 1
    with pytest.raises(StoreError):
        await batches.flush()
    await anyio.wait_all_tasks_blocked()
    assert asyncio.all_tasks() == before


async def test_flushing_writes_everything_in_the_order_in_which_it_came():
    shelf = Shelf()
    batches = Batches(shelf.write, batch=3, linger_s=3600.0)
    for item in range(8):
        batches.offer(item)
    await batches.flush()
    assert shelf.items == list(range(8))
    assert max(map(len, shelf.batches)) == 3


async def test_where_there_is_no_room_it_is_dropped_and_counted():
    shelf, lost = Shelf(), []
    batches = Batches(shelf.write, room=2, linger_s=3600.0, lost=lost.append)
    for item in range(5):
        batches.offer(item)
    assert batches.full
    await batches.flush()
    assert (shelf.items, batches.dropped, lost) == ([0, 1], 3, [1, 1, 1])


async def test_a_batch_that_fails_is_tried_again_with_the_next():
    shelf = Shelf(fails=TRIES - 1)
    batches = Batches(shelf.write, linger_s=3600.0)
    batches.offer(1)
    for _ in range(TRIES - 1):
        with pytest.raises(StoreError):
            await batches.flush()
    batches.offer(2)
    await batches.flush()
    assert (shelf.items, batches.dropped) == ([1, 2], 0)


async def test_a_batch_that_fails_for_good_is_counted_and_lets_the_next_through():
    shelf = Shelf(fails=TRIES)
    batches = Batches(shelf.write, linger_s=3600.0)
    batches.offer(1)
    for _ in range(TRIES):
        with pytest.raises(StoreError):
            await batches.flush()
    batches.offer(2)
    await batches.flush()
    assert (shelf.items, batches.dropped) == ([2], 1)


async def test_what_a_cancelled_write_took_is_not_lost():
    shelf = Shelf()
    batches = Batches(shelf.write, linger_s=3600.0)
    batches.offer(1)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await batches.flush()
    assert shelf.items == []
    await batches.flush()
    assert shelf.items == [1]


def test_what_one_loop_did_not_write_the_next_does():
    shelf = Shelf()
    batches = Batches(shelf.write, linger_s=3600.0)

    async def offered(item: int) -> None:
        batches.offer(item)
        await anyio.lowlevel.checkpoint()

    anyio.run(offered, 1)
    anyio.run(offered, 2)
    anyio.run(batches.flush)
    assert shelf.items == [1, 2]
