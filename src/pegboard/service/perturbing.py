"""Perturb an evaluation: catalogs changed under its tasks, tasks said otherwise, and tasks of callers who hold less.

An update renames the right tools and changes their schemas, as a server's release does, and its lock lines are
granted again. A stuffed tool holds every word of every task, and should be served for none of them.

Source: DESIGN section 11.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

from pegboard.core.catalog import CatalogEntry, declare
from pegboard.core.context import RuntimeContext
from pegboard.core.lock import Lock, LockLine
from pegboard.core.snapshot import Snapshot
from pegboard.evaluation.perturb import NOISE, asked_for_hidden, of_another, taken_away
from pegboard.service.evaluator import Asked, Bed

__all__ = ["CHANGES", "MORE_TASKS", "PERTURBATIONS", "more_tasks", "perturbed", "redeclared", "stuffed", "updated"]

# What asks more tasks, and what asks the same tasks of something changed.
MORE_TASKS = ("two-users", "taken-away", "hidden")
_HIDDEN_OF_EACH = 10
_STUFFED_CHARACTERS = 4_000


async def perturbed(bed: Bed, name: str, asked: Sequence[Asked]) -> tuple[Bed, list[Asked]]:
    """Return what the arm called *name* selects from, and what it is asked."""
    arm = replace(bed.arm, name=name, said={"perturbed": name})
    if name in NOISE:
        said = [replace(one, task=replace(one.task, task=NOISE[name](one.task.task))) for one in asked]
        return replace(bed, arm=arm), said
    snapshot, policy = bed.view.snapshot, bed.view.policy
    entries, lock = CHANGES[name](snapshot.entries, policy.lock, asked)
    changed = Snapshot.of(snapshot.number + 1, entries)
    view = await bed.catalog.view(changed, replace(policy, lock=lock), index=True)
    return replace(bed, arm=arm, view=view), list(asked)


def more_tasks(bed: Bed, name: str, asked: Sequence[Asked]) -> list[Asked]:
    """Return the tasks that one of `MORE_TASKS` adds."""
    entries = bed.view.snapshot.entries

    def visible(context: RuntimeContext) -> frozenset[str]:
        rows = bed.view.see(context, bed.revocations).eligible.rows.tolist()
        return frozenset(entries[row].tool_id for row in rows)

    callers = list(dict.fromkeys(one.context for one in asked))
    if name == "two-users":
        others = {one: callers[(number + 1) % len(callers)] for number, one in enumerate(callers)}
        pairs = [(one, others[one.context]) for one in asked if others[one.context] != one.context]
        said = ((of_another(one.task, other, visible), other) for one, other in pairs)
        return [Asked(task=task, context=other) for task, other in said if task is not None]
    if name == "taken-away":
        lost = (taken_away(one.task, one.context, visible) for one in asked)
        return [Asked(task=task, context=task.principal) for task in lost if task is not None and task.principal]
    tools = [(entry.tool_id, entry.description) for entry in entries]
    return [
        Asked(task=task, context=context)
        for context in callers
        for task in asked_for_hidden(tools, context, visible, _HIDDEN_OF_EACH)
    ]


def updated(
    entries: Sequence[CatalogEntry], lock: Lock, asked: Sequence[Asked]
) -> tuple[tuple[CatalogEntry, ...], Lock]:
    """Rename every right tool, give it one more parameter, and lock what came of it as before."""
    about = {tool for one in asked for tool in one.task.accepted}
    new = {entry.tool_id: _second_edition(entry) for entry in entries if entry.tool_id in about}
    return tuple(new.get(entry.tool_id, entry) for entry in entries), lock.granting(_granted(entries, new, lock))


def stuffed(
    entries: Sequence[CatalogEntry], lock: Lock, asked: Sequence[Asked]
) -> tuple[tuple[CatalogEntry, ...], Lock]:
    """Add a tool that holds every word of every task, locked like the first right tool that is locked."""
    about = {tool for one in asked for tool in one.task.accepted}
    model = next((entry for entry in entries if entry.tool_id in about and entry.tool_id in lock.lines), None)
    if model is None:
        return tuple(entries), lock
    words = " ".join(dict.fromkeys(word for one in asked for word in one.task.task.split()))
    stuffing = words[:_STUFFED_CHARACTERS]
    tool = redeclared(
        model, tool_id=f"{model.namespace}.do_everything", name="do_everything", title=None, description=stuffing
    )
    line = replace(lock.lines[model.tool_id], tool=tool.tool_id, hash=tool.schema_hash)
    return (*entries, tool), lock.granting([line])


# How a catalog may change under the same tasks.
CHANGES = {"updated": updated, "stuffed": stuffed}
PERTURBATIONS = (*NOISE, *CHANGES, *MORE_TASKS)


def _second_edition(entry: CatalogEntry) -> CatalogEntry:
    schema = entry.input_schema
    properties = schema.get("properties")
    more = {"dry_run": {"type": "boolean", "description": "Only say what would be done."}}
    schema["properties"] = {**(properties if isinstance(properties, dict) else {}), **more}
    return redeclared(entry, name=f"{entry.name}_v2", input_schema=schema)


def _granted(entries: Sequence[CatalogEntry], new: Mapping[str, CatalogEntry], lock: Lock) -> Iterator[LockLine]:
    for entry in entries:
        if entry.tool_id in new and lock.grants(entry.tool_id, entry.schema_hash, entry.source_server):
            yield replace(lock.lines[entry.tool_id], hash=new[entry.tool_id].schema_hash)


def redeclared(entry: CatalogEntry, **changes: Any) -> CatalogEntry:
    """Return the entry as its server would declare it with *changes*, its digests anew."""
    same = {name: getattr(entry, name) for name in signature(declare).parameters}
    return declare(**{**same, **changes})
