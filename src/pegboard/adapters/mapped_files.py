"""Large bodies beside a store as files, memory-mapped: what can be made again and need not be copied to be read.

Processes that open one share its pages. A file is named by its SHA-256, written whole under another name and then
moved, and checked when it is opened: what is missing, cut or changed counts as not kept. What is mapped stays when
its file is removed, so nobody waits for readers.

Source: POSIX.1-2024, `mmap` and `rename`.
"""

import hashlib
import mmap
import os
import re
import tempfile
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

__all__ = ["keep", "keep_only", "opened"]

_NAME = re.compile(r"[0-9a-f]{64}")
_UNFINISHED = "unfinished-"


def keep(folder: Path, body: bytes) -> str:
    """Write *body* where it is not kept already, readable by its owner alone, and return its name.

    Raises:
        OSError: The folder or the file cannot be written.
    """
    name = hashlib.sha256(body).hexdigest()
    if opened(folder, name) is not None:
        return name
    folder.mkdir(mode=0o700, exist_ok=True)
    number, unfinished = tempfile.mkstemp(prefix=_UNFINISHED, dir=folder)
    try:
        # Not synced: a file that a loss of power cut is found out by its digest and made again.
        with os.fdopen(number, "wb") as file:
            file.write(body)
        os.replace(unfinished, folder / name)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished)
        raise
    return name


def opened(folder: Path, name: str) -> memoryview | None:
    """Map the file *name*, read-only; None where it is not kept or is not what it was."""
    if not _NAME.fullmatch(name):
        return None
    try:
        with (folder / name).open("rb") as file:
            body = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    # An empty file cannot be mapped, which is a ValueError.
    except (OSError, ValueError):
        return None
    return body if hashlib.sha256(body).hexdigest() == name else None


def keep_only(folder: Path, names: Collection[str]) -> None:
    """Remove every other file of ours, what was never finished too."""
    with suppress(OSError):
        for path in folder.iterdir():
            ours = _NAME.fullmatch(path.name) or path.name.startswith(_UNFINISHED)
            if ours and path.name not in names:
                path.unlink(missing_ok=True)
