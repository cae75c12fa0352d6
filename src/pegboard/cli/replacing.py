"""`init --switch`: Pegboard in place of the servers in the clients' files, after a diff, a question and a backup.

A configuration that read its servers from such a file reads them from the backup afterwards; nothing else in it
changes.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import tomlkit

from pegboard.adapters.durable import replace_file
from pegboard.cli.command import as_json
from pegboard.cli.printing import counted, note
from pegboard.cli.sources import Source, remark, sources_of
from pegboard.cli.switching import PROFILE, address, backup_of, differences, keep, switch
from pegboard.config.reading import placed, read_text
from pegboard.core.errors import ConfigError

if TYPE_CHECKING:
    from pegboard.config.values import Config

__all__ = ["anybody", "confirmed", "replaced", "replaced_behind"]

_MARKS = {"+": "green", "-": "red", "@": "cyan"}


def replaced(
    target: Path, sources: Sequence[Source], yes: bool, written: Callable[[Mapping[Path, Path]], str]
) -> dict[Path, Path]:
    """Put Pegboard into the clients' files, as far as a person agrees; return each file with its backup.

    *written* says what the configuration is, once the servers stand in the backups: they are read from there then.

    Raises:
        ConfigError: A backup is there already; nothing has changed then.
    """
    if not as_json():
        for source in sources:
            for line in differences(source.path, target):
                note((line, _MARKS.get(line[:1], "")))
    if not (yes or confirmed(f"Change {counted(len(sources), 'file')} so? A backup stays beside each.")):
        if not anybody():
            remark("nobody was there to ask, so no client's file was changed: `pegboard init --switch --yes` does it")
        return {}
    if there := [backup_of(source.path) for source in sources if backup_of(source.path).exists()]:
        raise ConfigError("there is a backup already; no file was changed", str(there[0]), "move it away")
    backups = {source.path: keep(source.path) for source in sources}
    replace_file(str(target), [written(backups).encode()])
    for source in sources:
        switch(source.path, target)
    return backups


def replaced_behind(target: Path, files: Sequence[str], yes: bool) -> tuple[list[Source], dict[Path, Path]]:
    """Do so for a configuration that is there: in those files all of whose servers it has.

    Raises:
        ConfigError: It has no profile for the clients, or there is no such file; nothing has changed then.
    """
    from pegboard.config.load import load_config

    config = load_config(target, os.environ)
    if PROFILE not in config.profiles:
        raise ConfigError(
            problem=f"the clients would start Pegboard as the profile {PROFILE!r}, which does not exist",
            where=f"{target}: profiles",
            fix=f"write [profiles.{PROFILE}], or put `pegboard serve --stdio --as PROFILE` into the files yourself",
        )
    sources = []
    for source in sources_of(files, target.parent):
        if missing := _missing(source, config):
            remark(f"{source.client}: {source.path} is left out: the configuration has no {', '.join(missing)}")
        else:
            sources.append(source)
    if not sources:
        raise ConfigError(
            problem="every client's file has servers that the configuration has not; no file was changed",
            where=str(target),
            fix="add the file to mcp_config, or its servers as [servers.NAME]; then `pegboard refresh`",
        )
    return sources, replaced(target, sources, yes, lambda backups: _redirected(target, backups))


def confirmed(question: str) -> bool:
    """Ask a person, where there is one."""
    return anybody() and click.confirm(question, err=True)


def anybody() -> bool:
    """Say whether somebody is there to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _missing(source: Source, config: "Config") -> list[str]:
    """Name the servers of a file that would be reachable no longer."""
    if source.path.resolve() in {path.resolve() for path in config.mcp_config}:
        return []
    behind = {address(one) for one in config.servers.values() if one.problem is None}
    return sorted(name for name, one in source.servers.items() if address(one) not in behind)


def _redirected(target: Path, backups: Mapping[Path, Path]) -> str:
    """Return the configuration with backups in place of the files it reads servers from, and all else as it is."""
    document = tomlkit.parse(read_text(target))
    moved = {path.resolve(): backup for path, backup in backups.items()}
    files = document.get("mcp_config", [])
    for place, written in enumerate(list(files)):
        backup = moved.get(placed(target.parent, str(written)).resolve())
        if backup is not None:
            beside = str(Path(str(written)).with_name(backup.name))
            # The configuration may name the file by a link, and the backup lies beside the file.
            files[place] = beside if placed(target.parent, beside).exists() else str(backup.absolute())
    return tomlkit.dumps(document)
