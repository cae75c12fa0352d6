"""Tasks that no tool fits: how many are turned away, and at what price in tasks that a tool does fit.

bfcl's unanswerable tasks are unanswerable among their own candidates, so both kinds are ranked over their
candidates alone. "Own" is a calibration on the catalog's own tasks: four fifths of the test part's, judged on the
fifth it has not seen, five times. "Other half" is one on the dev part's tasks, whose tools are others.
The removed kind takes the right tools out of the whole catalog, where similar ones are left.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bench.catalogs import Task, TaskSet, load
from bench.encoding import Encoders
from pegboard.retrieval.calibration import Calibration, Example, calibrate
from pegboard.retrieval.confidence import examples
from pegboard.retrieval.index import Eligible, Index
from pegboard.retrieval.shipped import SHIPPED

__all__ = ["CHANNEL_SETS", "auroc", "candidate_examples", "kept_and_rejected", "measure_no_fit", "removed_examples"]

CHANNEL_SETS = (("static",), ("encoder", "static"))
K = 8
FOLDS = 5


def measure_no_fit(encoders: Encoders, limit: int) -> list[dict[str, object]]:
    """Print and return what the shipped and an own calibration do on bfcl's test half."""
    print("\nno-tool answers on bfcl, among each task's candidates")
    dev, test = load("bfcl", "dev"), load("bfcl", "test")
    rows: list[dict[str, object]] = []
    for channels in CHANNEL_SETS:
        judged = list(candidate_examples(test, encoders, channels, limit))
        other = calibrate(list(candidate_examples(dev, encoders, channels, limit)), channels)
        for label, answers in (
            ("shipped", judged_by(SHIPPED[channels], judged)),
            ("other half", judged_by(other, judged)),
            ("own", judged_by_folds(judged, channels)),
        ):
            rows.append({"channels": list(channels), "calibration": label} | trade_off(answers))
            print("  ", rows[-1], flush=True)
    return rows


# Whether a tool fits, the probability that was said, and the least one that is served.
Answer = tuple[bool, float, float]


def judged_by(calibration: Calibration, judged: Sequence[Example]) -> list[Answer]:
    """Return what a calibration says of examples."""
    fits = calibration.fits
    return [(one.fits, fits.probability(one.features), fits.threshold) for one in judged]


def judged_by_folds(judged: Sequence[Example], channels: Sequence[str]) -> list[Answer]:
    """Return what is said of each fifth by a calibration on the other four."""
    tasks = list(dict.fromkeys(one.task for one in judged))
    random.Random(3).shuffle(tasks)
    fold = {task: place % FOLDS for place, task in enumerate(tasks)}
    answers: list[Answer] = []
    for number in range(FOLDS):
        seen = [one for one in judged if fold[one.task] != number]
        answers += judged_by(calibrate(seen, channels), [one for one in judged if fold[one.task] == number])
    return answers


def trade_off(answers: Sequence[Answer]) -> dict[str, object]:
    """Return kept and rejected shares at the threshold, rejection where 95% are kept, AUROC, and the curve."""
    fits = np.array([said for answerable, said, _ in answers if answerable])
    none = np.array([said for answerable, said, _ in answers if not answerable])
    served = {kind: [said >= least for right, said, least in answers if right is kind] for kind in (True, False)}
    levels = (1.0, 0.99, 0.98, 0.95, 0.9, 0.85, 0.8)
    curve = [(level, kept_and_rejected(fits, none, float(np.quantile(fits, 1 - level)))[1]) for level in levels]
    return {
        "answerable": len(fits), "unanswerable": len(none), "kept": round(float(np.mean(served[True])), 4),
        "rejected": round(1 - float(np.mean(served[False])), 4), "rejected_at_95_kept": dict(curve)[0.95],
        "auroc": auroc(fits, none), "curve": curve,
        "reliability": reliability(np.concatenate([fits, none]), np.repeat([1.0, 0.0], [len(fits), len(none)])),
    }  # fmt: skip


def reliability(said: NDArray[np.float64], happened: NDArray[np.float64]) -> list[tuple[float, float, int]]:
    """Return for each tenth of the probabilities that occurs: the mean said, the share that happened, how many."""
    tenth = np.minimum(9, (said * 10).astype(int))
    groups = [(said[tenth == number], happened[tenth == number]) for number in np.unique(tenth)]
    return [(round(float(one.mean()), 4), round(float(two.mean()), 4), len(one)) for one, two in groups]


def kept_and_rejected(fits: NDArray[np.float64], none: NDArray[np.float64], threshold: float) -> tuple[float, float]:
    """Return the share of answerable tasks at or above a threshold, and of the others below it."""
    return round(float((fits >= threshold).mean()), 4), round(float((none < threshold).mean()), 4)


def auroc(fits: NDArray[np.float64], none: NDArray[np.float64]) -> float:
    """Return the chance that an answerable task has the higher probability, ties counting half."""
    higher = (fits[:, None] > none).mean() + (fits[:, None] == none).mean() / 2
    return round(float(higher), 4)


def candidate_examples(found: TaskSet, encoders: Encoders, channels: Sequence[str], limit: int) -> Iterator[Example]:
    """Yield examples of tasks over their own candidates, right tools never removed."""
    index, places = _indexed(found, encoders, channels)
    for task in _sample(found.answerable, limit) + _sample([one for one in found.tasks if not one.steps], limit):
        mask = np.zeros(len(places), dtype=np.bool_)
        mask[[places[tool] for tool in task.candidates or () if tool in places]] = True
        steps = [[places[tool] for tool in step] for step in task.steps]
        yield from list(examples(index, encoders.query(task.text, channels), Eligible.of_mask(mask), steps, K))[:1]


def removed_examples(
    found: TaskSet, encoders: Encoders, channels: Sequence[str], limit: int, size: int | None
) -> Iterator[Example]:
    """Yield two examples a task: as it is, and without its right tools.

    Args:
        size: How many random tools are eligible beside the right ones; None: the whole catalog.
    """
    index, places = _indexed(found, encoders, channels)
    dice = np.random.default_rng(0)
    for task in _sample(found.answerable, limit):
        mask = np.ones(len(places), dtype=np.bool_)
        if size is not None:
            mask[:] = False
            mask[dice.choice(len(places), size=min(size, len(places)), replace=False)] = True
        steps = [[places[tool] for tool in step] for step in task.steps]
        mask[[row for step in steps for row in step]] = True
        yield from examples(index, encoders.query(task.text, channels), Eligible.of_mask(mask), steps, K)


def weighted(found: Sequence[Example], total: float) -> list[Example]:
    """Give all examples of one kind together the weight *total*, half of it to each answer."""
    counts = {fits: max(1, sum(one.fits is fits for one in found)) for fits in (True, False)}
    return [replace(one, weight=total / 2 / counts[one.fits]) for one in found]


_built: dict[tuple[str, tuple[str, ...]], Index] = {}


def _indexed(found: TaskSet, encoders: Encoders, channels: Sequence[str]) -> tuple[Index, dict[str, int]]:
    key = (found.name, tuple(channels))
    if key not in _built:
        vectors = encoders.documents(found.snapshot.entries)
        _built[key] = Index.build(found.snapshot.entries, {name: vectors[name] for name in channels})
    return _built[key], {entry.tool_id: row for row, entry in enumerate(found.snapshot.entries)}


def _sample(tasks: Sequence[Task], limit: int) -> list[Task]:
    shuffled = list(tasks)
    random.Random(2).shuffle(shuffled)
    return shuffled[:limit]
