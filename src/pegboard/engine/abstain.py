"""Abstain: what is answered instead of a ranking that cannot be trusted, one function an action.

`fall_back` walks the table of `fallback.py`; an action that cannot be taken here returns None and the
next row is asked. Messages speak of eligible tools and advertised texts alone.
"""

from collections.abc import Callable, Iterable

from pegboard.core.catalog import Risk
from pegboard.engine.advertise import advertised
from pegboard.engine.asking import Answer, Case, Pick
from pegboard.engine.fallback import Action, Cause, all_tools_refusal, matching
from pegboard.engine.selection import Outcome, Why
from pegboard.retrieval.confidence import UNJUDGED, Confidence
from pegboard.retrieval.index import Ranking

__all__ = ["fall_back"]

_MOST_NAMESPACES_NAMED = 4


def fall_back(case: Case, cause: Cause, ranking: Ranking | None = None, confidence: Confidence = UNJUDGED) -> Answer:
    """Take the first action of the table that can be taken for this cause, risk and environment."""
    risk = case.highest_risk(ranking)
    for action in matching(case.settings.fallback, cause, risk, case.context.environment):
        answer = _ACTIONS[action](case, ranking)
        if answer is not None:
            outcome, message, picks = answer
            return Answer(outcome, cause, message, tuple(picks), confidence)
    raise AssertionError("the default rows end with an action that is always taken")


_Taken = tuple[Outcome, str, Iterable[Pick]]


def _weak(case: Case, ranking: Ranking | None) -> _Taken | None:
    if ranking is None:
        return None
    reads = [pick for pick in case.picks(ranking) if case.view.risk(pick.row) is Risk.READ]
    return (Outcome.WEAK, "Nothing fits well; these are the closest tools that only read.", reads) if reads else None


def _namespace(case: Case, ranking: Ranking | None) -> _Taken | None:
    """Load the best candidate's namespace, where both the configuration and the context approve of it."""
    if ranking is None or not len(ranking.rows):
        return None
    path = case.view.snapshot.entries[int(ranking.rows[0])].namespace
    note = case.settings.namespaces.get(path)
    if note is None or not note.approved or path not in case.context.approved_namespaces:
        return None
    rows = case.view.rows_of_namespace(path, case.seen)
    return (
        Outcome.NAMESPACE,
        f"No single tool stands out; these are the tools of {path}.",
        [Pick(int(row), Why.NAMESPACE) for row in rows],
    )


def _clarify(case: Case, ranking: Ranking | None) -> _Taken | None:
    if ranking is None:
        return None
    rows = [int(row) for row in ranking.rows[: case.limit]]
    paths = list(dict.fromkeys(case.view.snapshot.entries[row].namespace for row in rows))
    if len(paths) > 1:
        named = ", ".join(_described(case, path) for path in paths[:_MOST_NAMESPACES_NAMED])
        message = f"The task could belong to several areas ({named}). Say which one, and what is to be done there."
    else:
        message = "The task is not clear enough to choose a tool. Say what is to be done, and to what."
    return Outcome.CLARIFY, message, [pick for pick in case.picks(ranking) if pick.why is Why.EXACT]


def _described(case: Case, path: str) -> str:
    note = case.settings.namespaces.get(path)
    return path if note is None or not note.description else f"{path} ({note.description})"


def _safe_set(case: Case, _: Ranking | None) -> _Taken | None:
    rows = [row for tool in case.settings.safe_set if (row := case.row_of(tool)) is not None]
    message = "Search is unavailable at the moment; these are the tools kept for that case."
    return (Outcome.SAFE_SET, message, [Pick(row, Why.SAFE_SET) for row in rows]) if rows else None


def _pause(_: Case, __: Ranking | None) -> _Taken:
    return Outcome.PAUSED, "Search is unavailable at the moment; try again later.", ()


def _no_tool(case: Case, _: Ranking | None) -> _Taken:
    """Nothing fits. Where a capability is advertised that the caller has no tool of, say whom to ask."""
    if text := advertised(case):
        return Outcome.DENIED_CAPABILITY, f"This needs a capability that you have no access to. {text}", ()
    if case.ask.answer_without_tool:
        return Outcome.NO_TOOL, "No tool fits the task. Answer without a tool.", ()
    return Outcome.NO_TOOL, "No tool fits the task. Say so rather than guess.", ()


def _all_tools(case: Case, _: Ranking | None) -> _Taken | None:
    rows = case.seen.eligible.rows
    refusal = all_tools_refusal(
        environment=case.context.environment,
        risk=case.view.highest_risk(rows),
        eligible=len(rows),
        at_most=case.settings.all_tools_at_most,
    )
    if refusal is not None:
        return None
    return Outcome.ALL_TOOLS, "Every tool is loaded (development only).", [Pick(int(r), Why.ALL_TOOLS) for r in rows]


_ACTIONS: dict[Action, Callable[[Case, Ranking | None], _Taken | None]] = {
    Action.WEAK: _weak,
    Action.CLARIFY: _clarify,
    Action.NAMESPACE: _namespace,
    Action.SAFE_SET: _safe_set,
    Action.PAUSE: _pause,
    Action.NO_TOOL: _no_tool,
    Action.ALL_TOOLS: _all_tools,
}
