"""Tasks and runs written short, for the tests of what is made of them."""

from typing import Any

from pegboard.evaluation.fixtures import Category, Fixture
from pegboard.evaluation.runs import Run


def task(task_id: str, *steps: str, **more: Any) -> Fixture:
    """A task whose steps are written as "a b": any of a and b."""
    accepted = tuple(frozenset(step.split()) for step in steps)
    more.setdefault("category", Category.ORDINARY if steps else Category.NO_TOOL)
    return Fixture(task_id=task_id, task=more.pop("task", f"task {task_id}"), steps=accepted, **more)


def run(task_id: str, loaded: str = "", ranking: str = "", **more: Any) -> Run:
    """A run that served *loaded*, all of it ranked, out of *ranking*."""
    served = tuple(loaded.split())
    return Run(
        task_id=task_id,
        outcome=more.pop("outcome", "selected" if served else "no_tool"),
        loaded=served,
        ranked=more.pop("ranked", served),
        ranking=tuple(ranking.split()) or served,
        **more,
    )
