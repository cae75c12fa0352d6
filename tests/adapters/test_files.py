"""The lock's file, catalog files and saved listings: read strictly, written whole. One file, as `files.py` is one."""

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.adapters import files
from pegboard.adapters.durable import replace_file
from pegboard.adapters.files import (
    LockFileAt,
    Problem,
    RawTool,
    SavedListing,
    read_catalog_file,
    read_fixture_file,
    read_listings_folder,
    write_catalog_file,
)
from pegboard.core.catalog import CatalogEntry, declare, with_row
from pegboard.core.errors import ConfigError, LockError, StoreError
from pegboard.core.lock import Lock, format_lock
from pegboard.engine.intake import take_in_lines
from tests.adapters.store_cases import another_account
from tests.strategies import entries, lock_line, locks

LIST = declare(tool_id="crm.list", namespace="crm", source_server="crm", name="list")
SEND = declare(tool_id="mail.send", namespace="mail", source_server="mail", name="send")
LOCK = Lock.of([lock_line(LIST), lock_line(SEND)])
LISTED = Path(__file__).parents[3] / "shared" / "data" / "live-mcp" / "servers"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pegboard.lock"


# --- the lock


def test_without_a_file_the_lock_is_empty(path: Path) -> None:
    assert LockFileAt(path).read() == Lock.of()


def test_the_lock_is_read_as_it_was_written(path: Path) -> None:
    LockFileAt(path).write(LOCK)
    assert LockFileAt(path).read() == LOCK
    assert path.read_text(encoding="utf-8") == format_lock(LOCK)


@given(locks)
def test_whatever_a_lock_holds_it_comes_back(tmp_path_factory: pytest.TempPathFactory, lock: Lock) -> None:
    path = tmp_path_factory.getbasetemp() / "any.lock"
    LockFileAt(path).write(lock)
    assert LockFileAt(path).read() == lock


@pytest.mark.parametrize(
    ("content", "problem", "line"),
    [
        (b"\xff\xfe{", "the lock is not UTF-8", 1),
        (b"\n\n{\xe9}", "the lock is not UTF-8", 3),
        (b"{}\n", "the field 'tool' is missing", 1),
        (b"\nnothing", "not a JSON object: Expecting value: line 1 column 1 (char 0)", 2),
        (b"<<<<<<< HEAD\n", "a merge left its marks in the lock", 1),
    ],
)
def test_a_line_that_is_not_right_is_named_and_nothing_is_granted(
    path: Path, content: bytes, problem: str, line: int
) -> None:
    path.write_bytes(content)
    with pytest.raises(LockError) as error:
        LockFileAt(path).read()
    assert (error.value.problem, error.value.where) == (problem, f"{path}, line {line}")
    assert error.value.fix


def test_a_folder_in_the_place_of_the_lock_is_an_error_to_read_and_to_write(path: Path) -> None:
    path.mkdir()
    with pytest.raises(LockError, match="cannot be read: is a directory") as error:
        LockFileAt(path).read()
    assert error.value.fix
    with pytest.raises(StoreError, match="it is a folder"):
        LockFileAt(path).write(LOCK)
    assert list(path.iterdir()) == []


def test_a_lock_without_bounds_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LOCK_BYTES", 100)
    LockFileAt(path).write(LOCK)
    with pytest.raises(LockError, match="more than 100 bytes"):
        LockFileAt(path).read()


def test_a_lock_that_may_not_be_read_or_written_is_an_error() -> None:
    with another_account() as folder:
        path = folder / "pegboard.lock"
        LockFileAt(path).write(LOCK)
        path.chmod(0o000)
        with pytest.raises(LockError, match="permission denied"):
            LockFileAt(path).read()
        path.chmod(0o400)
        with pytest.raises(StoreError, match="it may not be written") as error:
            LockFileAt(path).write(Lock.of())
        assert error.value.fix
        path.chmod(0o600)
        folder.chmod(0o500)
        with pytest.raises(StoreError, match="permission denied"):
            LockFileAt(path).write(Lock.of())
        folder.chmod(0o700)
        assert LockFileAt(path).read() == LOCK


def test_a_lock_in_a_folder_that_does_not_exist_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such file or directory"):
        LockFileAt(tmp_path / "missing" / "pegboard.lock").write(LOCK)


