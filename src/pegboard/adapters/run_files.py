"""Finished tasks of an evaluation, kept while it runs, so that one that was interrupted goes on where it was.

JSON Lines, one `{"arm", "run"}` a line. Every evaluation writes a file of its own, whose name begins with what it
evaluates: two at once never write into one, and only what would be the same again is taken over.
"""

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pegboard.adapters.durable import reason
from pegboard.core.errors import StoreError
from pegboard.core.names import compact_json, parse_json
from pegboard.evaluation.runs import Run

__all__ = ["FOLDER", "RunFile"]

FOLDER = ".pegboard-eval"
_KEY_DIGITS = 16


class RunFile:
    """What one evaluation has finished, and what interrupted ones of the same key had."""

    def __init__(self, folder: Path, key: str, *, resume: bool) -> None:
        """Begin a file; with *resume* read what was left.

        Raises:
            StoreError: The folder cannot be written.
        """
        prefix = f"{key[:_KEY_DIGITS]}."
        self._left = tuple(sorted(folder.glob(f"{prefix}*.jsonl"))) if resume else ()
        self.count = 0
        """How many are kept here."""
        self.done: dict[str, dict[str, Run]] = {}
        """The finished runs by arm and task."""
        self._read()
        try:
            folder.mkdir(exist_ok=True)
            number, name = tempfile.mkstemp(prefix=prefix, suffix=".jsonl", dir=folder)
        except OSError as error:
            problem = f"finished tasks cannot be kept: {reason(error)}"
            raise StoreError(problem, str(folder), "make it a folder that this account may write") from error
        self._file = os.fdopen(number, "w", encoding="utf-8")
        self._path = Path(name)

    def keep(self, arm: str, run: Run) -> None:
        """Keep a finished task; what was taken over is kept again, since the files it came from go at the end."""
        self._file.write(f"{compact_json({'arm': arm, 'run': run.to_json()})}\n")
        self._file.flush()
        self.count += 1

    def finish(self) -> None:
        """Remove everything: the report has it."""
        self._file.close()
        for path in (self._path, *self._left):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            # Another evaluation may have its own there.
            self._path.parent.rmdir()

    def interrupt(self) -> None:
        """Leave what is finished for the next time."""
        self._file.close()
        if not self._path.stat().st_size:
            self._path.unlink()

    def _read(self) -> None:
        for path in self._left:
            for line in _lines(path):
                try:
                    value = parse_json(line)
                    assert isinstance(value, dict)
                    arm, run = value["arm"], Run.from_json(value["run"])
                except (ValueError, KeyError, TypeError, AssertionError):
                    # The line at which the other was ended.
                    continue
                self.done.setdefault(arm, {})[run.task_id] = run


def _lines(path: Path) -> Sequence[bytes]:
    try:
        return path.read_bytes().splitlines()
    except OSError:
        # Another evaluation has just finished and removed it.
        return ()
