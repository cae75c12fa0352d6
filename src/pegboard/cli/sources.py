"""The clients' files that `init` works with, each with the servers it names."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard.cli.clients import PLACES, existing
from pegboard.cli.command import as_json
from pegboard.cli.printing import note
from pegboard.cli.switching import is_pegboard
from pegboard.core.errors import ConfigError

if TYPE_CHECKING:
    from pegboard.config.mcp_servers import McpServersFile
    from pegboard.config.values import ServerConfig

__all__ = ["Source", "remark", "sources_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One client's file, and its servers."""

    client: str
    path: Path
    servers: "Mapping[str, ServerConfig]"


def sources_of(files: Sequence[str], folder: Path) -> list[Source]:
    """Read the named files, or those that are found; an empty one among the latter is left out.

    Raises:
        ConfigError: A named file cannot be read, or no server is found anywhere.
    """
    from pegboard.config.mcp_servers import read_mcp_servers

    if files:
        found = [("named", Path(file).expanduser(), True) for file in files]
    else:
        found = [(client, path, False) for client, path in existing(folder, os.environ)]
    sources: list[Source] = []
    for client, path, must in found:
        try:
            read: McpServersFile = read_mcp_servers(path, os.environ)
        except ConfigError as error:
            if must:
                raise
            remark(f"{client}: {path} is left out: {error}")
            continue
        for notice in read.notices:
            remark(str(notice))
        if any(is_pegboard(one.command, one.url) for one in read.servers.values()):
            remark(f"{client}: {path} is left out: it has Pegboard in it already")
        elif read.servers:
            sources.append(Source(client=client, path=path, servers=read.servers))
    if not sources:
        raise ConfigError(
            problem="no MCP server was found",
            where=", ".join(files) or ", ".join(place for _, place in PLACES),
            fix="name the file that holds your servers: `pegboard init --from FILE`",
        )
    return sources


def remark(text: str) -> None:
    """Tell a person what was left out, and why."""
    if not as_json():
        note((text, "dim"))
