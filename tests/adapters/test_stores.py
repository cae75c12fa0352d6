"""What every store does, whatever it keeps its data in: one contract, run against each of them."""

from collections.abc import Iterator
from dataclasses import replace

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import CatalogEntry, declare, with_row
from pegboard.core.errors import StoreError
from pegboard.core.lock import Lock
from pegboard.core.snapshot import Snapshot
from pegboard.service.ports import (
    AuditStore,
    Head,
    Ledger,
    Listing,
    PolicyStore,
    SnapshotStore,
    TraceStore,
    Verification,
)
from tests.adapters.store_cases import HALT, LIST, OPEN, SELECTION, SEND, Store, listing, publish
from tests.strategies import cases, entries, lock_line


@pytest.fixture(params=OPEN)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with OPEN[request.param]() as opened:
        yield opened


def test_every_store_is_all_its_ports(store: Store) -> None:
    ports: tuple[SnapshotStore, PolicyStore, TraceStore, Ledger, AuditStore]
    ports = (store, store, store, store.ledger, store.audit)
    assert len(ports) == 5


def test_an_empty_store_serves_no_version(store: Store) -> None:
    assert anyio.run(store.head) is None
    assert anyio.run(store.versions) == ()
    assert anyio.run(store.listings) == ()
    assert anyio.run(store.halts) == ()
    assert anyio.run(store.verify) == Verification(versions=0, rows=0, bad=())


def test_what_is_published_is_served(store: Store) -> None:
    head = publish(store, 1, SEND, LIST)
    snapshot = Snapshot.of(1, [LIST, SEND])
    assert head == Head(number=1, digest=snapshot.digest, published_at=1.0, by="dana", tools=2)
    assert anyio.run(store.head) == head
    assert anyio.run(store.load, 1) == snapshot
    assert head.version == snapshot.version


def test_a_version_stays_what_it_was_after_the_next_one(store: Store) -> None:
    heads = (publish(store, 1, LIST), publish(store, 2, LIST, SEND), publish(store, 3, SEND))
    assert anyio.run(store.versions) == heads
    assert anyio.run(store.load, 1) == Snapshot.of(1, [LIST])
    assert anyio.run(store.load, 2) == Snapshot.of(2, [LIST, SEND])
    assert anyio.run(store.verify) == Verification(versions=3, rows=2, bad=())


def test_an_empty_version_is_a_version(store: Store) -> None:
    publish(store, 1, LIST)
    publish(store, 2)
    assert anyio.run(store.load, 2) == Snapshot.of(2, [])


@pytest.mark.parametrize("number", [-1, 0, 1, 3])
def test_only_the_next_number_can_be_published(store: Store, number: int) -> None:
    head = publish(store, 1, LIST)
    with pytest.raises(StoreError) as error:
        publish(store, number, SEND, listings=(listing(SEND),))
    assert error.value.problem == f"version {number} cannot follow: the served version is 1"
    assert error.value.fix
    assert anyio.run(store.head) == head
    assert anyio.run(store.listings) == ()
    assert anyio.run(store.find, "mail.send", SEND.schema_hash, SEND.source_server) is None


def test_a_version_that_lies_about_its_digest_is_found_out(store: Store) -> None:
    lie = replace(Snapshot.of(1, [LIST]), digest="0" * 64)

    async def run() -> tuple[str, ...]:
        await store.publish(lie, by="x", at=1.0, listings=[])
        return (await store.verify()).bad

    (bad,) = anyio.run(run)
    assert "version 1 has another digest" in bad


def test_a_version_that_is_not_kept_is_an_error(store: Store) -> None:
    with pytest.raises(StoreError) as error:
        anyio.run(store.load, 7)
    assert error.value.problem == "there is no catalog version 7"


def test_listings_are_kept_with_a_version_and_without_one(store: Store) -> None:
    publish(store, 1, LIST, listings=(listing(LIST, refused=(("drop", "its schema is no schema"),)),))
    anyio.run(store.keep_listings, [listing(SEND)])
    assert anyio.run(store.listings) == (
        listing(LIST, refused=(("drop", "its schema is no schema"),)),
        listing(SEND),
    )
    head = anyio.run(store.head)
    assert head is not None
    assert head.number == 1


def test_a_listing_replaces_the_one_before_and_a_server_that_is_gone_has_none(store: Store) -> None:
    changed = replace(listing(LIST, at=2.0), entries=())

    async def run() -> tuple[Listing, ...]:
        await store.keep_listings([listing(LIST), listing(SEND)])
        await store.keep_listings([changed], gone=["mail", "never-there"])
        return await store.listings()

    assert anyio.run(run) == (changed,)


def test_a_listing_keeps_the_order_of_its_server(store: Store) -> None:
    other = declare(tool_id="crm.a", namespace="crm", source_server="crm", name="a")
    anyio.run(store.keep_listings, [listing(LIST, other)])
    anyio.run(store.keep_listings, [listing(other, LIST)])
    assert anyio.run(store.listings) == (listing(other, LIST),)


