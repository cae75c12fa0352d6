"""The page: a report as one HTML file that needs no other, with plots, slices, and every miss explained.

Whatever a task, a tool or a setting says is escaped; the page runs no script and fetches nothing.
"""

from collections.abc import Iterable, Sequence
from html import escape

from pegboard.evaluation.comparing import Difference
from pegboard.evaluation.figures import FIGURES, slice_figures
from pegboard.evaluation.fixtures import Fixture
from pegboard.evaluation.measures import MEASURES, Better, Measure, Unit
from pegboard.evaluation.report import ArmReport, Report
from pegboard.evaluation.runs import Run
from pegboard.evaluation.thresholds import EVERYTHING

__all__ = ["missed", "page"]

# A page is read by people: beyond so many misses the JSON is the better place.
_MISSES = 200
# Enough of a digest to tell two files apart by eye.
_DIGEST = len("sha256:") + 12
# Colours of eight arms; a ninth has the first one's again.
_LIGHT = ("#2557d6", "#c4660a", "#12805c", "#8a3ffc", "#c2185b", "#00788a", "#7a5c00", "#5b6472")
_DARK = ("#7aa2ff", "#f0a35e", "#4cc38a", "#c4a1ff", "#ff7eb6", "#4dd0e1", "#d6c25a", "#a9b4c2")


def _series(colours: Sequence[str]) -> str:
    return " ".join(f"--series-{number}: {colour};" for number, colour in enumerate(colours, start=1))


_STYLE = f"""
:root {{ color-scheme: light dark; --ink: #1c2330; --dim: #5d6778; --line: #d9dee7; --ground: #fff; --good: #12805c;
  --bad: #b42318; {_series(_LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6e9ef; --dim: #98a2b3; --line: #344054; --ground: #12161f;
  --good: #4cc38a; --bad: #ff7b72; {_series(_DARK)} }} }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground); max-width: 1200px;
  margin: 2rem auto; padding: 0 1rem; overflow-wrap: break-word; }}
h1 {{ font-size: 1.5rem; }} h2 {{ font-size: 1.15rem; margin-top: 2.2rem; border-bottom: 1px solid var(--line); }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }}
td.number, th.number {{ text-align: right; }} td.number {{ white-space: nowrap; }} td.missing {{ white-space: normal; }}
.measures th:first-child, .measures td:first-child {{ position: sticky; left: 0; background: var(--ground);
  min-width: 13rem; }}
.misses td:first-child {{ white-space: nowrap; }} .misses td:nth-child(2) {{ min-width: 14rem; }}
.misses td:last-child {{ min-width: 16rem; }}
.dim, .missing {{ color: var(--dim); fill: var(--dim); }} small {{ font-size: .87em; }}
.plots {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 380px), 1fr)); gap: 1.5rem; }}
figure {{ margin: 0; }} figcaption {{ font-weight: 600; margin-bottom: .3rem; }} svg {{ width: 100%; height: auto; }}
svg text {{ font: 12px system-ui, sans-serif; fill: var(--ink); }} svg .axis, svg .missing {{ fill: var(--dim); }}
svg .grid {{ stroke: var(--line); }} svg .bar {{ fill: var(--series-1); }} svg .interval {{ stroke: var(--ink); }}
.legend {{ list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin: .2rem 0 0;
  font-size: 13px; }}
.legend i {{ display: inline-block; width: .8em; height: .8em; margin-right: .4em; border-radius: 2px; }}
.passed {{ color: var(--good); }} .failed {{ color: var(--bad); }} code {{ font-size: .92em; }}
@media (max-width: 640px) {{ .what, .misses th {{ display: none; }} .misses td {{ display: block; border: 0; }}
  .misses tr {{ display: block; border-bottom: 1px solid var(--line); }}
  .measures th:first-child, .measures td:first-child, .misses td:nth-child(n) {{ min-width: 0; }} }}
@media print {{ body {{ max-width: none; margin: 0; }} figure, tr {{ break-inside: avoid; }} }}
"""


