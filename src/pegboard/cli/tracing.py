"""`pegboard traces`: what was selected and called, and for whom."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import click

from pegboard.cli.command import Subcommands, as_json
from pegboard.cli.errors import DONE
from pegboard.cli.opening import opened, run
from pegboard.cli.printing import counted, note, print_json, print_text, table
from pegboard.cli.times import Moment, when
from pegboard.core.errors import ConfigError
from pegboard.core.names import compact_json
from pegboard.core.times import stamp

if TYPE_CHECKING:
    from pegboard.service.traces import Wanted
    from pegboard.wiring import System

__all__ = ["traces"]

_FILTERS = (
    click.option("--principal", metavar="NAME", help="Of this caller alone."),
    click.option("--outcome", metavar="WORD", help="With this outcome, or this verdict, alone."),
    click.option("--since", callback=when, metavar="WHEN", help="A date, a time, or how long ago: 24h, 7d."),
    click.option("--until", callback=when, metavar="WHEN", help="Likewise; what is later is left out."),
)


def _filtered(command: Callable[..., int]) -> Callable[..., int]:
    for option in reversed(_FILTERS):
        command = option(command)
    return command


@click.group(cls=Subcommands)
def traces() -> None:
    """What was selected and called, and for whom."""


@traces.command("list")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", default=20, show_default=True, help="The newest N.")
@_filtered
def list_traces(limit: int, **filters: Any) -> int:
    """List the newest traces, the newest first."""

    async def read(system: "System") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        async with aclosing(system.traces.newest(_wanted(system, **filters))) as every:
            async for one in every:
                found.append(_summary(one))
                if len(found) == limit:
                    break
        return found

    with opened() as (_, system):
        found = run(lambda: read(system))
    if as_json():
        print_json({"traces": found})
    elif found:
        table(
            ("TRACE", "AT", "KIND", "CAME TO", "FOR", "TOOLS"),
            (
                (
                    one["trace_id"],
                    (one["at"], "dim"),
                    one["kind"],
                    one["outcome"],
                    one["principal"],
                    " ".join(one["tools"]),
                )
                for one in found
            ),
        )
    else:
        asked = any(value is not None for value in filters.values())
        note("no trace matches" if asked else "there are no traces yet: `pegboard select` leaves one")
    return DONE


@traces.command()
@click.argument("trace_id", metavar="ID")
def show(trace_id: str) -> int:
    """Show the trace ID whole.

    A selection is shown with the calls that were made of it, a call with its selection.
    """
    with opened() as (_, system):
        trace = run(lambda: system.traces.one(trace_id))
    if trace is None:
        raise ConfigError(problem=f"no trace {trace_id!r}", fix="`pegboard traces list` names those that are kept")
    if as_json():
        print_json(trace)
    else:
        # For people a time is one they can read; `--json` gives the trace as it is on record.
        at = {"at": stamp(trace["at"])} if "at" in trace else {}
        print_text(json.dumps({**trace, **at}, ensure_ascii=False, indent=2))
    return DONE


@traces.command()
@click.argument("file", type=click.Path(dir_okay=False, writable=True), required=False)
@_filtered
def export(file: str | None, **filters: Any) -> int:
    """Write traces as JSON Lines, the newest first.

    They go to FILE, or to stdout; each selection has the calls that were made of it.
    """
    with opened() as (_, system):
        wanted = _wanted(system, **filters)
        if file is None and as_json():
            print_json({"traces": run(lambda: _gathered(system.traces.newest(wanted)))})
            return DONE
        count = run(lambda: _written(system.traces.newest(wanted), file))
    if as_json():
        print_json({"exported": count, "file": file})
    else:
        note(f"{counted(count, 'trace')} in {file or 'all'}")
    return DONE


@traces.command()
@click.option(
    "--before", callback=when, metavar="WHEN", help="A date, a time, or an age.  [default: [traces] keep_days]"
)
def prune(before: Moment | None) -> int:
    """Remove traces that are too old, and selections that have expired.

    A running Pegboard does it by itself. What replay needs of catalogs and policies stays.
    """
    with opened() as (_, system):
        end = None if before is None else before(system.catalog.clock.now())
        removed = run(lambda: system.writer.prune(before=end))
    if as_json():
        print_json({"removed": removed})
    else:
        note(f"{counted(removed, 'record')} removed")
    return DONE


def _wanted(
    system: "System", *, principal: str | None, outcome: str | None, since: Moment | None, until: Moment | None
) -> "Wanted":
    from pegboard.service.traces import Wanted

    now = system.catalog.clock.now()
    return Wanted(
        since=0.0 if since is None else since(now),
        until=None if until is None else until(now),
        principal=principal,
        outcome=outcome,
    )


async def _gathered(found: AsyncIterator[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one async for one in found]


async def _written(found: AsyncIterator[dict[str, Any]], file: str | None) -> int:
    count = 0
    with click.open_file(file or "-", "w", encoding="utf-8") as target:
        async for one in found:
            target.write(f"{compact_json(one)}\n")
            count += 1
    return count


def _summary(trace: dict[str, Any]) -> dict[str, Any]:
    """Return one line of the list; a selection and a call keep their result under different names."""
    called = trace.get("tool_id")
    return {
        "trace_id": trace["trace_id"],
        "at": stamp(trace["at"]),
        "kind": trace.get("kind", "unknown"),
        "outcome": trace.get("outcome") or trace.get("verdict") or "unknown",
        "principal": trace.get("principal") or "",
        "tools": [tool["tool_id"] for tool in trace.get("tools", ())] or ([called] if called else []),
        "selection_id": trace.get("selection_id"),
        "calls": [
            {"trace_id": one["trace_id"], "tool_id": one["tool_id"], "verdict": one["verdict"]}
            for one in trace.get("calls", ())
        ],
    }
