"""What `doctor` finds of tools and arguments that the configuration names and nobody lists: most likely misspelt.

A rule that asks for an approval and matches no tool lets pass what it should have held back: that one is a problem.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pegboard.cli.errors import NO
from pegboard.cli.finding import Finding, remark
from pegboard.cli.naming import nearest

if TYPE_CHECKING:
    from pegboard.config.parsers import At
    from pegboard.config.values import Config
    from pegboard.core.catalog import CatalogEntry
    from pegboard.wiring import System

__all__ = ["misnamed"]

_WILD = "*?["


async def misnamed(config: "Config", system: "System") -> Iterable[Finding]:
    """Name what is said of tools that are neither listed nor locked, and keys of calls that are no argument."""
    listed = [entry for entries in (await system.catalog.live()).values() for entry in entries]
    entries = {one.tool_id: one for one in (*listed, *(await system.catalog.current()).view.snapshot.entries)}
    if not entries:
        return []
    known = entries.keys() | system.keeper.show().lines.keys()
    seen = {one.server for one in await system.catalog.snapshots.listings()}
    coming = [f"{one.namespace}." for name, one in config.servers.items() if name not in seen]
    return [
        *(
            _unknown(at, name, known, asks and not _to_come(name, known, coming))
            for places, asks in _PLACES
            for at, name in places(config)
            if name not in known and not (asks and any(fnmatchcase(tool, name) for tool in known))
        ),
        *_keys(config, entries),
    ]


def _unknown(at: "At", pattern: str, known: Iterable[str], is_problem: bool) -> Finding:
    """Say that no tool answers to a name, and which may be meant."""
    wild = {f"{tool.rpartition('.')[0]}.*" for tool in known}
    message, near = f"no tool answers to {pattern!r}", nearest(pattern, [*known, *wild])
    fix = f"did you mean {near[0]}?" if near else "`pegboard catalog list` names the tools"
    if not is_problem:
        return remark("names", message, str(at), fix)
    message = f"{message}, so this rule asks for no approval of it"
    return Finding(check="names", level="problem", message=message, where=str(at), fix=fix, status=NO)


def _to_come(pattern: str, known: Iterable[str], coming: Iterable[str]) -> bool:
    """Say whether a pattern may be meant for tools to come: of a server never listed, or wild in a known namespace."""
    literal = pattern[: min((place for mark in _WILD if (place := pattern.find(mark)) >= 0), default=len(pattern))]
    if any(literal.startswith(one) or (literal != pattern and one.startswith(literal)) for one in coming):
        return True
    namespace = literal[: literal.rfind(".") + 1]
    return literal != pattern and any(tool.startswith(namespace) for tool in known)


def _asking(config: "Config") -> "Iterator[tuple[At, str]]":
    at = _file(config).key("approvals").key("when")
    for number, rule in enumerate(config.approvals.when, start=1):
        for place, glob in enumerate(rule.tools, start=1):
            yield at.item(number).key("tools").item(place), glob


def _described(config: "Config") -> "Iterator[tuple[At, str]]":
    return ((_file(config).key("tools").key(tool), tool) for tool in config.tools)


def _safe(config: "Config") -> "Iterator[tuple[At, str]]":
    at = _file(config).key("selection").key("safe_set")
    return ((at.item(place), tool) for place, tool in enumerate(config.selection.safe_set, start=1))


# One row a place that names tools: what stands there, and whether it is globs of a rule that asks for approvals.
_PLACES: "tuple[tuple[Callable[[Config], Iterator[tuple[At, str]]], bool], ...]" = (
    (_asking, True),
    (_described, False),
    (_safe, False),
)


def _keys(config: "Config", entries: "dict[str, CatalogEntry]") -> Iterator[Finding]:
    for tool, said in config.tools.items():
        arguments = _arguments(entries.get(tool))
        if said.key_argument is not None and arguments and said.key_argument not in arguments:
            near = nearest(said.key_argument, arguments)
            fix = f"did you mean {near[0]!r}?" if near else f"`pegboard catalog show {tool}` shows its arguments"
            at = _file(config).key("tools").key(tool).key("key_argument")
            yield remark("names", f"{tool} has no argument {said.key_argument!r}", str(at), fix)


def _arguments(entry: "CatalogEntry | None") -> Collection[str]:
    found = {} if entry is None else entry.input_schema.get("properties")
    return found if isinstance(found, dict) else ()


def _file(config: "Config") -> "At":
    from pegboard.config.parsers import At

    return At(str(config.file))
