"""Select: which few tools a model may consider for a task. The whole design in one function.

Trusted facts decide what is eligible; only that is ranked; only a few complete schemas are served; and
when the ranking cannot be trusted, the fallback table says what happens instead. Nothing here raises for
an unsure answer: every outcome is a `Selection`.

Source: DESIGN sections 5 and 6.
"""

from collections.abc import Iterable, Iterator

from pegboard.core.context import RuntimeContext
from pegboard.core.names import compact_json
from pegboard.core.revocations import Revocations
from pegboard.engine.abstain import fall_back
from pegboard.engine.asking import Answer, Ask, Case, Pick, SelectionSettings
from pegboard.engine.fallback import Cause
from pegboard.engine.selection import Candidate, Outcome, Selection, Why, mcp_tool
from pegboard.engine.view import View
from pegboard.retrieval.confidence import UNJUDGED, judge

__all__ = ["select"]


def select(
    ask: Ask,
    view: View,
    context: RuntimeContext,
    revocations: Revocations,
    settings: SelectionSettings,
    *,
    selection_id: str,
    trace_id: str,
) -> Selection:
    """Answer one request for one caller; the same arguments give the same bytes (law 8)."""
    case = Case(ask=ask, view=view, context=context, settings=settings, seen=view.see(context, revocations))
    fixed = [*_pinned(case), *_required(case)]
    answer = _ranked(case) if view.index is not None else fall_back(case, view.no_index_cause)
    tools, over_budget = _serve(case, fixed, answer.picks)
    return Selection(
        selection_id=selection_id,
        trace_id=trace_id,
        outcome=answer.outcome,
        cause=answer.cause,
        view=case.seen.digest,
        confidence=answer.confidence,
        message=answer.message,
        tools=tools,
        missing=tuple(tool for tool in ask.require if case.row_of(tool) is None),
        withdraw=tuple(tool for tool in ask.loaded if case.row_of(tool) is None),
        over_budget=over_budget,
        encoding=view.encoding,
    )


def _pinned(case: Case) -> Iterator[Pick]:
    """Yield the tools that this stage has without ranking, by tool id; they passed the filter like all others."""
    for row in case.view.pinned_rows(case.context.stage):
        if case.seen.eligibility.mask[row]:
            yield Pick(row, Why.PINNED)


def _required(case: Case) -> Iterator[Pick]:
    """Yield the tools that a workflow step names, in its order; one that is not eligible is not there."""
    rows = (case.row_of(tool) for tool in case.ask.require)
    return (Pick(row, Why.REQUIRED) for row in rows if row is not None)


def _ranked(case: Case) -> Answer:
    """Rank the eligible, and serve the ranking where it is sure enough."""
    index = case.view.index
    assert index is not None
    if case.ask.only_requires:
        return Answer(Outcome.SELECTED, None, "The required tools are loaded.", (), UNJUDGED)
    ranking = index.rank(case.ask.query, case.seen.eligible, case.limit)
    minimum = case.minimum_confidence
    judgment = judge(ranking, case.ask.query, index, case.seen.eligible, minimum, case.calibrations)
    if judgment.cause is not None:
        return fall_back(case, Cause(judgment.cause), ranking, judgment.confidence)
    return Answer(Outcome.SELECTED, None, "These tools fit the task.", case.picks(ranking), judgment.confidence)


def _serve(case: Case, fixed: Iterable[Pick], picks: Iterable[Pick]) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    """Load the complete schemas: what is fixed always, the rest up to the limit and the token budget.

    A tool that does not fit the budget is passed over and named, so that one huge schema cannot crowd out
    the rest unnoticed. What the conversation has loaded already is not sent again.
    """
    served: dict[int, Candidate] = {}
    over_budget: list[str] = []
    room, budget = case.limit, case.budget_tokens
    for pick in (*fixed, *picks):
        if pick.row in served or (pick.why not in _FIXED and room <= 0):
            continue
        entry = case.view.snapshot.entries[pick.row]
        if entry.tool_id in case.ask.loaded:
            room -= 1
            continue
        siblings = case.view.eligible_siblings(entry, case.seen)
        tool, name = case.view.renderings.served_tool(entry, siblings), case.settings.alias_of(entry.tool_id)
        if len(siblings) == len(entry.mentions):
            tokens = int(case.view.tokens[pick.row])
        else:
            # Something is left out for this caller, so what was counted once for all is not what is served.
            tokens = case.view.count_tokens(compact_json(mcp_tool(tool, name)))
        if pick.why not in _FIXED and budget is not None and tokens > budget:
            over_budget.append(entry.tool_id)
            continue
        served[pick.row] = Candidate(
            tool=tool, alias=name, why=pick.why, rank=pick.rank, score=pick.score, tokens=tokens
        )
        room -= 1
        budget = None if budget is None else budget - tokens
    return tuple(served.values()), tuple(over_budget)


# An operator, a workflow step or the developer's own switch named these one by one: no limit cuts them.
_FIXED = frozenset({Why.PINNED, Why.REQUIRED, Why.SAFE_SET, Why.ALL_TOOLS})