def test_an_entry_is_found_by_its_content_after_it_was_replaced(store: Store) -> None:
    changed = declare(tool_id="crm.list", namespace="crm", source_server="crm", name="list", description="Lists all.")
    publish(store, 1, LIST)
    publish(store, 2, changed)
    assert anyio.run(store.find, "crm.list", LIST.schema_hash, "crm") == LIST
    assert anyio.run(store.find, "crm.list", changed.schema_hash, "crm") == changed
    assert anyio.run(store.find, "crm.lis", LIST.schema_hash, "crm") is None
    assert anyio.run(store.find, "crm.list", "sha256:nothing", "crm") is None


def test_of_two_entries_with_one_content_the_one_stored_last_is_found(store: Store) -> None:
    publish(store, 1, LIST)
    anyio.run(store.keep_listings, [listing(with_row(LIST, summary="Lists."))])
    assert anyio.run(store.find, "crm.list", LIST.schema_hash, "crm") == with_row(LIST, summary="Lists.")


def test_a_halt_stands_until_it_is_lifted(store: Store) -> None:
    later = replace(HALT, why="still leaks", expires_at=9.5)
    everything = replace(HALT, target="all")

    async def run() -> None:
        await store.halt(HALT)
        await store.halt(everything)
        await store.halt(later)
        assert await store.halts() == (everything, later)
        assert await store.resume("crm.list")
        assert not await store.resume("crm.list")
        assert await store.halts() == (everything,)

    anyio.run(run)


def test_a_lock_has_a_new_version_when_it_changes_and_not_before(store: Store) -> None:
    one, two = Lock.of([lock_line(LIST)]), Lock.of([lock_line(LIST), lock_line(SEND)])

    async def run() -> list[str]:
        return [await store.lock_version(lock, at=1.0) for lock in (one, one, two, one)]

    first, again, second, back = anyio.run(run)
    assert first == again
    assert [version.partition("-")[0] for version in (first, second, back)] == ["1", "2", "3"]
    assert first.partition("-")[2] == back.partition("-")[2] != second.partition("-")[2]


def test_a_document_is_kept_as_it_first_was(store: Store) -> None:
    async def run() -> list[bytes | None]:
        await store.keep("policy", "sha256:1", b"\x00one")
        await store.keep("policy", "sha256:1", b"two")
        await store.keep("settings", "sha256:1", b"")
        return [await store.document(kind, "sha256:1") for kind in ("policy", "settings", "lock")]

    assert anyio.run(run) == [b"\x00one", b"", None]


def test_a_selection_is_kept_once(store: Store) -> None:
    async def run() -> None:
        await store.save_selection(SELECTION)
        with pytest.raises(StoreError):
            await store.save_selection(replace(SELECTION, principal="dana"))
        assert await store.selection("sel_1") == SELECTION
        assert await store.selection("sel_2") is None

    anyio.run(run)


@pytest.mark.parametrize("batch", [["tr_2", "tr_1"], ["tr_2", "tr_2"]])
def test_a_batch_of_traces_is_kept_whole_or_not_at_all(store: Store, batch: list[str]) -> None:
    async def run() -> None:
        await store.save_traces([])
        await store.save_traces([("tr_0", 3.0, b"first"), ("tr_1", 4.0, b"{}")])
        with pytest.raises(StoreError):
            await store.save_traces([(name, 5.0, b"second") for name in batch])
        assert await store.traces(9) == (("tr_1", 4.0), ("tr_0", 3.0))
        assert await store.trace("tr_0") == b"first"
        assert await store.trace("tr_2") is None

    anyio.run(run)


def test_the_newest_traces_come_first(store: Store) -> None:
    async def run() -> None:
        await store.save_traces([(name, at, b"") for name, at in (("a", 2.0), ("b", 3.0), ("c", 1.0), ("d", 3.0))])
        assert await store.traces(3) == (("d", 3.0), ("b", 3.0), ("a", 2.0))
        assert await store.traces(0) == ()
        assert await store.traces(-1) == ()

    anyio.run(run)


def test_many_tasks_may_use_one_store_at_once(store: Store) -> None:
    async def ask(number: int) -> None:
        await store.save_traces([(f"t{number}", float(number), b"x" * number)])
        await store.halt(replace(HALT, target=f"crm.t{number}"))
        assert await store.trace(f"t{number}") == b"x" * number

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(40):
                tasks.start_soon(ask, number)
        assert len(await store.traces(99)) == len(await store.halts()) == 40

    anyio.run(run)


@pytest.mark.parametrize("kind", OPEN)
@given(found=st.lists(entries, max_size=8, unique_by=lambda entry: entry.tool_id))
@cases(25, 500)
def test_whatever_an_entry_holds_it_comes_back_as_it_was(kind: str, found: list[CatalogEntry]) -> None:
    with OPEN[kind]() as store:
        publish(store, 1, *found)
        assert anyio.run(store.load, 1) == Snapshot.of(1, found)
        assert anyio.run(store.verify).bad == ()
