"""`pegboard calibrate`: this catalog's own confidence, from labelled tasks."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from pegboard.adapters.durable import replace_file
from pegboard.adapters.files import read_fixture_file
from pegboard.cli.command import Command, as_json
from pegboard.cli.errors import DONE
from pegboard.cli.opening import opened, run
from pegboard.cli.printing import note, print_json, say
from pegboard.core.errors import ConfigError
from pegboard.core.names import compact_json

if TYPE_CHECKING:
    from pegboard.config.values import Config
    from pegboard.core.context import RuntimeContext
    from pegboard.evaluation.fixtures import Fixture

__all__ = ["calibrate"]


@click.command(cls=Command)
@click.argument("file", metavar="FIXTURES")
@click.option("--split", metavar="NAME", help="Only the tasks of this split.")
@click.option("--dry-run", is_flag=True, help="Say what it would be, and write nothing.")
def calibrate(file: str, split: str | None, dry_run: bool) -> int:
    """Learn from labelled tasks how sure this catalog's rankings are.

    FIXTURES is JSON Lines or TOML, as in the reference. Writes pegboard.calibration.json beside the configuration,
    which serves from the next command on. Remove the file to have the shipped calibration back.
    """
    from pegboard.config.load import CALIBRATION

    with opened() as (config, system):
        fixtures = _fixtures(file, split)
        report = run(lambda: system.calibrator.calibrate(fixtures, lambda fixture: _context(config, fixture)))
        target = config.file.parent / CALIBRATION
        if not dry_run:
            replace_file(str(target), [f"{compact_json(report.calibration.to_json())}\n".encode()])
    if as_json():
        print_json({**report.to_json(), "file": None if dry_run else str(target)})
        return DONE
    say(f"{report.tasks:,} tasks: {report.answerable:,} rankings with a right tool, {report.unanswerable:,} without")
    if report.kept is None or report.rejected is None:
        note("too few to set some aside, so what it does on new tasks is not known")
    else:
        say(f"of tasks that it did not learn from, {report.kept:.0%} of the former are answered,")
        say(f"and {report.rejected:.0%} of the latter are not")
    for task_id, reason in report.skipped:
        note((f"{task_id}: left out: {reason}", "dim"))
    if not dry_run:
        note(f"written to {target}")
    return DONE


def _fixtures(file: str, split: str | None) -> Sequence["Fixture"]:
    """Read the tasks.

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
        raise ConfigError(problem="there is no task to learn from", where=file, fix="name another file or split")
    return fixtures


def _context(config: "Config", fixture: "Fixture") -> "RuntimeContext":
    """Say as whom a task is asked: as it says itself, else as the evaluation's default principal.

    Raises:
        ConfigError: It names a profile that does not exist, or nobody at all.
    """
    if fixture.principal is not None:
        context = fixture.principal
    else:
        profile = fixture.profile or config.evaluation.get("principal")
        if not isinstance(profile, str):
            raise ConfigError(
                problem=f"the task {fixture.task_id!r} does not say as whom it is asked",
                where=f"{config.file}: evaluation",
                fix='name a profile there, as principal = "NAME", or in the task as "as"',
            )
        context = config.context(profile)
    return context if fixture.stage is None else replace(context, stage=fixture.stage)
