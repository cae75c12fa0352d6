"""`pegboard audit`: who was denied what, who allowed it, who halted it, and who changed the lock."""

from collections import deque
from typing import TYPE_CHECKING, Any

import click

from pegboard.cli.command import Subcommands, as_json
from pegboard.cli.errors import DONE, NO
from pegboard.cli.opening import opened, operator_name, run
from pegboard.cli.printing import counted, note, print_json, say, table
from pegboard.cli.times import Moment, when
from pegboard.core.names import compact_json
from pegboard.core.times import stamp

if TYPE_CHECKING:
    from pegboard.service.ports import AuditEvent
    from pegboard.wiring import System

__all__ = ["audit"]


@click.group(cls=Subcommands)
def audit() -> None:
    """What operators answer for: denials, approvals, halts, lock changes.

    It names tools that callers may not see; nothing of it reaches one.
    """


@audit.command("list")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", default=20, show_default=True, help="The newest N.")
@click.option("--kind", metavar="KIND", help="Of this kind alone, as `denial` or `halt`.")
@click.option("--since", callback=when, metavar="WHEN", help="A date, a time, or how long ago: 24h, 7d.")
def list_events(limit: int, kind: str | None, since: Moment | None) -> int:
    """List the newest events, the newest first."""
    with opened() as (_, system):
        start = 0.0 if since is None else since(system.catalog.clock.now())
        found = run(lambda: _newest(system, limit, kind, start))
    if as_json():
        print_json({"events": [_plain(one) for one in found]})
    elif found:
        rows = ((str(one.number), (stamp(one.at), "dim"), one.kind, _body(one)) for one in found)
        table(("NUMBER", "AT", "KIND", "WHAT"), rows, right=("NUMBER",))
    else:
        note("there is no such event")
    return DONE


@audit.command()
@click.option("--expect", metavar="HASH", help="A last hash of an earlier time, kept where nobody here can change it.")
def verify(expect: str | None) -> int:
    """Compute the chain anew, and say which events do not follow from the one before.

    That the newest events were cut off shows only against a last hash that was kept elsewhere; this prints it.
    """
    with opened() as (_, system):
        found = run(lambda: system.audit.verify(expect))
    if as_json():
        print_json(found.to_json())
        return DONE if found.good else NO
    for number in found.broken:
        say((f"event {number:,}", "bold"), ("does not follow from the one before", "red"))
    if found.found is False:
        say((str(expect), "bold"), ("is not there: what was newest then was cut off, replaced or removed", "red"))
    if found.pruned:
        note(f"{counted(found.pruned, 'older event')} were removed; the chain goes on from the last of them")
    good = ("all good", "green") if found.good else ("not as it was written", "bold red")
    say(f"{counted(found.events, 'event')}:", good, (found.last, "dim"))
    return DONE if found.good else NO


@audit.command()
@click.option("--apply", is_flag=True, help="Remove what is shown.")
def prune(apply: bool) -> int:
    """Say which events are older than [audit] keep_days, and remove them with --apply.

    That they went is an event itself, from which the chain goes on.
    """
    with opened() as (_, system):
        kept_s = system.catalog.deployment.audit_kept_s
        found = run(lambda: system.audit.prune(kept_s, by=operator_name(), apply=apply))
    if as_json():
        print_json(found.to_json())
        return DONE
    note(counted(found.events, "event"), "removed" if apply else f"from before {stamp(found.before)} would go")
    if not apply and found.events:
        note("`pegboard audit prune --apply` removes them")
    return DONE


@audit.command()
@click.argument("file", type=click.Path(dir_okay=False, writable=True), required=False)
def export(file: str | None) -> int:
    """Write every event as JSON Lines, the oldest first, to FILE or to stdout."""

    async def written(system: "System") -> int:
        count = 0
        with click.open_file(file or "-", "w", encoding="utf-8") as target:
            async for one in system.audit.events():
                target.write(f"{compact_json(_plain(one))}\n")
                count += 1
        return count

    async def gathered(system: "System") -> list[dict[str, Any]]:
        return [_plain(one) async for one in system.audit.events()]

    with opened() as (_, system):
        if file is None and as_json():
            print_json({"events": run(lambda: gathered(system))})
            return DONE
        count = run(lambda: written(system))
    if as_json():
        print_json({"exported": count, "file": file})
    else:
        note(f"{counted(count, 'event')} in {file or 'all'}")
    return DONE


async def _newest(system: "System", limit: int, kind: str | None, start: float) -> "list[AuditEvent]":
    found: deque[AuditEvent] = deque(maxlen=limit)
    async for one in system.audit.events():
        if one.at >= start and kind in (None, one.kind):
            found.append(one)
    return list(reversed(found))


def _plain(one: "AuditEvent") -> dict[str, Any]:
    return {"number": one.number, "at": one.at, "kind": one.kind, "body": dict(one.body), "hash": one.hash}


def _body(one: "AuditEvent") -> str:
    """Return what an event says, on one line."""
    parts = ((name, value) for name, value in one.body.items() if value not in (None, [], {}, ""))
    return " ".join(f"{name}={value if isinstance(value, str) else compact_json(value)}" for name, value in parts)
