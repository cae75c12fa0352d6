"""`pegboard halt` and `resume`: stop what must not run, from the next request on, and let it run again."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from pegboard.cli.command import Command, as_json
from pegboard.cli.errors import DONE, NO
from pegboard.cli.naming import named, nearest
from pegboard.cli.opening import opened, operator_name, run, without_policies
from pegboard.cli.printing import note, print_json, say
from pegboard.cli.times import duration
from pegboard.core.errors import ConfigError
from pegboard.core.revocations import EVERYTHING, Revocation, target_problem, with_parents
from pegboard.core.times import stamp

if TYPE_CHECKING:
    from pegboard.core.catalog import CatalogEntry
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
        print_json(
            {
                "target": revocation.target,
                "why": revocation.why,
                "by": revocation.by,
                "since": stamp(revocation.since),
                "expires_at": None if revocation.expires_at is None else stamp(revocation.expires_at),
            }
        )
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

    from pegboard.service.audit import AuditKind

    async def resumed(system: "System") -> tuple[bool, list[str]]:
        policies = system.catalog.policies
        lifted = await policies.resume(target)
        if lifted:
            await system.audit.record(AuditKind.RESUME, target=target, by=operator_name())
        return lifted, [one.target for one in await policies.halts()]

    with opened(without_policies) as (_, system):
        lifted, others = run(lambda: resumed(system))
    if as_json():
        print_json({"target": target, "resumed": lifted, "halted": list(others)})
    else:
        say((target, "bold"), ("is no longer halted", "green") if lifted else ("was not halted", "yellow"))
        if others:
            note(f"still halted: {', '.join(others)}")
    return DONE if lifted else NO


async def _halted(system: "System", target: str, why: str, seconds: float | None) -> Revocation:
    from pegboard.service.audit import AuditKind

    if problem := target_problem(target):
        raise ConfigError(
            problem=f"{target!r} {problem}", fix="name a tool id, namespace:…, server:…, principal:… or all"
        )
    now = system.catalog.clock.now()
    revocation = Revocation(
        target=await _target(system, target),
        why=why,
        by=operator_name(),
        since=now,
        expires_at=None if seconds is None else now + seconds,
    )
    # It holds before anyone writes of it: an audit that cannot be written must not keep a tool running.
    await system.catalog.policies.halt(revocation)
    told = {"target": revocation.target, "why": why, "by": revocation.by, "expires_at": revocation.expires_at}
    await system.audit.record(AuditKind.HALT, **told)
    return revocation


async def _target(system: "System", target: str) -> str:
    """Return the target as it is put on record.

    A halt that stops nothing because of a slip of the pen is worse than none, so what is not there is refused. It is
    looked up in what is served and in what servers list, without the lock, which may be what is broken.

    Raises:
        ConfigError: There is no such tool, namespace or server.
    """
    kind, colon, name = target.partition(":")
    if target == EVERYTHING or (colon and kind == "principal"):
        return target
    head = await system.catalog.snapshots.head()
    served = () if head is None else (await system.catalog.snapshots.load(head.number)).entries
    listed = [entry for entries in (await system.catalog.live()).values() for entry in entries]
    entries = {entry.tool_id: entry for entry in (*listed, *served)}.values()
    if found := named(target, entries):
        return found[0].tool_id if len(found) == 1 else _one_of(target, found)
    known = (
        {
            "namespace": {path for entry in entries for path in with_parents(entry.namespace)},
            "server": {entry.source_server for entry in entries} | set(system.servers.names()),
        }.get(kind, set())
        if colon
        else set()
    )
    if name in known:
        return target
    ids = [f"{kind}:{one}" for one in sorted(known)] or [entry.tool_id for entry in entries]
    near = nearest(target, ids)
    raise ConfigError(
        problem=f"there is nothing {target!r} would stop",
        fix=f"did you mean {' or '.join(near)}?" if near else "`pegboard catalog list` names tools and namespaces",
    )


def _one_of(target: str, found: Sequence["CatalogEntry"]) -> str:
    raise ConfigError(
        problem=f"{target!r} may be {' or '.join(one.tool_id for one in found)}", fix="name the tool by its id"
    )
