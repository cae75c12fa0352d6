"""Labelled tasks as the command line reads them, and as whom each of them is asked."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pegboard.adapters.files import read_fixture_file
from pegboard.cli.command import as_json
from pegboard.cli.printing import note
from pegboard.core.errors import ConfigError

if TYPE_CHECKING:
    from pegboard.config.values import Config
    from pegboard.core.context import RuntimeContext
    from pegboard.evaluation.fixtures import Fixture

__all__ = ["context_of", "tasks_of"]


def tasks_of(file: str, split: str | None) -> Sequence["Fixture"]:
    """Read the tasks of a file, of one split where one is named; keys that mean nothing are told on stderr.

    Raises:
        ConfigError: The file cannot be read, a task is no fixture, or there is none.
    """
    from pegboard.evaluation.fixtures import read_fixture

    found = read_fixture_file(file)
    for problem in found.problems:
        raise ConfigError(problem=problem.reason, where=problem.where, fix="correct the line, or remove it")
    fixtures: list[Fixture] = []
    ignored: set[str] = set()
    for number, raw in enumerate(found.tools, start=1):
        try:
            fixture, unknown = read_fixture(raw.value, number)
        except ValueError as error:
            raise ConfigError(problem=str(error), where=raw.where, fix="correct it, or remove it") from None
        ignored.update(unknown)
        if split in (None, fixture.split):
            fixtures.append(fixture)
    if ignored and not as_json():
        note((f"ignored: {', '.join(sorted(ignored))}", "dim"))
    if not fixtures:
        raise ConfigError(problem="there is no task in it", where=file, fix="name another file or split")
    return fixtures


def context_of(config: "Config", fixture: "Fixture") -> "RuntimeContext":
    """Say as whom a task is asked: as it says itself, else as the evaluation's default principal.

    Raises:
        ConfigError: It names a profile that does not exist, or nobody at all.
    """
    if fixture.principal is not None:
        context = fixture.principal
        if context.environment is None:
            context = replace(context, environment=config.environment)
    else:
        profile = fixture.profile or config.evaluation.principal
        if profile is None:
            raise ConfigError(
                problem=f"the task {fixture.task_id!r} does not say as whom it is asked",
                where=f"{config.file}: evaluation",
                fix='name a profile there, as principal = "NAME", or in the task as "as"',
            )
        context = config.context(profile)
    return context if fixture.stage is None else replace(context, stage=fixture.stage)
