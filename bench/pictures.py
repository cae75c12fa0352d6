"""Draw a report of `bench.retrieval` as SVG: the trade-off of no-tool answers, and said against happened.

python -m bench.pictures REPORT.json FOLDER
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

SIZE, EDGE = 320, 50
COLOURS = ("#0b6e99", "#c2410c", "#4d7c0f", "#7e22ce", "#a16207", "#111827")

Points = Sequence[tuple[float, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("report", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    rows = json.loads(options.report.read_text(encoding="utf-8"))["no_fit"]
    names = [f"{' + '.join(row['channels'])}, {row['calibration']}" for row in rows]
    trade = {name: [tuple(point) for point in row["curve"]] for name, row in zip(names, rows, strict=True)}
    said = {name: [tuple(point[:2]) for point in row["reliability"]] for name, row in zip(names, rows, strict=True)}
    options.folder.mkdir(parents=True, exist_ok=True)
    for file, picture in (
        ("no-tool.svg", drawn(trade, "answerable tasks kept", "unanswerable tasks rejected", low=0.8)),
        ("calibration.svg", drawn(said, "probability said that a tool fits", "share where one did", diagonal=True)),
    ):
        (options.folder / file).write_text(picture, encoding="utf-8")


def drawn(series: Mapping[str, Points], across: str, up: str, *, low: float = 0.0, diagonal: bool = False) -> str:
    """Draw lines over axes from *low* and 0 to 1."""

    def at(point: tuple[float, float]) -> str:
        return f"{EDGE + (point[0] - low) / (1 - low) * SIZE:.1f},{EDGE + (1 - point[1]) * SIZE:.1f}"

    width, height = SIZE + 2 * EDGE, SIZE + 2 * EDGE + 18 * len(series)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"',
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<rect x="{EDGE}" y="{EDGE}" width="{SIZE}" height="{SIZE}" fill="none" stroke="#999"/>',
        f'<text x="{EDGE}" y="{EDGE + SIZE + 32}">{escape(across)}</text>',
        f'<text x="{EDGE}" y="{EDGE - 12}">{escape(up)}</text>',
    ]
    for step in range(5):
        x, y = EDGE + step / 4 * SIZE, EDGE + SIZE - step / 4 * SIZE
        parts.append(f'<text x="{x - 10}" y="{EDGE + SIZE + 15}">{low + (1 - low) * step / 4:.2f}</text>')
        parts.append(f'<text x="{EDGE - 32}" y="{y + 4}">{step / 4:.2f}</text>')
    if diagonal:
        parts.append(f'<polyline points="{at((low, low))} {at((1, 1))}" stroke="#ccc" fill="none"/>')
    for number, (name, points) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        inside = " ".join(at(point) for point in points if point[0] >= low)
        parts.append(f'<polyline points="{inside}" stroke="{colour}" stroke-width="2" fill="none"/>')
        y = EDGE + SIZE + 50 + 18 * number
        parts.append(f'<text x="{EDGE}" y="{y}" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    main()
