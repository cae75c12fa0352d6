"""The way through one evaluation: labels checked, every arm run over every task, one setting swept.

What is finished is kept as it comes, so an end at any moment costs the task that ran.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pegboard.cli.command import as_json
from pegboard.cli.printing import counted, note, progress
from pegboard.core.errors import ConfigError
from pegboard.core.names import Json, digest

if TYPE_CHECKING:
    from pegboard.adapters.run_files import RunFile
    from pegboard.config.evaluation import ModelEndpoint as ModelEndpointPart
    from pegboard.config.values import Config
    from pegboard.core.context import RuntimeContext
    from pegboard.evaluation.fixtures import Fixture
    from pegboard.evaluation.report import Arm as ArmRuns
    from pegboard.evaluation.runs import Run
    from pegboard.evaluation.slices import ToolFacts
    from pegboard.evaluation.sweeps import Point
    from pegboard.service.canaries import Build
    from pegboard.service.evaluator import Arm, Asked, Bed, Calls
    from pegboard.service.models import ModelServer
    from pegboard.wiring import System

__all__ = ["Done", "Stage", "Work"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What tasks are evaluated on, and as whom they are asked."""

    config: "Config"
    system: "System"
    context: Callable[["Fixture"], "RuntimeContext"]
    build: "Build"
    """Makes a system in memory, for canaries."""
    is_open: bool = False
    """Every tool is open to whoever asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What an evaluation came to, not measured yet."""

    tasks: tuple["Fixture", ...]
    arms: tuple["ArmRuns", ...]
    tools: Mapping[str, "ToolFacts"]
    catalog_version: str
    sweep: tuple["Point", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One evaluation: everything that it reads, and the way through it."""

    stage: Stage
    arms: tuple["Arm", ...]
    tasks: Sequence["Fixture"]
    points: tuple[str, tuple[float, ...]] | None
    resume: bool
    perturb: Sequence[str] = ()
    of: list[Json]
    """What tells these tasks from others."""

    async def run(self) -> Done:
        """Check the labels, run every arm over every task, and sweep the first."""
        from pegboard.evaluation.report import Arm as ArmRuns
        from pegboard.service.labels import facts

        self._check_calls()
        beds = [await self.stage.system.evaluator.bed(arm) for arm in self.arms]
        asked = self._asked(beds)
        sides = [(bed, asked) for bed in beds] + await self._perturbed(beds[0], asked)
        kept = self._kept(sides)
        try:
            runs = await self._runs(sides, kept)
            runs = [await self._exposed(*side, own) for side, own in zip(sides, runs, strict=True)]
            swept = await self._swept(beds[0], asked)
        except BaseException:
            # Whatever ends it, a signal among it, what is finished stays.
            kept.interrupt()
            if not as_json():
                note((f"{counted(kept.count, 'finished task')} kept: --resume goes on there", "dim"))
            raise
        kept.finish()
        found = tuple(one.task for one in asked)
        return Done(
            arms=tuple(
                ArmRuns(name=bed.arm.name, settings=bed.arm.said, runs=tuple(own))
                for (bed, _), own in zip(sides, runs, strict=True)
            ),
            tasks=found,
            tools=facts(beds[0].view, found),
            catalog_version=beds[0].view.snapshot.version,
            sweep=tuple(swept),
        )

    def _check_calls(self) -> None:
        """Refuse to make calls where there is nobody to make them to.

        Raises:
            ConfigError: None is configured, or the catalog is a file.
        """
        if self._makes_calls and not self.stage.system.servers.names():
            where, fix = f"{self.stage.config.file}: evaluation.calls", 'write calls = "recorded"'
            raise ConfigError("there are no servers to make calls to", where, fix)

    @property
    def _makes_calls(self) -> bool:
        return self.stage.config.evaluation.calls == "servers"

    def _asked(self, beds: Sequence["Bed"]) -> list["Asked"]:
        """Return the tasks with their callers, checked on the first arm, and those that perturbations add.

        Raises:
            ConfigError: A label is none that anything can be measured by, or names a caller that there is not.
        """
        from pegboard.service.evaluator import Asked
        from pegboard.service.labels import identified
        from pegboard.service.perturbing import MORE_TASKS, more_tasks

        bed = beds[0]
        asked = [Asked(task=task, context=self.stage.context(task)) for task in identified(self.tasks, bed.view)]
        if self.stage.is_open:
            # Arms may have other servers than the first.
            servers = frozenset(entry.source_server for one in beds for entry in one.view.snapshot.entries)
            asked = [replace(one, context=replace(one.context, servers=servers)) for one in asked]
        _check(asked, bed)
        return [*asked, *(one for name in self.perturb if name in MORE_TASKS for one in more_tasks(bed, name, asked))]

    async def _perturbed(self, bed: "Bed", asked: list["Asked"]) -> list[tuple["Bed", list["Asked"]]]:
        from pegboard.service.perturbing import MORE_TASKS, perturbed

        return [await perturbed(bed, name, asked) for name in self.perturb if name not in MORE_TASKS]

    def _kept(self, sides: Sequence[tuple["Bed", Sequence["Asked"]]]) -> "RunFile":
        from pegboard.adapters.run_files import FOLDER, RunFile
        from pegboard.engine.records import settings_record

        models = [self._model_of(bed.arm.name) for bed, _ in sides]
        about: Json = [
            [*self.of, self.stage.config.evaluation.calls],
            [None if one is None else [one.api, one.url, one.model, one.turns] for one in models],
            [[one.task.task_id, one.task.task, one.context.to_json()] for one in sides[0][1]],
            [
                [
                    *(bed.arm.name, bed.view.snapshot.digest, bed.view.policy.version),
                    *(bed.revocations.digest, bed.arm.target, settings_record(bed.arm.selection)),
                    *(() if bed.view.index is None else (bed.view.index.version,)),
                ]
                for bed, _ in sides
            ],
        ]
        key = digest(about).removeprefix("sha256:")
        return RunFile(self.stage.config.file.parent / FOLDER, key, resume=self.resume)

    def _model_of(self, arm: str) -> "ModelEndpointPart | None":
        part = self.stage.config.arms.get(arm)
        return self.stage.config.evaluation.model if part is None or part.model is None else part.model

    def _model(self, arm: str) -> AbstractAsyncContextManager["ModelServer | None"]:
        """Return the model of an arm; without one, what needs a model is not measured."""
        from pegboard.adapters.model_endpoint import ModelEndpoint
        from pegboard.providers.capabilities import Api

        said = self._model_of(arm)
        if said is None:
            return nullcontext()
        return ModelEndpoint(
            Api(said.api), said.url, said.model, key=said.key, timeout_s=said.timeout_s, turns=said.turns
        )

    async def _runs(self, sides: Sequence[tuple["Bed", Sequence["Asked"]]], kept: "RunFile") -> list[list["Run"]]:
        system = self.stage.system
        found: list[list[Run]] = []
        # Sessions with servers stay open for all calls, where calls are made.
        sessions = system.sessions() if self._makes_calls else nullcontext()
        with progress("evaluating", sum(len(asked) for _, asked in sides)) as steps:
            async with sessions:
                for bed, asked in sides:
                    found.append([])
                    done = kept.done.get(bed.arm.name, {})
                    async with self._model(bed.arm.name) as model:
                        async for run in system.evaluator.run(bed, asked, done, model, self._calls()):
                            kept.keep(bed.arm.name, run)
                            found[-1].append(run)
                            steps.done(bed.arm.name)
        return found

    def _calls(self) -> "Calls":
        """Say what answers a model's calls: the tasks' own results, or the gate, which makes those that it allows."""
        from pegboard.service.models import made, recorded

        if not self._makes_calls:
            return lambda asked: recorded(asked.task)
        gate, clock = self.stage.system.gatekeeper, self.stage.system.catalog.clock
        # Each task is a conversation of its own: what one has read taints no other.
        return lambda asked: made(gate, asked.context, clock.new_id("eval"))

    async def _exposed(self, bed: "Bed", asked: Sequence["Asked"], runs: Sequence["Run"]) -> list["Run"]:
        """Return the runs with what canaries showed."""
        from pegboard.service.canaries import exposure

        found = await exposure(self.stage.build, bed, self.stage.system.catalog.deployment, asked)
        return [replace(run, exposed=found.get(run.task_id)) for run in runs]

    async def _swept(self, bed: "Bed", asked: Sequence["Asked"]) -> list["Point"]:
        if self.points is None:
            return []
        setting, values = self.points
        found = []
        with progress("sweeping", len(values)) as steps:
            async for point in self.stage.system.evaluator.sweep(bed, asked, setting, values):
                found.append(point)
                steps.done(f"{setting} {point.value:g}")
        return found


def _check(asked: Sequence["Asked"], bed: "Bed") -> None:
    """Refuse labels that nothing can be measured by.

    Raises:
        ConfigError: One is so; it names the first.
    """
    from pegboard.service.labels import problems_of

    found = [one for one in problems_of(asked, bed) if one.error]
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        problem = f"the task {found[0].task_id!r} cannot be measured by: {found[0].what}{more}"
        raise ConfigError(problem, fix="`pegboard fixtures check` shows all of them")