def test_a_write_that_fails_half_way_leaves_the_old_file_alone(path: Path) -> None:
    def parts():
        yield b"half"
        raise OSError(28, "No space left on device")

    path.write_bytes(b"old")
    with pytest.raises(StoreError, match="no space left") as error:
        replace_file(str(path), parts())
    assert error.value.fix == "free some space and try again"
    assert path.read_bytes() == b"old"
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_what_a_killed_writer_left_is_no_hindrance(path: Path) -> None:
    (path.parent / "pegboard.lock.new").write_bytes(b"half")
    LockFileAt(path).write(LOCK)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_write_keeps_the_permissions(path: Path, mode: int) -> None:
    path.touch()
    path.chmod(mode)
    LockFileAt(path).write(LOCK)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_link_stays_a_link(tmp_path: Path, path: Path) -> None:
    target = tmp_path / "elsewhere" / "real.lock"
    target.parent.mkdir()
    path.symlink_to(target)
    LockFileAt(path).write(LOCK)
    assert path.is_symlink()
    assert target.read_text(encoding="utf-8") == format_lock(LOCK)


def test_a_change_by_someone_else_is_not_undone(path: Path) -> None:
    one, two = LockFileAt(path), LockFileAt(path)
    one.write(LOCK)
    before, withdrawn = two.read(), one.read().without(["mail.send"])
    one.write(withdrawn)
    with pytest.raises(StoreError, match="the lock has changed since it was read") as error:
        two.write(before.granting([lock_line(LIST, "crm-read")]))
    assert error.value.fix == "run the command again"
    assert one.read() == withdrawn
    two.write(two.read().without(["crm.list"]))
    assert one.read() == Lock.of()


def test_a_lock_that_has_not_moved_is_not_read_again_and_one_that_has_keeps_its_lines(path: Path) -> None:
    one, two = LockFileAt(path), LockFileAt(path)
    one.write(LOCK)
    assert one.read() is LOCK
    before = two.read()
    assert two.read() is before
    one.write(LOCK.without(["mail.send"]))
    after = two.read()
    assert after == LOCK.without(["mail.send"])
    assert all(after.lines[tool] is before.lines[tool] for tool in after.lines)


def test_the_stamp_moves_with_every_change(path: Path) -> None:
    lock_file = LockFileAt(path)
    stamps = [lock_file.stamp()]
    for lock in (LOCK, LOCK.without(["crm.list"]), Lock.of()):
        lock_file.write(lock)
        stamps.append(lock_file.stamp())
        assert lock_file.stamp() == stamps[-1]
    path.unlink()
    assert len({*stamps}) == 4
    assert lock_file.stamp() == stamps[0]


# --- catalog files


def test_one_bad_line_hides_no_other(path: Path) -> None:
    path.write_bytes(
        b'\xef\xbb\xbf{"tool_id": "crm.list"}\n'
        b"\n"
        b"[1]\n"
        b'{"a": 1, "a": 2}\r\n'
        b'{"name": "\xff"}\n'
        b'{"name": NaN}\n' + b"[" * 100_000 + b"\n"
        b'{"tool_id": "mail.send"}'
    )
    found = read_catalog_file(path)
    assert found.tools == (
        RawTool(where=f"{path}, line 1", value={"tool_id": "crm.list"}),
        RawTool(where=f"{path}, line 8", value={"tool_id": "mail.send"}),
    )
    assert found.problems == (
        Problem(where=f"{path}, line 3", reason="it is not a JSON object"),
        Problem(where=f"{path}, line 4", reason="it is not JSON: the key 'a' stands twice in one object"),
        Problem(where=f"{path}, line 5", reason="it is not UTF-8 at byte 11"),
        Problem(where=f"{path}, line 6", reason="it is not JSON: NaN is not JSON"),
        Problem(where=f"{path}, line 7", reason="it is not JSON: it is nested too deeply"),
    )


def test_a_line_that_is_too_long_hides_no_other(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 20)
    line = b'{"n": "%b"}\n'
    path.write_bytes(b"".join(line % (b"x" * length) for length in (11, 12, 21, 100, 1)))
    found = read_catalog_file(path)
    assert [tool.where for tool in found.tools] == [f"{path}, line {number}" for number in (1, 5)]
    assert found.problems == tuple(
        Problem(where=f"{path}, line {number}", reason="it has more than 20 bytes") for number in (2, 3, 4)
    )


