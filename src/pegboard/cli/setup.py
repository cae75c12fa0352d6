"""`pegboard init`: from the servers a person already has to a catalog with a lock, with one question.

Another program's files are changed where `--switch` asks for it alone, and after a backup. Until the question is
answered the new configuration can be taken back: an init that fails or is interrupted leaves none behind, so that it
can be run again.
"""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pegboard.adapters.durable import replace_file
from pegboard.cli.clients import PLACES, existing
from pegboard.cli.command import Command, as_json, config_path
from pegboard.cli.errors import DONE, OUTSIDE
from pegboard.cli.opening import opened, operator_name, run
from pegboard.cli.printing import counted, note, print_json, say
from pegboard.cli.refreshing import fetch, show_servers
from pegboard.cli.switching import backup_of, differences, is_pegboard, keep, switch
from pegboard.core.catalog import Reach, Risk
from pegboard.core.errors import ConfigError
from pegboard.core.names import Json

if TYPE_CHECKING:
    from pegboard.config.mcp_servers import McpServersFile
    from pegboard.service.drafts import Draft
    from pegboard.service.refresher import RefreshReport

__all__ = ["init"]

_MARKS = {"+": "green", "-": "red", "@": "cyan"}
_TRY = 'pegboard select "what you want done" --as me'


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """One client's file, and the names of its servers."""

    client: str
    path: Path
    servers: tuple[str, ...]


@click.command(cls=Command)
@click.option(
    "--from", "files", metavar="FILE", multiple=True, help="A client's file; may be repeated.  [default: those found]"
)
@click.option("--yes", is_flag=True, help="Answer every question with yes.")
@click.option("--switch", "switching", is_flag=True, help="Put Pegboard in place of the servers in these files.")
def init(files: tuple[str, ...], yes: bool, switching: bool) -> int:
    """Set up Pegboard for the MCP servers you have.

    Reads the servers of Claude Code, Claude Desktop, Cursor, VS Code and Codex. Writes pegboard.toml, lists the
    servers, drafts a lock line for each tool, and writes pegboard.lock after one question. Changes no file of theirs
    but with --switch, after a diff and a backup.
    """
    target = Path(config_path())
    if target.exists():
        raise ConfigError(
            problem="there is a configuration already; nothing was changed",
            where=str(target),
            fix="`pegboard refresh` lists its servers again; for another catalog run `init` in another folder",
        )
    sources = _sources(files, target.parent)
    if not as_json():
        for source in sources:
            note((f"{source.client}:", "dim"), str(source.path), (counted(len(source.servers), "server"), "dim"))
    replace_file(str(target), [_toml(sources, target.parent).encode()])
    try:
        with opened() as (_, system):
            report = fetch(system)
            if not as_json():
                show_servers(report.servers)
            drafts, _ = run(lambda: system.keeper.classify(apply=False, by=operator_name()))
            agreed = bool(drafts) and (yes or _agreed(drafts))
            if agreed:
                run(lambda: system.keeper.classify(apply=True, by=operator_name()))
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    switched = _switched(target, sources, yes) if switching and agreed else {}
    if as_json():
        moved: list[Json] = [{"file": str(path), "backup": str(backup)} for path, backup in switched.items()]
        print_json({**_answer(target, sources, report, drafts, agreed), "switched": moved})
    else:
        _tell(target, drafts, agreed)
    return OUTSIDE if report.failed else DONE


def _switched(target: Path, sources: Sequence[_Source], yes: bool) -> dict[Path, Path]:
    """Put Pegboard into the clients' files, as far as a person agrees; return each file with its backup.

    The servers are read from the backups from then on, so these are written first.

    Raises:
        ConfigError: A backup is there already; nothing has changed then.
    """
    if not as_json():
        for source in sources:
            for line in differences(source.path, target):
                note((line, _MARKS.get(line[:1], "")))
    if not (yes or _confirmed(f"Change {counted(len(sources), 'file')} so? A backup stays beside each.")):
        return {}
    if there := [backup_of(source.path) for source in sources if backup_of(source.path).exists()]:
        raise ConfigError("there is a backup already; no file was changed", str(there[0]), "move it away")
    backups = {source.path: keep(source.path) for source in sources}
    moved = [replace(source, path=backups[source.path]) for source in sources]
    replace_file(str(target), [_toml(moved, target.parent).encode()])
    for source in sources:
        switch(source.path, target)
    return backups


