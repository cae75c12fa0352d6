"""`pegboard keys`: API keys of workloads that no identity provider speaks for."""

from typing import TYPE_CHECKING, Any

import click

from pegboard.cli.command import Subcommands, as_json
from pegboard.cli.errors import DONE, NO
from pegboard.cli.opening import opened, operator_name, run
from pegboard.cli.printing import note, print_json, print_text, say
from pegboard.cli.times import duration
from pegboard.core.times import stamp

if TYPE_CHECKING:
    from pegboard.service.keys import ApiKey

__all__ = ["keys"]

_ROLES = ("agent", "application", "operator")


@click.group(cls=Subcommands)
def keys() -> None:
    """API keys of workloads.

    A key is shown once, when it is made; what is kept cannot be turned back into it. Each opens the routes of one role.
    """


@keys.command()
@click.argument("name")
@click.option("--workload", metavar="W", required=True, help="Who presents it; [identity.workloads.W] bounds it.")
@click.option("--scopes", metavar="S,…", help="These of the workload's scopes.  [default: all of them]")
@click.option("--role", type=click.Choice(_ROLES), default="agent", show_default=True, help="Whose routes it opens.")
@click.option(
    "--for", "seconds", callback=duration, metavar="DURATION", help="So long: 12h, 90d.  [default: until `revoke`]"
)
def create(name: str, workload: str, scopes: str | None, role: str, seconds: float | None) -> int:
    """Make a key NAME and print it.

    An agent selects and calls. An application states the stage of its callers' work. An operator approves and halts.
    """
    from pegboard.service.keys import KeyRole

    held = None if scopes is None else frozenset(scopes.replace(",", " ").split())
    with opened() as (config, system):
        made = run(
            lambda: system.keys.create(
                name, workload=workload, by=operator_name(), role=KeyRole(role), scopes=held, lifetime_s=seconds
            )
        )
    if as_json():
        print_json({**_plain(made.key, made.key.made_at), "key": made.secret})
        return DONE
    print_text(made.secret)
    until = f"`pegboard keys revoke {name}`" if made.key.expires_at is None else stamp(made.key.expires_at)
    if role == "agent" and workload not in config.identity.workloads:
        note(f"[identity.workloads.{workload}] is not there: the key has the scopes named here, and no tenant or role")
    note(f"keep it now: it is not shown again, and opens the routes of the role {role} until {until}")
    return DONE


@keys.command("list")
def list_keys() -> int:
    """List the keys, the newest first, without what is secret of them."""
    with opened() as (_, system):
        now = system.catalog.clock.now()
        found = [_plain(key, now) for key in run(system.keys.list)]
    if as_json():
        print_json({"keys": found})
        return DONE
    for one in found:
        scopes = "all scopes" if one["scopes"] is None else ", ".join(one["scopes"]) or "no scope"
        style = "green" if one["state"] == "valid" else "dim"
        say((one["name"], "bold"), (one["state"], style), one["role"], one["workload"], (scopes, "dim"))
    if not found:
        note("there are no keys; `pegboard keys create` makes one")
    return DONE


@keys.command()
@click.argument("name")
def revoke(name: str) -> int:
    """End the key NAME: the next request with it is refused."""
    with opened() as (_, system):
        key = run(lambda: system.keys.revoke(name, by=operator_name()))
    if as_json():
        print_json({"name": name, "revoked": key is not None})
    else:
        say((name, "bold"), ("opens nothing any more", "green") if key else ("is no key in use", "yellow"))
    return DONE if key else NO


def _plain(key: "ApiKey", now: float) -> dict[str, Any]:
    """Return a key as it is shown."""
    revoked = "revoked" if key.revoked_at is not None else "expired"
    return {
        "key_id": key.key_id,
        "name": key.name,
        "workload": key.workload,
        "role": str(key.role),
        "scopes": None if key.scopes is None else sorted(key.scopes),
        "state": "valid" if key.alive(now) else revoked,
        "by": key.by,
        "made_at": stamp(key.made_at),
        "expires_at": None if key.expires_at is None else stamp(key.expires_at),
        "revoked_at": None if key.revoked_at is None else stamp(key.revoked_at),
    }
