"""Labels on a catalog: the ids that they mean, what is wrong with them there, and what slices are made by."""

from collections import Counter
from collections.abc import Sequence

from pegboard.engine.view import View
from pegboard.evaluation.checks import Labelled, Problem, problems
from pegboard.evaluation.fixtures import Fixture, with_ids
from pegboard.evaluation.slices import ToolFacts
from pegboard.service.evaluator import Asked, Bed

__all__ = ["facts", "identified", "problems_of"]


def identified(tasks: Sequence[Fixture], view: View) -> tuple[Fixture, ...]:
    """Return the tasks with ids where they say `namespace/name` and one tool answers to it."""
    entries = view.snapshot.entries
    known = {entry.tool_id for entry in entries}
    named = Counter(f"{entry.namespace}/{entry.name}" for entry in entries)
    ids = {
        name: entry.tool_id
        for entry in entries
        if (name := f"{entry.namespace}/{entry.name}") not in known and named[name] == 1
    }
    return tuple(with_ids(task, ids) for task in tasks)


def problems_of(asked: Sequence[Asked], bed: Bed) -> tuple[Problem, ...]:
    """Return what is wrong with the labels on what an arm selects from."""
    entries = bed.view.snapshot.entries
    known = {entry.tool_id for entry in entries}
    visible: dict[str, set[str]] = {}
    for one in asked:
        seen = bed.view.see(one.context, bed.revocations)
        if seen.digest not in visible:
            visible[seen.digest] = {entries[row].tool_id for row in seen.eligible.rows.tolist()}
    return problems(
        Labelled(task=one.task, known=known, visible=visible[bed.view.see(one.context, bed.revocations).digest])
        for one in asked
    )


def facts(view: View, tasks: Sequence[Fixture]) -> dict[str, ToolFacts]:
    """Return what slices are made by, of every tool that a label names."""
    named = {tool for task in tasks for tool in task.accepted}
    rows = ((tool, view.snapshot.position(tool)) for tool in sorted(named))
    return {
        tool: ToolFacts(
            name=view.snapshot.entries[row].name,
            namespace=view.snapshot.entries[row].namespace,
            risk=str(view.risk(row)),
        )
        for tool, row in rows
        if row is not None
    }
