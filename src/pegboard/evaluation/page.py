"""The page: a report as one HTML file that needs no other, with plots, slices, and every miss explained.

Whatever a task, a tool or a setting says is escaped; the page runs no script and fetches nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape

from pegboard.evaluation.fixtures import Fixture
from pegboard.evaluation.measures import MEASURES, Measure, Measured
from pegboard.evaluation.plots import Axis, Bar, Series, bars, lines, round_up
from pegboard.evaluation.report import ArmReport, Report, calibration
from pegboard.evaluation.runs import Run
from pegboard.evaluation.sweeps import knee
from pegboard.evaluation.thresholds import EVERYTHING

__all__ = ["missed", "page"]

# A page is read by people: beyond so many misses the JSON is the better place.
_MISSES = 200
_SHARE = Axis(label="", share=True)

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --dim: #667085; --line: #d9dee7; --ground: #fff; --good: #12805c;
  --bad: #b42318; --series-1: #2557d6; --series-2: #c4660a; --series-3: #12805c; --series-4: #8a3ffc; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --dim: #98a2b3; --line: #344054; --ground: #12161f;
  --good: #4cc38a; --bad: #ff7b72; --series-1: #7aa2ff; --series-2: #f0a35e; --series-3: #4cc38a;
  --series-4: #c4a1ff; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground); max-width: 1080px;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; border-bottom: 1px solid var(--line); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; } .dim, .missing { color: var(--dim); fill: var(--dim); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(380px, 1fr)); gap: 1.5rem; }
figure { margin: 0; } figcaption { font-weight: 600; margin-bottom: .3rem; } svg { width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--ink); } svg .axis, svg .missing { fill: var(--dim); }
svg .grid { stroke: var(--line); } svg .bar { fill: var(--series-1); } svg .interval { stroke: var(--ink); }
.legend { list-style: none; padding: 0; display: flex; gap: 1rem; margin: .2rem 0 0; font-size: 13px; }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .4em; border-radius: 2px; }
.passed { color: var(--good); } .failed { color: var(--bad); } code { font-size: .92em; overflow-wrap: anywhere; }
@media print { body { max-width: none; margin: 0; } figure, tr { break-inside: avoid; } }
"""


