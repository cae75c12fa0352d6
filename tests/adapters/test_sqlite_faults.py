"""What the SQLite store says of damage, of files that are no store, and of a disk or a process that says no.

Whatever it says, what was published before is still served.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from pegboard.adapters.sqlite import SqliteStore
from pegboard.adapters.sqlite_rows import pack_ids
from pegboard.adapters.sqlite_schema import STEPS
from pegboard.core.errors import StoreError
from pegboard.core.snapshot import Snapshot
from pegboard.service.ports import Listing
from tests.adapters.store_cases import GET, HALT, LIST, SEND, another_account, publish, save_selection, tool


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pegboard.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore.open(path, timeout_s=0.1)) as opened:
        yield opened


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement, values).rowcount > 0


# --- damage: each found by whoever reads it, and by verify


DAMAGE = {
    "a body that is another's": ("UPDATE rows SET body = (SELECT body FROM rows WHERE tool_id = 'mail.send')", ()),
    "a body that is no frame": ("UPDATE rows SET body = x'00' WHERE tool_id = 'crm.list'", ()),
    "a body that is text": ("UPDATE rows SET body = 'x' WHERE tool_id = 'crm.list'", ()),
    "a frame that claims 4 GB": ("UPDATE rows SET body = x'28B52FFDA0FFFFFFFF' WHERE id = 1", ()),
    "another address": ("UPDATE rows SET row = zeroblob(32) WHERE tool_id = 'crm.list'", ()),
    "another tool id": ("UPDATE rows SET tool_id = 'crm.other' WHERE tool_id = 'crm.list'", ()),
    "a missing row": ("DELETE FROM rows WHERE tool_id = 'crm.list'", ()),
    "a missing manifest": ("DELETE FROM manifests WHERE id = 1", ()),
    "a manifest of other rows": ("UPDATE manifests SET ids = ? WHERE id = 1", (pack_ids([2, 2]),)),
    "a manifest that is no frame": ("UPDATE manifests SET ids = x'ff'", ()),
    "another digest": ("UPDATE versions SET digest = 'feed'", ()),
    "a version of other manifests": ("UPDATE versions SET manifests = ?", (pack_ids([1]),)),
    "a version without its list": ("UPDATE versions SET manifests = x''", ()),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found_when_loaded_and_when_verified(store: SqliteStore, path: Path, name: str) -> None:
    statement, values = DAMAGE[name]
    publish(store, 1, LIST, GET, SEND)
    change(path, statement, *values)
    with pytest.raises(StoreError, match="the store is damaged") as error:
        anyio.run(store.load, 1)
    assert error.value.fix
    assert anyio.run(store.verify).bad != ()


def test_an_entry_filed_under_a_hash_that_is_not_its_own_is_not_found(store: SqliteStore, path: Path) -> None:
    publish(store, 1, LIST, GET)
    change(path, "UPDATE rows SET schema_hash = ? WHERE tool_id = 'crm.list'", bytes.fromhex(GET.schema_hash[7:]))
    with pytest.raises(StoreError, match="another schema hash"):
        anyio.run(store.find, "crm.list", GET.schema_hash, "crm")
    assert any("another schema hash" in line for line in anyio.run(store.verify).bad)


def test_one_damaged_row_hides_no_other_from_verify(store: SqliteStore, path: Path) -> None:
    publish(store, 1, LIST, GET, SEND)
    change(path, "UPDATE rows SET body = x'00' WHERE tool_id LIKE 'crm.%'")
    bad = anyio.run(store.verify).bad
    assert [next((name for name in ("crm.get", "crm.list") if name in line), "") for line in bad[:2]] == [
        "crm.get",
        "crm.list",
    ]


@pytest.mark.parametrize(
    ("statement", "part"),
    [
        ("UPDATE head SET number = 9", "head"),
        ("UPDATE versions SET tools = 9", "9 are recorded"),
        ("UPDATE listings SET manifest = 9", "listing of 'crm'"),
        ("UPDATE documents SET body = x'28B52FFD'", "policy sha256:1"),
    ],
)
def test_verify_looks_at_what_no_load_would_notice(store: SqliteStore, path: Path, statement: str, part: str) -> None:
    publish(store, 1, LIST, listings=(Listing(server="crm", fetched_at=1.0, entries=(LIST,)),))
    anyio.run(store.keep, "policy", "sha256:1", b"{}")
    change(path, statement)
    (bad,) = anyio.run(store.verify).bad
    assert part in bad


@pytest.mark.parametrize("column", ["traces", "documents", "selections", "listings"])
def test_a_damaged_record_is_an_error_and_not_an_answer(store: SqliteStore, path: Path, column: str) -> None:
    save_selection(store)
    anyio.run(store.save_traces, [("tr_1", 1.0, b"{}")])
    anyio.run(store.keep, "policy", "sha256:1", b"{}")
    anyio.run(store.keep_listings, [Listing(server="crm", fetched_at=1.0, entries=())])
    field = {"selections": "tools", "listings": "refused"}.get(column, "body")
    change(path, f"UPDATE {column} SET {field} = '[3'")
    reads = {
        "traces": lambda: anyio.run(store.trace, "tr_1"),
        "documents": lambda: anyio.run(store.document, "policy", "sha256:1"),
        "selections": lambda: anyio.run(store.selection, "sel_1"),
        "listings": lambda: anyio.run(store.listings),
    }
    with pytest.raises(StoreError, match="the store is damaged"):
        reads[column]()


def test_a_page_that_was_overwritten_is_an_error_everywhere_and_verify_goes_on(path: Path) -> None:
    with closing(SqliteStore.open(path)) as store:
        publish(store, 1, *(tool("crm", f"t{number}", "x" * number * 40) for number in range(60)))
    content = bytearray(path.read_bytes())
    # Page 2 is the root of the rows.
    content[4096:8192] = b"\xff" * 4096
    path.write_bytes(content)
    with closing(SqliteStore.open(path)) as store:
        with pytest.raises(StoreError, match="the store is damaged") as error:
            anyio.run(store.load, 1)
        assert error.value.where == str(path)
        found = anyio.run(store.verify)
        assert found.bad != ()
        assert found.versions == 1


# --- files that cannot be opened


def _garbage(path: Path) -> None:
    path.write_bytes(b"this is no database, and it is long enough to look like one" * 100)


def _truncated(path: Path) -> None:
    SqliteStore.open(path).close()
    path.write_bytes(path.read_bytes()[:5000])


def _newer(path: Path) -> None:
    SqliteStore.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


def _foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (_garbage, "no Pegboard store"),
        (_truncated, "damaged"),
        (_newer, rf"format 99; this release reads up to {len(STEPS)}"),
        (_foreign, "another application"),
        (Path.mkdir, "cannot be opened"),
    ],
)
def test_a_file_that_is_no_store_of_ours_is_refused_and_left_as_it_is(path: Path, make, problem: str) -> None:
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError, match=problem) as error, closing(SqliteStore.open(path)) as store:
        publish(store, 1, LIST)
    assert error.value.where == str(path)
    assert error.value.fix
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be created: No such file") as error:
        SqliteStore.open(tmp_path / "missing" / "pegboard.db")
    assert error.value.where == str(tmp_path / "missing" / "pegboard.db")


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    with closing(SqliteStore.open(path)) as store:
        publish(store, 1, LIST)


def test_a_file_that_may_not_be_written_is_read_and_every_write_is_an_error() -> None:
    with another_account() as folder:
        path = folder / "pegboard.db"
        with closing(SqliteStore.open(path)) as store:
            publish(store, 1, LIST)
        path.chmod(0o400)
        with closing(SqliteStore.open(path)) as store:
            assert anyio.run(store.load, 1) == Snapshot.of(1, [LIST])
            for write in (lambda: publish(store, 2, SEND), lambda: save_selection(store)):
                with pytest.raises(StoreError, match="cannot be written") as error:
                    write()
                assert error.value.fix
            with pytest.raises(StoreError, match="cannot be written"):
                anyio.run(store.halt, HALT)
            assert anyio.run(store.load, 1) == Snapshot.of(1, [LIST])


def test_a_file_that_may_not_be_read_is_named() -> None:
    with another_account() as folder:
        path = folder / "pegboard.db"
        SqliteStore.open(path).close()
        path.chmod(0o000)
        with pytest.raises(StoreError, match="cannot be opened"):
            SqliteStore.open(path)


# --- full and locked


def test_a_full_disk_leaves_the_version_before(path: Path) -> None:
    with closing(SqliteStore.open(path, max_bytes=300_000)) as store:
        head = publish(store, 1, LIST)
        many = [tool("crm", f"t{number}", os.urandom(500).hex()) for number in range(1000)]
        listed = (Listing(server="crm", fetched_at=1.0, entries=tuple(many)),)
        for write in (
            lambda: publish(store, 2, *many, listings=listed),
            lambda: anyio.run(store.keep_listings, listed),
            lambda: anyio.run(store.keep, "index", "sha256:1", os.urandom(400_000)),
            lambda: anyio.run(store.save_traces, [("tr_1", 1.0, b"{}"), ("tr_2", 1.0, os.urandom(400_000))]),
        ):
            with pytest.raises(StoreError, match="full") as error:
                write()
            assert (error.value.where, error.value.fix) == (str(path), "free some space and try again")
        assert anyio.run(store.head) == head
        assert anyio.run(store.load, 1) == Snapshot.of(1, [LIST])
        assert anyio.run(store.listings) == ()
        assert anyio.run(store.trace, "tr_1") is None
        assert anyio.run(store.verify).bad == ()
        publish(store, 2, LIST, SEND)


def test_a_locked_store_is_read_and_every_write_says_so(store: SqliteStore, path: Path) -> None:
    head = publish(store, 1, LIST)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for write in (
            lambda: publish(store, 2, SEND),
            lambda: anyio.run(store.keep_listings, []),
            lambda: anyio.run(store.halt, HALT),
            lambda: save_selection(store),
        ):
            with pytest.raises(StoreError, match="locked by another process") as error:
                write()
            assert error.value.where == str(path)
            assert error.value.fix
        assert anyio.run(store.head) == head
        assert anyio.run(store.load, 1) == Snapshot.of(1, [LIST])
        with closing(SqliteStore.open(path, timeout_s=0.1)) as third:
            assert anyio.run(third.head) == head
        other.execute("ROLLBACK")
    publish(store, 2, SEND)


def test_a_file_that_another_process_keeps_to_itself_cannot_be_opened(path: Path) -> None:
    SqliteStore.open(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="locked by another process"):
            SqliteStore.open(path, timeout_s=0.1)


def test_a_trace_waits_for_another_process_without_holding_up_the_loop(path: Path) -> None:
    async def run(store: SqliteStore, other: sqlite3.Connection) -> None:
        other.execute("BEGIN IMMEDIATE")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.save_traces, [("t", 1.0, b"{}")])
            await anyio.wait_all_tasks_blocked()
            # Reached while the trace waits: had it blocked the loop, it would have timed out first.
            other.execute("COMMIT")
        assert await store.trace("t") == b"{}"

    with closing(SqliteStore.open(path)) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        anyio.run(run, store, other)
