"""Ranking measures over a score matrix, in numpy alone.

A task has steps, each done by any of its acceptable tools. R@k is the share of steps with such a tool in the first k,
C@k the share of tasks with all steps there, nDCG@10 counts each step at the rank of its first acceptable tool (binary
gains). Ties go to the tool that stands first in the catalog. Values are percentages, averaged over tasks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sources import TaskSet

__all__ = ["Scores", "measure", "similarities"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Averages over a set's tasks, in percent."""

    r1: float
    r8: float
    ndcg10: float
    c8: float

    @property
    def choice(self) -> float:
        """What models are chosen by: the mean of R@8 and nDCG@10."""
        return (self.r8 + self.ndcg10) / 2


def similarities(queries: NDArray[np.generic], documents: NDArray[np.generic]) -> NDArray[np.float32]:
    """Multiply every query with every document; int8 vectors stay exact in float32 (sums are under 2^24)."""
    return queries.astype(np.float32) @ documents.astype(np.float32).T


def ranks(row: NDArray[np.float32], places: Sequence[int]) -> int:
    """Rank, from 1, of the best of *places*."""
    best = min(places, key=lambda place: (-row[place], place))
    ahead = np.count_nonzero(row > row[best]) + np.count_nonzero(row[:best] == row[best])
    return int(ahead) + 1


def measure(scores: NDArray[np.float32], task_set: TaskSet) -> Scores:
    """Measure a (tasks, tools) score matrix; higher is better."""
    place_of = {tool.tool_id: place for place, tool in enumerate(task_set.tools)}
    totals = np.zeros(4)
    for row, task in zip(scores, task_set.tasks, strict=True):
        found = np.array([ranks(row, [place_of[tool] for tool in step if tool in place_of]) for step in task.steps])
        ideal = (1 / np.log2(np.arange(2, min(len(found), 10) + 2))).sum()
        gained = (1 / np.log2(found[found <= 10] + 1)).sum()
        totals += [(found <= 1).mean(), (found <= 8).mean(), gained / ideal, (found <= 8).all()]
    r1, r8, ndcg10, c8 = (float(value) for value in 100 * totals / len(task_set.tasks))
    return Scores(r1=r1, r8=r8, ndcg10=ndcg10, c8=c8)
