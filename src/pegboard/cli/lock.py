"""`pegboard lock`: what is granted, file in and out, lines taken out, and whether it still fits."""

import click

from pegboard.adapters.durable import replace_file
from pegboard.adapters.files import LockFileAt
from pegboard.cli.command import Subcommands, as_json
from pegboard.cli.errors import DONE, NO
from pegboard.cli.opening import opened, run
from pegboard.cli.printing import counted, note, print_json, say, table
from pegboard.core.errors import ConfigError
from pegboard.core.lock import Lock, format_lock
from pegboard.core.names import short

__all__ = ["GONE", "lock"]

# What is said of a tool that has gone away, in front of the command that takes its line out.
GONE = "is locked, and no server lists it"


@click.group(cls=Subcommands)
def lock() -> None:
    """The lock: what is granted, by tool id and content."""


@lock.command()
def show() -> int:
    """List what is granted, and who granted it."""
    with opened() as (_, system):
        found = system.keeper.show()
    if as_json():
        print_json({"digest": found.digest, "lines": [line.to_json() for line in found]})
    elif not len(found):
        note("nothing is locked, so nothing is eligible for anyone: `pegboard classify`, `pegboard review`")
    else:
        table(
            ("TOOL", "RISK", "REACH", "ACCESS", "FLOW", "CONTENT", "BY", "AT"),
            (
                (
                    line.tool,
                    str(line.risk),
                    str(line.reach),
                    line.access,
                    ", ".join(sorted(map(str, line.flow))),
                    (short(line.hash), "dim"),
                    line.by,
                    (line.at, "dim"),
                )
                for line in found
            ),
        )
    return DONE


@lock.command()
@click.argument("file", type=click.Path(), default="-")
def export(file: str) -> int:
    """Write the lock to FILE, or to stdout where none is named."""
    with opened() as (_, system):
        found = system.keeper.show()
    if file != "-":
        replace_file(file, [format_lock(found).encode()])
        if as_json():
            print_json({"exported": len(found), "file": file})
        else:
            note(f"{counted(len(found), 'line')} in {file}")
    elif as_json():
        print_json({"digest": found.digest, "lines": [line.to_json() for line in found]})
    else:
        click.echo(format_lock(found).encode(), nl=False)
    return DONE


@lock.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
def import_lock(file: str) -> int:
    """Put the lock of FILE in place of this one.

    It grants what its lines say from the next request on. A line that is not right is refused with all the others.
    """
    new = LockFileAt(file).read()
    with opened() as (config, system):
        _check_templates(new, frozenset(config.access))
        old = system.keeper.show()
        run(lambda: system.keeper.replace(new))
    change = _change(old, new)
    if as_json():
        print_json({"imported": len(new), **change})
        return DONE
    for sign, style, name in (("+", "green", "added"), ("~", "yellow", "changed"), ("-", "red", "removed")):
        for tool in change[name]:
            say((sign, style), tool)
    note(f"{counted(len(new), 'line')} in the lock; `pegboard lock check` compares it with what the servers list")
    return DONE


@lock.command()
@click.argument("tools", metavar="TOOL...", nargs=-1, required=True)
def remove(tools: tuple[str, ...]) -> int:
    """Take the line of each TOOL out of the lock.

    Nobody has it from the next request on. A tool that a server still lists waits for review then, as a new one.
    """
    with opened() as (_, system):
        lines = system.keeper.show().lines
        # A tool that has gone away is in no catalog that could say what answers to `namespace/name`.
        chosen = list(dict.fromkeys(tool if tool in lines else tool.replace("/", ".") for tool in tools))
        run(lambda: system.keeper.remove(chosen))
    if as_json():
        print_json({"removed": chosen})
    else:
        for tool in chosen:
            say(("removed", "yellow"), tool)
    return DONE


@lock.command()
def check() -> int:
    """Compare the lock with templates and servers.

    Finds lines whose template does not exist, whose tool no server lists, or whose content has changed.
    """
    with opened() as (_, system):
        found = run(system.keeper.check)
    gone = [(tool, f"{GONE}; if it is gone for good: `pegboard lock remove {tool}`") for tool in found.gone]
    problems = sorted([*found.problems, *gone])
    if as_json():
        print_json({"total": found.lines, "problems": [{"tool": tool, "problem": text} for tool, text in problems]})
    else:
        for tool, text in problems:
            say((tool, "bold"), text)
        good = ("all good", "green") if not problems else (counted(len(problems), "problem"), "yellow")
        say(f"{counted(found.lines, 'line')}:", good)
    return NO if problems else DONE


def _check_templates(new: Lock, templates: frozenset[str]) -> None:
    """Refuse a lock that names templates which do not exist: its tools would be eligible for nobody."""
    missing = sorted({line.access for line in new} - templates)
    if missing:
        raise ConfigError(
            problem=f"the lock names access templates that do not exist: {', '.join(missing)}",
            where="[access] in the configuration",
            fix="write them there first, or correct the lines",
        )


def _change(old: Lock, new: Lock) -> dict[str, list[str]]:
    before, after = old.lines, new.lines
    return {
        "added": [tool for tool in after if tool not in before],
        "changed": [tool for tool in after if tool in before and after[tool] != before[tool]],
        "removed": [tool for tool in before if tool not in after],
    }
