"""The lock: the only artefact that lets a tool in, by tool id and content hash.

One JSON object a line, sorted by tool id, made to be merged and read as a diff. A tool whose id is not
here, or whose declared content has another hash, is eligible for nobody (laws 1 and 6).

A line is written once and kept with its text, and a line that is read again is the one that was read before: of a lock
of 100,000 tools a change costs its lines.

Source: SURFACE "pegboard.lock"; the lock files of package managers.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from pegboard.core.catalog import Flow, Reach, Risk
from pegboard.core.errors import LockError
from pegboard.core.names import Json, compact_json, digest_bytes, name_problem, parse_json

__all__ = ["Lock", "LockLine", "format_lock", "parse_lock"]

_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_Word = TypeVar("_Word", Risk, Reach, Flow)
_SURROGATE = re.compile("[\ud800-\udfff]")
_FIELDS = ("tool", "hash", "access", "risk", "reach", "flow", "by", "at")
_MORE_FIELDS = ("server",)


@dataclass(frozen=True, kw_only=True)
class LockLine:
    """What is granted to one tool: its content hash, an access template, and how it is to be handled.

    `server` is the one that owned the tool when it was approved: calls carry arguments, and another server that
    declares the same tool byte for byte was approved by nobody. None, as in a line written by hand, names none.
    `by` says who approved it and `at` when (RFC 3339, UTC).
    """

    tool: str
    hash: str
    access: str
    risk: Risk
    reach: Reach
    flow: frozenset[Flow] = frozenset()
    by: str
    at: str
    server: str | None = None

    def __post_init__(self) -> None:
        if self.risk is Risk.READ and self.reach is Reach.OPEN:
            raise ValueError("a tool of open reach runs what it is given, so its risk cannot be read")

    def is_of(self, server: str) -> bool:
        """Say whether the line may grant a tool of this server."""
        return self.server in (None, server)

    @cached_property
    def text(self) -> str:
        """Write the line as it stands in the file."""
        return compact_json(self.to_json())

    def to_json(self) -> dict[str, Json]:
        """Return the line as it stands in the file, keys in the file's order."""
        return {
            "tool": self.tool,
            "hash": self.hash,
            "access": self.access,
            "risk": str(self.risk),
            "reach": str(self.reach),
            "flow": sorted(map(str, self.flow)),
            "by": self.by,
            "at": self.at,
            **({} if self.server is None else {"server": self.server}),
        }


@dataclass(frozen=True)
class Lock:
    """All lines, by tool id. Immutable: `granting` and `without` return another lock."""

    lines: Mapping[str, LockLine]

    @classmethod
    def of(cls, lines: Iterable[LockLine] = ()) -> "Lock":
        """Build a lock; the last line for a tool stands."""
        found = {line.tool: line for line in lines}
        return cls({tool: found[tool] for tool in sorted(found)})

    @cached_property
    def digest(self) -> str:
        """Identify this state of the lock by its content: the digest of the file as it is written."""
        return digest_bytes(format_lock(self).encode())

    def __iter__(self) -> Iterator[LockLine]:
        return iter(self.lines.values())

    def __len__(self) -> int:
        return len(self.lines)

    def grants(self, tool_id: str, schema_hash: str, server: str) -> bool:
        """Say whether this content of this tool is granted to this server."""
        line = self.lines.get(tool_id)
        return line is not None and line.hash == schema_hash and line.is_of(server)

    def differing(self, other: "Lock") -> frozenset[str]:
        """Return the tools whose lines are not the same in both."""
        if other is self:
            return frozenset()
        theirs = other.lines
        changed = (tool for tool, line in self.lines.items() if (old := theirs.get(tool)) is not line and old != line)
        return frozenset((*changed, *(theirs.keys() - self.lines.keys())))

    def granting(self, lines: Iterable[LockLine]) -> "Lock":
        """Return a lock in which *lines* replace or join the present ones."""
        return Lock.of([*self, *lines])

    def without(self, tools: Iterable[str]) -> "Lock":
        """Return a lock that grants none of *tools*."""
        gone = set(tools)
        return Lock.of(line for line in self if line.tool not in gone)


