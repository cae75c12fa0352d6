"""A selection: what the model may consider next, and how it came to be.

Source: DESIGN section 6; SURFACE "JSON answers", `select`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pegboard.core.names import Json
from pegboard.engine.fallback import Cause
from pegboard.engine.rendering import ServedTool
from pegboard.retrieval.confidence import Confidence

__all__ = ["Candidate", "Outcome", "Selection", "Why", "mcp_tool"]


class Outcome(StrEnum):
    """How a selection came to be. None of these is an error."""

    SELECTED = "selected"
    WEAK = "weak"
    CLARIFY = "clarify"
    NAMESPACE = "namespace"
    DENIED_CAPABILITY = "denied_capability"
    NO_TOOL = "no_tool"
    SAFE_SET = "safe_set"
    PAUSED = "paused"
    ALL_TOOLS = "all_tools"


class Why(StrEnum):
    """Why a tool is in a selection."""

    PINNED = "pinned"
    REQUIRED = "required"
    EXACT = "exact"
    RANKED = "ranked"
    NAMESPACE = "namespace"
    SAFE_SET = "safe_set"
    ALL_TOOLS = "all_tools"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One tool of a selection, complete. `rank` counts from 1 over exact and ranked tools; else it is None."""

    tool: ServedTool
    alias: str
    why: Why
    rank: int | None
    score: float | None
    tokens: int

    def to_json(self) -> dict[str, Json]:
        """Return the shape of one element of `tools`."""
        return {
            "tool_id": self.tool.tool_id,
            "alias": self.alias,
            "rank": self.rank,
            "score": self.score,
            "why": str(self.why),
            "schema_hash": self.tool.schema_hash,
            "title": self.tool.title,
            "description": self.tool.description,
            "input_schema": self.tool.input_schema,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What `select` returns. Everything in it may be shown to the caller and its model."""

    selection_id: str
    trace_id: str
    outcome: Outcome
    cause: Cause | None
    view: str
    """Digest of the sorted eligible (tool id, schema hash): what the caller could have been given."""
    confidence: Confidence
    message: str
    tools: tuple[Candidate, ...]
    missing: tuple[str, ...] = ()
    """What was required and is not to be had: unknown and denied look the same."""
    withdraw: tuple[str, ...] = ()
    """What was loaded before and may be used no longer, or is left to production now."""
    over_budget: tuple[str, ...] = ()
    """Eligible tools that ranked high enough and did not fit the token budget."""
    production: tuple[str, ...] = ()
    """Namespaces of eligible tools that the production path still decides (`engine/rollout.py`); none of theirs is in
    `tools`."""
    encoding: str

    def to_json(self, operator: Mapping[str, Json] | None = None) -> dict[str, Json]:
        """Return the answer of `select`; *operator* joins it where an operator asks, never over the network."""
        answer: dict[str, Json] = {
            "selection_id": self.selection_id,
            "trace_id": self.trace_id,
            "outcome": str(self.outcome),
            "cause": None if self.cause is None else str(self.cause),
            "view": self.view,
            "confidence": {
                "fits": self.confidence.fits,
                "best": self.confidence.best,
                "minimum": self.confidence.minimum,
            },
            "message": self.message,
            "tools": [candidate.to_json() for candidate in self.tools],
            "missing": list(self.missing),
            "withdraw": list(self.withdraw),
            "over_budget": list(self.over_budget),
            "tokens": {"encoding": self.encoding, "definitions": sum(one.tokens for one in self.tools)},
        }
        # Left out where everything is live, so that answers without a rollout keep their bytes.
        if self.production:
            answer["production"] = list(self.production)
        return answer if operator is None else {**answer, "operator": dict(operator)}


def mcp_tool(tool: ServedTool, alias: str) -> dict[str, Json]:
    """Return a tool as MCP lists it: the shape over which definition tokens are counted."""
    shape: dict[str, Json] = {"name": alias, "description": tool.description, "inputSchema": tool.input_schema}
    return shape if tool.title is None else {**shape, "title": tool.title}
