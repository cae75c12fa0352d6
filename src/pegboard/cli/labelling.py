"""`pegboard fixtures`: labelled tasks made with a person's word, from tasks or from real calls, and checked."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pegboard.adapters.files import read_fixture_file
from pegboard.cli.command import Subcommands, as_json
from pegboard.cli.errors import DONE, NO
from pegboard.cli.labelled import context_of, tasks_of
from pegboard.cli.naming import named
from pegboard.cli.opening import opened, run
from pegboard.cli.printing import counted, note, print_json, say, table
from pegboard.cli.staging import staged
from pegboard.cli.times import Moment, when
from pegboard.core.errors import ConfigError
from pegboard.core.names import Json, compact_json
from pegboard.core.text import one_line

if TYPE_CHECKING:
    from pegboard.evaluation.checks import Problem
    from pegboard.evaluation.fixtures import Fixture
    from pegboard.wiring import System

__all__ = ["fixtures"]

_PROPOSED = 10
_NONE = "none"
# What shows that a tool was not the right one, or not called rightly; the rest was at least meant.
_REFUSED = frozenset({"unknown_or_denied", "denied", "stale_schema", "invalid_arguments"})


@click.group(cls=Subcommands)
def fixtures() -> None:
    """Labelled tasks: make them, from real calls where there are, and check them."""


@fixtures.command()
@click.argument("file", metavar="FIXTURES")
@click.option("--catalog", metavar="FILE|FOLDER", help="Check against these tools in place of what is published.")
@click.option("--open", "is_open", is_flag=True, help="With --catalog: every tool is open to whoever asks.")
@click.option("--split", metavar="NAME", help="Only the tasks of this split.")
def check(file: str, catalog: str | None, is_open: bool, split: str | None) -> int:
    """Say what is wrong with labelled tasks, before anything is measured by them.

    Also says how many tasks name their tool: any search finds those, so a set needs others.
    """
    from pegboard.evaluation.slices import overlap
    from pegboard.service.evaluator import Arm, Asked
    from pegboard.service.labels import facts, identified, problems_of

    tasks = tasks_of(file, split)
    with staged(catalog, is_open) as stage:

        async def checked() -> tuple[list["Problem"], Mapping[str, int], Sequence["Fixture"]]:
            bed = await stage.system.evaluator.bed(Arm(name="", selection=stage.config.selection))
            known, asked, found = identified(tasks, bed.view), [], []
            for task in known:
                try:
                    asked.append(Asked(task=task, context=stage.context(task)))
                except ConfigError as error:
                    found.append(_no_caller(task, error))
            found += problems_of(asked, bed)
            tools = facts(bed.view, known)
            return found, Counter(overlap(task, tools) for task in known if task.answerable), known

        found, bands, known = run(checked)
    categories = Counter(str(task.category) for task in known)
    if as_json():
        said: dict[str, Json] = {"tasks": len(known), "categories": dict(sorted(categories.items()))}
        print_json({**said, "overlap": dict(sorted(bands.items())), "problems": [one.to_json() for one in found]})
    else:
        say(counted(len(known), "task"), ", ".join(f"{count} {name}" for name, count in sorted(categories.items())))
        say("of the tool's name the task says", ", ".join(f"{name}: {count}" for name, count in sorted(bands.items())))
        if found:
            style = {True: ("error", "bold red"), False: ("warning", "yellow")}
            table(("TASK", "", "RULE", "WHAT"), ((p.task_id, style[p.error], p.rule, p.what) for p in found))
    return NO if any(one.error for one in found) else DONE


def _no_caller(task: "Fixture", error: ConfigError) -> "Problem":
    from pegboard.evaluation.checks import Problem

    return Problem(task_id=task.task_id, rule="unknown-caller", what=error.problem)


@fixtures.command()
@click.argument("file", metavar="FIXTURES", type=click.Path(dir_okay=False))
@click.argument("tasks", metavar="TASK...", nargs=-1, required=True)
@click.option("--as", "profile", metavar="PROFILE", help="For whom.  [default: [evaluation] principal]")
@click.option("--accept", metavar="TOOL", multiple=True, help="A right tool, unasked; one a step; may be repeated.")
@click.option("--category", metavar="NAME", help="What the tasks are there to show.  [default: ordinary, or no_tool]")
def new(file: str, tasks: tuple[str, ...], profile: str | None, accept: tuple[str, ...], category: str | None) -> int:
    """Label TASKs and add them to a file.

    Shows what ranks first for each and asks which is right, step by step. Without a person (--json) nothing is asked,
    so --accept says it, or the proposals are all that is given.
    """
    from pegboard.evaluation.fixtures import Category, read_fixture

    if category is not None and category not in list(Category):
        raise click.UsageError(f"there is no category {category!r}; there are {', '.join(Category)}")
    rows: list[dict[str, Json]] = []
    proposals: list[Json] = []
    with opened() as (config, system):
        who: dict[str, Json] = {} if profile is None else {"as": profile}
        for task in tasks:
            context = context_of(config, read_fixture({"task": task, **who}, 0)[0])
            ranked = run(partial(_ranked, system, task, context))
            proposals.append({"task": task, "tools": [tool for tool, _ in ranked]})
            steps = _accepted(system, accept) if accept else [] if as_json() else _asked(task, ranked)
            if steps is None or (as_json() and not accept):
                continue
            more: dict[str, Json] = {} if category is None else {"category": category}
            rows.append({"task": task, **who, "acceptable": steps, **more})
    written = _added(file, rows)
    if as_json():
        print_json({"file": file, "written": written, "proposals": proposals})
    else:
        note(f"{counted(len(written), 'task')} added to {file}")
    return DONE


@fixtures.command("from-traces")
@click.argument("file", metavar="FIXTURES", type=click.Path(dir_okay=False))
@click.option("--since", callback=when, metavar="WHEN", help="A date, a time, or how long ago: 24h, 7d.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", default=50, show_default=True, help="At most N tasks."
)
@click.option("--yes", is_flag=True, help="Take the tools that were called as the right ones, unasked.")
def from_traces(file: str, since: Moment | None, limit: int, yes: bool) -> int:
    """Propose labelled tasks from real selections and the calls made of them.

    The tools that were called stand as the right ones, and are not always: look at each. Needs traces that keep the
    task: [traces] record = "task".
    """
    with opened() as (_, system):
        begin = 0.0 if since is None else since(system.catalog.clock.now())
        found, textless = run(lambda: _called(system, begin, limit))
    rows = [row for row in found if yes or as_json() or _confirmed(row)]
    written = _added(file, rows) if yes or not as_json() else []
    if as_json():
        print_json({"file": file, "written": written, "proposals": rows, "without_text": textless})
        return DONE
    note(f"{counted(len(written), 'task')} added to {file}")
    if textless:
        note(f'{counted(textless, "trace")} kept no task: [traces] record = "task" keeps it from then on')
    return DONE


async def _ranked(system: "System", task: str, context: Any) -> list[tuple[str, str]]:
    from pegboard.service.selector import Request

    found = await system.selector.explain(Request(tasks=(task,)), context)
    snapshot = (await system.catalog.current()).view.snapshot
    entries = (snapshot.get(one.tool_id) for one in found.ranking[:_PROPOSED])
    return [(one.tool_id, one.description) for one in entries if one is not None]


def _accepted(system: "System", tools: Sequence[str]) -> list[Json]:
    """Return the tools by id, one a step.

    Raises:
        ConfigError: There is no such tool.
    """
    entries = run(system.catalog.current).view.snapshot.entries
    steps: list[Json] = []
    for tool in tools:
        found = named(tool, entries)
        if len(found) != 1:
            raise ConfigError(f"{tool!r} names {counted(len(found), 'tool')}", fix="name one by its id")
        steps.append([found[0].tool_id])
    return steps


def _asked(task: str, ranked: Sequence[tuple[str, str]]) -> list[Json] | None:
    """Ask which of the proposed tools are right; None: leave this task out."""
    say((one_line(task, 100), "bold"))
    for number, (tool, description) in enumerate(ranked, start=1):
        say(f"{number:>4}", (tool, "bold"), one_line(description, 60))
    while True:
        said = click.prompt('right tools ("1 3": either; "1, 2": two steps; an id; "none"; "skip")', err=True)
        if said.strip() == "skip":
            return None
        if said.strip() == _NONE:
            return []
        words = [step.split() for step in said.split(",")]
        known = {**{str(n): tool for n, (tool, _) in enumerate(ranked, start=1)}, **{tool: tool for tool, _ in ranked}}
        strange = [word for step in words for word in step if word.isdigit() and word not in known]
        if not strange and all(words):
            return [[known.get(word, word) for word in step] for step in words]
        note((f"not among these: {', '.join(strange) or 'an empty step'}", "yellow"))


def _confirmed(row: Mapping[str, Any]) -> bool:
    say((one_line(row["task"], 100), "bold"))
    say("called:", ", ".join(step[0] for step in row["acceptable"]))
    return click.confirm("were these the right tools?", default=True, err=True)


async def _called(system: "System", since: float, limit: int) -> tuple[list[dict[str, Any]], int]:
    """Return tasks with the tools that were called and allowed, newest first, and how many traces kept no task."""
    from pegboard.service.traces import SELECTION, Wanted

    found: dict[str, dict[str, Any]] = {}
    textless = 0
    async with aclosing(system.traces.newest(Wanted(since=since, kind=SELECTION))) as traces:
        async for trace in traces:
            called = dict.fromkeys(one["tool_id"] for one in trace["calls"] if one["verdict"] not in _REFUSED)
            if not called:
                continue
            if not trace.get("tasks") or trace.get("naming") != "name":
                textless += 1
                continue
            task = " ".join(trace["tasks"])
            steps = [[tool] for tool in called]
            found.setdefault(task, {"task": task, "principal": trace["context"], "acceptable": steps})
            if len(found) == limit:
                break
    return list(found.values()), textless


def _added(file: str, rows: Sequence[Mapping[str, Json]]) -> list[Json]:
    """Add tasks to a file, each under the next free number; what stands there stays.

    Raises:
        ConfigError: The file is TOML, which is for people to edit, or cannot be read.
    """
    if file.endswith(".toml"):
        raise ConfigError("tasks are added to JSON Lines", file, "name a file that ends in .jsonl")
    there = read_fixture_file(file).tools if Path(file).exists() else ()
    known = {str(one.value.get("task")) for one in there}
    number = len(there)
    written: list[Json] = []
    with click.open_file(file, "a", encoding="utf-8") as target:
        for row in rows:
            if row["task"] in known:
                note((f"there already: {one_line(str(row['task']), 80)}", "dim"))
                continue
            number += 1
            task_id = f"task-{number}"
            target.write(f"{compact_json({'task_id': task_id, **row})}\n")
            written.append(task_id)
    return written
