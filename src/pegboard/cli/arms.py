"""The arms of an evaluation as the configuration and the command line name them, and the files it is judged by."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard.cli.staging import tools_of
from pegboard.core.errors import ConfigError
from pegboard.core.names import parse_json

if TYPE_CHECKING:
    from pegboard.cli.measuring import Stage
    from pegboard.config.evaluation import ArmPart
    from pegboard.evaluation.runs import Run
    from pegboard.evaluation.thresholds import Threshold
    from pegboard.service.evaluator import Arm

__all__ = ["SWEPT", "arms_of", "baseline_of", "points_of", "thresholds_of"]

DYNAMIC, ALL_TOOLS = "dynamic", "all-tools"

# What `--sweep` may name: the setting, whether it counts, and its least and greatest value.
SWEPT: Mapping[str, tuple[str, bool, float, float]] = {
    "limit": ("limit", True, 1, 1_000),
    "budget": ("budget_tokens", True, 1, 10_000_000),
    "confidence": ("minimum_confidence", False, 0, 1),
}
_POINTS_AT_MOST = 200


def arms_of(stage: "Stage", names: Sequence[str]) -> tuple["Arm", ...]:
    """Return the named arms in their order; with no name the two that need none, and all that are configured.

    Raises:
        ConfigError: There is no such arm, one that is configured has the name of another, or its catalog or policies
            cannot be read.
        LockError: One names a lock that cannot be read.
        EncoderError: One ranks by a model that is not here.
    """
    from pegboard.config.parsers import nearest
    from pegboard.service.evaluator import Arm
    from pegboard.service.perturbing import PERTURBATIONS

    config, ours = stage.config, (DYNAMIC, ALL_TOOLS, *PERTURBATIONS)
    if taken := [name for name in config.arms if name in ours]:
        raise ConfigError(f"the arm {taken[0]!r} is one of ours", f"{config.file}: arms.{taken[0]}", "rename it")
    known = {DYNAMIC: None, ALL_TOOLS: None, **config.arms}
    found: list[Arm] = []
    for name in dict.fromkeys(names or known):
        if name not in known:
            raise ConfigError(f"there is no arm {name!r}", f"{config.file}: arms", nearest(name, known))
        part = known[name]
        own = Arm(name=name, selection=config.selection, all_tools=name == ALL_TOOLS)
        found.append(own if part is None else _configured(own, part, stage))
    return tuple(found)


def _configured(own: "Arm", part: "ArmPart", stage: "Stage") -> "Arm":
    from pegboard.adapters.files import LockFileAt
    from pegboard.config.policies import policies_at
    from pegboard.policy.layers import layer_of
    from pegboard.wiring import encoders_of

    config = stage.config
    lock = None if part.lock is None else LockFileAt(part.lock).read()
    entries = None
    if isinstance(part.catalog, Path):
        entries, lock = tools_of(stage, part.catalog, lock)
    retrieval = replace(config.retrieval, **part.retrieval)
    return replace(
        own,
        selection=replace(config.selection, **part.selection),
        version=part.catalog if isinstance(part.catalog, int) else None,
        entries=entries,
        lock=lock,
        templates={**stage.system.catalog.deployment.templates, **part.access} if part.access else None,
        layers=None if part.cedar is None else tuple(filter(None, [layer_of(policies_at(config.file, part.cedar))])),
        encoders=None if retrieval == config.retrieval else encoders_of(retrieval, stage.system),
        target=part.target,
        said=part.said,
    )


def points_of(said: str) -> tuple[str, tuple[float, ...]]:
    """Read what `--sweep` says: `limit=1..20`, `budget=500,1000,2000` or `confidence=0..1..0.1`.

    Raises:
        ValueError: It says something else.
    """
    name, equals, values = said.partition("=")
    if not equals or name not in SWEPT:
        raise ValueError(f"{said!r} names none of {', '.join(SWEPT)}; write limit=1..20")
    setting, counts, least, most = SWEPT[name]
    try:
        points = _span(values, counts) if ".." in values else tuple(float(one) for one in values.split(","))
    except ValueError:
        raise ValueError(f"{values!r} is no list of numbers; write 1..20, 0..1..0.1 or 4,8,16") from None
    for one in points:
        if not least <= one <= most or (counts and one != int(one)):
            raise ValueError(f"{one:g} cannot be: {name} takes {'whole ' if counts else ''}{least:g} to {most:g}")
    if not 0 < len(points) <= _POINTS_AT_MOST:
        raise ValueError(f"a sweep has from 1 to {_POINTS_AT_MOST} points, not {len(points)}")
    return setting, tuple(int(one) if counts else one for one in points)


def _span(said: str, counts: bool) -> tuple[float, ...]:
    first, last, *step = (float(one) for one in said.split(".."))
    width = step[0] if step else 1.0 if counts else 0.1
    if width <= 0 or len(step) > 1 or (last - first) / width > _POINTS_AT_MOST:
        raise ValueError
    return tuple(round(first + number * width, 6) for number in range(round((last - first) / width) + 1))


def thresholds_of(path: str | None) -> tuple["Threshold", ...]:
    """Read a thresholds file.

    Raises:
        ConfigError: It cannot be read, or a threshold in it is none.
    """
    from pegboard.evaluation.thresholds import read_threshold

    if path is None:
        return ()
    try:
        rows = tomllib.loads(Path(path).read_text(encoding="utf-8")).get("threshold", [])
        if not isinstance(rows, list) or not rows:
            raise ValueError("it has no [[threshold]]")
        return tuple(read_threshold(row) for row in rows)
    except (OSError, ValueError) as error:
        fix = 'write [[threshold]] with measure = "candidate_recall" and min = 0.95'
        raise ConfigError(f"these thresholds cannot be used: {_why(error)}", path, fix) from None


def baseline_of(path: str | None) -> Mapping[str, "Run"] | None:
    """Read the first arm of an earlier report: its runs by task id.

    Raises:
        ConfigError: It cannot be read, or is no report.
    """
    from pegboard.evaluation.runs import Run

    if path is None:
        return None
    try:
        value = parse_json(Path(path).read_bytes())
        arms = value.get("arms") if isinstance(value, dict) else None
        if not isinstance(arms, dict) or not arms:
            raise ValueError("it has no arms")
        first = next(iter(arms.values()))
        runs = [Run.from_json(one) for one in first["tasks"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        fix = "name what `pegboard eval --json` printed"
        raise ConfigError(f"this baseline cannot be used: {_why(error)}", path, fix) from None
    return {run.task_id: run for run in runs}


def _why(error: Exception) -> str:
    return (error.strerror or "").lower() if isinstance(error, OSError) else str(error)
