"""Put Pegboard in place of the servers in other clients' files: what would change, a backup, and the change.

A file keeps everything but its servers. What a diff shows of them is masked where secrets stand: variables and headers.
"""

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomlkit

from pegboard.adapters.durable import replace_file
from pegboard.config.client_files import read_table, without_comments
from pegboard.config.reading import read_text
from pegboard.core.errors import ConfigError

if TYPE_CHECKING:
    from pegboard.config.values import ServerConfig

__all__ = ["PROFILE", "address", "backup_of", "differences", "is_pegboard", "keep", "switch"]

# As whom a client's Pegboard serves: the profile that `init` writes.
PROFILE = "me"
_NAME = "pegboard"
_MASKED = ("env", "headers")


def backup_of(path: Path) -> Path:
    """Return where a file's backup lies: beside it, with its ending, so that it is still read as what it is."""
    return path.with_name(f"{path.stem}.before-pegboard{path.suffix}")


def is_pegboard(command: tuple[str, ...] | None, url: str | None) -> bool:
    """Say whether a server is a Pegboard: one that is put behind another would be asked about itself."""
    words = command or ()
    return ("serve" in words and any(Path(word).stem == _NAME for word in words)) or (url or "").endswith(":8700/mcp")


def address(server: "ServerConfig") -> tuple[object, ...]:
    """Return what is reached: the same program, found by any path, with the same words; or the same address."""
    command = server.command
    return (server.url, None) if command is None else (Path(command[0]).name, command[1:])


def differences(path: Path, config: Path) -> Iterator[str]:
    """Yield the lines of a diff of the servers of a file, without values that may be secrets.

    Raises:
        ConfigError: It cannot be read.
    """
    table = read_table(path)
    now = {_NAME: _entry(config, table.key)}
    yield from unified_diff(
        _lines(table.entries), _lines(now), fromfile=str(path), tofile=f"{path} (switched)", lineterm=""
    )


def keep(path: Path) -> Path:
    """Write a file's backup.

    Raises:
        ConfigError: There is one already: it may be the only copy of what stood there before.
    """
    backup = backup_of(path)
    if backup.exists():
        raise ConfigError("there is a backup already", str(backup), "move it away, or leave --switch out")
    shutil.copy2(path, backup)
    return backup


def switch(path: Path, config: Path) -> None:
    """Put Pegboard in place of the servers of a file.

    Raises:
        ConfigError: It cannot be read.
        OSError: It cannot be written; it is as it was.
    """
    key = read_table(path).key
    replace_file(str(path), [_switched(path, key, {_NAME: _entry(config, key)}).encode()])


def _switched(path: Path, key: str, servers: Mapping[str, Any]) -> str:
    text = read_text(path)
    if path.suffix == ".toml":
        document = tomlkit.parse(text)
        document[key] = servers
        return tomlkit.dumps(document)
    try:
        content = json.loads(text)
    except ValueError:
        content = json.loads(without_comments(text))
    return json.dumps({**content, key: servers}, ensure_ascii=False, indent=2) + "\n"


def _entry(config: Path, key: str) -> dict[str, Any]:
    """Return the entry that starts this Pegboard, as the same program that runs now."""
    arguments = ["-m", "pegboard", "--config", str(config.absolute()), "serve", "--stdio", "--as", PROFILE]
    entry: dict[str, Any] = {"command": sys.executable, "args": arguments}
    return {"type": "stdio", **entry} if key == "servers" else entry


def _lines(entries: Mapping[str, Any]) -> list[str]:
    return json.dumps({name: _masked(entry) for name, entry in entries.items()}, indent=2).split("\n")


def _masked(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return "…"
    hidden = {name: dict.fromkeys(entry[name], "…") for name in _MASKED if isinstance(entry.get(name), dict)}
    return {**entry, **hidden}
