"""The parts of one request: what is asked, under which settings, and the answer before schemas are loaded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pegboard.core.aliases import MCP, alias
from pegboard.core.catalog import Risk
from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json
from pegboard.engine.fallback import Cause, FallbackRow
from pegboard.engine.selection import Outcome, Why
from pegboard.engine.view import Seen, View
from pegboard.retrieval.calibration import Calibration
from pegboard.retrieval.confidence import Confidence
from pegboard.retrieval.index import Ranking
from pegboard.retrieval.query import Query

__all__ = ["Answer", "Ask", "Case", "NamespaceNote", "Pick", "SelectionSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request, analysed: what a trace keeps of it is enough to ask again.

    `require` and `loaded` are tool ids as the application gave them.
    """

    query: Query
    limit: int | None = None
    budget_tokens: int | None = None
    require: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()
    answer_without_tool: bool = False

    @property
    def only_requires(self) -> bool:
        """Say whether a workflow step named its tools and has no word to rank by."""
        return bool(self.require) and not any(self.query.parts)

    def to_json(self) -> dict[str, Json]:
        """Return the form a trace keeps."""
        return {
            "query": self.query.to_json(),
            "limit": self.limit,
            "budget_tokens": self.budget_tokens,
            "require": list(self.require),
            "loaded": list(self.loaded),
            "answer_without_tool": self.answer_without_tool,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Ask":
        """Rebuild what `to_json` wrote."""
        return cls(
            query=Query.from_json(value["query"]),
            limit=value["limit"],
            budget_tokens=value["budget_tokens"],
            require=tuple(value["require"]),
            loaded=tuple(value["loaded"]),
            answer_without_tool=value["answer_without_tool"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceNote:
    """What the configuration says of a namespace."""

    description: str = ""
    advertise: str = ""
    """Public text for `denied_capability`; empty: never mentioned."""
    approved: bool = False
    """Whether a context may have it loaded whole on weak confidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionSettings:
    """How selections are made here. `limit` counts tools, `budget_tokens` tokens of their definitions."""

    limit: int = 8
    budget_tokens: int | None = None
    minimum_confidence: float | None = None
    safe_set: tuple[str, ...] = ()
    fallback: tuple[FallbackRow, ...] = ()
    all_tools_at_most: int = 64
    namespaces: Mapping[str, NamespaceNote] = field(default_factory=dict)
    calibration: Calibration | None = None
    """This catalog's own, for the channels that it was fitted with; the shipped one serves where there is none."""
    client_prefix: str = ""
    """What the client puts before every name by itself: an alias leaves room for it, and does not hold it."""

    def alias_of(self, tool_id: str) -> str:
        """Return the name under which a tool goes over MCP."""
        return alias(tool_id, MCP.after(self.client_prefix))


@dataclass(frozen=True, slots=True)
class Pick:
    """A row that is to be served, and why; rank from 1 and score where it was ranked."""

    row: int
    why: Why
    rank: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """An outcome with its rows, before limit, budget and schemas."""

    outcome: Outcome
    cause: Cause | None
    message: str
    picks: tuple[Pick, ...]
    confidence: Confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One request with everything it is answered from."""

    ask: Ask
    view: View
    context: RuntimeContext
    settings: SelectionSettings
    seen: Seen

    @property
    def limit(self) -> int:
        """Return how many tools are served at most: what is asked for, else what is configured."""
        return self.settings.limit if self.ask.limit is None else max(0, self.ask.limit)

    @property
    def budget_tokens(self) -> int | None:
        """Return the smaller of the asked and the configured budget."""
        known = [one for one in (self.ask.budget_tokens, self.settings.budget_tokens) if one is not None]
        return min(known, default=None)

    @property
    def minimum_confidence(self) -> float | None:
        """Return the context's minimum, else the configured one; None: the shipped rule's own."""
        own = self.context.minimum_confidence
        return self.settings.minimum_confidence if own is None else own

    @property
    def calibrations(self) -> dict[tuple[str, ...], Calibration]:
        """Return the catalog's own calibration by its channels, empty where there is none."""
        own = self.settings.calibration
        return {} if own is None else {own.channels: own}

    def row_of(self, tool: str) -> int | None:
        """Return the row of an eligible tool id; unknown and denied are the same None."""
        row = self.view.snapshot.position(tool)
        return row if row is not None and self.seen.eligibility.mask[row] else None

    def picks(self, ranking: Ranking) -> tuple[Pick, ...]:
        """Turn a ranking into picks, exactly named tools first."""
        exact = frozenset(ranking.exact)
        return tuple(
            Pick(int(row), Why.EXACT if row in exact else Why.RANKED, rank, float(score))
            for rank, (row, score) in enumerate(zip(ranking.rows, ranking.scores, strict=True), start=1)
        )

    def highest_risk(self, ranking: Ranking | None) -> Risk:
        """Return the worst risk among the first candidates, or among all eligible where nothing was ranked."""
        return self.view.highest_risk(self.seen.eligible.rows if ranking is None else ranking.rows[: self.limit])
