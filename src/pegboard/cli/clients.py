"""Where other MCP clients keep their list of servers on this machine.

Source: the clients' documentation: Claude Code (`.mcp.json`, `~/.claude.json`), Claude Desktop
(`claude_desktop_config.json`), Cursor (`.cursor/mcp.json` of a project and of a home), VS Code (`mcp.json` of a
workspace and of a user), Codex (`config.toml`).
"""

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["PLACES", "existing"]

# In this order; of two files that name one server, the first has its word.
PLACES: tuple[tuple[str, str], ...] = (
    ("Claude Code, this project", ".mcp.json"),
    ("Cursor, this project", ".cursor/mcp.json"),
    ("VS Code, this project", ".vscode/mcp.json"),
    ("Codex, this project", ".codex/config.toml"),
    ("Claude Code", "~/.claude.json"),
    ("Cursor", "~/.cursor/mcp.json"),
    ("Claude Desktop", "~/Library/Application Support/Claude/claude_desktop_config.json"),
    ("Claude Desktop", "~/.config/Claude/claude_desktop_config.json"),
    ("Claude Desktop", "$APPDATA/Claude/claude_desktop_config.json"),
    ("VS Code", "~/Library/Application Support/Code/User/mcp.json"),
    ("VS Code", "~/.config/Code/User/mcp.json"),
    ("VS Code", "$APPDATA/Code/User/mcp.json"),
    ("Codex", "~/.codex/config.toml"),
)


def existing(folder: Path, environ: Mapping[str, str]) -> tuple[tuple[str, Path], ...]:
    """Return the clients' files that are there, each with whose it is; project files are looked for in *folder*."""
    found: dict[Path, tuple[str, Path]] = {}
    for client, place in PLACES:
        path = _place(place, folder, environ)
        if path is not None and path.is_file():
            # A home may be the project's folder too.
            found.setdefault(path.resolve(), (client, path))
    return tuple(found.values())


def _place(place: str, folder: Path, environ: Mapping[str, str]) -> Path | None:
    root, _, rest = place.partition("/")
    match root:
        case "~":
            return Path(environ.get("HOME") or os.path.expanduser("~")) / rest
        case "$APPDATA":
            base = environ.get("APPDATA")
            return Path(base) / rest if base else None
        case _:
            return folder / place
