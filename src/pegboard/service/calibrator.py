"""Calibrate: learn from a catalog's own labelled tasks how sure its rankings are.

Each task is ranked as it would be served, and again with its right tools taken out: what confidence has to tell
apart is a catalog that has the tool from one that has not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from anyio import to_thread

from pegboard.core.context import RuntimeContext
from pegboard.core.errors import ConfigError
from pegboard.core.names import Json
from pegboard.engine.view import View
from pegboard.evaluation.fixtures import Fixture
from pegboard.retrieval.calibration import Calibration, Example, calibrate, checked
from pegboard.retrieval.confidence import examples
from pegboard.retrieval.eligible import Eligible
from pegboard.retrieval.query import Query
from pegboard.service.published import Catalog

__all__ = ["CalibrationReport", "Calibrator"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationReport:
    """A calibration, and what it does on tasks that it was not fitted to (five folds): shares from 0 to 1.

    `kept` is the share of tasks with a right tool that are answered, `rejected` the share of tasks without one that
    are not; None where there are too few tasks to set some aside.
    """

    calibration: Calibration
    tasks: int
    answerable: int
    unanswerable: int
    kept: float | None
    rejected: float | None
    skipped: tuple[tuple[str, str], ...]
    """Tasks that could not be learned from, each with the reason."""

    def to_json(self) -> dict[str, Json]:
        """Return the answer of `calibrate`, without the file."""
        return {
            "tasks": self.tasks,
            "answerable": self.answerable,
            "unanswerable": self.unanswerable,
            "kept": self.kept,
            "rejected": self.rejected,
            "channels": list(self.calibration.channels),
            "skipped": [{"task_id": task_id, "reason": reason} for task_id, reason in self.skipped],
        }


class Calibrator:
    """Learns from fixtures on what is published."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    async def calibrate(
        self,
        fixtures: Sequence[Fixture],
        contexts: Callable[[Fixture], RuntimeContext],
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> CalibrationReport:
        """Fit a calibration to labelled tasks.

        Args:
            fixtures: The tasks.
            contexts: Says as whom a task is asked; may raise ConfigError.
            progress: Told how many tasks are done.

        Raises:
            ConfigError: There are too few tasks of one kind, or there is no index.
        """
        view = (await self._catalog.current()).view
        if view.index is None:
            raise ConfigError(problem="there is no index to calibrate", fix="`pegboard doctor` says what is wrong")
        found: list[Example] = []
        skipped: list[tuple[str, str]] = []
        for done, fixture in enumerate(fixtures, start=1):
            query = await self._catalog.encoders.query((fixture.task,), view.index)
            made = await self._examples(view, fixture, contexts(fixture), query)
            if isinstance(made, str):
                skipped.append((fixture.task_id, made))
            else:
                found.extend(made)
            progress(done, len(fixtures))
        try:
            calibration = calibrate(found, tuple(view.index.channels))
        except ValueError as error:
            raise ConfigError(problem=str(error), fix="label more tasks, with and without a right tool") from None
        kept, rejected = checked(found) or (None, None)
        return CalibrationReport(
            calibration=calibration,
            tasks=len(fixtures),
            answerable=sum(one.fits for one in found),
            unanswerable=sum(not one.fits for one in found),
            kept=kept,
            rejected=rejected,
            skipped=tuple(skipped),
        )

    async def _examples(
        self, view: View, fixture: Fixture, context: RuntimeContext, query: Query
    ) -> list[Example] | str:
        """Return the examples of one task, or why there are none."""
        assert view.index is not None
        index = view.index
        seen = view.see(context, await self._catalog.revocations())
        mask = seen.eligibility.mask
        if fixture.candidates is not None:
            rows = [row for tool in fixture.candidates if (row := view.snapshot.position(tool)) is not None]
            mask = mask & np.isin(np.arange(len(mask)), rows)
        if not mask.any():
            return "nothing is eligible for it"
        steps = [
            [row for tool in sorted(step) if (row := view.snapshot.position(tool)) is not None and mask[row]]
            for step in fixture.steps
        ]
        if not all(steps):
            return "a step has no acceptable tool that this caller may use"
        limit = self._catalog.deployment.selection.limit
        eligible = Eligible.of_mask(mask)
        return await to_thread.run_sync(lambda: list(examples(index, query, eligible, steps, limit)))
