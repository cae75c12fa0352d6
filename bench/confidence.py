"""Fit the calibrations that are shipped, and show what they are worth.

    python -m bench.confidence [--tasks 200] [--cache FOLDER] [--write]

Examples come from the dev parts and our own requests, tasks that no encoder has seen: in the whole catalog, among
thirty and among six tools, each with and without its right tools, and bfcl's unanswerable tasks among their
candidates. Each set and setting counts alike. The threshold keeps 97% of the answerable tasks of every set that are
ranked as they would be, our rough requests included: a tool that is withheld is a miss.
`--write` writes `src/pegboard/retrieval/shipped.py`.
"""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.catalogs import JUDGED, REQUESTS, load
from bench.encoding import Encoders
from bench.nofit import (
    CHANNEL_SETS,
    auroc,
    candidate_examples,
    kept_and_rejected,
    reliability,
    removed_examples,
    weighted,
)
from pegboard.retrieval.calibration import Calibration, Example, calibrate

SHIPPED = Path(__file__).resolve().parents[1] / "src" / "pegboard" / "retrieval" / "shipped.py"
SETTINGS = {"whole catalog": None, "among 30": 30, "among 6": 6}
NATURAL = ("whole catalog", "candidates")
KEPT = 0.97
WEIGHT = 300.0  # of one set in one setting, in examples


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "pegboard-vectors")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    encoders = Encoders(options.cache)
    fitted = []
    for channels in CHANNEL_SETS:
        dev = gather("dev", channels, encoders, options.tasks)
        calibration = fit(dev, channels)
        fitted.append(calibration)
        print(f"\n{' + '.join(channels)}: threshold {calibration.fits.threshold}, best {calibration.best.threshold}")
        show("dev", dev, calibration)
    if options.write:
        SHIPPED.write_text(written(fitted), encoding="utf-8")
    for channels, calibration in zip(CHANNEL_SETS, fitted, strict=True):
        print(f"\n{' + '.join(channels)}")
        show("test", gather("test", channels, encoders, options.tasks), calibration)
    encoders.save()


Examples = dict[tuple[str, str], list[Example]]


def gather(part: str, channels: Sequence[str], encoders: Encoders, limit: int) -> Examples:
    """Collect examples by set and setting."""
    found: Examples = {}
    for name in (*JUDGED, *([REQUESTS] if part == "dev" else ())):
        tasks = load(name, part)
        for setting, size in SETTINGS.items():
            found[name, setting] = list(removed_examples(tasks, encoders, channels, limit, size))
        if name == "bfcl":
            found[name, "candidates"] = list(candidate_examples(tasks, encoders, channels, limit))
    return found


def fit(found: Examples, channels: Sequence[str]) -> Calibration:
    """Fit on all examples; thresholds by the set that would lose most."""
    calibration = calibrate(_weighted(found), channels)
    natural = [kind for (_, setting), kind in found.items() if setting in NATURAL]
    fits = [_kept([calibration.fits.probability(one.features) for one in kind if one.fits]) for kind in natural]
    best = [_kept([calibration.best.probability(one.features) for one in kind if one.best]) for kind in natural]
    return replace(
        calibration,
        fits=replace(calibration.fits, threshold=round(min(fits), 6)),
        best=replace(calibration.best, threshold=round(min(best), 6)),
    )


def _weighted(found: Examples) -> list[Example]:
    return [one for kind in found.values() for one in weighted(kind, WEIGHT)]


def show(part: str, found: Examples, calibration: Calibration) -> None:
    """Print what the calibration does to each set, and how its probabilities compare with what happened."""
    every = []
    for (name, setting), kind in found.items():
        fits = np.array([calibration.fits.probability(one.features) for one in kind if one.fits])
        none = np.array([calibration.fits.probability(one.features) for one in kind if not one.fits])
        kept, rejected = kept_and_rejected(fits, none, calibration.fits.threshold)
        at_95 = kept_and_rejected(fits, none, float(np.quantile(fits, 0.05)))[1]
        print(f"  {part:5} {name:16} {setting:14} kept {kept:.3f} rejected {rejected:.3f}, {at_95:.3f} at 95% kept, "
              f"AUROC {auroc(fits, none):.3f}")  # fmt: skip
        every += [(calibration.best.probability(one.features), one.best) for one in kind]
    bins = reliability(*np.array(every, dtype=np.float64).T)
    error = sum(abs(said - happened) * count for said, happened, count in bins) / len(every)
    curve = ", ".join(f"{said:.2f}/{happened:.2f}" for said, happened, _ in bins)
    print(f"  {part:5} best, said/happened by tenths: {curve}; expected calibration error {error:.3f}", flush=True)


def written(fitted: Sequence[Calibration]) -> str:
    """Return the module that holds the calibrations."""
    lines = [
        '"""The calibrations that are shipped, one for each set of vector channels.',
        "",
        "Written by `python -m bench.confidence --write`, which says on what they are fitted.",
        '"""',
        "",
        "from collections.abc import Mapping",
        "",
        "from pegboard.retrieval.calibration import Calibration",
        "",
        '__all__ = ["SHIPPED"]',
        "",
        "_FITTED = (",
        *(f"    {one.to_json()!r}," for one in fitted),
        ")",
        "",
        "SHIPPED: Mapping[tuple[str, ...], Calibration] = {",
        "    one.channels: one for one in map(Calibration.from_json, _FITTED)",
        "}",
        "",
    ]
    return "\n".join(lines)


def _kept(probabilities: Sequence[float]) -> float:
    return float(np.quantile(probabilities, 1 - KEPT)) if probabilities else 1.0


if __name__ == "__main__":
    main()
