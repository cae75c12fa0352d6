"""`pegboard classify` and `pegboard review`: what waits for a person, shown, and put into the lock or kept out."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from pegboard.cli.changes import FieldChange, field_changes
from pegboard.cli.command import Command, Subcommands, as_json
from pegboard.cli.errors import DONE
from pegboard.cli.naming import meant, named
from pegboard.cli.opening import opened, operator_name, run
from pegboard.cli.printing import counted, facts, note, print_json, say, table
from pegboard.core.catalog import CatalogEntry, Flow, Reach, Risk
from pegboard.core.errors import ConfigError
from pegboard.core.names import short
from pegboard.engine.finding_rules import Severity

if TYPE_CHECKING:
    from pegboard.service.drafts import Draft
    from pegboard.wiring import System

__all__ = ["classify", "review"]

_NOT_WAITING = "`pegboard review list` names the tools that wait"


@click.command(cls=Command)
@click.option("--apply", is_flag=True, help="Lock the tools that are ready.")
def classify(apply: bool) -> int:
    """Propose a lock line for each new tool, and lock those that are ready.

    A proposal comes from `[[servers.NAME.propose]]`, else from a catalog file. Changed tools always need a review.
    """
    with opened() as (_, system):
        ready, rest = run(lambda: system.keeper.classify(apply=apply, by=operator_name()))
    if as_json():
        drafts = {"ready": [one.to_json() for one in ready], "review": [one.to_json() for one in rest]}
        print_json({"applied": apply and bool(ready), **drafts})
        return DONE
    _drafts(ready)
    if apply:
        note(f"{counted(len(ready), 'tool')} locked")
    elif ready:
        note(f"{counted(len(ready), 'tool')} ready: `pegboard classify --apply` locks them as shown")
    if rest:
        note(f"{counted(len(rest), 'tool')} for a person to look at: `pegboard review`")
    if not ready and not rest:
        note("nothing waits")
    return DONE


@click.group(cls=Subcommands, invoke_without_command=True)
@click.pass_context
def review(context: click.Context) -> None:
    """New and changed tools that wait for a person.

    Without a command: the list.
    """
    if context.invoked_subcommand is None:
        context.exit(_list())


@review.command("list")
def list_waiting() -> int:
    """List what waits, with what is proposed for each."""
    return _list()


@review.command()
@click.argument("tool")
def show(tool: str) -> int:
    """Show what TOOL would be locked as, why it waits, and what has changed.

    An approval that follows is of what was shown: where the server changes it in between, the approval is refused.
    """
    from pegboard.service.drafts import changed

    with opened() as (_, system):
        draft = run(lambda: _draft(system, tool))
        run(lambda: system.keeper.shown(draft, operator_name()))
    changes = field_changes(draft.waiting.locked, draft.waiting.live)
    if as_json():
        print_json({"draft": draft.to_json(), "changes": [one.to_json() for one in changes]})
        return DONE
    kind = changed(revoked=draft.revoked) if draft.waiting.changed else "new"
    say((draft.tool_id, "bold"), (f"({kind}; from server {draft.waiting.live.source_server})", "dim"))
    for reason in draft.waiting.reasons:
        say(("waits", "yellow"), reason)
    for found in draft.waiting.findings:
        say((f"{found.severity:6}", _SEVERITIES[found.severity]), found.rule, (found.where, "dim"), found.snippet)
    for change in changes:
        _show_change(change)
    if draft.waiting.changed and draft.waiting.locked is None:
        note("what was locked was never seen here, so everything is shown as new")
    say()
    facts(
        (
            ("access", draft.access or ("none is proposed", "yellow")),
            ("risk", str(draft.risk)),
            ("reach", str(draft.reach)),
            ("flow", ", ".join(sorted(map(str, draft.flow))) or "none"),
        )
    )
    access = "" if draft.access else " --access TEMPLATE"
    named = f"{draft.tool_id}@{short(draft.waiting.live.schema_hash)}"
    note(f"`pegboard review approve {named}{access}` locks it so; `pegboard review reject {draft.tool_id}`")
    return DONE


@review.command()
@click.argument("tools", metavar="TOOL[@HASH]...", nargs=-1, required=True)
@click.option("--access", metavar="TEMPLATE", help="The access template.  [default: as proposed]")
@click.option("--risk", type=click.Choice(Risk, case_sensitive=False), help="What a call may do.")
@click.option(
    "--reach", type=click.Choice(Reach, case_sensitive=False), help="One bounded thing, or whatever it is given."
)
@click.option(
    "--flow",
    type=click.Choice(Flow, case_sensitive=False),
    multiple=True,
    help="What a call does with data; may be repeated.",
)
def approve(
    tools: tuple[str, ...], access: str | None, risk: Risk | None, reach: Reach | None, flow: tuple[Flow, ...]
) -> int:
    """Lock the content of each TOOL that was shown.

    With @HASH, the content with this hash or these first digits of it. Without, what `review show` showed you last, or
    the present content where you were never shown any. A tool that has changed since is refused. What is not said is
    taken from the proposal.
    """
    names, hashes = zip(*map(_with_hash, tools), strict=True)
    with opened() as (_, system):
        chosen = run(lambda: _waiting_ids(system, names))
        lines = run(
            lambda: system.keeper.approve(
                chosen,
                seen={tool: seen for tool, seen in zip(chosen, hashes, strict=True) if seen},
                by=operator_name(),
                access=access,
                risk=risk,
                reach=reach,
                flow=frozenset(flow) if flow else None,
            )
        )
    if as_json():
        print_json({"locked": [line.to_json() for line in lines]})
    else:
        for line in lines:
            say(("locked", "green"), line.tool, (f"{line.access}, {line.risk}, {line.reach}", "dim"))
    return DONE


@review.command()
@click.argument("tools", metavar="TOOL...", nargs=-1, required=True)
def reject(tools: tuple[str, ...]) -> int:
    """Take the present content of each TOOL off the list.

    What was locked before is served on.
    """
    with opened() as (_, system):
        chosen = run(lambda: _waiting_ids(system, tools))
        run(lambda: system.keeper.reject(chosen))
    if as_json():
        print_json({"rejected": chosen})
    else:
        for tool in chosen:
            say(("rejected", "yellow"), tool)
    return DONE


def _list() -> int:
    with opened() as (_, system):
        drafts = run(system.keeper.drafts)
    if as_json():
        print_json({"waiting": [one.to_json() for one in drafts]})
        return DONE
    _drafts(drafts)
    if drafts:
        note(f"{counted(len(drafts), 'tool')} waiting: `pegboard review show TOOL`, then `approve` or `reject`")
    else:
        note("nothing waits")
    return DONE


def _drafts(drafts: Iterable["Draft"]) -> None:
    rows = [
        (
            one.tool_id,
            ("changed", "yellow") if one.waiting.changed else "new",
            str(one.risk),
            str(one.reach),
            one.access or ("?", "yellow"),
            ("look", "bold yellow") if one.waiting.doubtful else "",
        )
        for one in drafts
    ]
    if rows:
        table(("TOOL", "KIND", "RISK", "REACH", "ACCESS", ""), rows)


_SEVERITIES = {Severity.HIGH: "bold red", Severity.MEDIUM: "yellow", Severity.LOW: "dim"}
# A hash behind a tool id, as `review show` writes it; ids may hold an @ of their own.
_HASHED = re.compile(r"(?P<tool>.+)@(?:sha256:)?(?P<hash>[0-9a-f]{8,64})")


def _with_hash(word: str) -> tuple[str, str | None]:
    found = _HASHED.fullmatch(word)
    return (word, None) if found is None else (found["tool"], found["hash"])


_MARKS = {"+": "green", "-": "red", "@": "cyan"}


def _show_change(change: FieldChange) -> None:
    say()
    say((change.field, "bold"))
    for line in change.lines():
        say((f"  {line}", _MARKS.get(line[:1], "")))


async def _waiting_ids(system: "System", tools: Sequence[str]) -> list[str]:
    """Return the ids of tools that wait, rejected ones included: a person may change their mind."""
    waiting = [one.live for one in await system.catalog.pending()]
    served = (await system.catalog.current()).view.snapshot.entries
    return [_waiting(tool, waiting, served).tool_id for tool in tools]


def _waiting(tool: str, waiting: Sequence[CatalogEntry], served: Sequence[CatalogEntry]) -> CatalogEntry:
    if named(tool, waiting):
        return meant(tool, waiting)
    known = {one.tool_id: one for one in (*served, *waiting)}
    meant(tool, known.values(), _NOT_WAITING)
    raise ConfigError(
        problem=f"{tool!r} does not wait: its present content is locked",
        fix="`pegboard lock show` says as what; the lock file is where that is changed",
    )


async def _draft(system: "System", tool: str) -> "Draft":
    (tool_id,) = await _waiting_ids(system, [tool])
    drafts = {one.tool_id: one for one in await system.keeper.drafts()}
    if tool_id not in drafts:
        raise ConfigError(
            problem=f"the present content of {tool_id!r} was rejected",
            fix=f"`pegboard review approve {tool_id}` locks it",
        )
    return drafts[tool_id]