def page(found: Report, made: str = "") -> str:
    """Return the page of a report; *made* is a sentence on when it was made and by what, which no report holds."""
    verdict = ("passed", "Every threshold is reached") if found.passed else ("failed", "Not to be released on this")
    told = found.thresholds or found.regressions
    sections = (
        f'<p class="{verdict[0]}"><strong>{verdict[1]}.</strong></p>' if told else "",
        f'<p class="dim">{escape(f"{_about(found)} {made}".rstrip())}</p>',
        *(f"<p>{escape(note[:1].upper() + note[1:])}.</p>" for note in found.notes),
        _section("Measures", _measures(found)),
        _section("Thresholds", _thresholds(found)),
        _section("Regressions", _regressions(found)),
        _section("Plots", _plots(found)),
        _section("Slices", _slices(found)),
        _section("Misses", _misses(found)),
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Selection report</title><style>{_STYLE}</style></head><body><h1>Selection report</h1>"
        f"{''.join(sections)}</body></html>\n"
    )


def missed(task: Fixture, run: Run) -> str | None:
    """Say why a task is a miss, None where it is none."""
    if run.error is not None:
        return f"error: {run.error}"
    if not task.answerable:
        return f"no tool fits, and {', '.join(run.ranked)} was served" if run.ranked else None
    open_steps = [step for step in task.steps if step.isdisjoint(run.loaded)]
    if not open_steps:
        return None
    if not run.ranked:
        why = f"nothing was served ({run.outcome}{f', {run.cause}' if run.cause else ''})"
    else:
        why = f"{len(run.loaded)} tools were served"
    return "; ".join((why, *(_where(step, run) for step in open_steps)))


def _where(step: frozenset[str], run: Run) -> str:
    ranking = run.ranking or ()
    ranks = [(rank, tool) for rank, tool in enumerate(ranking, start=1) if tool in step]
    if ranks:
        return f"{ranks[0][1]} is at rank {ranks[0][0]}"
    return f"none of {', '.join(sorted(step))} is among the first {len(ranking)}"


def _about(found: Report) -> str:
    open_to_all = ", every tool open to everyone" if found.open else ""
    fixtures = f"{found.fixtures.get('file', '')} ({str(found.fixtures.get('digest', ''))[:_DIGEST]})"
    return (
        f"{len(found.tasks):,} tasks of {fixtures}; catalog {found.catalog_version}{open_to_all}; tokens as "
        f"{found.encoding} counts them; intervals are 95%."
    )


def _section(title: str, body: str) -> str:
    return f"<h2>{title}</h2>{body}" if body else ""


def _measures(found: Report) -> str:
    """Show each measure that some arm has, and below the table why the others are not there."""
    taken = [one for one in MEASURES if any(arm.by_slice[EVERYTHING][one.name].value is not None for arm in found.arms)]
    head = "".join(f'<th class="number">{escape(one.arm.name)}</th>' for one in found.arms)
    rows = (
        f'<tr><td>{measure.name}<br><small class="dim what">{escape(measure.definition)}</small></td>'
        + "".join(_cell(measure, one) for one in found.arms)
        + "</tr>"
        for measure in taken
    )
    return f"{_table('measures', f'<tr><th>Measure</th>{head}</tr>', rows)}{_compared(found)}{_untaken(found)}"


def _compared(found: Report) -> str:
    first = escape(found.arms[0].arm.name)
    said = f"By task: the mean difference from {first} on the same tasks, where its interval leaves 0 out."
    return f'<p class="dim">{said}</p>' if len(found.arms) > 1 else ""


def _untaken(found: Report) -> str:
    reasons: dict[str, list[Measure]] = {}
    for measure in MEASURES:
        if all(one.by_slice[EVERYTHING][measure.name].value is None for one in found.arms):
            reasons.setdefault(str(found.arms[0].by_slice[EVERYTHING][measure.name].reason), []).append(measure)
    return "".join(
        f'<p class="dim">Not measured, since {escape(why)}: '
        f"{', '.join(f'{one.name} ({escape(one.definition)})' for one in measures)}.</p>"
        for why, measures in reasons.items()
    )


