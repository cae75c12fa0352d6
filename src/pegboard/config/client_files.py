"""Files in which other programs keep their servers: three tables, brought into the one form that Claude's has.

Claude and Cursor write JSON with `mcpServers`, VS Code JSON with comments and `servers`, Codex TOML with `mcp_servers`.

Source: the clients' documentation; for Codex, `config.toml`, "mcp_servers"; JSON with comments as VS Code reads it.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pegboard.config.reading import read_text
from pegboard.core.errors import ConfigError
from pegboard.core.names import parse_json

__all__ = ["Table", "read_table", "without_comments"]

# A text stays as it is; of the others the comment goes, and the comma before a closing bracket.
_COMMENTED = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL)
_WORKSPACE = "${workspaceFolder}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The servers of one file as it has them, in the form of `mcpServers`, and under which key they stand there."""

    key: str
    entries: Mapping[str, Any]


def read_table(path: Path) -> Table:
    """Read the servers of a client's file.

    Raises:
        ConfigError: It cannot be read, is not JSON or TOML, or has no table of servers.
    """
    content = _toml(path) if path.suffix == ".toml" else _json(path)
    for key, bring in _TABLES:
        entries = content.get(key) if isinstance(content, dict) else None
        if isinstance(entries, dict):
            return Table(key=key, entries={name: bring(entry, path) for name, entry in entries.items()})
    key = "mcp_servers" if path.suffix == ".toml" else "mcpServers"
    raise ConfigError(f"this file has no table {key!r}", str(path), "name the file that holds your servers")


def without_comments(text: str) -> str:
    """Return JSON with comments and trailing commas as JSON."""
    return _COMMENTED.sub(lambda found: found[1] or "", text)


def _json(path: Path) -> Any:
    text = read_text(path)
    try:
        return parse_json(text)
    except ValueError as error:
        problem = str(error)
    try:
        return parse_json(without_comments(text))
    except ValueError:
        raise ConfigError(f"this file is not JSON: {problem}", str(path), "correct it, or leave it out") from None


def _toml(path: Path) -> Any:
    try:
        return tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"this file is not TOML: {error}", str(path), "correct it, or leave it out") from None


def _as_it_is(entry: Any, _: Path) -> Any:
    return entry


def _of_vs_code(entry: Any, path: Path) -> Any:
    """Fill in the folder that is open, which is the one that `.vscode` lies in."""
    folder = path.absolute().parent
    return _filled(entry, str(folder.parent if folder.name == ".vscode" else folder))


def _filled(value: Any, folder: str) -> Any:
    if isinstance(value, dict):
        return {key: _filled(one, folder) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, folder) for one in value]
    return value.replace(_WORKSPACE, folder) if isinstance(value, str) else value


def _of_codex(entry: Any, _: Path) -> Any:
    """Bring an entry of Codex into the form of Claude's; headers may name variables there in three ways."""
    if not isinstance(entry, dict):
        return entry
    found = {key: value for key, value in entry.items() if key not in _CODEX}
    if entry.get("enabled") is False:
        found["disabled"] = True
    plain, named = entry.get("http_headers", {}), entry.get("env_http_headers", {})
    if not isinstance(plain, dict) or not isinstance(named, dict):
        return {**found, "headers": []}  # which is refused as no table
    headers = {**plain, **{name: f"${{{variable}}}" for name, variable in named.items()}}
    if "bearer_token_env_var" in entry:
        headers["Authorization"] = f"Bearer ${{{entry['bearer_token_env_var']}}}"
    return {**found, "headers": headers} if headers else found


_CODEX = ("http_headers", "env_http_headers", "bearer_token_env_var", "enabled")
# Whose table it is, by its key, and what brings an entry into the common form. The first that is there has its word.
_TABLES: tuple[tuple[str, Callable[[Any, Path], Any]], ...] = (
    ("mcpServers", _as_it_is),
    ("servers", _of_vs_code),
    ("mcp_servers", _of_codex),
)