def format_lock(lock: Lock) -> str:
    """Write the file: one line a tool, sorted by tool id, ending in a newline where there is any."""
    return "".join(f"{line.text}\n" for line in lock)


def parse_lock(text: str, where: str = "pegboard.lock", known: Lock | None = None) -> Lock:
    """Read the file, strictly: whatever is not a whole valid line is an error, and then nothing is granted.

    Args:
        text: The file.
        where: What errors call it.
        known: A lock that was read before; a line that is written as one of it is taken over from it.

    Raises:
        LockError: A line is no JSON, misses or adds a field, has a value outside its list, or repeats a
            tool; or a merge left its marks.
    """
    found: dict[str, LockLine] = {}
    before = {} if known is None else {line.text: line for line in known}
    for number, line in enumerate(text.split("\n"), start=1):
        if (same := before.get(line)) is not None and same.tool not in found:
            found[same.tool] = same
            continue
        if not line.strip():
            continue
        at = f"{where}, line {number}"
        if line.startswith(("<<<<<<<", "=======", ">>>>>>>", "|||||||")):
            raise LockError(problem="a merge left its marks in the lock", where=at, fix="keep one line for each tool")
        parsed = _parse_line(line, at)
        if parsed.tool in found:
            raise LockError(
                problem=f"the tool {parsed.tool!r} has two lines", where=at, fix="keep the one that was approved"
            )
        found[parsed.tool] = parsed
    return Lock.of(found.values())


def _parse_line(line: str, at: str) -> LockLine:
    try:
        value = parse_json(line)
    except ValueError as error:
        raise LockError(problem=f"not a JSON object: {error}", where=at, fix=_RESTORE) from None
    if not isinstance(value, dict):
        raise LockError(problem="not a JSON object", where=at, fix=_RESTORE)
    for name in _FIELDS:
        if name not in value:
            raise LockError(problem=f"the field {name!r} is missing", where=at, fix=_RESTORE)
    for name in value:
        if name not in _FIELDS + _MORE_FIELDS:
            known = ", ".join(_FIELDS + _MORE_FIELDS)
            raise LockError(problem=f"unknown field {name!r}", where=at, fix=f"the fields are {known}")
    try:
        return LockLine(
            tool=_tool(value["tool"]),
            hash=_hash(value["hash"]),
            access=_text("access", value["access"]),
            risk=_one_of(Risk, "risk", value["risk"]),
            reach=_one_of(Reach, "reach", value["reach"]),
            flow=frozenset(_one_of(Flow, "flow", item) for item in _list(value["flow"])),
            by=_text("by", value["by"]),
            at=_text("at", value["at"]),
            server=_text("server", value["server"]) if "server" in value else None,
        )
    except ValueError as error:
        raise LockError(problem=str(error), where=at, fix=_RESTORE) from None


_RESTORE = "restore the line from version control, or remove it and approve the tool again"


def _text(name: str, value: Json) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"the field {name!r} must be a text that is not empty")
    if _SURROGATE.search(value):
        raise ValueError(f"the field {name!r} holds a lone surrogate")
    return value


def _one_of(kind: type[_Word], name: str, value: Json) -> _Word:
    text = _text(name, value)
    if text not in list(kind):
        raise ValueError(f"the field {name!r} must be one of {', '.join(kind)}, not {text!r}")
    return kind(text)


def _tool(value: Json) -> str:
    text = _text("tool", value)
    if problem := name_problem(text):
        raise ValueError(f"the field 'tool' {problem}")
    return text


def _hash(value: Json) -> str:
    text = _text("hash", value)
    if not _HASH.fullmatch(text):
        raise ValueError("the field 'hash' must be sha256: and 64 hex digits")
    return text


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise ValueError("the field 'flow' must be a list")
    return value
