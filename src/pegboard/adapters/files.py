"""The files that people keep: the lock, catalog files and saved listings.

Reading is strict and bounded. The lock is all or nothing: one line that is not right grants nothing to anyone.
A catalog is taken line by line: one bad line is a `Problem` and hides no other.

Source: SURFACE "Files"; JSON Lines, https://jsonlines.org.
"""

import os
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BufferedReader

from pegboard.adapters.durable import reason, replace_file
from pegboard.core.catalog import ALWAYS, CatalogEntry
from pegboard.core.errors import ConfigError, LockError, StoreError
from pegboard.core.lock import Lock, format_lock, parse_lock
from pegboard.core.names import Json, compact_json, name_problem, parse_json

__all__ = [
    "CatalogFile",
    "ListingsFolder",
    "LockFileAt",
    "Problem",
    "RawTool",
    "SavedListing",
    "read_catalog_file",
    "read_listings_folder",
    "write_catalog_file",
]

# A lock line has about 330 bytes: 800,000 tools.
MAX_LOCK_BYTES = 256 * 1024 * 1024
# The largest of 2,583 published tools has 60 KB, and intake takes schemas up to 256 KiB.
MAX_LINE_BYTES = 1024 * 1024
MAX_LINES = 2_000_000
# The largest of 63 published listings has 2 MB.
MAX_LISTING_BYTES = 64 * 1024 * 1024
MAX_LISTINGS = 10_000
_BOM = b"\xef\xbb\xbf"
_TASKS = "a file of labelled tasks"
_RESTORE = "restore it from version control, or remove what is wrong and approve those tools again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What could not be read: a line of a catalog file, a file of a folder, or a part of one."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTool:
    """One tool as it stands in a file, its fields not yet looked at; `where` names file and line or place."""

    where: str
    value: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFile:
    """A catalog file, in its order."""

    tools: tuple[RawTool, ...]
    problems: tuple[Problem, ...]
    server: str | None = None
    """Whose tools those are that name no owner, as model APIs write them: the file's name, where it is one document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedListing:
    """What one server listed, tools in its order. Its `instructions` are not read: they are passed on to nobody."""

    server: str
    tools: tuple[RawTool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingsFolder:
    """A folder of saved listings, by file name."""

    listings: tuple[SavedListing, ...]
    problems: tuple[Problem, ...]


class LockFileAt:
    """`LockFile` on a file of JSON Lines.

    A write follows the read before it: where the file has changed in between, someone else's approval or
    withdrawal would be undone without a word, so the write is refused.

    What was read or written last is kept: a file that has not moved since is not read again, and of one that has only
    the lines that are new are parsed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._read: object = None
        self._lock: Lock | None = None

    def stamp(self) -> object:
        """Return what tells one state of the file from another without reading it. Never raises."""
        try:
            return _stamp(os.stat(self._path))
        except (OSError, ValueError) as error:
            return type(error).__name__

    def read(self) -> Lock:
        """Return the lock, an empty one where there is none yet.

        Raises:
            LockError: The file cannot be read, or a line of it is not valid; nothing is granted then.
        """
        stamp = self.stamp()
        if self._lock is not None and stamp == self._read:
            return self._lock
        try:
            with open(self._path, "rb") as file:
                content = file.read(MAX_LOCK_BYTES + 1)
        except FileNotFoundError:
            self._read, self._lock = stamp, Lock.of()
            return self._lock
        except (OSError, ValueError) as error:
            fix = "make it a file that this account may read"
            raise LockError(f"the lock cannot be read: {reason(error)}", self._path, fix) from error
        if len(content) > MAX_LOCK_BYTES:
            raise LockError(f"the lock has more than {MAX_LOCK_BYTES:,} bytes", self._path, _RESTORE)
        self._lock = parse_lock(self._text(content), self._path, self._lock)
        self._read = stamp
        return self._lock

    def write(self, lock: Lock) -> None:
        """Replace the lock whole, durably.

        Raises:
            StoreError: It cannot be written, or has changed since this object read it; the old one stands.
        """
        written = replace_file(self._path, [format_lock(lock).encode()], allowed=self._check_unchanged)
        self._read, self._lock = _stamp(written), lock

    def _text(self, content: bytes) -> str:
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise LockError("the lock is not UTF-8", f"{self._path}, line {line}", _RESTORE) from error

    def _check_unchanged(self) -> None:
        if self._read is not None and self.stamp() != self._read:
            raise StoreError("the lock has changed since it was read", self._path, "run the command again")


