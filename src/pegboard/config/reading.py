"""Reading a text file that an operator named, bounded, with an error that says what to do."""

from pathlib import Path

from pegboard.core.errors import ConfigError

__all__ = ["read_text"]

# The largest of these files that people keep is a client's whole state, a few megabytes.
_BYTES = 32 * 1024 * 1024


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
