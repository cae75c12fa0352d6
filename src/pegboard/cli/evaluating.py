"""`pegboard eval`: selection measured on labelled tasks, arm beside arm, against thresholds and an earlier report."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pegboard.adapters.durable import replace_file
from pegboard.cli.arms import arms_of, baseline_of, points_of, thresholds_of
from pegboard.cli.command import Command, as_json
from pegboard.cli.errors import DONE, NO
from pegboard.cli.labelled import tasks_of
from pegboard.cli.measuring import Work
from pegboard.cli.opening import run
from pegboard.cli.printing import Cell, counted, note, print_json, say, table
from pegboard.cli.staging import staged
from pegboard.core.names import digest_bytes
from pegboard.core.text import one_line
from pegboard.core.times import stamp

if TYPE_CHECKING:
    from pegboard.cli.measuring import Stage
    from pegboard.evaluation.measures import Measure, Measured
    from pegboard.evaluation.report import Report

__all__ = ["evaluate"]

_MISSES_SHOWN = 10
_SLICES_SHOWN = ("category", "risk", "overlap")
_HOW_TO_READ = (
    "candidate_recall counts first: a task is given several tools to choose from, so most of them fit no step "
    "(false_selection_rate), and some even where none fits (no_tool_accuracy): docs/how-to/evaluate.md"
)


@click.command("eval", cls=Command)
@click.argument("file", metavar="FIXTURES")
@click.option("--catalog", metavar="FILE|FOLDER", help="Evaluate these tools in place of what is published.")
@click.option("--open", "is_open", is_flag=True, help="With --catalog: every tool is locked and open to whoever asks.")
@click.option("--split", metavar="NAME", help="Only the tasks of this split.")
@click.option("--arm", "arms", metavar="NAME", multiple=True, help="Compare this arm; may be repeated.  [default: all]")
@click.option("--sweep", metavar="SETTING=A..B", help="Try limit, budget or confidence at many values: limit=1..20.")
@click.option(
    "--perturb",
    metavar="WAY",
    multiple=True,
    help="Also typos, paraphrase, updated, stuffed (arms), two-users, taken-away, hidden (tasks), or all.",
)
@click.option("--thresholds", metavar="FILE", help="What must be reached, as TOML; status 1 where it is not.")
@click.option("--baseline", metavar="REPORT", help="An earlier --json report; status 1 where something got worse.")
@click.option("--resume", is_flag=True, help="Go on where an interrupted evaluation of the same was.")
@click.option("--html", metavar="FILE", help="Write the report as one page too.")
def evaluate(
    file: str,
    catalog: str | None,
    is_open: bool,
    split: str | None,
    arms: tuple[str, ...],
    sweep: str | None,
    perturb: tuple[str, ...],
    thresholds: str | None,
    baseline: str | None,
    resume: bool,
    html: str | None,
) -> int:
    """Measure selection on labelled tasks, arm beside arm.

    FIXTURES is JSON Lines or TOML, as in the reference. Unsaid, the arms are the deployment's own way to select
    (dynamic), every eligible tool (all-tools), and those of [arms.NAME]. Nothing that is served is touched.
    """
    from pegboard.evaluation.page import page
    from pegboard.evaluation.report import report

    points = _points(sweep)
    wanted, earlier = thresholds_of(thresholds), baseline_of(baseline)
    tasks, digest = tasks_of(file, split), digest_bytes(Path(file).read_bytes())
    with staged(catalog, is_open) as stage:
        work = Work(
            stage=stage,
            arms=arms_of(stage, arms),
            tasks=tasks,
            points=points,
            resume=resume,
            perturb=_ways(perturb),
            of=[digest, split or ""],
        )
        done = run(work.run)
        made = _made(stage)
        found = report(
            done.tasks,
            done.arms,
            done.tools,
            catalog_version=done.catalog_version,
            fixtures={"file": file, "digest": digest, "tasks": len(tasks)},
            encoding=stage.system.catalog.deployment.encoding,
            is_open=is_open,
            sweep=done.sweep,
            thresholds=wanted,
            baseline=earlier,
        )
    if html is not None:
        replace_file(html, [page(found, made).encode()])
    if as_json():
        print_json(found.to_json())
    else:
        _show(found)
    return DONE if found.passed else NO


def _made(stage: "Stage") -> str:
    """Say when and by what a page was made, and as whom a task is asked that does not say."""
    from importlib.metadata import version

    caller = stage.config.evaluation.principal
    asked = "" if caller is None else f"; asked as {caller} where a task names nobody"
    return f"Made {stamp(stage.system.catalog.clock.now())} by Pegboard {version('pegboard')}{asked}."


def _ways(said: Sequence[str]) -> tuple[str, ...]:
    from pegboard.service.perturbing import PERTURBATIONS

    if strange := [one for one in said if one not in (*PERTURBATIONS, "all")]:
        problem = f"{strange[0]!r} is none of {', '.join(PERTURBATIONS)}"
        raise click.BadParameter(problem, click.get_current_context(), param_hint="--perturb")
    return PERTURBATIONS if "all" in said else tuple(dict.fromkeys(said))


def _points(said: str | None) -> tuple[str, tuple[float, ...]] | None:
    try:
        return None if said is None else points_of(said)
    except ValueError as error:
        raise click.BadParameter(str(error), click.get_current_context(), param_hint="--sweep") from None


def _show(found: "Report") -> None:
    """Print the measures of all arms, the slices and the misses of the first, and what was judged."""
    from pegboard.evaluation.sweeps import knee

    _show_measures(found)
    _show_slices(found)
    for one in found.notes:
        note((one, "yellow"))
    for point in found.sweep:
        say(
            (f"{point.setting} {point.value:g}", "dim"),
            _share(point.candidate_recall),
            f"{point.tokens or 0:,.0f} tokens",
        )
    if (bend := knee(found.sweep)) is not None:
        say("the knee is at", (f"{bend.setting} {bend.value:g}", "bold"))
    _show_misses(found)
    for judged in found.thresholds:
        style, word = ("green", "reached") if judged.passed else ("bold red", "missed")
        waived = f" (waived: {judged.threshold.waive})" if judged.threshold.waive else ""
        value = "" if judged.value is None else f"{judged.value:g}"
        say((word, style), judged.threshold.measure, judged.threshold.slice, value, f"{judged.reason or ''}{waived}")
    for worse in found.regressions:
        say(("worse", "bold red"), f"{worse.measure}: {worse.was:.4g} before, {worse.now:.4g} now")


def _show_measures(found: "Report") -> None:
    from pegboard.evaluation.measures import MEASURES
    from pegboard.evaluation.thresholds import EVERYTHING

    say(counted(len(found.tasks), "task"), (f"catalog {found.catalog_version}, {found.encoding}", "dim"))
    table(
        ("MEASURE", *(one.arm.name.upper() for one in found.arms)),
        (
            (measure.name, *(_cell(measure, one.by_slice[EVERYTHING][measure.name]) for one in found.arms))
            for measure in MEASURES
            if any(one.by_slice[EVERYTHING][measure.name].value is not None for one in found.arms)
        ),
        right=[one.arm.name.upper() for one in found.arms],
    )
    note((_HOW_TO_READ, "dim"))
    reasons: dict[str, list[str]] = {}
    for measure in MEASURES:
        if all(one.by_slice[EVERYTHING][measure.name].value is None for one in found.arms):
            why = found.arms[0].by_slice[EVERYTHING][measure.name].reason
            reasons.setdefault(str(why), []).append(measure.name)
    for why, names in reasons.items():
        note((f"not measured: {', '.join(names)}: {why}", "dim"))


def _cell(measure: "Measure", one: "Measured") -> Cell:
    if one.value is None or one.low == one.high:
        return measure.said(one.value)
    return f"{measure.said(one.value)} ({measure.said(one.low)} to {measure.said(one.high)})"


def _show_slices(found: "Report") -> None:
    first = found.arms[0]
    rows = [
        (name, str(one.n), _share(one.value), "" if one.value is None else f"{_share(one.low)} to {_share(one.high)}")
        for name, measures in first.by_slice.items()
        # Namespaces may be many: those are on the page.
        if name.partition(":")[0] in _SLICES_SHOWN and (one := measures["candidate_recall"]).value is not None
    ]
    if rows:
        say()
        table((f"RECALL OF {first.arm.name.upper()} BY", "TASKS", "RECALL", "95%"), rows, right=("TASKS", "RECALL"))


def _show_misses(found: "Report") -> None:
    from pegboard.evaluation.page import missed

    first = found.arms[0].arm
    own = [(task, why) for task, run in zip(found.tasks, first.runs, strict=True) if (why := missed(task, run))]
    if own:
        say()
        say((f"{len(own):,} {'miss' if len(own) == 1 else 'misses'}", "bold"))
        for task, why in own[:_MISSES_SHOWN]:
            say(f"  {task.task_id}:", one_line(task.task, 60), (why, "dim"))
    if len(own) > _MISSES_SHOWN:
        note((f"{len(own) - _MISSES_SHOWN:,} more are in --json and --html", "dim"))


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"
