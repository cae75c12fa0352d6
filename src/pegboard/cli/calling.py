"""`pegboard call`: run one tool through the gate."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from pegboard.cli.command import Command, as_json
from pegboard.cli.errors import DONE, NO, OUTSIDE
from pegboard.cli.naming import nearest
from pegboard.cli.opening import opened, run
from pegboard.cli.printing import note, print_json, print_text, say
from pegboard.core.names import Json, parse_json
from pegboard.core.times import stamp

if TYPE_CHECKING:
    from pegboard.config.values import Config
    from pegboard.core.lock import LockLine
    from pegboard.engine.verdict import Verdict
    from pegboard.service.answering import CallAnswer
    from pegboard.wiring import System

__all__ = ["call"]

# What is neither an answer nor a refusal: whoever runs the store or the server must look.
_OUTSIDE = frozenset({"unavailable", "outcome_unknown"})


@click.command(cls=Command)
@click.argument("tool")
@click.option("--args", "arguments", metavar="JSON", default="{}", help="The arguments.  [default: {}]")
@click.option("--as", "profile", metavar="PROFILE", required=True, help="For whom: a configured profile.")
@click.option("--stage", metavar="STAGE", help="The step of the work, in place of the profile's.")
@click.option("--selection", metavar="ID", help="The selection that TOOL comes from; TOOL may be an alias in it then.")
@click.option("--key", metavar="K", help="For idempotency: under one key a call runs once, whatever happens.")
@click.option("--approval", metavar="ID", help="The approval that this call has, where it needs one.")
@click.option("--dry-run", is_flag=True, help="Judge the call; send nothing, record nothing.")
def call(
    tool: str,
    arguments: str,
    profile: str,
    stage: str | None,
    selection: str | None,
    key: str | None,
    approval: str | None,
    dry_run: bool,
) -> int:
    """Call TOOL through the gate, once.

    TOOL is an id, or namespace/name. Here every tool that is eligible for the caller may be called.
    """
    from pegboard.engine.verdict import ProposedCall

    proposed = ProposedCall(tool=tool, arguments=_parsed(arguments), selection_id=selection, key=key, approval=approval)
    with opened() as (config, system):
        context = config.context(profile, stage=stage)
        verb = system.gatekeeper.rehearse if dry_run else system.gatekeeper.call
        answer = run(lambda: verb(proposed, context, all_listed=True))
        ids = run(lambda: _known_ids(system)) if answer.verdict.tool_id is None and not as_json() else []
        line = system.keeper.show().lines.get(answer.verdict.tool_id or "")
    if as_json():
        print_json({**answer.to_json(), "operator": _internal(answer)})
    else:
        _show(answer, tool, ids)
        for why in _held(answer.verdict, config, line):
            note((f"operator: {why}", "dim"))
        if answer.approval_id is not None:
            note((f"operator: `pegboard approvals grant {answer.approval_id}`, then the same again", "dim"))
    if str(answer.verdict.kind) in _OUTSIDE:
        return OUTSIDE
    return DONE if answer.succeeded else NO


def _parsed(arguments: str) -> Json:
    try:
        return parse_json(arguments)
    except ValueError as error:
        raise click.BadParameter(f"it is not JSON: {error}", click.get_current_context(), param_hint="--args") from None


async def _known_ids(system: "System") -> list[str]:
    return [one.tool_id for one in (await system.catalog.current()).view.snapshot.entries]


def _held(verdict: "Verdict", config: "Config", line: "LockLine | None") -> Iterator[str]:
    """Say what holds a call back: one like it that may have run, and what an approval is asked for."""
    from pegboard.engine.approvals import Why

    if (past := verdict.repeats) is not None:
        window = f"within the {config.limits.repeat_window_s:g} s of [limits] repeat_window_s in {config.file}"
        known = "and nobody knows how it ended: `pegboard calls list`" if past.unknown else window
        yield f"the same call was sent at {stamp(past.line.at)}, {known}"
        yield "where it is meant once more, give it a key of its own (--key), or approve it"
    reasons = () if verdict.asks is None else verdict.asks.reasons
    if line is not None and set(reasons) - {Why.REPEAT}:
        yield f"held back by [approvals] in {config.file}, and its line in {config.lock}: {line.risk}, {line.reach}"


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
