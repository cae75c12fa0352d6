"""Large bodies beside a store: mapped as they were kept, and never taken for what they no longer are."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from pegboard.adapters import mapped_files
from pegboard.adapters.sqlite import SqliteStore

LARGE = bytes(range(256)) * 5_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore.open(tmp_path / "pegboard.db")) as opened:
        yield opened


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "pegboard.db-prepared").iterdir())


def test_what_is_kept_is_mapped_read_only_and_belongs_to_its_owner(tmp_path: Path) -> None:
    folder = tmp_path / "prepared"
    name = mapped_files.keep(folder, LARGE)
    found = mapped_files.opened(folder, name)
    assert found is not None
    assert found.readonly
    assert found == LARGE
    assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_what_is_kept_already_is_not_written_again(tmp_path: Path) -> None:
    name = mapped_files.keep(tmp_path, LARGE)
    before = (tmp_path / name).stat().st_ino
    assert mapped_files.keep(tmp_path, LARGE) == name
    assert (tmp_path / name).stat().st_ino == before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "harm",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(LARGE[:-1]),
        lambda path: path.write_bytes(LARGE[:-1] + b"\x00"),
        lambda path: (path.unlink(), path.mkdir()),
    ],
    ids=["missing", "empty", "cut", "changed", "a folder"],
)
def test_a_file_that_is_not_what_it_was_is_not_kept(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    name = mapped_files.keep(tmp_path, LARGE)
    harm(tmp_path / name)
    assert mapped_files.opened(tmp_path, name) is None


def test_a_damaged_file_is_written_again(tmp_path: Path) -> None:
    name = mapped_files.keep(tmp_path, LARGE)
    (tmp_path / name).write_bytes(b"damaged")
    assert mapped_files.keep(tmp_path, LARGE) == name
    assert mapped_files.opened(tmp_path, name) == LARGE


@pytest.mark.parametrize("name", ["", "..", "../prepared/x", "A" * 64, "0" * 63])
def test_only_the_name_of_a_digest_is_opened(tmp_path: Path, name: str) -> None:
    assert mapped_files.opened(tmp_path, name) is None


def test_a_mapped_body_outlives_its_file(tmp_path: Path) -> None:
    found = mapped_files.opened(tmp_path, mapped_files.keep(tmp_path, LARGE))
    mapped_files.keep_only(tmp_path, ())
    assert list(tmp_path.iterdir()) == []
    assert found == LARGE


def test_only_files_of_ours_are_removed_and_those_that_were_never_finished_are(tmp_path: Path) -> None:
    kept = mapped_files.keep(tmp_path, LARGE)
    mapped_files.keep(tmp_path, LARGE[::-1])
    for name in ("unfinished-1", "notes.txt"):
        (tmp_path / name).touch()
    mapped_files.keep_only(tmp_path, {kept})
    assert {path.name for path in tmp_path.iterdir()} == {kept, "notes.txt"}


def test_a_large_body_is_a_file_and_a_small_one_is_not(store: SqliteStore, tmp_path: Path) -> None:
    anyio.run(store.keep_prepared, "small", b"small")
    anyio.run(store.keep_prepared, "large", LARGE)
    assert anyio.run(store.prepared, "small") == b"small"
    assert anyio.run(store.prepared, "large") == LARGE
    assert [path.stat().st_size for path in files(tmp_path)] == [len(LARGE)]
    assert isinstance(anyio.run(store.prepared, "large"), memoryview)


def test_files_of_bodies_that_are_no_longer_kept_are_removed(store: SqliteStore, tmp_path: Path) -> None:
    anyio.run(store.keep_prepared, "matrix", LARGE)
    anyio.run(store.keep_prepared, "matrix", LARGE[::-1])
    (only,) = files(tmp_path)
    assert only.read_bytes() == LARGE[::-1]
    for number in range(10):
        anyio.run(store.keep_prepared, str(number), b"newer")
    assert files(tmp_path) == []


def test_where_no_file_can_be_written_a_large_body_stands_in_the_store(store: SqliteStore, tmp_path: Path) -> None:
    (tmp_path / "pegboard.db-prepared").write_bytes(b"in the way")
    anyio.run(store.keep_prepared, "large", LARGE)
    assert anyio.run(store.prepared, "large") == LARGE


def test_a_lost_file_is_a_body_that_was_not_kept(store: SqliteStore, tmp_path: Path) -> None:
    anyio.run(store.keep_prepared, "large", LARGE)
    os.unlink(files(tmp_path)[0])
    assert anyio.run(store.prepared, "large") is None
