"""`pegboard calibrate`: this catalog's own confidence, from labelled tasks."""

import click

from pegboard.adapters.durable import replace_file
from pegboard.cli.command import Command, as_json
from pegboard.cli.errors import DONE
from pegboard.cli.labelled import context_of, tasks_of
from pegboard.cli.opening import opened, run
from pegboard.cli.printing import note, print_json, say
from pegboard.core.names import compact_json

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
        fixtures = tasks_of(file, split)
        report = run(lambda: system.calibrator.calibrate(fixtures, lambda fixture: context_of(config, fixture)))
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
