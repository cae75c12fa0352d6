"""`pegboard approvals`: the calls that wait for someone's word, and the word itself."""

from typing import Any

import click

from pegboard.cli.command import Subcommands, as_json
from pegboard.cli.errors import DONE
from pegboard.cli.opening import opened, operator_name, run
from pegboard.cli.printing import note, print_json, print_text, say
from pegboard.core.names import compact_json

__all__ = ["approvals"]

# As `service.approver.STATES`, which is not loaded to say how the command is used.
_STATES = ("asked", "granted", "denied", "used", "expired")
_STYLES = {"asked": "bold yellow", "granted": "green", "denied": "red"}


@click.group(cls=Subcommands)
def approvals() -> None:
    """Calls that someone has to approve first.

    An approval is good for one call with just these arguments, for the reasons shown, until it expires. Nobody grants
    what was asked for under a name of theirs.
    """


@approvals.command("list")
@click.option("--state", type=click.Choice([*_STATES, "all"]), default="asked", show_default=True, help="Which ones.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", default=20, show_default=True, help="The newest N.")
def list_approvals(state: str, limit: int) -> int:
    """List requests, the newest first; unsaid, those that wait."""
    with opened() as (_, system):
        found = run(lambda: system.approver.listed(state, limit))
    if as_json():
        print_json({"approvals": found})
        return DONE
    for one in found:
        _show(one)
    if not found:
        note("no call waits for an approval" if state == "asked" else "there is no such request")
    return DONE


@approvals.command()
@click.argument("approval_id", metavar="ID")
def grant(approval_id: str) -> int:
    """Let the call of request ID run, once."""
    with opened() as (_, system):
        granted = run(lambda: system.approver.grant(approval_id, by=operator_name()))
        shown = run(lambda: system.approver.told(granted))
    if as_json():
        print_json(shown)
    else:
        say(("granted", "green"), granted.tool_id, (f"once, until {shown['expires_at']}", "dim"))
    return DONE


@approvals.command()
@click.argument("approval_id", metavar="ID")
@click.option("--why", metavar="TEXT", help="The reason; it is put on record.")
def deny(approval_id: str, why: str | None) -> int:
    """Refuse the call of request ID.

    The same is not asked for again before the request has expired.
    """
    with opened() as (_, system):
        denied = run(lambda: system.approver.deny(approval_id, by=operator_name(), why=why))
        shown = run(lambda: system.approver.told(denied))
    if as_json():
        print_json(shown)
    else:
        say(("denied", "red"), denied.tool_id, (f"until {shown['expires_at']}", "dim"))
    return DONE


def _show(one: dict[str, Any]) -> None:
    say((one["approval_id"], "bold"), (one["state"], _STYLES.get(one["state"], "dim")), one["tool_id"])
    print_text(f"  arguments  {compact_json(one['arguments'])}")
    say(("  for       ", "dim"), one["principal"], ("because of", "dim"), ", ".join(one["reasons"]))
    for call in one["earlier"]:
        say(("  after     ", "dim"), call["tool_id"], (f"{call['at']} {call['call_id']}", "dim"))
    word = f", {one['state']} by {one['by']} {one['decided_at']}" if one["by"] else ""
    say(("  asked     ", "dim"), (f"{one['asked_at']}, until {one['expires_at']}{word}", "dim"))
