"""Slices: by what tasks are told apart in a report, so that a good average hides no bad part.

The band of name overlap matters most: a task that says the tool's own name is found by any search, and a set of such
tasks flatters every ranking.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pegboard.evaluation.fixtures import Fixture
from pegboard.retrieval.tokens import terms

__all__ = ["SLICES", "ToolFacts", "overlap", "slices"]

_MOST = 2 / 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """What slices are made by: the tool's name, namespace and locked risk."""

    name: str
    namespace: str
    risk: str


def overlap(task: Fixture, tools: Mapping[str, ToolFacts]) -> str:
    """Say how much of an acceptable tool's name the task says itself: `none`, `some` or `most` (two thirds) of it.

    Of several acceptable tools the one that is named best counts; the namespace is not looked at.
    """
    said = set(terms(task.task))
    best = max((_share(said, tools[tool].name) for tool in task.accepted if tool in tools), default=0.0)
    return "most" if best >= _MOST else "some" if best else "none"


def _share(said: set[str], name: str) -> float:
    named = set(terms(name))
    return len(named & said) / len(named) if named else 0.0


def _by_category(task: Fixture, _: Mapping[str, ToolFacts]) -> Iterable[str]:
    return (str(task.category),)


def _by_namespace(task: Fixture, tools: Mapping[str, ToolFacts]) -> Iterable[str]:
    return {tools[tool].namespace for tool in task.accepted if tool in tools}


def _by_risk(task: Fixture, tools: Mapping[str, ToolFacts]) -> Iterable[str]:
    return {tools[tool].risk for tool in task.accepted if tool in tools}


def _by_overlap(task: Fixture, tools: Mapping[str, ToolFacts]) -> Iterable[str]:
    return (overlap(task, tools),) if task.answerable else ()


# How a report is sliced: dimension -> the slices of it that a task belongs to.
SLICES: Mapping[str, Callable[[Fixture, Mapping[str, ToolFacts]], Iterable[str]]] = {
    "category": _by_category,
    "namespace": _by_namespace,
    "risk": _by_risk,
    "overlap": _by_overlap,
}


def slices(tasks: Iterable[Fixture], tools: Mapping[str, ToolFacts]) -> dict[str, dict[str, list[int]]]:
    """Return, by dimension and slice, the places of its tasks, both sorted by name."""
    found: dict[str, dict[str, list[int]]] = {dimension: {} for dimension in SLICES}
    for place, task in enumerate(tasks):
        for dimension, names in SLICES.items():
            for name in names(task, tools):
                found[dimension].setdefault(name, []).append(place)
    return {dimension: dict(sorted(named.items())) for dimension, named in found.items()}
