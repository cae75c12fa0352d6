"""`pegboard init`: from the servers a person already has to a catalog with a lock, with one question.

Another program's files are changed where `--switch` asks for it alone, and after a backup. Until the question is
answered the new configuration can be taken back: an init that fails or is interrupted leaves none behind, so that it
can be run again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pegboard.adapters.durable import replace_file
from pegboard.cli.command import Command, as_json, config_path
from pegboard.cli.errors import DONE, OUTSIDE
from pegboard.cli.opening import opened, operator_name, run
from pegboard.cli.printing import counted, note, print_json, say
from pegboard.cli.refreshing import fetch, show_servers
from pegboard.cli.replacing import anybody, confirmed, replaced, replaced_behind
from pegboard.cli.sources import Source, sources_of
from pegboard.core.catalog import Reach, Risk
from pegboard.core.errors import ConfigError
from pegboard.core.names import Json

if TYPE_CHECKING:
    from pegboard.service.drafts import Draft
    from pegboard.service.refresher import RefreshReport

__all__ = ["init"]

# What to try, and what for.
_TRY = (
    ('pegboard select "what you want done" --as me', "# what a model would be given"),
    ("pegboard lock show", "# what is granted"),
    ("pegboard review", "# when a server brings something new"),
)
# What `init` answers where the catalog is left as it is.
_NOTHING: dict[str, Json] = {
    "catalog_version": None,
    "published": False,
    "servers": [],
    "tools": 0,
    "ask_before": 0,
    "locked": 0,
    "fix": None,
}


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
    but with --switch, after a diff and a backup; that may be done later too, beside the configuration that is there.
    """
    target = Path(config_path())
    if target.exists():
        return _init_again(target, files, yes, switching)
    sources = sources_of(files, target.parent)
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
    switched = replaced(target, sources, yes, partial(_read_from, sources, target)) if switching and agreed else {}
    if as_json():
        print_json({**_answer(target, sources, report, drafts, agreed), "switched": _moved(switched)})
    else:
        _tell(target, drafts, agreed)
        if switching and not agreed:
            note("no client's file was changed; `pegboard init --switch` does it once tools are locked")
    return OUTSIDE if report.failed else DONE


def _init_again(target: Path, files: tuple[str, ...], yes: bool, switching: bool) -> int:
    """Put Pegboard into the clients' files, which needs no new configuration; refuse all else."""
    if not switching:
        raise ConfigError(
            problem="there is a configuration already; nothing was changed",
            where=str(target),
            fix="`pegboard refresh` lists its servers again, `pegboard classify --apply` locks what was not, `pegboard "
            "init --switch` puts Pegboard into clients' files; for another catalog run `init` in another folder",
        )
    sources, switched = replaced_behind(target, files, yes)
    if as_json():
        print_json({**_NOTHING, "config": str(target), "sources": _named(sources), "switched": _moved(switched)})
    for path, backup in switched.items():
        if not as_json():
            say(("switched", "green"), str(path), (f"what stood there is in {backup}", "dim"))
    return DONE


def _moved(switched: Mapping[Path, Path]) -> list[Json]:
    return [{"file": str(path), "backup": str(backup)} for path, backup in switched.items()]


def _named(sources: Sequence[Source]) -> list[Json]:
    return [{"client": one.client, "file": str(one.path), "servers": list(one.servers)} for one in sources]


def _read_from(sources: Sequence[Source], target: Path, backups: Mapping[Path, Path]) -> str:
    """Write the configuration again, which reads its servers from the backups."""
    return _toml([replace(source, path=backups[source.path]) for source in sources], target.parent)


def _toml(sources: Sequence[Source], folder: Path) -> str:
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
    return confirmed(
        f"Let profile `me` (this machine, development) use {_these(len(drafts))}, "
        f"and ask before the {asking:,} that are not clearly reads?"
    )


def _these(count: int) -> str:
    return "this tool" if count == 1 else f"these {count:,} tools"


def _answer(
    target: Path, sources: Sequence[Source], report: "RefreshReport", drafts: Sequence["Draft"], agreed: bool
) -> dict[str, Json]:
    return {
        "config": str(target),
        "sources": _named(sources),
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
        for start, (command, purpose) in zip(("Try:", "", ""), _TRY, strict=True):
            note(f"{start:5}", (f"{command:46}", "bold"), (purpose, "dim"))
    else:
        why = "nobody can use one yet" if anybody() else "nobody was there to ask, so nobody can use one yet"
        say((f"{counted(len(drafts), 'tool')} in the catalog, none locked:", "yellow"), why)
        note("`pegboard classify` shows what each would be locked as; `pegboard classify --apply` locks them so")
        if not anybody():
            note("`pegboard init --yes` would have answered every question with yes")
