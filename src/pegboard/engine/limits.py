"""Limits: how much one caller may have, and what ends a loop.

Calls and costs are counted in the ledger, of the caller alone: no verdict tells of anybody else's. A call counts when
it is written there, whatever came of it. The loop breaker counts in this process what was refused, before anything
is resolved: it cannot tell a tool that does not exist from one that is denied, and so nobody learns it from it.

Source: DESIGN section 8, step 7.
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pegboard.engine.ledger import Standing
from pegboard.engine.verdict import ProposedCall

__all__ = ["EMPTY_STANDING", "LIMITS", "WINDOWS_S", "Limits", "Refusals", "exceeded", "mark_of"]

# The windows that the ledger counts in, in the order of `Standing.calls`.
WINDOWS_S = (60.0, 86_400.0)
_MINUTE, _DAY = range(len(WINDOWS_S))
# What stands in for a ledger that nobody could read, where a read passes without one.
EMPTY_STANDING = Standing(calls=(0, 0), spent=(0.0, 0.0))
# A loop is seen within this time; of so many different refused calls at once the oldest are forgotten.
_LOOP_S = 60.0
_REFUSED_AT_MOST = 10_000
# The longest name of a tool by which refusals are told apart; no id is longer.
_NAMED = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`[limits]`; None limits nothing. Costs are in a unit of the operator's, given in `[tools."id"]`."""

    calls_per_minute: int | None = None
    calls_per_day: int | None = None
    spend_per_day: float | None = None
    identical_refusals: int = 5
    repeat_window_s: float = 600.0
    """For how long the same write without a key waits for confirmation; one of unknown outcome does for ever."""
    reads_without_ledger: bool = False
    """Whether a `read` that sends nothing out passes while the ledger cannot be reached."""


Used: TypeAlias = Callable[[Standing, float], float]

# One row a limit: what there would be with this call, by the ledger and the call's cost.
LIMITS: tuple[tuple[str, Used], ...] = (
    ("calls_per_minute", lambda standing, _: standing.calls[_MINUTE] + 1),
    ("calls_per_day", lambda standing, _: standing.calls[_DAY] + 1),
    ("spend_per_day", lambda standing, cost: standing.spent[_DAY] + cost),
)


def exceeded(limits: Limits, standing: Standing, cost: float) -> str | None:
    """Name the first limit that a call of this cost would go beyond, None where it keeps to all."""
    for name, used in LIMITS:
        most = getattr(limits, name)
        # Written so that a cost that is no number does not pass.
        if most is not None and not used(standing, cost) <= most:
            return name
    return None


class Refusals:
    """The refused calls of the last minute, by caller, tool as named, and arguments. Times are ticks of one clock."""

    def __init__(self, capacity: int = _REFUSED_AT_MOST) -> None:
        self._capacity = capacity
        self._refused: OrderedDict[tuple[str, str, str | None], deque[float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._refused)

    def add(self, mark: tuple[str, str, str | None], at: float, most: int) -> None:
        """Put a refusal on record."""
        times = self._refused.pop(mark, None)
        if times is None or times.maxlen != most:
            times = deque(times or (), maxlen=most)
        times.append(at)
        self._refused[mark] = times
        if len(self._refused) > self._capacity:
            self._refused.popitem(last=False)

    def loops(self, mark: tuple[str, str, str | None], at: float, most: int) -> bool:
        """Say whether the same call was refused *most* times within a minute."""
        times = self._refused.get(mark)
        return times is not None and len(times) >= most and at - times[0] <= _LOOP_S


def mark_of(identity: str, call: ProposedCall) -> tuple[str, str, str | None]:
    """Return what makes a call the same for the loop breaker; arguments that cannot be taken are all alike."""
    return identity, str(call.tool)[:_NAMED], call.digest
