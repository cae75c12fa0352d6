"""Other clients' files of servers: what each entry means here (`client_files.py` reads the files themselves).

Other programs own these files, so a key that means nothing here is a notice and no error, and a server that cannot
be used is that server's problem. A file that is no such file at all is an error, since the operator named it.

Source: the clients' documentation of `mcpServers`; `${VAR}` and `${VAR:-default}` as Claude Code replaces them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pegboard.config.client_files import read_table
from pegboard.config.credentials import located
from pegboard.config.parsers import At, Problems, section, text, texts, wrong
from pegboard.config.servers import ServerPart, resolve
from pegboard.config.values import Notice, ServerConfig
from pegboard.core.names import name_problem

__all__ = ["McpServersFile", "parts_of", "read_mcp_servers"]

_KEYS = ("command", "args", "env", "cwd", "type", "url", "headers", "disabled")
_STREAMABLE = ("http", "streamable-http", "streamableHttp", "streamable_http")


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServersFile:
    """The servers of one file by name, and what in it means nothing here. Servers that it switches off are left out."""

    servers: Mapping[str, ServerConfig]
    notices: tuple[Notice, ...] = ()


def read_mcp_servers(path: Path, environ: Mapping[str, str]) -> McpServersFile:
    """Read a file and resolve every server of it.

    Raises:
        ConfigError: The file cannot be read, is not JSON or TOML, or has no table of servers.
    """
    parts, notices = parts_of(path)
    servers = {name: resolve(name, part, origin=origin, environ=environ) for name, (part, origin) in parts.items()}
    return McpServersFile(servers=servers, notices=notices)


def parts_of(path: Path) -> tuple[dict[str, tuple[ServerPart, str]], tuple[Notice, ...]]:
    """Read what a file declares and where, nothing replaced yet.

    Raises:
        ConfigError: As `read_mcp_servers`.
    """
    table = read_table(path)
    parts: dict[str, tuple[ServerPart, str]] = {}
    notices: list[Notice] = []
    for name, entry in table.entries.items():
        at = At(str(path), table.key).key(name)
        if problem := name_problem(name):
            notices.append(Notice(where=str(at), problem=f"left out: the name {problem}"))
            continue
        part, ignored = _part(entry, at)
        notices += [Notice(where=str(at.key(key)), problem="ignored: it has no meaning here") for key in ignored]
        if part is None:
            notices.append(Notice(where=str(at), problem="left out: it is switched off there"))
        else:
            parts[name] = part, str(at)
    return parts, tuple(notices)


def _part(entry: Any, at: At) -> tuple[ServerPart | None, list[str]]:
    """Return what an entry declares (None: it is switched off) and the keys that were not looked at."""
    if not isinstance(entry, dict):
        return ServerPart(problem="its entry is not a table"), []
    ignored = [key for key in entry if key not in _KEYS]
    if entry.get("disabled") is True:
        return None, ignored
    try:
        return _ENTRY({key: value for key, value in entry.items() if key in _KEYS and value is not None}, at), ignored
    except Problems as problems:
        return ServerPart(problem="; ".join(map(str, problems.errors))), ignored


def _build(**said: Any) -> ServerPart:
    """Bring an entry into the form of a `[servers.NAME]` table.

    Raises:
        ValueError: The entry contradicts itself, or asks for a transport that there is no client for.
    """
    kind, arguments = said.pop("type", None), said.pop("args", ())
    said.pop("disabled", None)
    if kind == "sse":
        raise ValueError("the HTTP+SSE transport is not supported; streamable HTTP and stdio are")
    if kind is not None and kind not in ("stdio", *_STREAMABLE):
        raise ValueError(f"the transport {kind!r} is not known")
    part = ServerPart(**said)
    if kind == "stdio" and part.command is None:
        raise ValueError("it is of type stdio and has no command")
    if kind in _STREAMABLE and part.url is None:
        raise ValueError(f"it is of type {kind} and has no url")
    return part if part.command is None else replace(part, command=(*part.command, *arguments))


def _one_command(value: Any, at: At) -> tuple[str, ...]:
    return (text(value, at),)


def _values(value: Any, at: At) -> dict[str, str]:
    """Take variables or headers; clients write numbers and flags there too, and pass on their text."""
    if not isinstance(value, dict):
        raise wrong(at, "it must be a table")
    return {key: item if isinstance(item, str) else _spelt(item, at.key(key)) for key, item in value.items()}


def _spelt(value: Any, at: At) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    raise wrong(at, f"{at.path.rpartition('.')[2]!r} must be a text")


def _any(value: Any, _: At) -> Any:
    return value


_ENTRY = section(
    _build,
    command=_one_command,
    args=texts,
    env=_values,
    cwd=located,
    type=text,
    url=text,
    headers=_values,
    disabled=_any,
)
