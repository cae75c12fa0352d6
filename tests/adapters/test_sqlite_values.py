"""What the SQLite store says of values of another kind than it wrote, and of values that SQLite cannot hold."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from pegboard.adapters.sqlite import SqliteStore
from pegboard.adapters.store_errors import store_error
from pegboard.core.errors import StoreError
from pegboard.service.ports import Listing
from tests.adapters.store_cases import HALT, LIST, publish


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pegboard.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore.open(path, timeout_s=0.1)) as opened:
        yield opened


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement).rowcount > 0


WRONG = {
    "a time that is text": ("UPDATE halts SET since = 'zzz'", "halts"),
    "a time that is infinite": ("UPDATE halts SET expires_at = 9e999", "halts"),
    "a name that is bytes": ("UPDATE halts SET target = x'ff00'", "halts"),
    "a name that is not UTF-8": ("UPDATE halts SET target = CAST(x'ff00' AS TEXT)", "halts"),
    "a digest that is bytes": ("UPDATE versions SET digest = x'ff00'", "head"),
    "a time beyond the calendar": ("UPDATE versions SET published_at = 1e15", "versions"),
    "reasons that are no list": ("UPDATE listings SET refused = '7'", "listings"),
    "a reason that is no pair": ("UPDATE listings SET refused = '[[1]]'", "listings"),
    "reasons nested without end": (f"UPDATE listings SET refused = '{'[' * 100_000}'", "listings"),
    "a schema hash that is text": ("UPDATE rows SET schema_hash = 'x'", "live"),
    "a row's digest that is text": ("UPDATE rows SET row = 'x'", "listings"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_value_of_another_kind_is_damage_and_the_error_says_where(store: SqliteStore, path: Path, name: str) -> None:
    publish(store, 1, LIST, listings=(Listing(server="crm", fetched_at=1.0, entries=(LIST,)),))
    anyio.run(store.halt, HALT)
    statement, read = WRONG[name]
    change(path, statement)
    with pytest.raises(StoreError, match="the store is damaged") as error:
        anyio.run(getattr(store, read))
    assert error.value.where == str(path)
    assert "backup" in (error.value.fix or "")


@pytest.mark.parametrize("name", [name for name in WRONG if "UTF-8" not in name])
def test_verify_finds_values_of_another_kind(store: SqliteStore, path: Path, name: str) -> None:
    publish(store, 1, LIST, listings=(Listing(server="crm", fetched_at=1.0, entries=(LIST,)),))
    anyio.run(store.halt, HALT)
    assert anyio.run(store.verify).bad == ()
    change(path, WRONG[name][0])
    assert anyio.run(store.verify).bad != ()


def test_a_vector_of_another_kind_counts_as_not_kept(store: SqliteStore, path: Path) -> None:
    anyio.run(store.keep_vectors, "m", {"d": b"1234"})
    change(path, "UPDATE vectors SET vector = 7")
    assert anyio.run(store.vectors, "m", ["d"]) == {}


def test_what_sqlite_cannot_hold_is_an_error_of_the_store(store: SqliteStore) -> None:
    with pytest.raises(StoreError, match="too large for the store"):
        anyio.run(store.load, 1 << 64)
    with pytest.raises(StoreError, match="not Unicode"):
        anyio.run(store.halt, replace(HALT, why="\udcff"))


@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE])
def test_a_file_that_cannot_grow_is_told_as_a_disk_that_may_be_full(code: int) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    told = store_error(error, "pegboard.db")
    assert "may be full" in told.problem
    assert "free some space" in (told.fix or "")
