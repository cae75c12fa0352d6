"""A run: what one arm gave for one task, and everything that was noticed on the way.

What could not be taken is None, never 0: a measure of it has a null value and a reason.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from pegboard.core.names import Json

__all__ = ["KEPT_RANKS", "Run"]

# How much of a ranking a report keeps, and so the largest k of `at`.
KEPT_RANKS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One task in one arm. Tools are named by id, tokens are of the report's encoding, times are milliseconds."""

    task_id: str
    outcome: str
    cause: str | None = None
    loaded: tuple[str, ...] = ()
    """What was served, in its order."""
    ranked: tuple[str, ...] = ()
    """Those of the served tools that ranking put there; the rest was pinned or required."""
    ranking: tuple[str, ...] | None = None
    """The first 20 eligible tools, limit and abstention lifted; None where the arm does not rank."""
    tokens: int | None = None
    """Of the served definitions."""
    tokens_all_tools: int | None = None
    """Of the definitions of everything eligible."""
    eligible: int | None = None
    """How many tools the caller may use."""
    fits: float | None = None
    """How sure the arm was that anything fits."""
    ms: float | None = None
    """From the task to the selection."""
    end_to_end_ms: float | None = None
    """From the task to the model's last answer."""
    calls: int | None = None
    """How many calls the model proposed."""
    valid_calls: int | None = None
    """How many of them named a tool that was loaded, with arguments that keep to its schema."""
    completed: bool | None = None
    searches: int | None = None
    """How many further searches the model made."""
    tokens_cached: int | None = None
    tokens_uncached: int | None = None
    """Of the whole run's input, as the model's server counts."""
    exposed: int | None = None
    """How many canary strings of tools that the caller may not see were found in what the run produced."""
    error: str | None = None
    """Why the arm gave nothing for this task."""

    def to_json(self) -> dict[str, Json]:
        """Return one element of an arm's `tasks`; what was not taken is left out."""
        kept: dict[str, Json] = {}
        for name, value in asdict(self).items():
            if value is not None:
                kept[name] = list(value) if isinstance(value, tuple) else value
        return kept

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Run":
        """Rebuild a run that `to_json` wrote.

        Raises:
            ValueError: It is not one.
        """
        said: dict[str, Any] = {name: tuple(item) if isinstance(item, list) else item for name, item in value.items()}
        try:
            found = cls(**said)
        except TypeError as error:
            raise ValueError(f"not the run of a task: {error}") from None
        return found if found.ranking is None else replace(found, ranking=found.ranking[:KEPT_RANKS])
