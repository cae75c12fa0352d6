"""What agents and applications ask over HTTP: select, describe, call, tools, and the context of a caller.

The verbs are the service's own; nothing is decided here. Whoever asks sees what it may use, and of everything else not
that it is there: a tool that is unknown and one that is denied are answered the same (law 2).
"""

from pegboard.core.catalog import CatalogEntry
from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json
from pegboard.engine.rendering import ServedTool, served_tool
from pegboard.engine.verdict import Caller, ProposedCall
from pegboard.engine.view import Seen, View
from pegboard.gateway import asked
from pegboard.gateway.refusals import Refusal, refused
from pegboard.gateway.running import Running
from pegboard.providers.capabilities import Api
from pegboard.providers.rendering import render
from pegboard.service.identity import Application, Credential, CredentialKind, Refused
from pegboard.service.keys import is_key
from pegboard.service.selector import Request
from pegboard.service.stated import Stated

__all__ = ["call", "context", "describe", "select", "tools"]


async def select(running: Running, caller: RuntimeContext, said: asked.Select) -> dict[str, Json]:
    """Select the few tools that fit a task; the operator's part stays here."""
    tasks = (said.task,) if isinstance(said.task, str) else tuple(said.task)
    request = Request(
        tasks=tasks,
        limit=said.limit,
        budget_tokens=said.budget_tokens,
        require=tuple(said.require),
        loaded=tuple(said.loaded),
        answer_without_tool=said.answer_without_tool,
    )
    selection, _ = await running.selector.select(request, caller, said.conversation)
    if said.target is None:
        return selection.to_json()
    prefix = running.catalog.deployment.selection.client_prefix
    return render(selection, Api(said.target), prefix=prefix).to_json()


async def describe(running: Running, caller: RuntimeContext, said: asked.Describe) -> dict[str, Json]:
    """Return the complete definition of one tool that the caller may use now."""
    view, seen = await _seen(running, caller)
    row = view.snapshot.position(said.tool)
    if row is None or not seen.eligibility.mask[row]:
        # The same for a tool that is not there and for one that is denied.
        message, fix = "there is no such tool for this caller", "`select` and `tools` name those that there are"
        raise Refusal(status=404, kind="unknown-tool", message=message, fix=fix)
    entry = view.snapshot.entries[row]
    shown = served_tool(entry, view.eligible_siblings(entry, seen))
    summary = _summary(entry, shown, _alias(running, entry))
    return {**summary, "input_schema": shown.input_schema, "output_schema": shown.output_schema}


async def call(running: Running, caller: RuntimeContext, said: asked.Call) -> dict[str, Json]:
    """Judge a call and, where it is allowed, send it once. A verdict of any kind is an answer."""
    proposed = ProposedCall(
        tool=said.tool,
        arguments=said.arguments,
        selection_id=said.selection,
        conversation=said.conversation,
        key=said.key,
        approval=said.approval,
        caller=Caller(said.caller),
    )
    if said.dry_run:
        return (await running.gatekeeper.rehearse(proposed, caller)).to_json()
    answer = await running.gatekeeper.call(proposed, caller)
    running.observer.answered(proposed.selection_id, proposed, answer, caller, sent=True)
    return answer.to_json()


async def tools(running: Running, caller: RuntimeContext, said: asked.Listed) -> dict[str, Json]:
    """List what the caller may use now, by tool id, a page at a time."""
    view, seen = await _seen(running, caller)
    entries = [view.snapshot.entries[row] for row in seen.eligible.rows]
    inside = said.namespace
    wanted = [
        entry
        for entry in entries
        if (inside is None or entry.namespace == inside or entry.namespace.startswith(f"{inside}."))
        and (said.after is None or entry.tool_id > said.after)
    ]
    page = wanted[: said.limit]
    return {
        "view": seen.digest,
        "tools": [
            _summary(entry, served_tool(entry, view.eligible_siblings(entry, seen)), _alias(running, entry))
            for entry in page
        ],
        "next": page[-1].tool_id if len(wanted) > len(page) else None,
    }


async def context(running: Running, caller: Application, said: asked.Context) -> dict[str, Json]:
    """Let an application state where the work of one of its callers is."""
    kind = CredentialKind.API_KEY if is_key(said.token) else CredentialKind.BEARER
    stated = Stated(stage=said.stage, flags=frozenset(said.flags), clearance=said.clearance)
    credential = Credential(kind=kind, text=said.token)
    bound = await running.identity.set_context(caller, credential, stated)
    if isinstance(bound, Refused):
        raise refused(bound, running.identity.settings)
    flags: list[Json] = [*sorted(bound.stated.flags)]
    return {
        "stage": bound.stated.stage,
        "flags": flags,
        "clearance": bound.stated.clearance,
        "expires_at": bound.expires_at,
    }


async def _seen(running: Running, caller: RuntimeContext) -> tuple[View, Seen]:
    published, revocations = await running.catalog.current(), await running.catalog.revocations()
    return published.view, published.view.see(caller, revocations)


def _alias(running: Running, entry: CatalogEntry) -> str:
    return running.catalog.deployment.selection.alias_of(entry.tool_id)


def _summary(entry: CatalogEntry, shown: ServedTool, name: str) -> dict[str, Json]:
    return {
        "tool_id": entry.tool_id,
        "alias": name,
        "namespace": entry.namespace,
        "schema_hash": entry.schema_hash,
        "title": shown.title,
        "description": shown.description,
    }