def _sources(files: Sequence[str], folder: Path) -> list[_Source]:
    """Read the named files, or those that are found; an empty one among the latter is left out.

    Raises:
        ConfigError: A named file cannot be read, or no server is found anywhere.
    """
    from pegboard.config.mcp_servers import read_mcp_servers

    if files:
        found = [("named", Path(file).expanduser(), True) for file in files]
    else:
        found = [(client, path, False) for client, path in existing(folder, os.environ)]
    sources: list[_Source] = []
    for client, path, must in found:
        try:
            read: McpServersFile = read_mcp_servers(path, os.environ)
        except ConfigError as error:
            if must:
                raise
            _remark(f"{client}: {path} is left out: {error}")
            continue
        for notice in read.notices:
            _remark(str(notice))
        if any(is_pegboard(one.command, one.url) for one in read.servers.values()):
            _remark(f"{client}: {path} is left out: it has Pegboard in it already")
        elif read.servers:
            sources.append(_Source(client=client, path=path, servers=tuple(read.servers)))
    if not sources:
        raise ConfigError(
            problem="no MCP server was found",
            where=", ".join(files) or ", ".join(place for _, place in PLACES),
            fix="name the file that holds your servers: `pegboard init --from FILE`",
        )
    return sources


def _remark(text: str) -> None:
    if not as_json():
        note((text, "dim"))


def _toml(sources: Sequence[_Source], folder: Path) -> str:
    """Write the configuration: everything that `init` decided, to be read and changed by a person."""
    servers = sorted({server for source in sources for server in source.servers})
    files = ", ".join(_quoted(_from(folder, source.path)) for source in sources)
    proposals = "".join(
        f'\n[[servers.{_quoted(server)}.propose]]\nmatch = ["*"]\naccess = "local"\n' for server in servers
    )
    return f"""\
# Written by `pegboard init`, to be read and changed.
environment = "development"
mcp_config = [{files}]   # the servers are read from here

[dimensions]
used = ["scopes", "environment"]   # what every access template states

[access.local]
required_scopes = ["local"]
environments = ["development"]

[approvals]   # calls that wait until you approve them: `pegboard approvals`
risk = ["write", "destructive"]

[profiles.me]   # what your agents run as; never accepted over the network
workload = {_quoted(f"{operator_name()}-agent")}   # not your own name: nobody approves what was asked under theirs
environment = "development"
scopes = ["local"]
servers = [{", ".join(map(_quoted, servers))}]
{proposals}"""


def _from(folder: Path, path: Path) -> str:
    """Write a path as seen from the configuration: short where it lies below it, else whole."""
    whole, base = path.absolute(), folder.absolute()
    return str(whole.relative_to(base)) if whole.is_relative_to(base) else str(whole)


def _quoted(text: str) -> str:
    # JSON's escapes are those of a TOML basic string, but for DEL, which TOML wants written out.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _asks(draft: "Draft") -> bool:
    return draft.risk is not Risk.READ or draft.reach is Reach.OPEN


def _agreed(drafts: Sequence["Draft"]) -> bool:
    """Ask the one question, where there is someone to ask."""
    asking = sum(map(_asks, drafts))
    return _confirmed(
        f"Let profile `me` (this machine, development) use {_these(len(drafts))}, "
        f"and ask before the {asking:,} that are not clearly reads?"
    )


def _confirmed(question: str) -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty() and click.confirm(question, err=True)


def _these(count: int) -> str:
    return "this tool" if count == 1 else f"these {count:,} tools"


def _answer(
    target: Path, sources: Sequence[_Source], report: "RefreshReport", drafts: Sequence["Draft"], agreed: bool
) -> dict[str, Json]:
    return {
        "config": str(target),
        "sources": [{"client": one.client, "file": str(one.path), "servers": list(one.servers)} for one in sources],
        **report.to_json(),
        "tools": len(drafts),
        "ask_before": sum(map(_asks, drafts)),
        "locked": len(drafts) if agreed else 0,
        "fix": None if agreed or not drafts else "pegboard classify --apply",
    }


def _tell(target: Path, drafts: Sequence["Draft"], agreed: bool) -> None:
    if not drafts:
        note("no tool was listed;", f"see {target} and run `pegboard refresh`")
        return
    if agreed:
        say((f"{counted(len(drafts), 'tool')} locked for profile `me`", "green"))
        if asking := sum(map(_asks, drafts)):
            say(
                (f"{asking:,} of them run only after `pegboard approvals grant`:", "yellow"),
                f"[approvals] in {target} says which",
            )
        note("Try:", (_TRY, "bold"))
        note("     ", ("pegboard lock show", "bold"))
        note("     ", ("pegboard review", "bold"), ("when a server brings something new", "dim"))
    else:
        say((f"{counted(len(drafts), 'tool')} in the catalog, none locked:", "yellow"), "nobody can use one yet")
        note("`pegboard classify` shows what each would be locked as; `pegboard classify --apply` locks them so")
