"""`pegboard replay`: the same selections again, on their own versions or on others."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from pegboard.cli.command import Command, as_json
from pegboard.cli.errors import DONE, NO
from pegboard.cli.opening import opened, run
from pegboard.cli.printing import Cell, counted, facts, note, print_json, say
from pegboard.cli.times import Moment, when
from pegboard.core.errors import ConfigError

if TYPE_CHECKING:
    from pegboard.core.lock import Lock
    from pegboard.engine.comparing import Change, Replay, Summary
    from pegboard.engine.trace import Trace
    from pegboard.service.replayer import Against
    from pegboard.service.traces import Wanted
    from pegboard.wiring import System

__all__ = ["replay"]

_WITH = ("lock", "policy", "settings", "model")
# How many tools a summary names; `--json` names all.
_SHOWN = 8


@click.command(cls=Command)
@click.argument("trace_ids", metavar="[ID]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Every selection that is kept.")
@click.option("--since", callback=when, metavar="WHEN", help="Every one since then: a date, a time, or 24h, 7d ago.")
@click.option("--until", callback=when, metavar="WHEN", help="Likewise; what is later is left out.")
@click.option("--against", metavar="VERSION", help="On this catalog version instead of its own.")
@click.option(
    "--with",
    "others",
    multiple=True,
    metavar="WHAT",
    help="With the present lock, policy, settings or model instead of its own; lock=FILE names another lock.",
)
def replay(
    trace_ids: tuple[str, ...],
    every: bool,
    since: Moment | None,
    until: Moment | None,
    against: str | None,
    others: tuple[str, ...],
) -> int:
    """Make the selection of each trace again and compare.

    Each runs on its own versions of catalog, policy and settings, and must come out the same. With --against or --with
    it is said what would have been selected instead.
    """
    period = every or since is not None or until is not None
    if period == bool(trace_ids):
        raise click.UsageError("name traces, or a period with --all, --since or --until")
    with opened() as (_, system):
        wanted = _period(system, since, until) if period else None
        found = run(lambda: _replayed(system, trace_ids, wanted, against, others))
    from pegboard.engine.comparing import summarise

    replays, summary = [one for _, one in found], summarise(found)
    if as_json():
        print_json({"traces": [one.to_json() for one in replays], "summary": summary.to_json()})
    else:
        for one in replays:
            if not period or not one.equal:
                _show(one, compared=bool(against or others))
        if period:
            _sum_up(summary)
    return DONE if summary.equal == summary.total else NO


async def _replayed(
    system: "System", ids: Sequence[str], wanted: "Wanted | None", against: str | None, others: Sequence[str]
) -> "list[tuple[Trace, Replay]]":
    instead = await _against(system, against, others)
    if wanted is not None:
        return [one async for one in system.replayer.replay_all(wanted, instead)]
    replays = await system.replayer.replay(ids, instead)
    return [(await system.replayer.trace(trace_id), one) for trace_id, one in zip(ids, replays, strict=True)]


async def _against(system: "System", version: str | None, others: Sequence[str]) -> "Against":
    from pegboard.service.replayer import Against

    named = dict(other.partition("=")[::2] for other in others)
    for name, value in named.items():
        if name not in _WITH or (value and name != "lock"):
            raise ConfigError(
                f"there is no {name}{'=' * bool(value)}{value} to replay with",
                fix=f"use one of: {', '.join(_WITH)}, lock=FILE",
            )
    return Against(
        catalog=None if version is None else await _number(system, version),
        lock=_lock(system, named["lock"]) if "lock" in named else None,
        policy="policy" in named,
        settings="settings" in named,
        model="model" in named,
    )


async def _number(system: "System", name: str) -> int:
    for one in await system.catalog.snapshots.versions():
        if name in (one.version, str(one.number)):
            return one.number
    raise ConfigError(f"there is no catalog version {name!r}", fix="`pegboard catalog versions` lists those there are")


def _lock(system: "System", file: str) -> "Lock":
    from pegboard.adapters.files import LockFileAt

    return LockFileAt(file).read() if file else system.keeper.show()


def _period(system: "System", since: Moment | None, until: Moment | None) -> "Wanted":
    from pegboard.service.traces import Wanted

    now = system.catalog.clock.now()
    return Wanted(since=0.0 if since is None else since(now), until=None if until is None else until(now))


def _show(one: "Replay", *, compared: bool) -> None:
    came_to = ("the same" if compared else "the same, byte for byte", "green") if one.equal else ("differs", "bold red")
    if one.equal and str(one.grade) == "verifiable":
        came_to = ("nothing contradicts it; its input was not kept", "green")
    say(one.trace_id, came_to)
    for difference in one.diff:
        if difference.what != "tools" or not one.tools:
            was, now = (json.dumps(value, ensure_ascii=False) for value in (difference.was, difference.now))
            say((f"  {difference.what}:", "dim"), was, ("is now", "dim"), now)
    _show_tools(one.tools)


def _show_tools(change: "Change") -> None:
    rows: tuple[tuple[Cell, Sequence[str]], ...] = (
        (("  +", "green"), change.added),
        (("  -", "red"), change.dropped),
        (("  ~", "yellow"), change.changed),
    )
    for sign, tools in rows:
        for tool in tools:
            say(sign, tool)
    for tool, (was, now) in change.moved.items():
        say(("  >", "dim"), tool, (f"rank {was or '-'} is now {now or '-'}", "dim"))


def _sum_up(summary: "Summary") -> None:
    """Print what many replays came to."""
    if not summary.total:
        note("there are no selections in that time")
        return
    rows: list[tuple[str, Cell]] = [
        ("equal", f"{summary.equal:,} of {summary.total:,}"),
        *([("verified only", f"{summary.verifiable:,}")] if summary.verifiable else []),
        *((f"{was} is now {now}", f"{count:,}") for (was, now), count in summary.outcomes.items() if was != now),
        *((f"+ {tool}", counted(count, "selection")) for tool, count in list(summary.entering.items())[:_SHOWN]),
        *((f"- {tool}", counted(count, "selection")) for tool, count in list(summary.leaving.items())[:_SHOWN]),
    ]
    facts(rows)