def _cell(measure: Measure, arm: ArmReport) -> str:
    one = arm.by_slice[EVERYTHING][measure.name]
    if one.value is None:
        return f'<td class="number missing"><small>{escape(one.reason or "")}</small></td>'
    interval = "" if one.low == one.high else f"{measure.said(one.low)} to {measure.said(one.high)}"
    lines = [measure.said(one.value), *([f'<small class="dim">{interval}</small>'] if interval else [])]
    # A difference that chance may have made is not shown: its interval has a 0 in it. Of times it would be their mean,
    # whichever percentile the row is about.
    gap = arm.against_first.get(measure.name)
    if gap is not None and measure.unit is not Unit.MS and (gap.low > 0 or gap.high < 0):
        lines.append(_difference(measure, gap))
    return f'<td class="number">{"<br>".join(lines)}</td>'


def _difference(measure: Measure, gap: Difference) -> str:
    better = (gap.value > 0) is (measure.better is Better.HIGHER)
    sign = "+" if gap.value > 0 else "\N{MINUS SIGN}"
    return f'<small class="{"passed" if better else "failed"}">{sign}{measure.said(abs(gap.value))} by task</small>'


def _table(kind: str, head: str, rows: Iterable[str]) -> str:
    """Return a table that is scrolled by itself where it is wider than the page."""
    return f'<div class="wide"><table class="{kind}">{head}{"".join(rows)}</table></div>'


def _thresholds(found: Report) -> str:
    rows = (
        f"<tr><td>{escape(one.threshold.measure)}</td><td>{escape(one.threshold.slice)}</td>"
        f'<td class="number">{"" if one.value is None else f"{one.value:g}"}</td>'
        f'<td class="{"passed" if one.passed else "failed"}">{"reached" if one.reason is None else escape(one.reason)}'
        f"{f' (waived: {escape(one.threshold.waive)})' if one.threshold.waive else ''}</td></tr>"
        for one in found.thresholds
    )
    head = '<tr><th>Measure</th><th>Slice</th><th class="number">Value</th><th></th></tr>'
    return _table("thresholds", head, rows) if found.thresholds else ""


def _regressions(found: Report) -> str:
    rows = (
        f'<tr><td>{one.measure}</td><td class="number">{one.was:.4g}</td><td class="number">{one.now:.4g}</td>'
        f'<td class="number failed">{one.difference.low:+.4g} to {one.difference.high:+.4g}</td></tr>'
        for one in found.regressions
    )
    numbers = "".join(f"<th class=number>{name}</th>" for name in ("Baseline", "Now", "By task"))
    head = f"<tr><th>Measure</th>{numbers}</tr>"
    return _table("regressions", head, rows) if found.regressions else ""


def _plots(found: Report) -> str:
    return _drawn((title, plot) for title, draw in FIGURES if (plot := draw(found)))


def _slices(found: Report) -> str:
    return _drawn(slice_figures(found.arms[0].by_slice))


def _drawn(figures: Iterable[tuple[str, str]]) -> str:
    drawn = "".join(f"<figure><figcaption>{title}</figcaption>{plot}</figure>" for title, plot in figures)
    return f'<div class="plots">{drawn}</div>' if drawn else ""


def _misses(found: Report) -> str:
    own = [
        (task, why)
        for task, run in zip(found.tasks, found.arms[0].arm.runs, strict=True)
        if (why := missed(task, run)) is not None
    ]
    rows = (
        f"<tr><td><code>{escape(task.task_id)}</code></td><td>{escape(task.task[:300])}</td><td>{escape(why)}</td></tr>"
        for task, why in own[:_MISSES]
    )
    more = f'<p class="dim">{len(own) - _MISSES:,} more are in the JSON.</p>' if len(own) > _MISSES else ""
    head = "<tr><th>Task</th><th>What it asks</th><th>Why</th></tr>"
    return f"{_table('misses', head, rows)}{more}" if own else "<p>None.</p>"
