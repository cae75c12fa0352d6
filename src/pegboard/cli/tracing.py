"""`pegboard traces` and `pegboard replay`: what happened, and the same again."""

import json
from typing import TYPE_CHECKING, Any

import click

from pegboard.cli.command import Command, Subcommands, as_json
from pegboard.cli.errors import DONE, NO
from pegboard.cli.opening import opened, run
from pegboard.cli.printing import note, print_json, print_text, say, stamp, table
from pegboard.core.errors import ConfigError

if TYPE_CHECKING:
    from pegboard.wiring import System

__all__ = ["replay", "traces"]


@click.group(cls=Subcommands)
def traces() -> None:
    """What was selected and called, and for whom."""


@traces.command("list")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", default=20, show_default=True, help="The newest N.")
def list_traces(limit: int) -> int:
    """List the newest traces, the newest first."""

    async def read(system: "System") -> list[dict[str, Any]]:
        ids = await system.store.traces(limit)
        return [_summary(trace_id, at, await system.store.trace(trace_id)) for trace_id, at in ids]

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
        note("there are no traces yet: `pegboard select` leaves one")
    return DONE


@traces.command()
@click.argument("trace_id", metavar="ID")
def show(trace_id: str) -> int:
    """Show the trace ID whole."""
    with opened() as (_, system):
        body = run(lambda: system.store.trace(trace_id))
    if body is None:
        raise ConfigError(problem=f"no trace {trace_id!r}", fix="`pegboard traces list` names those that are kept")
    trace = json.loads(body)
    if as_json():
        print_json(trace)
    else:
        # For people a time is one they can read; `--json` gives the trace as it is on record.
        at = {"at": stamp(trace["at"])} if "at" in trace else {}
        print_text(json.dumps({**trace, **at}, ensure_ascii=False, indent=2))
    return DONE


@click.command(cls=Command)
@click.argument("trace_ids", metavar="ID...", nargs=-1, required=True)
def replay(trace_ids: tuple[str, ...]) -> int:
    """Make the selection of each trace again and compare.

    Each runs on its own versions of catalog, policy and settings.
    """
    with opened() as (_, system):
        replays = run(lambda: system.replayer.replay(trace_ids))
    equal = all(one.equal for one in replays)
    if as_json():
        print_json({"traces": [one.to_json() for one in replays]})
        return DONE if equal else NO
    for one in replays:
        came_to = ("the same, byte for byte", "green") if one.equal else ("differs", "bold red")
        if one.equal and str(one.grade) == "verifiable":
            came_to = ("nothing contradicts it; its input was not kept", "green")
        say(one.trace_id, came_to)
        for difference in one.diff:
            was, now = (json.dumps(value, ensure_ascii=False) for value in (difference.was, difference.now))
            say((f"  {difference.what}:", "dim"), was, ("is now", "dim"), now)
    return DONE if equal else NO


def _summary(trace_id: str, at: float, body: bytes | None) -> dict[str, Any]:
    """Return one line of the list; a selection and a call keep their result under different names."""
    trace: dict[str, Any] = {} if body is None else json.loads(body)
    called = trace.get("tool_id")
    return {
        "trace_id": trace_id,
        "at": stamp(at),
        "kind": trace.get("kind", "unknown"),
        "outcome": trace.get("outcome") or trace.get("verdict") or "unknown",
        "principal": trace.get("principal") or "",
        "tools": [tool["tool_id"] for tool in trace.get("tools", ())] or ([called] if called else []),
    }
