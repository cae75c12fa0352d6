"""Which tool an operator means: its id, or `namespace/name` where only one tool answers to it."""

from collections.abc import Iterable
from difflib import get_close_matches

from pegboard.core.catalog import CatalogEntry
from pegboard.core.errors import ConfigError, UnknownToolError

__all__ = ["meant", "named", "nearest"]

# Comparing takes long for many names, and nobody mistypes one into something of another length.
_COMPARED = 20_000


def meant(name: str, entries: Iterable[CatalogEntry], fix: str | None = None) -> CatalogEntry:
    """Return the entry that *name* stands for.

    Raises:
        UnknownToolError: There is none; with the nearest ids.
        ConfigError: Several answer to `namespace/name`.
    """
    entries = tuple(entries)
    found = named(name, entries)
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigError(
            problem=f"{name!r} may be {' or '.join(one.tool_id for one in found)}", fix="name the tool by its id"
        )
    raise UnknownToolError(tool_id=name, nearest=nearest(name, (one.tool_id for one in entries)), fix=fix)


def named(name: str, entries: Iterable[CatalogEntry]) -> tuple[CatalogEntry, ...]:
    """Return the entry of this id, or all that answer to `namespace/name`, in either form that a name has."""
    entries = tuple(entries)
    exact = tuple(one for one in entries if one.tool_id == name)
    namespace, slash, last = name.partition("/")
    if exact or not slash:
        return exact
    return tuple(
        one for one in entries if one.namespace == namespace and last in {one.name, one.name.rpartition(".")[2]}
    )


def nearest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return up to three known names that are like *name*, the likest first."""
    alike = [one for one in known if abs(len(one) - len(name)) <= max(4, len(name) // 2)]
    return tuple(get_close_matches(name.replace("/", "."), alike[:_COMPARED], n=3, cutoff=0.6))