def page(found: Report) -> str:
    """Return the page of a report."""
    verdict = ("passed", "Every threshold is reached") if found.passed else ("failed", "Not to be released on this")
    told = found.thresholds or found.regressions
    sections = (
        f'<p class="{verdict[0]}"><strong>{verdict[1]}.</strong></p>' if told else "",
        f'<p class="dim">{_about(found)}</p>',
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
    fixtures = " ".join(str(found.fixtures.get(key, "")) for key in ("file", "digest"))
    return escape(
        f"{len(found.tasks):,} tasks of {fixtures}; catalog {found.catalog_version}{open_to_all}; tokens as "
        f"{found.encoding} counts them; intervals are 95%."
    )


def _section(title: str, body: str) -> str:
    return f"<h2>{title}</h2>{body}" if body else ""


def _measures(found: Report) -> str:
    head = "".join(f'<th class="number">{escape(one.arm.name)}</th>' for one in found.arms)
    rows = (
        f"<tr><td>{measure.name}<br><span class=dim>{escape(measure.definition)}</span></td>"
        + "".join(_cell(measure, one.by_slice[EVERYTHING][measure.name]) for one in found.arms)
        + "</tr>"
        for measure in MEASURES
    )
    return f"<table><tr><th>Measure</th>{head}</tr>{''.join(rows)}</table>"


def _cell(measure: Measure, one: Measured) -> str:
    if one.value is None:
        return f'<td class="number missing">not measured<br>{escape(one.reason or "")}</td>'
    interval = (
        "" if one.low == one.high else f"<br><span class=dim>{measure.said(one.low)} to {measure.said(one.high)}</span>"
    )
    return f'<td class="number">{measure.said(one.value)}{interval}</td>'


def _thresholds(found: Report) -> str:
    rows = (
        f"<tr><td>{escape(one.threshold.measure)}</td><td>{escape(one.threshold.slice)}</td>"
        f'<td class="number">{"" if one.value is None else f"{one.value:g}"}</td>'
        f'<td class="{"passed" if one.passed else "failed"}">{"reached" if one.reason is None else escape(one.reason)}'
        f"{f' (waived: {escape(one.threshold.waive)})' if one.threshold.waive else ''}</td></tr>"
        for one in found.thresholds
    )
    head = '<tr><th>Measure</th><th>Slice</th><th class="number">Value</th><th></th></tr>'
    return f"<table>{head}{''.join(rows)}</table>" if found.thresholds else ""


def _regressions(found: Report) -> str:
    rows = (
        f'<tr><td>{one.measure}</td><td class="number">{one.was:.4g}</td><td class="number">{one.now:.4g}</td>'
        f'<td class="number failed">{one.difference.low:+.4g} to {one.difference.high:+.4g}</td></tr>'
        for one in found.regressions
    )
    numbers = "".join(f"<th class=number>{name}</th>" for name in ("Baseline", "Now", "By task"))
    head = f"<tr><th>Measure</th>{numbers}</tr>"
    return f"<table>{head}{''.join(rows)}</table>" if found.regressions else ""


def _plots(found: Report) -> str:
    drawn = [(title, plot) for title, draw in _PLOTS if (plot := draw(found))]
    return f'<div class="plots">{"".join(f"<figure><figcaption>{t}</figcaption>{p}</figure>" for t, p in drawn)}</div>'


def _recall_at(found: Report) -> str:
    series = [
        Series(
            name=one.arm.name,
            points=[(k, value) for k, both in one.at.items() if (value := both["candidate_recall"].value) is not None],
        )
        for one in found.arms
    ]
    return lines("Recall at k", Axis(label="k", high=20), Axis(label="recall", share=True), _drawable(series))


def _tokens_against_recall(found: Report) -> str:
    swept = [
        (one.tokens, one.candidate_recall, f"{one.value:g}")
        for one in found.sweep
        if one.tokens is not None and one.candidate_recall is not None
    ]
    arms = [(*_both(one), one.arm.name) for one in found.arms]
    placed = [(tokens, recall, name) for tokens, recall, name in arms if tokens is not None and recall is not None]
    most = max((tokens for tokens, *_ in (*swept, *placed)), default=0.0)
    if not most:
        return ""
    series = [Series(name=name, points=[(tokens, recall)]) for tokens, recall, name in placed]
    if swept:
        bend = knee(found.sweep)
        name = f"by {found.sweep[0].setting}" + (f", knee at {bend.value:g}" if bend else "")
        series.insert(0, Series(name=name, points=[one[:2] for one in swept], labels=_ends([one[2] for one in swept])))
    return lines(
        "Tokens against recall", Axis(label="tokens", high=round_up(most)), Axis(label="recall", share=True), series
    )


def _ends(labels: Sequence[str]) -> list[str]:
    """Name the first and the last point; those between lie too close to be told apart."""
    return [label if place in (0, len(labels) - 1) else "" for place, label in enumerate(labels)]


def _both(one: ArmReport) -> tuple[float | None, float | None]:
    everything = one.by_slice[EVERYTHING]
    return everything["definition_tokens"].value, everything["candidate_recall"].value


def _calibration(found: Report) -> str:
    bins = calibration(found.tasks, found.arms[0].arm.runs)
    if len(bins) < 2:
        return ""
    own = Series(name=found.arms[0].arm.name, points=[one[:2] for one in bins], labels=[str(one[2]) for one in bins])
    ideal = Series(name="as sure as right", points=[(0, 0), (1, 1)], dashed=True)
    return lines(
        "Calibration",
        Axis(label="confidence that a tool fits", share=True),
        Axis(label="a tool fits", share=True),
        [own, ideal],
    )


def _latency(found: Report) -> str:
    times = {one.arm.name: sorted(run.ms for run in one.arm.runs if run.ms is not None) for one in found.arms}
    most = max((own[-1] for own in times.values() if own), default=0.0)
    series = [
        Series(name=name, points=[(own[round(q / 20 * (len(own) - 1))], q / 20) for q in range(21)])
        for name, own in times.items()
        if own
    ]
    return (
        lines("Latency", Axis(label="ms", high=round_up(most)), Axis(label="tasks", share=True), series) if most else ""
    )


def _exposure(found: Report) -> str:
    rows = [(one.arm.name, one.by_slice[EVERYTHING]["denied_exposure"]) for one in found.arms]
    high = max((one.value for _, one in rows if one.value is not None), default=0.0)
    note = "not measured"
    return bars(
        "Exposure",
        Axis(label="", high=max(1.0, high)),
        [Bar(name=n, value=one.value, note="" if one.value is not None else note) for n, one in rows],
    )


_PLOTS: tuple[tuple[str, Callable[[Report], str]], ...] = (
    ("Recall at k, limit and abstention lifted", _recall_at),
    ("Tokens of the served definitions against recall as served", _tokens_against_recall),
    ("Calibration of the first arm (number of tasks beside each point)", _calibration),
    ("Time from the task to the selection, cumulated", _latency),
    ("Canary strings of denied tools that were found", _exposure),
)


def _slices(found: Report) -> str:
    first = found.arms[0].by_slice
    dimensions: dict[str, list[str]] = {}
    for name in first:
        dimension, colon, _ = name.partition(":")
        if colon:
            dimensions.setdefault(dimension, []).append(name)
    drawn = "".join(
        f"<figure><figcaption>Recall as served by {dimension}</figcaption>"
        f"{bars(dimension, _SHARE, _bars(names, first))}</figure>"
        for dimension, names in dimensions.items()
    )
    return f'<div class="plots">{drawn}</div>' if drawn else ""


def _bars(names: Sequence[str], by_slice: Mapping[str, Mapping[str, Measured]]) -> list[Bar]:
    found = []
    for name in names:
        one = by_slice[name]["candidate_recall"]
        note = f"({one.n})" if one.value is not None else one.reason or ""
        found.append(Bar(name=name.partition(":")[2], value=one.value, low=one.low, high=one.high, note=note))
    return found


def _misses(found: Report) -> str:
    own = [
        (task, why)
        for task, run in zip(found.tasks, found.arms[0].arm.runs, strict=True)
        if (why := missed(task, run)) is not None
    ]
    rows = "".join(
        f"<tr><td><code>{escape(task.task_id)}</code></td><td>{escape(task.task[:300])}</td><td>{escape(why)}</td></tr>"
        for task, why in own[:_MISSES]
    )
    more = f"<p class=dim>{len(own) - _MISSES:,} more are in the JSON.</p>" if len(own) > _MISSES else ""
    return f"<table><tr><th>Task</th><th></th><th>Why</th></tr>{rows}</table>{more}" if own else "<p>None.</p>"


def _drawable(series: Iterable[Series]) -> list[Series]:
    return [one for one in series if one.points]
