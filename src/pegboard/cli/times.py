"""Times on the command line: a date, a date and time, how long ago, or how long."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

import click

__all__ = ["Moment", "duration", "when"]

Moment: TypeAlias = Callable[[float], float]
"""What becomes of the present time: Unix seconds. Only the service reads the clock."""

_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_AGO = re.compile(r"(\d{1,9})([smhd])")


def when(context: click.Context, option: click.Parameter, value: str | None) -> Moment | None:
    """Read `2026-12-01`, `2026-12-01T09:30`, or `90m`, `24h`, `7d` ago; a time without an offset is UTC.

    Raises:
        BadParameter: It is none of these.
    """
    if value is None:
        return None
    if found := _AGO.fullmatch(value):
        seconds = float(found[1]) * _UNITS_S[found[2]]
        return lambda now: now - seconds
    try:
        read = datetime.fromisoformat(value)
        at = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        problem = f"{value!r} is no time: write 2026-12-01, 2026-12-01T09:30 or 24h"
        raise click.BadParameter(problem, context, option) from None
    return lambda now: at


def duration(context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """Read `30m`, `12h` or `7d` as seconds.

    Raises:
        BadParameter: It is none of these, or no time at all.
    """
    if value is None:
        return None
    found = _AGO.fullmatch(value)
    if found is None or not int(found[1]):
        raise click.BadParameter(f"{value!r} is no duration: write 30m, 12h or 7d", context, option)
    return float(found[1]) * _UNITS_S[found[2]]
