"""Checks: what is wrong with labelled tasks before anything is measured by them.

An error makes a label worth nothing; a warning is something that its author should have meant. One table, a row each.

Source: SURFACE "Fixtures"; Voorhees, "Variations in relevance judgments", SIGIR 1998.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pegboard.core.names import Json
from pegboard.engine.selection import Outcome
from pegboard.evaluation.fixtures import Category, Fixture

__all__ = ["CHECKS", "Labelled", "Problem", "problems"]

# Outcomes that serve no ranked tool: a task with acceptable tools cannot expect one.
_EMPTY_HANDED = frozenset({Outcome.NO_TOOL, Outcome.DENIED_CAPABILITY, Outcome.CLARIFY, Outcome.PAUSED})
# Tasks of these categories are about tools that their caller may not use.
_ABOUT_DENIED = frozenset({Category.FORBIDDEN_CAPABILITY, Category.PERMISSION_CHANGE, Category.DISABLED_INTEGRATION})


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A task with what is known of its tools: those of the catalog, and those that its caller may use."""

    task: Fixture
    known: Collection[str]
    visible: Collection[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong with one task. An error stops an evaluation, a warning does not."""

    task_id: str
    rule: str
    what: str
    error: bool = True

    def to_json(self) -> dict[str, Json]:
        """Return one element of `problems` in the answer of `fixtures check`."""
        return {"task_id": self.task_id, "rule": self.rule, "what": self.what, "error": self.error}


def problems(tasks: Iterable[Labelled]) -> tuple[Problem, ...]:
    """Return what is wrong, task by task in the order given."""
    seen: dict[str, str] = {}
    found: list[Problem] = []
    for one in tasks:
        task = one.task
        if task.task_id in seen:
            what = "another task has this id" if seen[task.task_id] != task.task else "the same task stands there twice"
            found.append(Problem(task_id=task.task_id, rule="duplicate-id", what=what))
        seen[task.task_id] = task.task
        found += (
            Problem(task_id=task.task_id, rule=rule, what=what, error=error)
            for rule, (error, check) in CHECKS.items()
            for what in check(one)
        )
    return tuple(found)


def _empty(one: Labelled) -> Iterator[str]:
    if not one.task.task.strip():
        yield "the task is empty"


def _unknown(one: Labelled) -> Iterator[str]:
    task = one.task
    named = task.accepted | task.forbidden | (task.candidates or frozenset()) | task.results.keys()
    if task.completed is not None:
        named |= set(task.completed.called)
    if missing := sorted(named.difference(one.known)):
        yield f"no such tool in the catalog: {', '.join(missing)}"


def _contradictory(one: Labelled) -> Iterator[str]:
    if both := sorted(one.task.accepted & one.task.forbidden):
        yield f"both acceptable and forbidden: {', '.join(both)}"
    called = () if one.task.completed is None else one.task.completed.called
    if both := sorted(one.task.forbidden.intersection(called)):
        yield f"both forbidden and called by a finished run: {', '.join(both)}"


def _outcome(one: Labelled) -> Iterator[str]:
    outcome = one.task.outcome
    if one.task.answerable and outcome in _EMPTY_HANDED:
        yield f"it has acceptable tools, and the outcome {outcome} serves none"
    if not one.task.answerable and outcome is Outcome.SELECTED:
        yield "it has no acceptable tool, and the outcome selected serves some"


def _category(one: Labelled) -> Iterator[str]:
    if one.task.answerable and one.task.category is Category.NO_TOOL:
        yield "it has acceptable tools, and its category is no_tool"
    if len(one.task.steps) < 2 and one.task.category is Category.MULTI_TOOL:
        yield "its category is multi_tool, and it has fewer than two steps"


def _out_of_reach(one: Labelled) -> Iterator[str]:
    """A step that nobody could satisfy for this caller counts as a miss whatever is served."""
    visible = one.visible if one.task.candidates is None else one.task.candidates.intersection(one.visible)
    for step in one.task.steps:
        if step.isdisjoint(visible) and not step.isdisjoint(one.known):
            yield f"its caller may use none of {', '.join(sorted(step))}"


def _partly_out_of_reach(one: Labelled) -> Iterator[str]:
    unseen = one.task.accepted.intersection(one.known).difference(one.visible)
    reachable = all(not step.isdisjoint(one.visible) for step in one.task.steps)
    if unseen and reachable and one.task.category not in _ABOUT_DENIED:
        yield f"its caller may not use {', '.join(sorted(unseen))}"


def _forbidden_but_seen(one: Labelled) -> Iterator[str]:
    if seen := sorted(one.task.forbidden.intersection(one.visible)):
        yield f"its caller may use {', '.join(seen)}, so only ranking can keep it out"


# Rule -> whether it is an error, and what it finds in one task.
CHECKS: Mapping[str, tuple[bool, Callable[[Labelled], Iterator[str]]]] = {
    "empty-task": (True, _empty),
    "unknown-tool": (True, _unknown),
    "contradictory-label": (True, _contradictory),
    "contradictory-outcome": (True, _outcome),
    "contradictory-category": (True, _category),
    "out-of-reach": (True, _out_of_reach),
    "partly-out-of-reach": (False, _partly_out_of_reach),
    "forbidden-but-eligible": (False, _forbidden_but_seen),
}
