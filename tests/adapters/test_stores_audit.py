"""What every audit store does: one contract, run against each of them."""

from collections.abc import Iterator

import anyio
import pytest

from pegboard.core.chain import START, chained
from pegboard.core.errors import StoreError
from tests.adapters.store_cases import OPEN, Store


@pytest.fixture(params=OPEN)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with OPEN[request.param]() as opened:
        yield opened


def test_events_are_numbered_and_chained(store: Store) -> None:
    async def run() -> None:
        assert await store.audit.append([]) == 0
        assert await store.audit.append([(1.0, "halt", {"target": "all"})]) == 1
        assert await store.audit.append([(2.0, "denial", {"rules": ["scope"], "n": 1.5}), (1.5, "é", {})]) == 3
        first, second, third = await store.audit.events(0, 9)
        assert [event.number for event in (first, second, third)] == [1, 2, 3]
        assert (second.at, second.kind, second.body) == (2.0, "denial", {"rules": ["scope"], "n": 1.5})
        assert first.hash == chained(START, 1, 1.0, "halt", {"target": "all"})
        assert third.hash == chained(second.hash, 3, 1.5, "é", {})
        assert await store.audit.events(1, 1) == (second,)
        assert await store.audit.events(3, 9) == await store.audit.events(0, -1) == ()

    anyio.run(run)


def test_a_batch_of_events_is_written_whole_or_not_at_all(store: Store) -> None:
    async def run() -> None:
        with pytest.raises(StoreError, match="the event 'b' cannot be written"):
            await store.audit.append([(1.0, "a", {}), (1.0, "b", {"x": float("nan")})])
        assert await store.audit.events(0, 9) == ()

    anyio.run(run)


def test_the_oldest_events_go_and_numbers_and_hashes_go_on(store: Store) -> None:
    async def run() -> None:
        await store.audit.append([(float(at), "halt", {"n": at}) for at in (1, 2, 9, 3, 4)])
        _, second, third, fourth, fifth = await store.audit.events(0, 9)
        assert [await store.audit.older(before) for before in (0.0, 1.0, 3.0, 5.0)] == [None, None, second, second]
        assert await store.audit.older(10.0) == fourth
        assert [await store.audit.forget(through) for through in (0, 2, 2)] == [0, 2, 0]
        assert await store.audit.events(0, 9) == await store.audit.events(2, 9) == (third, fourth, fifth)
        assert await store.audit.events(3, 1) == (fourth,)
        assert await store.audit.forget(99) == 2
        assert await store.audit.append([(5.0, "halt", {})]) == 6
        assert (await store.audit.events(0, 9))[-1].hash == chained(fifth.hash, 6, 5.0, "halt", {})

    anyio.run(run)


def test_an_empty_stream_has_nothing_old(store: Store) -> None:
    async def run() -> None:
        assert (await store.audit.older(9.0), await store.audit.forget(9)) == (None, 0)
        await store.audit.append([(1.0, "halt", {})])
        assert (await store.audit.older(9.0), await store.audit.forget(9)) == (None, 0)

    anyio.run(run)
