"""Replace a file whole: after any fault, a loss of power included, the old content stands there or the new one.

Written beside it, synced, renamed over it, and the folder synced: what a reader opens is never half a file.

Source: POSIX `rename`; the order of syncs as in SQLite's and git's writers.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from pegboard.core.errors import StoreError

__all__ = ["reason", "replace_file"]


def replace_file(path: str, parts: Iterable[bytes], *, allowed: Callable[[], None] = lambda: None) -> os.stat_result:
    """Replace the content of *path*, keeping its permissions and owner; a link stays and its target is replaced.

    Args:
        path: The file; its folder must exist, the file need not.
        parts: The new content.
        allowed: Asked last, while no other caller of this function can replace a file of this folder;
            what it raises ends the attempt.

    Returns:
        The status of the file as written here, whatever is written after it.

    Raises:
        StoreError: The file or its folder cannot be written; the old content stands.
    """
    try:
        target = os.path.realpath(path)
        before = _status(target)
        # One name is enough where one writes at a time, and what a killed writer left is replaced by the next.
        beside = f"{target}.new"
        with _folder(os.path.dirname(target)) as folder:
            try:
                written = _write(beside, parts, before)
                allowed()
                os.replace(beside, target)
            except BaseException:
                with suppress(OSError):
                    os.unlink(beside)
                raise
            os.fsync(folder)
            return _as_written(target, written)
    except (OSError, ValueError) as error:
        raise StoreError(
            problem=f"the file cannot be written: {reason(error)}",
            where=path,
            fix=_FIXES.get(getattr(error, "errno", 0), _FIX),
        ) from error


def reason(error: OSError | ValueError) -> str:
    """Say what the operating system said, without the path."""
    return (getattr(error, "strerror", None) or str(error)).lower()


_FIX = "check that the folder exists and that this account may write the file and the folder"
_FIXES: dict[int | None, str] = {
    errno.ENOSPC: "free some space and try again",
    errno.EDQUOT: "free some space and try again",
    errno.EISDIR: "name a file; this is a folder",
}


def _status(target: str) -> os.stat_result | None:
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    # A rename needs no right to the file itself; whoever made it read-only meant it.
    if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, "it may not be written")
    return found


@contextmanager
def _folder(path: str) -> Iterator[int]:
    """Open a folder and be the only one of us who replaces files there."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(folder)


def _as_written(target: str, written: os.stat_result) -> os.stat_result:
    """Return the status of the file under its name, or as it was *written* where another took the name meanwhile."""
    found = os.stat(target)
    # The rename has moved the time of its status on, and nothing else.
    ours = (written.st_ino, written.st_mtime_ns, written.st_size)
    return found if (found.st_ino, found.st_mtime_ns, found.st_size) == ours else written


def _write(path: str, parts: Iterable[bytes], like: os.stat_result | None) -> os.stat_result:
    with suppress(FileNotFoundError):
        os.unlink(path)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666), "wb") as file:
        if like is not None:
            # Another account's file stays that account's where the system lets us.
            with suppress(PermissionError):
                os.fchown(file.fileno(), like.st_uid, like.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(like.st_mode))
        file.writelines(parts)
        file.flush()
        os.fsync(file.fileno())
        return os.fstat(file.fileno())
