"""Flow: when private data could leave, across the tools of one conversation.

Three labels in the lock say what a tool does with data. Once a conversation has read private data and has taken in
untrusted content, whoever wrote that content may steer what is done with the data: a tool that sends out is then held
back. No label alone holds anything back, and no text is looked at: labels are an operator's, and what counts is what
was really sent.

Source: DESIGN section 8, step 5; the "lethal trifecta" of agents (Willison, 2025).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pegboard.core.catalog import Flow
from pegboard.engine.fallback import ANYWHERE

__all__ = ["FlowAction", "FlowRow", "earlier_calls", "flow_action"]


class FlowAction(StrEnum):
    """What happens to a call that could carry private data out."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRow:
    """One `[[approvals.flow]]`: what to do in an environment of the caller's."""

    do: FlowAction
    environment: str = ANYWHERE


def flow_action(rows: tuple[FlowRow, ...], environment: str | None) -> FlowAction:
    """Return what the first row that matches says; `ask` where none does."""
    return next((row.do for row in rows if row.environment in (ANYWHERE, environment)), FlowAction.ASK)


def earlier_calls(touched: Mapping[Flow, str], labels: frozenset[Flow]) -> tuple[str, ...] | None:
    """Name the earlier calls because of which a call with these labels could carry private data out, None where none.

    A call that itself reads what it sends is its own first half: what it was told to send came from elsewhere.

    Args:
        touched: Each label that the conversation has touched, with the first call that did.
        labels: Those of the call that is judged.
    """
    if Flow.SENDS_OUT not in labels or Flow.INGESTS_UNTRUSTED not in touched:
        return None
    private = touched.get(Flow.READS_PRIVATE)
    if private is None and Flow.READS_PRIVATE not in labels:
        return None
    return tuple(dict.fromkeys(filter(None, (private, touched[Flow.INGESTS_UNTRUSTED]))))
