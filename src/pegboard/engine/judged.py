"""A call on its way through the gate: what the rows have found out so far, and how a refusal is worded."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from pegboard.core.catalog import CatalogEntry
from pegboard.core.lock import LockLine
from pegboard.engine.facts import GateFacts
from pegboard.engine.ledger import Approval, Question, Standing
from pegboard.engine.limits import WINDOWS_S
from pegboard.engine.verdict import Asks, Internal, ProposedCall, Verdict, VerdictKind

__all__ = ["Judged", "Row", "Step", "denied", "unavailable", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How far the walk has come. A row reads what an earlier one has found; without that row it raises."""

    call: ProposedCall
    facts: GateFacts
    found: CatalogEntry | None = None
    selected_hash: str | None = None
    """The content by which the tool was selected."""
    arguments: Any = None
    """What is sent: the model's, and the application's key where its server takes one."""
    digest: str = ""
    """Of the arguments as the model gave them."""
    noted: tuple[str, ...] = ()
    """The log-only policies that would have denied it."""
    standing: Standing | None = None
    needs: Asks | None = None
    approval: Approval | None = None
    """One that covers all that it needs."""

    @property
    def entry(self) -> CatalogEntry:
        """Return the tool."""
        # INVARIANT: only `known` resolves a tool. Without it nothing is judged, and nothing is allowed.
        if self.found is None:
            raise LookupError("the tool was not resolved")
        return self.found

    @property
    def line(self) -> LockLine:
        """Return what the lock says of the tool."""
        return self.facts.policy.lock.lines[self.entry.tool_id]

    @property
    def record(self) -> Standing:
        """Return what the ledger says."""
        # INVARIANT: only `on_record` leaves a standing and the needs. Without it nothing is allowed.
        if self.standing is None:
            raise LookupError("the ledger was not asked")
        return self.standing

    @property
    def asks(self) -> Asks:
        """Return what an approval of it has to cover."""
        if self.needs is None:
            raise LookupError("nobody asked what needs an approval")
        return self.needs

    @property
    def question(self) -> Question:
        """Return what to ask the ledger."""
        facts = self.facts
        return Question(
            identity=facts.context.identity,
            conversation=self.call.conversation,
            tool_id=self.entry.tool_id,
            schema_hash=self.entry.schema_hash,
            arguments=self.digest,
            key=self.call.key,
            now=facts.now,
            repeat_window_s=facts.limits.repeat_window_s,
            limit_windows_s=WINDOWS_S,
            flow_window_s=facts.approvals.conversation_s,
        )


Step: TypeAlias = Callable[[Judged], Judged | Verdict]
Row: TypeAlias = tuple[str, Step]


def unknown(internal: Internal) -> Verdict:
    """Refuse a tool of which this caller may know nothing: one answer, whatever the cause."""
    message = "there is no such tool for this caller; search again and call a tool of the new selection"
    return Verdict(kind=VerdictKind.UNKNOWN_OR_DENIED, message=message, internal=internal)


def denied(internal: Internal) -> Verdict:
    """Refuse a call of a tool that this caller may know."""
    message = "policy forbids this call; nothing was run"
    return Verdict(kind=VerdictKind.DENIED, tool_id=internal.tool_id, message=message, internal=internal)


def unavailable(internal: Internal) -> Verdict:
    """Refuse what cannot be judged."""
    message = "calls cannot be judged at the moment; nothing was run; try again later"
    return Verdict(kind=VerdictKind.UNAVAILABLE, message=message, internal=internal)