def _stamp(found: os.stat_result) -> object:
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def read_catalog_file(path: str | os.PathLike[str], meant: str = "a catalog file of JSON Lines") -> CatalogFile:
    """Read a catalog file: one JSON object a line; blank lines are skipped. Or one JSON document with all tools.

    Raises:
        ConfigError: The file cannot be opened or read; the advice is to name what is *meant*.
    """
    name = os.fspath(path)
    tools: list[RawTool] = []
    problems: list[Problem] = []
    try:
        with open(name, "rb") as file:
            if document := _document(file, name):
                return document
            for number, line in _lines(file):
                where = f"{name}, line {number}"
                if number > MAX_LINES:
                    problems.append(
                        Problem(where=where, reason=f"more than {MAX_LINES:,} lines; the rest was not read")
                    )
                    break
                found = _object(line, where, MAX_LINE_BYTES)
                if isinstance(found, Problem):
                    problems.append(found)
                elif found is not None:
                    tools.append(RawTool(where=where, value=found))
    except (OSError, ValueError) as error:
        raise _unreadable(name, error, meant) from error
    return CatalogFile(tools=tuple(tools), problems=tuple(problems))


def read_fixture_file(path: str | os.PathLike[str]) -> CatalogFile:
    """Read labelled tasks: JSON Lines, or TOML with `[[task]]` where the name ends so.

    Raises:
        ConfigError: The file cannot be opened, or is no TOML.
    """
    name = os.fspath(path)
    if not name.endswith(".toml"):
        return read_catalog_file(name, _TASKS)
    try:
        with open(name, "rb") as file:
            tasks = tomllib.load(file).get("task", [])
    except (OSError, ValueError) as error:
        raise _unreadable(name, error, _TASKS) from error
    if not isinstance(tasks, list):
        raise ConfigError(problem="'task' must be a list of tables", where=name, fix="write each under [[task]]")
    return CatalogFile(
        tools=tuple(RawTool(where=f"{name}, task {n}", value=one) for n, one in enumerate(tasks, start=1)), problems=()
    )


def read_listings_folder(path: str | os.PathLike[str]) -> ListingsFolder:
    """Read every `*.json` of a folder, one server each; other files and subfolders are left alone.

    Raises:
        ConfigError: The folder cannot be read.
    """
    folder = os.fspath(path)
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith("."))
    except (OSError, ValueError) as error:
        raise _unreadable(folder, error, "a folder of saved listings") from error
    listings: dict[str, SavedListing] = {}
    problems: list[Problem] = []
    for name in names[:MAX_LISTINGS]:
        where = os.path.join(folder, name)
        found, bad = _listing(where)
        problems += bad
        if found is None:
            continue
        if found.server in listings:
            problems.append(Problem(where=where, reason=f"the server {found.server!r} has a file before this one"))
        else:
            listings[found.server] = found
    if len(names) > MAX_LISTINGS:
        problems.append(Problem(where=folder, reason=f"only the first {MAX_LISTINGS:,} files were read"))
    return ListingsFolder(listings=tuple(listings.values()), problems=tuple(problems))


def write_catalog_file(entries: Iterable[CatalogEntry], path: str | os.PathLike[str]) -> None:
    """Write a catalog file that imports to the same entries, durably.

    It holds what servers declared, what was curated and what is proposed; digests and mentions are computed when it
    is read, and what is granted stands in the lock alone.

    Raises:
        StoreError: The file cannot be written; an old one stands.
    """
    replace_file(os.fspath(path), (f"{compact_json(_line(entry))}\n".encode() for entry in entries))


