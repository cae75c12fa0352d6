"""The fallback table: what happens instead when a ranking cannot be trusted.

Cause by risk by environment, the first row that matches; a row whose action cannot be taken here falls
through to the next. Whatever the rows say, no failure enlarges the set: the whole catalog is loaded for
nobody but a developer, over tools that only read, under a size limit (law 7).

Source: DESIGN section 6.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from pegboard.core.catalog import Risk

__all__ = ["ANYWHERE", "DEFAULT_ROWS", "Action", "Cause", "FallbackRow", "all_tools_refusal", "matching"]

ANYWHERE = "*"
DEVELOPMENT = "development"


class Cause(StrEnum):
    """Why a ranking was not simply served."""

    INDEX_DOWN = "index_down"
    INDEX_STALE = "index_stale"
    WEAK = "weak"
    AMBIGUOUS = "ambiguous"
    NONE_FITS = "none_fits"


class Action(StrEnum):
    """What a row does. Each but the last two names the outcome it leads to."""

    WEAK = "weak"
    CLARIFY = "clarify"
    NAMESPACE = "namespace"
    SAFE_SET = "safe_set"
    NO_TOOL = "no_tool"
    ALL_TOOLS = "all_tools"
    PAUSE = "pause"


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackRow:
    """One row: when it applies, and what it does. `*` stands for any risk or environment."""

    cause: Cause
    risk: Risk | None = None
    """The highest risk the row is for; None: any."""
    environment: str = ANYWHERE
    do: Action

    def applies(self, cause: Cause, risk: Risk, environment: str | None) -> bool:
        """Say whether the row is for this case. A row for one risk holds for that risk alone."""
        return (
            self.cause is cause
            and (self.risk is None or self.risk is risk)
            and self.environment in (ANYWHERE, environment)
        )


# Rows of the configuration come before these. The last row of each cause always applies and always can be taken.
DEFAULT_ROWS: tuple[FallbackRow, ...] = (
    FallbackRow(cause=Cause.INDEX_DOWN, do=Action.SAFE_SET),
    FallbackRow(cause=Cause.INDEX_DOWN, do=Action.PAUSE),
    FallbackRow(cause=Cause.INDEX_STALE, do=Action.SAFE_SET),
    FallbackRow(cause=Cause.INDEX_STALE, do=Action.PAUSE),
    FallbackRow(cause=Cause.WEAK, do=Action.NAMESPACE),
    FallbackRow(cause=Cause.WEAK, risk=Risk.READ, do=Action.WEAK),
    FallbackRow(cause=Cause.WEAK, do=Action.CLARIFY),
    FallbackRow(cause=Cause.AMBIGUOUS, risk=Risk.READ, do=Action.WEAK),
    FallbackRow(cause=Cause.AMBIGUOUS, do=Action.CLARIFY),
    FallbackRow(cause=Cause.NONE_FITS, do=Action.NO_TOOL),
)


def matching(rows: Iterable[FallbackRow], cause: Cause, risk: Risk, environment: str | None) -> Iterator[Action]:
    """Yield the actions for a case in order: those of *rows*, then the safe defaults."""
    for row in (*rows, *DEFAULT_ROWS):
        if row.applies(cause, risk, environment):
            yield row.do


def all_tools_refusal(*, environment: str | None, risk: Risk, eligible: int, at_most: int) -> str | None:
    """Say why the whole eligible set may not be loaded, or None where it may (law 7)."""
    if environment != DEVELOPMENT:
        return "only in development"
    if risk is not Risk.READ:
        return "only where every eligible tool is a read"
    if eligible > at_most:
        return f"only up to {at_most} eligible tools"
    return None