def test_a_file_of_too_many_lines_is_read_up_to_the_bound(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINES", 2)
    path.write_bytes(b"{}\n" * 4)
    found = read_catalog_file(path)
    assert len(found.tools) == 2
    assert found.problems == (Problem(where=f"{path}, line 3", reason="more than 2 lines; the rest was not read"),)


@pytest.mark.parametrize(
    ("read", "fix"),
    [
        (read_catalog_file, "name a catalog file of JSON Lines"),
        (read_fixture_file, "name a file of labelled tasks"),
        (read_listings_folder, "name a folder of saved listings"),
    ],
)
def test_what_cannot_be_opened_is_the_operators_to_mend(tmp_path: Path, read, fix) -> None:
    with pytest.raises(ConfigError, match="it cannot be read: no such file or directory") as error:
        read(tmp_path / "missing")
    assert error.value.where == str(tmp_path / "missing")
    assert error.value.fix == fix


def test_a_folder_is_no_catalog_file_and_a_file_is_no_folder_of_listings(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="is a directory"):
        read_catalog_file(tmp_path)
    with pytest.raises(ConfigError, match="not a directory"):
        read_listings_folder(tmp_path / "file")


@given(st.lists(entries, max_size=6, unique_by=lambda entry: entry.tool_id))
def test_an_export_imports_to_the_same_entries(
    tmp_path_factory: pytest.TempPathFactory, found: list[CatalogEntry]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    write_catalog_file(found, path)
    read = read_catalog_file(path)
    assert read.problems == ()
    taken, refused = take_in_lines(tool.value for tool in read.tools)
    # Intake refuses what no server should send (a schema that is none); what it takes is what was written.
    fit = {entry.tool_id: entry for entry in taken}
    assert len(taken) + len(refused) == len(found)
    for entry in found:
        if entry.tool_id in fit:
            # Mentions are found anew among the tools that are there.
            assert with_row(fit[entry.tool_id], mentions=()) == with_row(entry, mentions=())


def test_an_export_holds_nothing_that_is_computed(path: Path) -> None:
    write_catalog_file([replace(LIST, pinned=("*",))], path)
    (tool,) = read_catalog_file(path).tools
    assert tool.value == {
        "tool_id": "crm.list",
        "namespace": "crm",
        "source_server": "crm",
        "name": "list",
        "description": "",
        "pinned": "always",
    }


# --- saved listings


def test_a_folder_is_read_file_by_file_and_one_bad_file_hides_no_other(tmp_path: Path) -> None:
    contents = {
        "a.json": b'{"server": "crm", "serverInfo": {}, "instructions": "Call me.", "tools": [{"name": "list"}, 3]}',
        "b.json": b'{"server": "crm", "tools": []}',
        "c.json": b'{"server": 3, "tools": []}',
        "d.json": b'{"server": "mail", "tools": {}}',
        "e.json": b"",
        "f.json": b"[]",
        "g.json": b'{"server": "m\\u0000l", "tools": []}',
        "h.json": b'{"server": "mail", "tools": []}',
        ".hidden.json": b"{",
        "notes.txt": b"{",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "i.json").mkdir()
    found = read_listings_folder(tmp_path)
    assert found.listings == (
        SavedListing(server="crm", tools=(RawTool(where=f"{tmp_path}/a.json, tool 1", value={"name": "list"}),)),
        SavedListing(server="mail", tools=()),
    )
    assert [(os.path.basename(one.where), one.reason) for one in found.problems] == [
        ("a.json, tool 2", "it is not a JSON object"),
        ("b.json", "the server 'crm' has a file before this one"),
        ("c.json", "its 'server' must be a text"),
        ("d.json", "its 'tools' must be a list"),
        ("e.json", "it is empty"),
        ("f.json", "it is not a JSON object"),
        ("g.json", "its 'server' holds the unprintable character U+0000 at position 1"),
        ("i.json", "it is no file"),
    ]


@pytest.mark.parametrize(
    ("bound", "value", "reason"),
    [("MAX_LISTING_BYTES", 20, "it has more than 20 bytes"), ("MAX_LISTINGS", 0, "only the first 0 files were read")],
)
def test_listings_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, value: int, reason: str
) -> None:
    monkeypatch.setattr(files, bound, value)
    (tmp_path / "a.json").write_bytes(b'{"server": "crm", "tools": []}')
    found = read_listings_folder(tmp_path)
    assert found.listings == ()
    assert [problem.reason for problem in found.problems] == [reason]


@pytest.mark.skipif(not LISTED.is_dir(), reason="the folder of published listings is not beside the checkout")
def test_every_published_listing_is_read_whole() -> None:
    found = read_listings_folder(LISTED)
    assert found.problems == ()
    assert (len(found.listings), sum(len(listing.tools) for listing in found.listings)) == (63, 2583)
