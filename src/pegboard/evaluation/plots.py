"""Plots: figures drawn as SVG text, for a page that needs nothing but itself. Every plot says in words what it shows.

Colours are the page's own variables (`--series-1` to `--series-8`), so that they follow a dark or a light page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10

__all__ = ["Axis", "Bar", "Series", "bars", "lines", "round_up"]

_WIDTH, _HEIGHT = 460, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 16, 12, 44
_TICKS = 4
_COLOURS = 8
_BAR_HEIGHT, _BAR_LEFT = 20, 170


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A scale from *low* to *high*, its label, and whether its ticks are percentages."""

    label: str
    low: float = 0.0
    high: float = 1.0
    share: bool = False

    def place(self, value: float) -> float:
        """Return where on the axis a value lies, 0 to 1."""
        return 0.0 if self.high == self.low else (value - self.low) / (self.high - self.low)

    def said(self, value: float) -> str:
        """Return a value as its tick says it."""
        return f"{value:.0%}" if self.share else f"{value:,.0f}" if abs(value) >= 10 else f"{value:.2g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Points of one colour, joined by a line in the order given; `labels` stand beside them where there are any.

    Without a colour it is a dashed line to compare with.
    """

    name: str
    points: Sequence[tuple[float, float]]
    labels: Sequence[str] = ()
    colour: int | None = 0

    @property
    def paint(self) -> str:
        """Return the page's variable for its colour."""
        return "var(--dim)" if self.colour is None else f"var(--series-{self.colour % _COLOURS + 1})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar with its interval, and what is written beside it."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""


def round_up(value: float) -> float:
    """Return the next number of an axis that people can divide: 1, 2, 4 or 8 times a power of ten."""
    power = 10 ** floor(log10(value)) if value > 0 else 1
    return next((step * power for step in (1, 2, 4, 8, 10) if step * power >= value), 10.0 * power)


def lines(title: str, x: Axis, y: Axis, series: Sequence[Series]) -> str:
    """Draw series over two axes."""
    parts = [*_grid(x, y), *(part for one in series for part in _drawn(one, x, y))]
    said = "; ".join(f"{one.name}: {', '.join(f'{x.said(a)} → {y.said(b)}' for a, b in one.points)}" for one in series)
    return _figure(title, said, _WIDTH, _HEIGHT, parts) + _legend(series)


def bars(title: str, axis: Axis, found: Sequence[Bar]) -> str:
    """Draw one horizontal bar a row, with its interval as a thin line."""
    parts = [part for row, one in enumerate(found) for part in _bar(one, row, axis)]
    said = "; ".join(f"{one.name}: {'none' if one.value is None else axis.said(one.value)}" for one in found)
    return _figure(title, said, _WIDTH, _BAR_HEIGHT * len(found) + 8, parts)


def _grid(x: Axis, y: Axis) -> list[str]:
    parts = []
    for tick in range(_TICKS + 1):
        share = tick / _TICKS
        across, down = _at(share, 0.0)[0], _at(0.0, share)[1]
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{down:.1f}" y2="{down:.1f}"/>')
        parts.append(_text(_LEFT - 6, down + 4, y.said(y.low + share * (y.high - y.low)), "end"))
        parts.append(_text(across, _HEIGHT - _BOTTOM + 16, x.said(x.low + share * (x.high - x.low)), "middle"))
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, x.label, "middle", "axis"))
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    parts.append(
        f'<text class="axis" text-anchor="middle" transform="translate(12 {middle:.1f}) rotate(-90)">'
        f"{escape(y.label)}</text>"
    )
    return parts


def _drawn(one: Series, x: Axis, y: Axis) -> list[str]:
    places = [_at(x.place(a), y.place(b)) for a, b in one.points]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    dashes = ' stroke-dasharray="4 4"' if one.colour is None else ""
    parts = [f'<polyline fill="none" stroke="{one.paint}" stroke-width="2"{dashes} points="{path}"/>']
    if one.colour is not None:
        parts += [f'<circle r="3" fill="{one.paint}" cx="{a:.1f}" cy="{b:.1f}"/>' for a, b in places]
    # Beside the point, and inside the plot where the point lies at its edge.
    parts += [
        _text(a - 5 if a > _WIDTH - 80 else a + 5, max(b - 5, _TOP + 14), label, "end" if a > _WIDTH - 80 else "start")
        for (a, b), label in zip(places, one.labels, strict=False)
    ]
    return parts


def _bar(one: Bar, row: int, axis: Axis) -> list[str]:
    top = row * _BAR_HEIGHT + 4
    middle = top + _BAR_HEIGHT / 2
    parts = [_text(_BAR_LEFT - 8, middle + 4, one.name if len(one.name) <= 26 else f"{one.name[:25]}…", "end")]
    if one.value is None:
        return [*parts, _text(_BAR_LEFT + 2, middle + 4, one.note or "not measured", "start", "missing")]
    room = _WIDTH - _BAR_LEFT - 90
    wide = max(0.0, min(1.0, axis.place(one.value))) * room
    parts.append(f'<rect x="{_BAR_LEFT}" y="{top + 3}" width="{wide:.1f}" height="{_BAR_HEIGHT - 6}" class="bar"/>')
    if one.low is not None and one.high is not None:
        ends = [_BAR_LEFT + max(0.0, min(1.0, axis.place(end))) * room for end in (one.low, one.high)]
        parts.append(f'<line class="interval" x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{middle}" y2="{middle}"/>')
    return [*parts, _text(_WIDTH - 84, middle + 4, f"{axis.said(one.value)} {one.note}".strip(), "start")]


def _at(across: float, up: float) -> tuple[float, float]:
    wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    return _LEFT + min(1.0, max(0.0, across)) * wide, _HEIGHT - _BOTTOM - min(1.0, max(0.0, up)) * high


def _text(x: float, y: float, words: str, anchor: str, kind: str = "tick") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _figure(title: str, said: str, width: int, height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg role="img" viewBox="0 0 {width} {height}"><title>{escape(title)}</title><desc>{escape(said)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def _legend(series: Sequence[Series]) -> str:
    if len(series) < 2:
        return ""
    items = "".join(f'<li><i style="background:{one.paint}"></i>{escape(one.name)}</li>' for one in series)
    return f'<ul class="legend">{items}</ul>'
