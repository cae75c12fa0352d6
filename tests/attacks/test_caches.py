"""Attacks on what is kept to be quick: nothing outlives what it was made of, whoever changes that and when."""

import os
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pegboard.adapters.files import LockFileAt
from pegboard.core.catalog import Reach, Risk
from pegboard.core.lock import Lock, LockLine, format_lock
from pegboard.retrieval.kept import Kept

LINE = LockLine(
    tool="crm.get",
    hash=f"sha256:{'a' * 64}",
    access="open",
    risk=Risk.READ,
    reach=Reach.BOUNDED,
    by="dana",
    at="2026-01-01T00:00:00Z",
)
GRANTED, TAKEN = Lock.of([LINE]), Lock.of()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pegboard.lock"


@pytest.mark.parametrize("in_place", [True, False])
def test_a_lock_of_the_same_size_and_time_is_read_anew(file: Path, in_place: bool):
    other = format_lock(GRANTED).replace("crm.get", "crm.put")
    lock, before = LockFileAt(file), format_lock(GRANTED)
    file.write_text(before)
    assert list(lock.read().lines) == ["crm.get"]
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    beside = file if in_place else file.with_suffix(".new")
    beside.write_text(other)
    os.utime(beside, ns=times)
    beside.replace(file)
    assert (len(other), file.stat().st_mtime_ns) == (len(before), times[1])
    assert list(lock.read().lines) == ["crm.put"]


@pytest.mark.parametrize("in_place", [True, False])
def test_a_lock_that_someone_else_replaces_while_it_is_written_is_not_taken_for_ours(
    file: Path, in_place: bool, monkeypatch: pytest.MonkeyPatch
):
    lock, really = LockFileAt(file), os.fsync

    def fsync(number: int) -> None:
        really(number)
        # The folder is synced when the file has its name: an editor, or git, may come now.
        if stat.S_ISDIR(os.fstat(number).st_mode):
            beside = file if in_place else file.with_suffix(".theirs")
            beside.write_text(format_lock(TAKEN))
            beside.replace(file)

    lock.read()
    monkeypatch.setattr(os, "fsync", fsync)
    lock.write(GRANTED)
    assert lock.read() == TAKEN


def test_what_is_kept_for_eligible_sets_can_be_asked_for_from_several_threads():
    kept: Kept[bytes] = Kept(20)
    wrong: list[Any] = []

    def ask(seed: int) -> None:
        try:
            for number in range(4_000):
                key = bytes([number * seed % 251])
                assert kept.get(key, lambda key=key: key, lambda _: 1) == key
        except BaseException as error:  # noqa: BLE001 - a thread's own end says nothing to the test
            wrong.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask, args=(seed,)) for seed in (3, 5, 7, 11)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []
