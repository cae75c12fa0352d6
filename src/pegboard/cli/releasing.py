"""`pegboard rollout` and `pegboard shadow`: release namespace by namespace, and see first what that would be worth."""

from typing import TYPE_CHECKING, Any

import click

from pegboard.cli.command import Subcommands, as_json
from pegboard.cli.errors import DONE, NO
from pegboard.cli.opening import opened, operator_name, run
from pegboard.cli.printing import note, print_json, say
from pegboard.cli.times import Moment, when
from pegboard.core.times import stamp

if TYPE_CHECKING:
    from pegboard.engine.guards import Guarded
    from pegboard.engine.rollout import Change, Setting

__all__ = ["rollout", "shadow"]


@click.group(cls=Subcommands)
def rollout() -> None:
    """Who is served by Pegboard, and who by production, namespace by namespace."""


@rollout.command()
def show() -> int:
    """Show what holds, what the guards find, and the history.

    The newest change comes first.
    """

    with opened() as (_, system):
        found = run(system.rollouts.shown)
    if as_json():
        print_json(found.to_json())
        return DONE
    for path, guards in found.guards.items():
        say((path, "bold"), str(found.rollout.last[path].setting))
        for one in guards:
            say("  ", one.name, _value(one))
    for change in found.history:
        style = "bold red" if change.automatic else "dim"
        say((stamp(change.at), "dim"), change.namespace, (_step(change), style), f"by {change.by}: {change.why}")
    if not found.history:
        note("nothing was ever set: every namespace is live")
    return DONE


@rollout.command("set")
@click.argument("namespace")
@click.argument("setting", callback=lambda context, option, value: _setting(context, option, value))
@click.option("--why", metavar="TEXT", required=True, help="The reason; it is put on record.")
@click.option(
    "--waive",
    multiple=True,
    metavar="GUARD=REASON",
    callback=lambda context, option, value: _waived(context, option, value),
    help="Promote although this guard has too few samples, for that reason.",
)
def change(namespace: str, setting: "Setting", why: str, waive: dict[str, str]) -> int:
    """Set NAMESPACE to off, shadow, canary=SHARE or live, from the next request on.

    NAMESPACE holds for those inside it too; '*' is all of which nothing is said. To serve more callers the guards have
    to be met; to serve fewer, nothing but a reason is needed.
    """
    with opened() as (_, system):
        found = run(lambda: system.rollouts.change(namespace, setting, by=operator_name(), why=why, waived=waive))
    if as_json():
        print_json(found.to_json())
    elif found.change is not None:
        say((namespace, "bold"), (_step(found.change), "green"))
    else:
        say((namespace, "bold"), ("stays as it is", "yellow"))
        for problem in found.problems.values():
            note(f"  {problem}")
        note("what has too few samples may be waived: --waive GUARD='the reason'")
    return DONE if found.change is not None else NO


@click.group(cls=Subcommands)
def shadow() -> None:
    """What Pegboard would have offered beside production."""


@shadow.command()
@click.option("--since", callback=when, metavar="TIME", help="2026-12-01, or 24h ago.  [default: all that is kept]")
def report(since: Moment | None) -> int:
    """Compare what was or would have been offered with the tools really called."""
    with opened() as (_, system):
        begin = None if since is None else since(system.catalog.clock.now())
        found = run(lambda: system.shadow.report(begin))
    if as_json():
        print_json(found)
        return DONE
    _show(found)
    return DONE


def _show(found: dict[str, Any]) -> None:
    say(f"{found['selections']:,} selections observed")
    for row in ({**found, "namespace": "all"}, *found["namespaces"]):
        name = " ".join(filter(None, (row["namespace"], row.get("setting"))))
        say((name, "bold"), _recall(row), _exposed(row))
    tokens = found["tokens"]
    if tokens["offered"] is not None:
        listed = "" if tokens["listed"] is None else f", where production listed {tokens['listed']:,.0f}"
        say(f"{tokens['offered']:,.0f} tokens of definitions a selection{listed}")
    for one in found["missed"]:
        say(("missed", "yellow"), one["tool_id"], (f"called {one['calls']} times", "dim"))
    if not found["selections"]:
        note("nothing was observed; docs/how-to/roll-out.md says how to begin")


def _recall(row: dict[str, Any]) -> str:
    one = row["recall"]
    if one["value"] is None:
        return f"recall: {one['reason']}"
    return f"recall {one['value']:.1%} ({one['low']:.1%} to {one['high']:.1%}) of {one['n']:.0f} calls"


def _exposed(row: dict[str, Any]) -> str:
    production = row["production_exposed"]
    beside = "" if production is None else f"; production listed {production} denied tools"
    return f"{row['exposed']} denied tools offered{beside}"


def _value(one: "Guarded") -> str:
    value = "none" if one.value is None else f"{one.value:.1%}"
    return f"{value} of {one.n} (at least {one.minimum:.1%} of {one.needed})"


def _step(change: "Change") -> str:
    return f"{change.was} -> {change.setting}"


def _setting(context: click.Context, option: click.Parameter, value: str) -> "Setting":
    from pegboard.engine.rollout import setting_of

    try:
        return setting_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, option) from None


def _waived(context: click.Context, option: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    parts = [one.partition("=") for one in value]
    if wrong := [name for name, _, reason in parts if not reason]:
        raise click.BadParameter(f"{wrong[0]!r} has no reason: write {wrong[0]}='why'", context, option)
    return {name: reason for name, _, reason in parts}
