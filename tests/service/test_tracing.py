"""Traces are written behind, a write's trace is never dropped, and what is too old goes."""

import pytest

from pegboard.adapters.memory import MemoryStore
from pegboard.core.errors import StoreError
from pegboard.service import tracing
from pegboard.service.audit import Audit
from pegboard.service.batching import Batches
from pegboard.service.ports import StoredSelection
from pegboard.service.tracing import PRUNE_EVERY_S, TraceWriter
from tests.service.made import FixedClock

pytestmark = pytest.mark.anyio

_DAY_S = 86_400.0


def writer(store=None, clock=None, room=2_000):
    store, clock = store or MemoryStore(), clock or FixedClock(100 * _DAY_S)
    made = TraceWriter(store, clock, Audit(store.audit, clock), 30 * _DAY_S)
    made._batches = Batches(made._write, room=room, linger_s=3600.0)
    return made, store, clock


async def kept(store):
    return [trace_id for trace_id, _ in await store.traces(100)]


async def test_a_trace_is_not_written_until_someone_waits_for_it():
    made, store, clock = writer()
    await made.put("tr_1", clock.now(), b"{}", keep=False)
    assert await kept(store) == []
    await made.flush()
    assert await kept(store) == ["tr_1"]


async def test_a_full_queue_drops_what_may_be_lost_and_writes_through_what_may_not():
    made, store, clock = writer(room=1)
    for name, keep in (("first", False), ("select", False), ("pay", True)):
        await made.put(name, clock.now(), b"{}", keep=keep)
    assert (await kept(store), made.dropped) == (["pay"], 1)
    await made.flush()
    assert set(await kept(store)) == {"first", "pay"}


async def test_what_was_lost_is_told_to_operators_once():
    made, store, clock = writer(room=1)
    for name in ("a", "b", "c"):
        await made.put(name, clock.now(), b"{}", keep=False)
    await made.flush()
    await made.put("d", clock.now(), b"{}", keep=False)
    await made.flush()
    assert [(one.kind, one.body) for one in await store.audit.events(0, 9)] == [("traces_lost", {"count": 2})]


async def test_a_trace_to_keep_that_cannot_be_written_through_says_so():
    made, _, clock = writer(room=0)
    await made.put("pay", clock.now(), b"{}", keep=True)
    with pytest.raises(StoreError):
        await made.put("pay", clock.now(), b"{}", keep=True)


async def test_old_traces_and_expired_selections_go_along_with_a_batch_now_and_then():
    made, store, clock = writer()
    await store.save_traces([("old", 60 * _DAY_S, b"{}"), ("young", 80 * _DAY_S, b"{}")])
    for name, expires_at in (("gone", 99 * _DAY_S), ("stays", 101 * _DAY_S)):
        await store.save_selection(StoredSelection(selection_id=name, principal="p", expires_at=expires_at))
    await made.put("new", clock.now(), b"{}", keep=False)
    await made.flush()
    assert await kept(store) == ["new", "young", "old"]
    clock.time += PRUNE_EVERY_S
    await made.put("next", clock.now(), b"{}", keep=False)
    await made.flush()
    assert await kept(store) == ["next", "new", "young"]
    assert [await store.selection(name) is None for name in ("gone", "stays")] == [True, False]


async def test_pruning_by_hand_removes_all_of_it_in_bounded_parts(monkeypatch):
    monkeypatch.setattr(tracing, "PRUNED_AT_ONCE", 2)
    made, store, _ = writer()
    await store.save_traces([(f"tr_{day}", day * _DAY_S, b"{}") for day in range(65, 75)])
    assert await made.prune() == 5
    assert await made.prune(before=72 * _DAY_S) == 2
    assert await kept(store) == ["tr_74", "tr_73", "tr_72"]
