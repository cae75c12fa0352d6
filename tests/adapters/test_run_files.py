"""Finished tasks are kept as they come: of one evaluation for the next, of two at once each in its own file."""

import pytest

from pegboard.adapters.run_files import RunFile
from pegboard.core.errors import StoreError
from pegboard.evaluation.runs import Run

KEY = "0123456789abcdef0123"
ONE, TWO = Run(task_id="1", outcome="selected", loaded=("a",)), Run(task_id="2", outcome="no_tool")


def done(folder, key=KEY, *, resume=True):
    """What an evaluation takes over that ends before it has done anything."""
    file = RunFile(folder, key, resume=resume)
    file.interrupt()
    return file.done


def test_what_was_left_is_there_for_whoever_resumes_the_same_and_for_nobody_else(tmp_path):
    first = RunFile(tmp_path / "kept", KEY, resume=False)
    first.keep("dynamic", ONE)
    first.interrupt()
    assert done(tmp_path / "kept", resume=False) == {}
    assert done(tmp_path / "kept", "f" * 20) == {}
    assert done(tmp_path / "kept") == {"dynamic": {"1": ONE}}


def test_two_at_once_write_apart_and_the_first_to_finish_takes_nothing_from_the_other(tmp_path):
    one, two = (RunFile(tmp_path / "kept", KEY, resume=False) for _ in range(2))
    one.keep("dynamic", ONE)
    two.keep("dynamic", TWO)
    one.finish()
    two.interrupt()
    assert done(tmp_path / "kept") == {"dynamic": {"2": TWO}}


def test_nothing_stays_of_what_finished_or_never_began(tmp_path):
    RunFile(tmp_path / "kept", KEY, resume=False).interrupt()
    assert list((tmp_path / "kept").iterdir()) == []
    left = RunFile(tmp_path / "kept", KEY, resume=False)
    left.keep("dynamic", ONE)
    left.interrupt()
    RunFile(tmp_path / "kept", KEY, resume=True).finish()
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("line", ["", "{", "[]", '{"arm": "x"}', '{"arm": "x", "run": {"colour": 1}}', "\u00ff"])
def test_a_line_that_is_none_is_left_out(tmp_path, line):
    file = RunFile(tmp_path, KEY, resume=False)
    file.keep("dynamic", ONE)
    file.interrupt()
    (path,) = tmp_path.iterdir()
    path.write_bytes(line.encode("latin-1") + b"\n" + path.read_bytes())
    assert done(tmp_path) == {"dynamic": {"1": ONE}}


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "kept").write_text("a file")
    with pytest.raises(StoreError, match="cannot be kept"):
        RunFile(tmp_path / "kept", KEY, resume=False)