def _line(entry: CatalogEntry) -> dict[str, Json]:
    proposal = entry.proposal
    fields: dict[str, Json] = {
        "tool_id": entry.tool_id,
        "namespace": entry.namespace,
        "source_server": entry.source_server,
        "name": entry.name,
        "title": entry.title,
        "summary": entry.summary,
        "description": entry.description,
        "examples": entry.examples or None,
        "keywords": entry.keywords or None,
        "input_schema": None if entry.undeclared_schema else entry.input_schema,
        "output_schema": entry.output_schema,
        "annotations": entry.annotations or None,
        "enabled": None if entry.enabled else False,
        "pinned": "always" if entry.pinned == (ALWAYS,) else entry.pinned or None,
        "access": proposal.access,
        "risk": proposal.risk,
        "reach": proposal.reach,
        "flow": None if proposal.flow is None else sorted(proposal.flow),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _unreadable(path: str, error: OSError | ValueError, what: str) -> ConfigError:
    return ConfigError(problem=f"it cannot be read: {reason(error)}", where=path, fix=f"name {what}")


def _document(file: BufferedReader, name: str) -> CatalogFile | None:
    """Read a file that is one list of tools, or one object over several lines; None where it is read by lines."""
    first = file.readline(MAX_LINE_BYTES + 1).removeprefix(_BOM).strip()
    try:
        head = parse_json(first)
        is_lines = isinstance(head, dict) and not isinstance(head.get("tools"), list)
    except ValueError:
        is_lines = False
    file.seek(0)
    content = b"" if is_lines else file.read(MAX_LISTING_BYTES + 1).removeprefix(_BOM)
    file.seek(0)
    try:
        value = parse_json(content) if 0 < len(content) <= MAX_LISTING_BYTES else None
    except ValueError:
        return None
    if not isinstance(value, list | dict):
        return None
    found = value if isinstance(value, list) else [value]
    places = [(f"{name}, tool {number}", one) for number, one in enumerate(found, start=1)]
    return CatalogFile(
        tools=tuple(RawTool(where=where, value=one) for where, one in places if isinstance(one, dict)),
        problems=tuple(
            Problem(where=where, reason="it is not a JSON object") for where, one in places if not isinstance(one, dict)
        ),
        server=os.path.splitext(os.path.basename(name))[0],
    )


def _lines(file: BufferedReader) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines from 1; of a line that is too long its beginning, one byte more than may be."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        rest = line
        while rest and not rest.endswith(b"\n") and len(rest) > MAX_LINE_BYTES:
            rest = file.readline(MAX_LINE_BYTES + 1)
        yield number, (line.removeprefix(_BOM) if number == 1 else line).removesuffix(b"\n")


def _object(content: bytes, where: str, limit: int) -> dict[str, Json] | Problem | None:
    """Parse one JSON object; None where there is nothing but blanks."""
    if len(content) > limit:
        return Problem(where=where, reason=f"it has more than {limit:,} bytes")
    try:
        text = content.decode("utf-8")
        if not text.strip():
            return None
        value = parse_json(text)
    except UnicodeDecodeError as error:
        return Problem(where=where, reason=f"it is not UTF-8 at byte {error.start + 1}")
    except ValueError as error:
        return Problem(where=where, reason=f"it is not JSON: {error}")
    return value if isinstance(value, dict) else Problem(where=where, reason="it is not a JSON object")


def _listing(where: str) -> tuple[SavedListing | None, list[Problem]]:
    if not os.path.isfile(where):
        return None, [Problem(where=where, reason="it is no file")]
    try:
        with open(where, "rb") as file:
            content = file.read(MAX_LISTING_BYTES + 1).removeprefix(_BOM)
    except OSError as error:
        return None, [Problem(where=where, reason=f"it cannot be read: {reason(error)}")]
    found = _object(content, where, MAX_LISTING_BYTES)
    if not isinstance(found, dict):
        return None, [found or Problem(where=where, reason="it is empty")]
    server, raws = found.get("server"), found.get("tools")
    if not isinstance(server, str):
        return None, [Problem(where=where, reason="its 'server' must be a text")]
    if problem := name_problem(server):
        return None, [Problem(where=where, reason=f"its 'server' {problem}")]
    if not isinstance(raws, list):
        return None, [Problem(where=where, reason="its 'tools' must be a list")]
    tools: list[RawTool] = []
    problems: list[Problem] = []
    for number, raw in enumerate(raws, start=1):
        place = f"{where}, tool {number}"
        if isinstance(raw, dict):
            tools.append(RawTool(where=place, value=raw))
        else:
            problems.append(Problem(where=place, reason="it is not a JSON object"))
    return SavedListing(server=server, tools=tuple(tools)), problems
