"""Figures: what of a report is drawn. Each arm has one colour in all of them; what was not taken is not drawn."""

from collections.abc import Callable, Mapping, Sequence

from pegboard.evaluation.measures import Measured
from pegboard.evaluation.plots import Axis, Bar, Series, bars, lines, round_up
from pegboard.evaluation.report import ArmReport, Report, calibration
from pegboard.evaluation.sweeps import knee
from pegboard.evaluation.thresholds import EVERYTHING

__all__ = ["FIGURES", "slice_figures"]

_SHARE = Axis(label="", share=True)


def _recall_at(found: Report) -> str:
    series = [
        Series(
            name=one.arm.name,
            points=[(k, value) for k, both in one.at.items() if (value := both["candidate_recall"].value) is not None],
            colour=number,
        )
        for number, one in enumerate(found.arms)
    ]
    drawn = [one for one in series if one.points]
    return lines("Recall at k", Axis(label="k", high=20), Axis(label="recall", share=True), drawn)


def _tokens_against_recall(found: Report) -> str:
    swept = [
        (one.tokens, one.candidate_recall, f"{one.value:g}")
        for one in found.sweep
        if one.tokens is not None and one.candidate_recall is not None
    ]
    placed = [
        (tokens, recall, number)
        for number, one in enumerate(found.arms)
        for tokens, recall in [_both(one)]
        if tokens is not None and recall is not None
    ]
    most = max((tokens for tokens, *_ in (*swept, *placed)), default=0.0)
    if not most:
        return ""
    series = [Series(name=found.arms[n].arm.name, points=[(tokens, recall)], colour=n) for tokens, recall, n in placed]
    if swept:
        bend = knee(found.sweep)
        name = f"{found.arms[0].arm.name} by {found.sweep[0].setting}" + (f", knee at {bend.value:g}" if bend else "")
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
    ideal = Series(name="as sure as right", points=[(0, 0), (1, 1)], colour=None)
    return lines(
        "Calibration",
        Axis(label="confidence that a tool fits", share=True),
        Axis(label="a tool fits", share=True),
        [own, ideal],
    )


def _latency(found: Report) -> str:
    times = [sorted(run.ms for run in one.arm.runs if run.ms is not None) for one in found.arms]
    most = max((own[-1] for own in times if own), default=0.0)
    series = [
        Series(
            name=found.arms[number].arm.name,
            points=[(own[round(q / 20 * (len(own) - 1))], q / 20) for q in range(21)],
            colour=number,
        )
        for number, own in enumerate(times)
        if own
    ]
    return (
        lines("Latency", Axis(label="ms", high=round_up(most)), Axis(label="tasks", share=True), series) if most else ""
    )


def _exposure(found: Report) -> str:
    rows = [(one.arm.name, one.by_slice[EVERYTHING]["denied_exposure"]) for one in found.arms]
    high = max((one.value for _, one in rows if one.value is not None), default=0.0)
    if not high:
        return ""
    return bars(
        "Exposure",
        Axis(label="", high=high),
        [
            Bar(name=name, value=one.value, note="not measured" if one.value is None else f"({one.n})")
            for name, one in rows
        ],
    )


# In the order of the page: what a figure shows, and how it is drawn; an empty one is left out.
FIGURES: tuple[tuple[str, Callable[[Report], str]], ...] = (
    ("Recall at k, limit and abstention lifted", _recall_at),
    ("Tokens of the served definitions against recall as served", _tokens_against_recall),
    ("Calibration of the first arm, tasks beside each point", _calibration),
    ("Time from the task to the selection, cumulated", _latency),
    ("Canaries of denied tools that were found (tasks)", _exposure),
)


def slice_figures(by_slice: Mapping[str, Mapping[str, Measured]]) -> list[tuple[str, str]]:
    """Return for each dimension its title, and recall as served by its slices."""
    dimensions: dict[str, list[str]] = {}
    for name in by_slice:
        dimension, colon, _ = name.partition(":")
        if colon:
            dimensions.setdefault(dimension, []).append(name)
    return [
        (f"Recall as served by {dimension} (tasks)", bars(dimension, _SHARE, _bars(names, by_slice)))
        for dimension, names in dimensions.items()
    ]


def _bars(names: Sequence[str], by_slice: Mapping[str, Mapping[str, Measured]]) -> list[Bar]:
    found = []
    for name in names:
        one = by_slice[name]["candidate_recall"]
        note = f"({one.n})" if one.value is not None else one.reason or ""
        found.append(Bar(name=name.partition(":")[2], value=one.value, low=one.low, high=one.high, note=note))
    return found
