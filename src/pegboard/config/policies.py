"""The Cedar policy files that `[policy] cedar` names: globs and names, relative to the configuration.

Any file that is there counts, an empty one too: with it nothing is permitted but what a policy permits. A file that
is named and not there is an error, since to go on without it could permit more than was meant.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from pegboard.config.parsers import At
from pegboard.config.reading import is_there, placed, read_text
from pegboard.config.values import Notice
from pegboard.core.errors import ConfigError

__all__ = ["policies_at", "unmatched"]

_WILD = frozenset("*?[")


def policies_at(path: Path, written: Iterable[str]) -> dict[str, str]:
    """Return the texts of the policy files, by their names as seen from the configuration's folder.

    Raises:
        ConfigError: One is named and not there, or cannot be read.
    """
    found: dict[str, str] = {}
    for each in written:
        files = _files(path, each)
        if not files and not _WILD.intersection(each):
            raise ConfigError(
                f"there is no policy file {each!r}", str(_at(path)), "name one that is there, or remove it"
            )
        for file in files:
            inside = file.is_relative_to(path.parent)
            found[(file.relative_to(path.parent) if inside else file).as_posix()] = read_text(file)
    return found


def unmatched(path: Path, written: Iterable[str]) -> Iterator[Notice]:
    """Yield a notice for each glob that no file matches."""
    for each in written:
        if _WILD.intersection(each) and not _files(path, each):
            yield Notice(where=str(_at(path)), problem=f"no file matches {each!r}, so no policy of it is in force")


def _files(path: Path, written: str) -> list[Path]:
    """Return the files that one entry names.

    Raises:
        ConfigError: It cannot be read as a name or a glob.
    """
    try:
        whole = placed(path.parent, written)
        if not _WILD.intersection(written):
            return [whole] if is_there(whole) else []
        found = Path(whole.anchor).glob(str(whole.relative_to(whole.anchor)))
        return sorted(file for file in found if file.is_file())
    except ValueError as error:
        raise ConfigError(f"{written!r} cannot be used: {error}", str(_at(path)), "name another file") from None


def _at(path: Path) -> At:
    return At(str(path), "policy.cedar")
