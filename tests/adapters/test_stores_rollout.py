"""What every store of rollouts does: one contract, run against each of them."""

from collections.abc import Iterator
from dataclasses import replace

import anyio
import pytest

from pegboard.adapters.sqlite import SqliteStore
from pegboard.core.errors import StoreError
from pegboard.engine.guards import Tally
from pegboard.engine.rollout import LIVE, Change, setting_of
from tests.adapters.store_cases import OPEN, Store

CHANGE = Change(
    number=1,
    namespace="crm.orders",
    setting=setting_of("canary=0.1"),
    was=LIVE,
    by="dana",
    why="é",
    at=5.0,
    evidence={"guards": [{"measure": "recall", "value": 0.5}], "waived": {"latency": "later"}},
)


@pytest.fixture(params=OPEN)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with OPEN[request.param]() as opened:
        yield opened


def test_changes_come_back_as_they_were_made_in_their_order(store: Store) -> None:
    async def run() -> None:
        second = replace(CHANGE, number=2, setting=setting_of("shadow"), automatic=True, evidence={})
        assert await store.rollout.changes() == ()
        assert [await store.rollout.change(one) for one in (CHANGE, second)] == [True, True]
        assert await store.rollout.changes() == (CHANGE, second)
        assert await store.rollout.changes(1) == (second,)
        assert await store.rollout.changes(2) == ()

    anyio.run(run)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_of_two_who_change_at_once_one_is_told_that_it_was_late(store: Store, number: int) -> None:
    async def run() -> None:
        assert await store.rollout.change(CHANGE)
        assert not await store.rollout.change(replace(CHANGE, number=number, why="late"))
        assert await store.rollout.changes() == (CHANGE,)

    anyio.run(run)


def test_a_conversation_keeps_the_number_under_which_it_began(store: Store) -> None:
    async def run() -> None:
        assert [await store.rollout.began("c1", number, 1.0) for number in (3, 4)] == [3, 3]
        assert await store.rollout.began("c2", 4, 1.0) == 4

    anyio.run(run)


def test_the_newest_records_of_a_time_come_back_oldest_first(store: Store) -> None:
    async def run() -> None:
        await store.rollout.observe([(float(at), {"n": at, "x": [None, 1.5, "é"]}) for at in range(1, 5)])
        await store.rollout.observe([])
        assert [one["n"] for one in await store.rollout.observed(0.0, 9)] == [1, 2, 3, 4]
        assert [one["n"] for one in await store.rollout.observed(2.0, 2)] == [3, 4]
        assert await store.rollout.observed(4.0, 9) == ({"n": 4, "x": [None, 1.5, "é"]},)
        assert await store.rollout.observed(5.0, 9) == await store.rollout.observed(0.0, 0) == ()

    anyio.run(run)


OFFER, CALL, END = {"selection_id": "s1"}, {"selection_id": "s1", "call_id": "c1"}, {"call_id": "c1"}


@pytest.mark.parametrize(
    ("selections", "calls", "limit", "found"),
    [
        ({"s1"}, (), 9, [1, 3, 5]),
        ((), {"c1"}, 9, [1, 3, 5]),
        ({"s1", "s2"}, {"c1"}, 9, [1, 2, 3, 5]),
        ({"s1", "s2"}, (), 1, [1, 2]),
        ({"s3"}, {"c2", "c3"}, 9, []),
        ((), (), 9, []),
    ],
)
def test_records_are_joined_by_their_selection_and_an_end_by_its_call(store, selections, calls, limit, found) -> None:
    async def run() -> None:
        bodies = (OFFER, {"selection_id": "s2"}, CALL, {"call_id": "c2"}, END)
        await store.rollout.observe([(float(n), {**body, "n": n}) for n, body in enumerate(bodies, 1)])
        assert [one["n"] for one in await store.rollout.joined(selections, calls, limit)] == found

    anyio.run(run)


def test_the_newest_tallies_of_a_namespace_and_guard_are_found_and_replaced(store: Store) -> None:
    def one(at: float, **changes) -> Tally:
        fields = {"namespace": "crm", "guard": "recall", "selection_id": f"s{at:.0f}", "n": 2, "bad": 1}
        return Tally(**{**fields, "at": at, **changes})

    async def run() -> None:
        others = [one(9.0, namespace="billing"), one(9.0, guard="latency")]
        await store.rollout.tally([one(1.0), one(2.0), one(3.0), *others])
        await store.rollout.tally([one(2.0, bad=2)])
        await store.rollout.tally([])
        assert await store.rollout.tallies("crm", "recall", 0.0, 9) == (one(3.0), one(2.0, bad=2), one(1.0))
        assert await store.rollout.tallies("crm", "recall", 2.0, 9) == (one(3.0), one(2.0, bad=2))
        assert await store.rollout.tallies("crm", "recall", 0.0, 1) == (one(3.0),)
        assert await store.rollout.tallies("crm.orders", "recall", 0.0, 9) == ()
        assert await store.rollout.prune(3.0, 1) == 1
        assert await store.rollout.tallies("crm", "recall", 0.0, 9) == (one(3.0), one(2.0, bad=2))

    anyio.run(run)


def test_the_oldest_records_and_conversations_go_and_the_history_stays(store: Store) -> None:
    async def run() -> None:
        await store.rollout.change(CHANGE)
        await store.rollout.observe([(float(at), {"n": at}) for at in range(1, 5)])
        await store.rollout.began("c1", 1, 1.0)
        await store.rollout.began("c2", 1, 9.0)
        assert await store.rollout.prune(4.0, 2) == 3
        assert [one["n"] for one in await store.rollout.observed(0.0, 9)] == [3, 4]
        assert [await store.rollout.began(name, 7, 9.0) for name in ("c1", "c2")] == [7, 1]
        assert await store.rollout.prune(4.0, 9) == 1
        assert await store.rollout.changes() == (CHANGE,)

    anyio.run(run)


def test_another_process_sees_a_change_at_once(tmp_path) -> None:
    async def run() -> None:
        one, other = SqliteStore.open(tmp_path / "p.db"), SqliteStore.open(tmp_path / "p.db")
        await one.rollout.change(CHANGE)
        assert await other.rollout.changes() == (CHANGE,)
        assert not await other.rollout.change(CHANGE)
        assert [await store.rollout.began("c", number, 1.0) for store, number in ((one, 1), (other, 2))] == [1, 1]
        one.close(), other.close()

    anyio.run(run)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("UPDATE rollout SET setting = 'sometimes'", "the change 1 of the rollout"),
        ("UPDATE rollout SET evidence = '[]'", "the change 1 of the rollout"),
        ("UPDATE observed SET body = x'00'", "the observation 1"),
    ],
)
def test_what_is_damaged_is_refused(tmp_path, damage, problem) -> None:
    async def run() -> None:
        store = SqliteStore.open(tmp_path / "p.db")
        await store.rollout.change(CHANGE)
        await store.rollout.observe([(1.0, {"n": 1})])
        await store._lanes.surely(lambda connection: connection.execute(damage))
        assert bool((await store.verify()).bad) == ("rollout" in damage)
        with pytest.raises(StoreError, match=problem):
            await (store.rollout.observed(0.0, 9) if "observed" in damage else store.rollout.changes())
        store.close()

    anyio.run(run)
