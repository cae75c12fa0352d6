"""`pegboard select` and `pegboard explain`: what a caller gets for a task, and why."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pegboard.cli.command import Command, as_json
from pegboard.cli.errors import DONE
from pegboard.cli.naming import named, nearest
from pegboard.cli.opening import opened, run
from pegboard.cli.printing import Cell, counted, note, print_json, say, table
from pegboard.core.names import Json

if TYPE_CHECKING:
    from pegboard.core.context import RuntimeContext
    from pegboard.engine.explain import Explanation
    from pegboard.engine.selection import Candidate, Selection
    from pegboard.service.published import Published
    from pegboard.wiring import System

__all__ = ["explain", "select"]

_Function = TypeVar("_Function", bound=Callable[..., object])
_TRUSTED = frozenset({"selected", "namespace"})


def _caller(command: _Function) -> _Function:
    """Add the options that say for whom."""
    stage = click.option("--stage", metavar="STAGE", help="The step of the work, in place of the profile's.")
    profile = click.option("--as", "profile", metavar="PROFILE", required=True, help="For whom: a configured profile.")
    return profile(stage(command))


@click.command(cls=Command)
@click.argument("tasks", metavar="TASK...", nargs=-1)
@_caller
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Serve at most N tools.")
@click.option(
    "--budget", type=click.IntRange(min=0), metavar="TOKENS", help="Serve at most so many tokens of definitions."
)
@click.option("--require", metavar="TOOL", multiple=True, help="A tool this step has in any case; may be repeated.")
@click.option("--loaded", metavar="TOOL", multiple=True, help="A tool the conversation has already; may be repeated.")
@click.option(
    "--for",
    "target",
    type=click.Choice(["openai", "openai-chat", "openai-compatible", "anthropic", "gemini", "mcp"]),
    help="Also shape the tools for this model API, and say what is lost.",
)
@click.option("--answer-without-tool", is_flag=True, help="The agent may answer by itself where no tool fits.")
def select(
    tasks: tuple[str, ...],
    profile: str,
    stage: str | None,
    limit: int | None,
    budget: int | None,
    require: tuple[str, ...],
    loaded: tuple[str, ...],
    target: str | None,
    answer_without_tool: bool,
) -> int:
    """Select the few tools that fit TASK, for one caller.

    Several TASKs are sub-tasks; each is covered before the rest is filled.
    """
    from pegboard.service.selector import Request

    if not tasks and not require:
        raise click.UsageError("a task is needed, or a tool to --require", click.get_current_context())

    async def selected(system: "System", context: "RuntimeContext") -> tuple["Selection", dict[str, Json], "Published"]:
        published = await system.catalog.current()
        request = Request(
            tasks=tasks,
            limit=limit,
            budget_tokens=budget,
            require=_ids(require, published),
            loaded=_ids(loaded, published),
            answer_without_tool=answer_without_tool,
        )
        selection, operator = await system.selector.select(request, context)
        return selection, operator, published

    with opened() as (config, system):
        context = config.context(profile, stage=stage)
        selection, operator, published = run(lambda: selected(system, context))
    if target is not None:
        _shape(selection, target, config.selection.client_prefix, published, operator)
    elif as_json():
        print_json(selection.to_json(operator))
    else:
        _show(selection, published, operator)
        _show_operator(selection, operator, published)
    return DONE


@click.command(cls=Command)
@click.argument("tasks", metavar="TASK...", nargs=-1, required=True)
@_caller
@click.option("--tool", metavar="TOOL", help="Say why this one is there, or why not.")
def explain(tasks: tuple[str, ...], profile: str, stage: str | None, tool: str | None) -> int:
    """Say why a caller gets a tool for TASK, or does not.

    Shows how many tools each check removed, and how those that are left rank.
    """
    from pegboard.service.selector import Request

    async def explained(system: "System", context: "RuntimeContext") -> tuple["Explanation", "Published"]:
        published = await system.catalog.current()
        asked = None if tool is None else _ids((tool,), published)[0]
        return await system.selector.explain(Request(tasks=tasks), context, asked), published

    with opened() as (config, system):
        context = config.context(profile, stage=stage)
        explanation, published = run(lambda: explained(system, context))
    if as_json():
        print_json(explanation.to_json())
    else:
        _show_explanation(explanation, published)
    return DONE


def _ids(tools: tuple[str, ...], published: "Published") -> tuple[str, ...]:
    """Turn `namespace/name` into ids where one tool answers to it; all else goes on as it is, and is `missing`."""
    entries = published.view.snapshot.entries
    found = [(tool, named(tool, entries)) for tool in tools]
    return tuple(entries[0].tool_id if len(entries) == 1 else tool for tool, entries in found)


def _show(selection: "Selection", published: "Published", operator: Mapping[str, Any]) -> None:
    style = "bold green" if selection.outcome in _TRUSTED else "bold yellow"
    cause: tuple[Cell, ...] = () if selection.cause is None else ((f"({selection.cause})", "dim"),)
    say((str(selection.outcome), style), *cause, selection.message)
    if selection.tools:
        table(
            ("RANK", "TOOL", "WHY", "RISK", "TOKENS"),
            (_row(one, published) for one in selection.tools),
            right=("RANK", "TOKENS"),
        )
    for name, tools in (("missing", selection.missing), ("withdraw", selection.withdraw)):
        if tools:
            say((f"{name}:", "yellow"), ", ".join(tools))
    if selection.over_budget:
        say(("over budget:", "yellow"), ", ".join(selection.over_budget))
    eligible, tokens = operator["all_eligible"]["tools"], operator["all_eligible"]["tokens"]
    spent = sum(one.tokens for one in selection.tools)
    say((f"{spent:,} tokens, all {counted(eligible, 'eligible tool')} take {tokens:,} ({selection.encoding})", "dim"))
    say((f"{selection.selection_id}  trace {selection.trace_id}", "dim"))


def _shape(selection: "Selection", target: str, prefix: str, published: "Published", operator: dict[str, Json]) -> None:
    """Print the tools as one model API takes them, and on the way what was lost or held back."""
    from pegboard.providers.capabilities import Api
    from pegboard.providers.rendering import render

    rendered = render(selection, Api(target), prefix=prefix)
    if as_json():
        print_json(rendered.to_json(operator))
        return
    print_json(rendered.payload)
    for one in rendered.report:
        if one.held is not None:
            note((one.tool_id, "bold"), ("is held back:", "yellow"), one.held)
        for loss in one.losses:
            note((one.tool_id, "bold"), ("loses", "yellow"), loss.what, (loss.path, "dim"))
    note((f"{selection.outcome}: {selection.message} {selection.selection_id}", "dim"))
    _show_operator(selection, operator, published)


def _row(one: "Candidate", published: "Published") -> tuple[Cell, ...]:
    line = published.lock.lines.get(one.tool.tool_id)
    rank = "" if one.rank is None else str(one.rank)
    return rank, (one.tool.tool_id, "bold"), str(one.why), "" if line is None else str(line.risk), f"{one.tokens:,}"


def _show_operator(selection: "Selection", operator: Mapping[str, Any], published: "Published") -> None:
    """Tell the operator, apart from the answer, what the caller must not learn."""
    ids = [one.tool_id for one in published.view.snapshot.entries]
    for tool in selection.missing:
        if tool not in ids:
            _suggest(tool, ids)
    if ids and not operator["all_eligible"]["tools"]:
        why = "`pegboard explain`, asked the same, says what removed them"
        note((f"operator: none of {counted(len(ids), 'tool')} is eligible for this caller: {why}", "dim"))
    if operator["waiting"]:
        note((f"operator: {counted(published.waiting, 'tool')} waiting for review: {operator['fix']}", "dim"))
    elif operator["fix"]:
        note((f"operator: nothing is in the catalog yet: {operator['fix']}", "dim"))


_PLACES = "0 is the best by that channel, -1 the next"


def _show_explanation(found: "Explanation", published: "Published") -> None:
    from pegboard.retrieval.fusion import FEWEST_FOR_DEVIATIONS

    say("outcome", (f"{found.outcome};", "bold"), f"{found.eligible:,} of {found.total:,} tools are eligible")
    removed = [(str(reason), f"{count:,}") for reason, count in found.removed_by.items() if count]
    if removed:
        table(("CHECK", "REMOVED"), removed, right=("REMOVED",))
    if found.tool is not None:
        if not found.known:
            say((found.tool, "bold"), ("is not in the catalog", "yellow"))
            _suggest(found.tool, [one.tool_id for one in published.view.snapshot.entries])
        elif found.reasons:
            rules = (f"({', '.join(found.rules)})", "dim") if found.rules else ""
            say((found.tool, "bold"), ("is not eligible:", "yellow"), ", ".join(map(str, found.reasons)), rules)
        else:
            say((found.tool, "bold"), ("is eligible", "green"))
    if found.ranking:
        parts = list(found.ranking[0].parts)
        table(
            ("RANK", "TOOL", "SCORE", *(part.upper() for part in parts)),
            (
                (
                    str(one.rank),
                    (one.tool_id, "bold" if one.tool_id == found.tool else ""),
                    f"{one.score:.3f}",
                    *(f"{one.parts[part]:.3f}" for part in parts),
                )
                for one in found.ranking
            ),
            right=("RANK", "SCORE", *(part.upper() for part in parts)),
        )
        if found.eligible < FEWEST_FOR_DEVIATIONS:
            note(
                (f"scores count places, since fewer than {FEWEST_FOR_DEVIATIONS} tools are eligible: {_PLACES}", "dim")
            )


def _suggest(tool: str, ids: list[str]) -> None:
    if near := nearest(tool, ids):
        note((f"operator: no tool {tool!r} in the catalog; nearest: {', '.join(near)}", "dim"))
