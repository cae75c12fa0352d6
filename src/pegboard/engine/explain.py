"""Explain: why a caller did or did not get a tool. For operators; it speaks of tools that a caller may not see."""

from collections.abc import Mapping
from dataclasses import dataclass

from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json
from pegboard.core.policy import Reason, decide_tool
from pegboard.core.revocations import Revocations
from pegboard.engine.asking import Ask, Case, SelectionSettings
from pegboard.engine.select import select
from pegboard.engine.selection import Outcome
from pegboard.engine.view import View

__all__ = ["Explanation", "Ranked", "explain"]

# How much of the ranking is shown; the tool that was asked about is added where it stands further down.
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One place of the ranking; `parts` are the scores that were fused, by name."""

    tool_id: str
    rank: int
    score: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How the eligible set and the ranking came to be. `tool` is None where no tool was asked about."""

    eligible: int
    total: int
    removed_by: Mapping[Reason, int]
    """Tools that each check removed; one tool may count under several."""
    tool: str | None
    known: bool
    reasons: tuple[Reason, ...]
    """Why the asked tool is not eligible; empty where it is."""
    rules: tuple[str, ...] = ()
    """The Cedar policies that decided on it, where they were asked."""
    ranking: tuple[Ranked, ...]
    outcome: Outcome

    def to_json(self) -> dict[str, Json]:
        """Return the answer of `explain`."""
        tool: Json = None
        if self.tool is not None:
            tool = {
                "tool_id": self.tool,
                "eligible": self.known and not self.reasons,
                "reasons": [str(reason) for reason in self.reasons] if self.known else ["unknown"],
                "rules": list(self.rules),
            }
        return {
            "eligible": self.eligible,
            "total": self.total,
            "removed_by": {str(reason): count for reason, count in self.removed_by.items()},
            "tool": tool,
            "ranking": [
                {"tool_id": one.tool_id, "rank": one.rank, "score": one.score, "parts": dict(one.parts)}
                for one in self.ranking
            ],
            "outcome": str(self.outcome),
        }


def explain(
    ask: Ask,
    view: View,
    context: RuntimeContext,
    revocations: Revocations,
    settings: SelectionSettings,
    tool: str | None = None,
) -> Explanation:
    """Explain one request, and one tool's place in it."""
    case = Case(ask=ask, view=view, context=context, settings=settings, seen=view.see(context, revocations))
    row = None if tool is None else view.snapshot.position(tool)
    selection = select(ask, view, context, revocations, settings, selection_id="", trace_id="")
    return Explanation(
        eligible=len(case.seen.eligible.rows),
        total=len(view.snapshot.entries),
        removed_by=case.seen.eligibility.removed_by(),
        tool=tool,
        known=row is not None,
        reasons=() if row is None else case.seen.eligibility.reasons(row),
        rules=() if row is None else decide_tool(view.snapshot.entries[row], view.policy, context, revocations).rules,
        ranking=_ranking(case, row),
        outcome=selection.outcome,
    )


def _ranking(case: Case, row: int | None) -> tuple[Ranked, ...]:
    index = case.view.index
    if index is None:
        return ()
    ranking = index.rank(case.ask.query, case.seen.eligible, len(case.seen.eligible.rows))
    return tuple(
        Ranked(
            tool_id=case.view.snapshot.entries[place].tool_id,
            rank=rank,
            score=float(score),
            parts={name: float(scores[rank - 1]) for name, scores in ranking.parts.items()},
        )
        for rank, (place, score) in enumerate(zip(ranking.rows, ranking.scores, strict=True), start=1)
        if rank <= _SHOWN or place == row
    )
