"""`pegboard call`, `halt` and `resume`: run one tool through the gate, and stop what must not run."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from pegboard.cli.command import Command, as_json
from pegboard.cli.errors import DONE, NO, OUTSIDE
from pegboard.cli.naming import named, nearest
from pegboard.cli.opening import opened, operator_name, run
from pegboard.cli.printing import note, print_json, print_text, say, stamp
from pegboard.core.errors import ConfigError
from pegboard.core.names import Json, parse_json
from pegboard.core.revocations import EVERYTHING, Revocation, target_problem, with_parents

if TYPE_CHECKING:
    from pegboard.core.catalog import CatalogEntry
    from pegboard.service.gatekeeper import CallAnswer
    from pegboard.wiring import System

__all__ = ["call", "halt", "resume"]

# What is neither an answer nor a refusal: whoever runs the store or the server must look.
_OUTSIDE = frozenset({"unavailable", "outcome_unknown"})


@click.command(cls=Command)
@click.argument("tool")
@click.option("--args", "arguments", metavar="JSON", default="{}", help="The arguments.  [default: {}]")
@click.option("--as", "profile", metavar="PROFILE", required=True, help="For whom: a configured profile.")
@click.option("--stage", metavar="STAGE", help="The step of the work, in place of the profile's.")
@click.option("--selection", metavar="ID", help="The selection that TOOL comes from; TOOL may be an alias in it then.")
@click.option("--dry-run", is_flag=True, help="Judge the call; send nothing, record nothing.")
def call(tool: str, arguments: str, profile: str, stage: str | None, selection: str | None, dry_run: bool) -> int:
    """Call TOOL through the gate, once.

    TOOL is an id, or namespace/name. Here every tool that is eligible for the caller may be called.
    """
    from pegboard.engine.gate import ProposedCall, VerdictKind

    proposed = ProposedCall(tool=tool, arguments=_parsed(arguments), selection_id=selection)
    with opened() as (config, system):
        context = config.context(profile, stage=stage)
        verb = system.gatekeeper.rehearse if dry_run else system.gatekeeper.call
        answer = run(lambda: verb(proposed, context, operator=True))
        ids = run(lambda: _known_ids(system)) if answer.verdict.tool_id is None and not as_json() else []
        line = system.keeper.show().lines.get(answer.verdict.tool_id or "")
    if as_json():
        print_json({**answer.to_json(), "operator": _internal(answer)})
    else:
        _show(answer, tool, ids)
        if answer.verdict.kind is VerdictKind.APPROVAL_REQUIRED and line is not None:
            locked = f"its line in {config.lock} says {line.risk}, {line.reach}"
            note((f"operator: [approvals] in {config.file} holds it back: {locked}", "dim"))
    if str(answer.verdict.kind) in _OUTSIDE:
        return OUTSIDE
    return DONE if answer.succeeded else NO


@click.command(cls=Command)
@click.argument("target")
@click.option("--why", metavar="TEXT", required=True, help="The reason; it is put on record.")
def halt(target: str, why: str) -> int:
    """Stop TARGET from the next request on.

    It holds whatever catalog and lock say. TARGET is a tool id, namespace:NAME, server:NAME, principal:NAME, or all,
    which leaves the tools that are pinned always.
    """
    with opened() as (_, system):
        revocation = run(lambda: _halted(system, target, why))
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
        say(("halted", "bold red"), revocation.target, (f"until `pegboard resume {revocation.target}`", "dim"))
    return DONE


@click.command(cls=Command)
@click.argument("target")
def resume(target: str) -> int:
    """Lift the halt of TARGET."""

    async def resumed(system: "System") -> tuple[bool, list[str]]:
        policies = system.catalog.policies
        return await policies.resume(target), [one.target for one in await policies.halts()]

    with opened() as (_, system):
        lifted, others = run(lambda: resumed(system))
    if as_json():
        print_json({"target": target, "resumed": lifted, "halted": list(others)})
    else:
        say((target, "bold"), ("is no longer halted", "green") if lifted else ("was not halted", "yellow"))
        if others:
            note(f"still halted: {', '.join(others)}")
    return DONE if lifted else NO


def _parsed(arguments: str) -> Json:
    try:
        return parse_json(arguments)
    except ValueError as error:
        raise click.BadParameter(f"it is not JSON: {error}", click.get_current_context(), param_hint="--args") from None


async def _known_ids(system: "System") -> list[str]:
    return [one.tool_id for one in (await system.catalog.current()).view.snapshot.entries]


def _internal(answer: "CallAnswer") -> Json:
    """Return what an operator may know of a refusal and a caller may not."""
    internal = answer.verdict.internal
    if internal is None:
        return None
    return {
        "cause": str(internal.cause),
        "tool_id": internal.tool_id,
        "reasons": [str(reason) for reason in internal.reasons],
        "error": internal.error,
    }


def _show(answer: "CallAnswer", tool: str, ids: Sequence[str]) -> None:
    """Print the tool's answer to stdout, and everything else beside it."""
    verdict = answer.verdict
    style = "bold green" if answer.succeeded else "bold red"
    note((str(verdict.kind), style), verdict.message or "", (answer.trace_id, "dim"))
    if verdict.path is not None:
        note(("  at", "dim"), verdict.path or "(the arguments)", (verdict.constraint or "", "dim"))
    if (internal := verdict.internal) is not None:
        why = ", ".join(map(str, internal.reasons)) or internal.error or ""
        note((f"operator: {internal.cause} {internal.tool_id or tool}: {why}".rstrip(": "), "dim"))
        if internal.tool_id is None and tool not in ids and (near := nearest(tool, ids)):
            note((f"operator: nearest: {', '.join(near)}", "dim"))
    if answer.error is not None:
        note(("the server refused:", "red"), json.dumps(answer.error, ensure_ascii=False))
    if answer.result is not None:
        if answer.result.get("isError"):
            note(("the tool reports an error:", "red"))
        _show_result(answer.result)


def _show_result(result: Mapping[str, Any]) -> None:
    content = result.get("content")
    parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    for part in parts:
        text = part.get("text")
        if part.get("type") == "text" and isinstance(text, str):
            print_text(text)
        else:
            say((f"[{part.get('type')}{_about(part)}]", "dim"))
    if not parts and result.get("structuredContent") is not None:
        print_text(json.dumps(result["structuredContent"], ensure_ascii=False, indent=2))


def _about(part: Mapping[str, Any]) -> str:
    """Name what cannot be shown as text: its kind, and where it is or how long."""
    known = [str(part[key]) for key in ("name", "uri", "mimeType") if isinstance(part.get(key), str)]
    if isinstance(part.get("data"), str):
        known.append(f"{len(part['data']):,} characters of base64")
    return f": {', '.join(known)}" if known else ""


async def _halted(system: "System", target: str, why: str) -> Revocation:
    if problem := target_problem(target):
        raise ConfigError(
            problem=f"{target!r} {problem}", fix="name a tool id, namespace:…, server:…, principal:… or all"
        )
    revocation = Revocation(
        target=await _target(system, target), why=why, by=operator_name(), since=system.catalog.clock.now()
    )
    await system.catalog.policies.halt(revocation)
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
