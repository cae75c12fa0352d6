"""`pegboard halt` and `resume`: stop what must not run, from the next request on, and let it run again."""

from typing import TYPE_CHECKING

import click

from pegboard.cli.command import Command, as_json
from pegboard.cli.errors import DONE, NO
from pegboard.cli.naming import named, nearest
from pegboard.cli.opening import opened, operator_name, run, without_policies
from pegboard.cli.printing import note, print_json, say
from pegboard.cli.times import duration
from pegboard.core.errors import ConfigError
from pegboard.core.revocations import Revocation, target_problem
from pegboard.core.times import stamp

if TYPE_CHECKING:
    from pegboard.service.halts import Targets
    from pegboard.wiring import System

__all__ = ["halt", "resume"]


@click.command(cls=Command)
@click.argument("target")
@click.option("--why", metavar="TEXT", required=True, help="The reason; it is put on record.")
@click.option(
    "--for",
    "seconds",
    callback=duration,
    metavar="DURATION",
    help="Until then: 30m, 12h, 7d.  [default: until `resume`]",
)
def halt(target: str, why: str, seconds: float | None) -> int:
    """Stop TARGET from the next request on.

    It holds whatever catalog and lock say. TARGET is a tool id, namespace:NAME, server:NAME, principal:NAME, or all,
    which leaves the tools that are pinned always.
    """
    with opened(without_policies) as (_, system):
        revocation = run(lambda: _halted(system, target, why, seconds))
    if as_json():
        print_json(revocation.to_json())
    else:
        until = f"`pegboard resume {revocation.target}`"
        if revocation.expires_at is not None:
            until = f"{stamp(revocation.expires_at)} or {until}"
        say(("halted", "bold red"), revocation.target, (f"until {until}", "dim"))
    return DONE


@click.command(cls=Command)
@click.argument("target")
def resume(target: str) -> int:
    """Lift the halt of TARGET."""
    with opened(without_policies) as (_, system):
        lifted, others = run(lambda: system.halts.resume(target, by=operator_name()))
    if as_json():
        print_json({"target": target, "resumed": lifted, "halted": list(others)})
    else:
        say((target, "bold"), ("is no longer halted", "green") if lifted else ("was not halted", "yellow"))
        if others:
            note(f"still halted: {', '.join(others)}")
    return DONE if lifted else NO


async def _halted(system: "System", target: str, why: str, seconds: float | None) -> Revocation:
    """Halt what is meant: an id, or `namespace/name` where one tool answers to it.

    Raises:
        ConfigError: There is no such tool, namespace or server.
    """
    if problem := target_problem(target):
        raise ConfigError(
            problem=f"{target!r} {problem}", fix="name a tool id, namespace:…, server:…, principal:… or all"
        )
    by = operator_name()
    if halted := await system.halts.halt(target, why=why, by=by, seconds=seconds):
        return halted
    targets = await system.halts.targets()
    found = [one.tool_id for one in named(target, targets.entries.values())]
    if len(found) > 1:
        raise ConfigError(f"{target!r} may be {' or '.join(found)}", fix="name the tool by its id")
    if found and (halted := await system.halts.halt(found[0], why=why, by=by, seconds=seconds)):
        return halted
    raise _stops_nothing(target, targets)


def _stops_nothing(target: str, targets: "Targets") -> ConfigError:
    kind, colon, _ = target.partition(":")
    known = targets.known(kind) if colon else ()
    near = nearest(target, [f"{kind}:{one}" for one in sorted(known)] or targets.entries)
    return ConfigError(
        problem=f"there is nothing {target!r} would stop",
        fix=f"did you mean {' or '.join(near)}?" if near else "`pegboard catalog list` names tools and namespaces",
    )
