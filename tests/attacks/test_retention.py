"""Attacks by what is removed: no removal makes a conversation clean, or a chain that was broken look whole."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from pegboard.adapters.memory import MemoryStore
from pegboard.adapters.sqlite import SqliteStore
from pegboard.core.catalog import Flow
from pegboard.core.errors import StoreError
from pegboard.engine.ledger import Ended
from pegboard.service.audit import Audit, AuditKind
from tests.adapters.ledger_cases import Asked
from tests.adapters.store_cases import OPEN
from tests.service.made import FixedClock

PRIVATE = {"conversation": "c", "flow": frozenset({Flow.READS_PRIVATE})}


@pytest.fixture(params=OPEN)
def ledger(request: pytest.FixtureRequest) -> Iterator[Asked]:
    with OPEN[request.param]() as opened:
        yield Asked(opened)


@pytest.mark.parametrize("ended", [None, Ended.OUTCOME_UNKNOWN])
def test_a_call_that_did_not_run_after_all_takes_no_label_of_an_older_one_along(ledger: Asked, ended: Ended | None):
    ledger.open("lost", at=1.0, **PRIVATE)
    if ended is not None:
        ledger.close("lost", ended)
    ledger.open("ran", at=2.0, arguments="other", **PRIVATE)
    ledger.close("ran", Ended.DONE)
    ledger.forget(50.0)
    ledger.settle("lost", Ended.NOT_SENT)
    assert Flow.READS_PRIVATE in ledger.standing(conversation="c").touched


def audit_of(store: MemoryStore | SqliteStore, clock: FixedClock, *numbers: int) -> Audit:
    """Put an event of each second on a stream."""
    audit = Audit(store.audit, clock)

    async def scene() -> None:
        for number in numbers:
            clock.time = float(number)
            await audit.record(AuditKind.HALT, target=f"t.{number}", by="dana")

    anyio.run(scene)
    clock.time = 1_000.0
    return audit


async def pruned(audit: Audit) -> None:
    await audit.prune(500.0, by="eve", apply=True)


def test_what_was_cut_out_of_a_stream_still_shows_after_what_stood_around_it_was_pruned(tmp_path: Path):
    file, clock = tmp_path / "pegboard.db", FixedClock()
    store = SqliteStore.open(file)
    audit = audit_of(store, clock, *range(1, 10))
    with sqlite3.connect(file) as connection:
        connection.execute("DELETE FROM audit WHERE number = 4")
    for _ in range(2):
        anyio.run(pruned, audit)
        clock.time += 1_000
        assert (anyio.run(audit.verify).broken, anyio.run(audit.verify).good) == ((5,), False)
    store.close()


def test_a_prune_that_ends_half_way_leaves_a_whole_chain_and_goes_on_the_next_time():
    store, clock = MemoryStore(), FixedClock()
    audit, forget = audit_of(store, clock, *range(1, 10)), store.audit.forget

    async def fails(through: int) -> int:
        raise StoreError("the process ended")  # as one that is killed there

    store.audit.forget = fails  # type: ignore[method-assign]
    with pytest.raises(StoreError):
        anyio.run(pruned, audit)
    assert (anyio.run(audit.verify).good, anyio.run(audit.verify).events) == (True, 10)
    store.audit.forget = forget  # type: ignore[method-assign]
    anyio.run(pruned, audit)
    found = anyio.run(audit.verify)
    assert (found.good, found.events, found.pruned) == (True, 2, 9)
