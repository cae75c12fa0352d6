"""Files that an operator named: where they are, and their text, bounded, with an error that says what to do."""

import tomllib
from pathlib import Path
from typing import Any

from pegboard.core.errors import ConfigError

__all__ = ["is_there", "placed", "read_text", "read_toml"]

# The largest of these files that people keep is a client's whole state, a few megabytes.
_BYTES = 32 * 1024 * 1024


def placed(folder: Path, written: str) -> Path:
    """Return the path that is meant: `~` is a home folder, and what is not absolute lies in *folder*.

    Raises:
        ValueError: No path is written so, or nobody has that home folder.
    """
    if "\0" in written:
        raise ValueError("no path holds a NUL character")
    try:
        return folder / Path(written).expanduser()
    except (RuntimeError, ValueError):
        raise ValueError(f"there is no home folder {Path(written).parts[0]!r}") from None


def is_there(path: Path) -> bool:
    """Say whether there is such a file.

    Raises:
        ConfigError: That cannot be seen.
    """
    try:
        return path.exists()
    except OSError as error:
        raise ConfigError(f"this file cannot be read: {error.strerror}", str(path), "check the path") from error


def read_text(path: Path) -> str:
    """Return the text of a file, a byte order mark left out.

    Raises:
        ConfigError: It cannot be opened, is larger than 32 MiB, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"this file cannot be read: {error.strerror}", str(path), "check the path") from error
    if len(data) > _BYTES:
        raise ConfigError("this file is larger than 32 MiB", str(path), "name another file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"this file is not UTF-8: byte {error.start} cannot be read", str(path), "save it as UTF-8"
        ) from None


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file; none where there is no such file.

    Raises:
        ConfigError: It cannot be read, or is not TOML.
    """
    if not is_there(path):
        return {}
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        problem = str(error)
    except RecursionError:
        problem = "it is nested too deeply"
    except ValueError:  # Python's own bound on the digits that it converts
        problem = "a number in it has too many digits"
    raise ConfigError(f"this file is not TOML: {problem}", str(path), "correct it there")
