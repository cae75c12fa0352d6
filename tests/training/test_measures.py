"""The measures that models are chosen by, on rankings small enough to count by hand."""

import numpy as np
import pytest
from measures import measure, similarities
from sources import Task, TaskSet, Tool


def tool(name: str) -> Tool:
    return Tool(tool_id=name, namespace="", name=name, description="", parameters=())


def set_of(*steps: set[str], tools: int = 12) -> TaskSet:
    names = tuple(tool(chr(ord("a") + place)) for place in range(tools))
    return TaskSet(name="s", tools=names, tasks=(Task(query="q", steps=tuple(frozenset(step) for step in steps)),))


def ranked(order: str) -> np.ndarray:
    scores = np.zeros((1, 12), dtype=np.float32)
    for place, name in enumerate(order):
        scores[0, ord(name) - ord("a")] = 20 - place
    return scores


@pytest.mark.parametrize(
    ("order", "steps", "r1", "r8", "c8", "ndcg"),
    [
        ("abcdefghijkl", [{"a"}], 100, 100, 100, 100),
        ("abcdefghijkl", [{"b"}], 0, 100, 100, 100 / np.log2(3)),
        ("abcdefghijkl", [{"i"}], 0, 0, 0, 100 / np.log2(10)),
        ("abcdefghijkl", [{"l"}], 0, 0, 0, 0),
        ("abcdefghijkl", [{"a"}, {"i"}], 50, 50, 0, 100 * (1 + 1 / np.log2(10)) / (1 + 1 / np.log2(3))),
        ("abcdefghijkl", [{"l", "a"}], 100, 100, 100, 100),
    ],
)
def test_each_measure_counts_as_it_says(
    order: str, steps: list[set[str]], r1: float, r8: float, c8: float, ndcg: float
) -> None:
    scores = measure(ranked(order), set_of(*steps))
    assert (scores.r1, scores.r8, scores.c8) == (r1, r8, c8)
    assert scores.ndcg10 == pytest.approx(ndcg)


def test_ties_go_to_the_tool_that_stands_first() -> None:
    level = np.zeros((1, 12), dtype=np.float32)
    assert measure(level, set_of({"a"})).r1 == 100
    assert measure(level, set_of({"b"})).r1 == 0


def test_products_of_int8_vectors_are_exact() -> None:
    dice = np.random.default_rng(0)
    one, other = (dice.integers(-127, 128, (5, 384), dtype=np.int8) for _ in range(2))
    assert np.array_equal(similarities(one, other), one.astype(np.int64) @ other.astype(np.int64).T)
