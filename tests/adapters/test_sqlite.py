"""The SQLite file: what it costs, what damage is found, and what is said when the disk or another process says no."""

import hashlib
import json
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
import zstandard
from hypothesis import given

from pegboard.adapters.sqlite import SqliteStore
from pegboard.adapters.sqlite_rows import pack_ids, packer, read_entry, unpack_ids, unpacker, write_entry
from pegboard.adapters.sqlite_schema import STEPS, Place, connect, prepare
from pegboard.core.catalog import CatalogEntry, from_row, with_row
from pegboard.core.errors import StoreError
from pegboard.core.snapshot import Snapshot
from pegboard.service.ports import Listing
from tests.adapters.store_cases import GET, HALT, LIST, SELECTION, SEND, publish, save_selection
from tests.strategies import entries


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pegboard.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore.open(path, timeout_s=0.1)) as opened:
        yield opened


def count(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@given(entries)
def test_an_entry_is_read_as_the_core_reads_its_row(entry: CatalogEntry) -> None:
    packed = write_entry(entry, packer())
    body = zstandard.ZstdDecompressor().decompress(packed)
    found = read_entry(entry.tool_id, bytes.fromhex(entry.row[7:]), packed, unpacker())
    assert found == entry == from_row(json.loads(body))


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"tool_id":"crm.list"}', b'{"unknown":1}', b'{"proposal":3}'])
def test_a_row_that_is_no_entry_is_damage_whatever_its_digest(body: bytes) -> None:
    with pytest.raises(StoreError, match="is no catalog entry"):
        read_entry("crm.list", hashlib.sha256(body).digest(), packer().compress(body), unpacker())


def test_a_list_of_half_a_number_is_damage() -> None:
    with pytest.raises(StoreError, match="the list"):
        unpack_ids(packer().compress(b"12345"), "the list")


@pytest.mark.parametrize("ids", [[], [7], [1, 2, 3], [5, 1, 2**40, 3], list(range(10_000))])
def test_row_numbers_come_back_in_their_order(ids: list[int]) -> None:
    assert unpack_ids(pack_ids(ids), "the list") == ids


def test_neighbours_take_next_to_nothing() -> None:
    assert len(pack_ids(range(1, 100_001))) < 200


def test_a_server_that_did_not_change_costs_nothing(store: SqliteStore, path: Path) -> None:
    publish(store, 1, LIST, GET, SEND)
    publish(store, 2, with_row(LIST, summary="Lists."), GET, SEND)
    assert (count(path, "rows"), count(path, "manifests")) == (4, 3)
    publish(store, 3, LIST, GET, SEND)
    assert (count(path, "rows"), count(path, "manifests"), count(path, "versions")) == (4, 3, 3)


def test_a_listing_equal_to_what_is_served_is_stored_once(store: SqliteStore, path: Path) -> None:
    publish(store, 1, LIST, GET, listings=(Listing(server="crm", fetched_at=1.0, entries=(GET, LIST)),))
    assert (count(path, "rows"), count(path, "manifests")) == (2, 1)


def test_rows_that_another_process_wrote_meanwhile_are_not_written_twice(store: SqliteStore, path: Path) -> None:
    with closing(SqliteStore.open(path)) as other:
        publish(store, 1, LIST)
        anyio.run(other.keep_listings, [Listing(server="crm", fetched_at=1.0, entries=(GET,))])
        publish(store, 2, LIST, GET)
    assert count(path, "rows") == 2


@pytest.mark.parametrize(
    ("description", "problem"),
    [("Deletes orders.", "does not have the digest of its fields"), ("\ud800", "cannot be written")],
)
def test_an_entry_that_lies_about_its_row_is_not_stored(store: SqliteStore, description: str, problem: str) -> None:
    with pytest.raises(StoreError, match=problem):
        publish(store, 1, replace(LIST, description=description))
    assert anyio.run(store.head) is None


def test_the_file_is_readable_by_its_owner_alone(store: SqliteStore, path: Path) -> None:
    save_selection(store)
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name


def test_everything_is_there_after_the_file_was_closed(path: Path) -> None:
    with closing(SqliteStore.open(path)) as store:
        head = publish(store, 1, LIST)
        anyio.run(store.halt, HALT)
        save_selection(store)
    with closing(SqliteStore.open(path)) as store:
        assert anyio.run(store.head) == head
        assert anyio.run(store.load, 1) == Snapshot.of(1, [LIST])
        assert anyio.run(store.halts) == (HALT,)
        assert anyio.run(store.selection, "sel_1") == SELECTION


def test_a_store_serves_many_threads(store: SqliteStore) -> None:
    publish(store, 1, LIST, SEND)
    failures: list[Exception] = []

    async def work(name: int) -> None:
        for number in range(20):
            await store.save_traces([(f"{name}-{number}", 1.0, b"{}")])
            assert (await store.load(1)).entries == (LIST, SEND)

    def run(name: int) -> None:
        try:
            anyio.run(work, name)
        except Exception as error:  # noqa: BLE001 -- whatever it is, the test shows it
            failures.append(error)

    threads = [threading.Thread(target=run, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(anyio.run(store.traces, 999)) == 80


def test_an_older_format_is_brought_forward_and_keeps_what_it_holds(path: Path) -> None:
    with closing(SqliteStore.open(path)) as store:
        publish(store, 1, LIST)
    later = (*STEPS, ("ALTER TABLE versions ADD COLUMN note TEXT",), ("UPDATE versions SET note = 'old'",))
    place = Place(path=str(path), timeout_s=1.0)
    for _ in range(2):
        with closing(connect(place)) as connection:
            prepare(connection, place, later)
            assert connection.execute("SELECT number, note FROM versions").fetchall() == [(1, "old")]
            assert connection.execute("PRAGMA user_version").fetchone() == (len(later),)
    with pytest.raises(StoreError, match=f"format {len(later)}"):
        SqliteStore.open(path)


def test_a_step_that_fails_leaves_the_older_format(path: Path) -> None:
    with closing(SqliteStore.open(path)) as store:
        head = publish(store, 1, LIST)
    later = (*STEPS, ("ALTER TABLE versions ADD COLUMN note TEXT", "UPDATE nothing SET x = 1"))
    place = Place(path=str(path), timeout_s=1.0)
    with closing(connect(place)) as connection, pytest.raises(sqlite3.OperationalError):
        prepare(connection, place, later)
    with closing(SqliteStore.open(path)) as store:
        assert anyio.run(store.head) == head


def test_a_new_file_may_be_opened_by_many_at_once(path: Path) -> None:
    opened: list[SqliteStore | StoreError] = []

    def run() -> None:
        try:
            opened.append(SqliteStore.open(path))
        except StoreError as error:
            opened.append(error)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(found) for found in opened] == [SqliteStore] * 8
    for found in opened:
        assert isinstance(found, SqliteStore)
        found.close()
