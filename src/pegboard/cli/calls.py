"""`pegboard calls`: the calls of which nobody knows how they ended, how one did, and the old ones."""

from typing import TYPE_CHECKING, Any

import click

from pegboard.cli.command import Subcommands, as_json
from pegboard.cli.errors import DONE
from pegboard.cli.opening import opened, operator_name, run
from pegboard.cli.printing import counted, note, print_json, say
from pegboard.core.times import stamp

if TYPE_CHECKING:
    from pegboard.engine.ledger import Past

__all__ = ["calls"]


@click.group(cls=Subcommands)
def calls() -> None:
    """Calls on record: those whose outcome nobody knows, and the old ones.

    The same call is not sent again while its outcome is unknown; who has looked says what came of it.
    """


@calls.command("list")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", default=20, show_default=True, help="The newest N.")
def list_calls(limit: int) -> int:
    """List calls of unknown outcome, the newest first.

    An answer was lost, a process ended, or a call is still running.
    """
    with opened() as (_, system):
        found = run(lambda: system.calls.unknown(limit))
    if as_json():
        print_json({"calls": [_plain(one) for one in found]})
        return DONE
    for one in found:
        line = one.line
        say((line.call_id, "bold"), line.tool_id, (f"{stamp(line.at)} for {line.principal}", "dim"))
    if not found:
        note("the outcome of every call is known")
    return DONE


@calls.command()
@click.argument("call_id", metavar="ID")
@click.option(
    "--outcome", type=click.Choice(["done", "not_done"]), required=True, help="Whether it had its effect, or none."
)
@click.option("--why", metavar="TEXT", required=True, help="How that was found out; it is put on record.")
def resolve(call_id: str, outcome: str, why: str) -> int:
    """Say how call ID ended, of which nobody knew.

    What is done is not run again under its key. What is not done leaves its key and its approval free.
    """
    from pegboard.service.calls import Outcome

    with opened() as (_, system):
        found = run(lambda: system.calls.resolve(call_id, Outcome(outcome), by=operator_name(), why=why))
    if as_json():
        print_json(_plain(found))
    else:
        say((call_id, "bold"), found.line.tool_id, (outcome.replace("_", " "), "green"))
    return DONE


@calls.command()
@click.option("--apply", is_flag=True, help="Remove what is shown.")
def prune(apply: bool) -> int:
    """Say which calls are older than [ledger] keep_days, and remove them with --apply.

    Calls of unknown outcome stay, and what a conversation first touched.
    """
    with opened() as (_, system):
        found = run(lambda: system.calls.prune(by=operator_name(), apply=apply))
    if as_json():
        print_json(found.to_json())
        return DONE
    gone = found.found
    parts = counted(gone.lines, "call"), counted(gone.approvals, "approval")
    note(", ".join(parts), "removed" if apply else f"from before {stamp(found.before)} would go")
    note(f"{gone.unknown:,} of unknown outcome stay, and {gone.labels:,} that a conversation's flow goes back to")
    if not apply and (gone.lines or gone.approvals):
        note("`pegboard calls prune --apply` removes them")
    return DONE


def _plain(one: "Past") -> dict[str, Any]:
    return {
        "call_id": one.line.call_id,
        "tool_id": one.line.tool_id,
        "principal": one.line.principal,
        "at": stamp(one.line.at),
        "key": one.line.key,
        "trace_id": one.line.trace_id,
        "ended": None if one.ended is None else str(one.ended),
    }
