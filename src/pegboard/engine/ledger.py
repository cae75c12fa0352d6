"""The ledger as values: what a caller has run, what it is about to run, and who approved what.

A line is written before its call is dispatched and closed when its answer is there. A line that was never closed has
an unknown outcome, which no restart and no new selection washes off (law 10). Everything here is one caller's own:
no other caller's calls can be learnt from a verdict.

Times are Unix seconds. Arguments are named by the digest of their canonical JSON, never by their values.

Source: DESIGN section 8, steps 5 to 9.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pegboard.core.catalog import Flow, Risk
from pegboard.core.names import Json

__all__ = ["Approval", "ApprovalState", "Ended", "Line", "Past", "Question", "Standing"]


class Ended(StrEnum):
    """How a call ended. A line without an end reads as `outcome_unknown`, once nobody runs it any more."""

    DONE = "done"
    ERROR = "error"
    """The tool ran and reported an error, or its server refused."""
    NOT_SENT = "not_sent"
    OUTCOME_UNKNOWN = "outcome_unknown"


class ApprovalState(StrEnum):
    """What became of a request for approval. An expired one is `asked` or `granted` with its time past."""

    ASKED = "asked"
    GRANTED = "granted"
    DENIED = "denied"
    USED = "used"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One call in the ledger, as it is written before anything is sent.

    `identity` is the caller's `RuntimeContext.identity`, `principal` its name for people. `conversation` is None where
    the application named none. `risk` and `flow` are the lock's at that moment.
    """

    call_id: str
    trace_id: str
    identity: str
    principal: str
    conversation: str | None = None
    at: float
    tool_id: str
    schema_hash: str
    arguments: str
    key: str | None = None
    risk: Risk
    flow: frozenset[Flow] = frozenset()
    cost: float = 0.0
    approval_id: str | None = None

    @property
    def binding(self) -> tuple[str, str, str, str]:
        """Return what an approval must be bound to, to allow it."""
        return self.identity, self.tool_id, self.schema_hash, self.arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A line with its end, and the answer that was kept under an application's key (canonical JSON)."""

    line: Line
    ended: Ended | None = None
    closed_at: float | None = None
    result: bytes | None = None

    @property
    def may_have_run(self) -> bool:
        """Say whether the call may have had an effect."""
        return self.ended is not Ended.NOT_SENT

    @property
    def unknown(self) -> bool:
        """Say whether nobody knows how it ended: lost on the way, or still running."""
        return self.ended in (None, Ended.OUTCOME_UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A request that someone else allow one call, and what became of it.

    It is bound to tool, content, caller and arguments, is good for one call, and covers only `reasons`: what its
    approver was not asked about, it does not approve. `principals` are the names that may not grant it. `shown` is
    what an approver sees of the arguments; `earlier` are the calls that a flow request is about.
    """

    approval_id: str
    identity: str
    principal: str
    principals: frozenset[str]
    tool_id: str
    schema_hash: str
    arguments: str
    shown: Json
    reasons: tuple[str, ...]
    earlier: tuple[str, ...] = ()
    asked_at: float
    expires_at: float
    state: ApprovalState = ApprovalState.ASKED
    by: str | None = None
    decided_at: float | None = None
    used_by: str | None = None
    """The call that used it."""

    @property
    def binding(self) -> tuple[str, str, str, str]:
        """Return what it is good for."""
        return self.identity, self.tool_id, self.schema_hash, self.arguments

    def alive(self, at: float) -> bool:
        """Say whether it still stands: asked, granted or denied, and not expired. A clock set back revives none."""
        return self.state is not ApprovalState.USED and self.asked_at <= at < self.expires_at

    def good_for(self, binding: tuple[str, str, str, str], at: float) -> bool:
        """Say whether a call may use it: granted for just this call, neither used nor expired."""
        return self.state is ApprovalState.GRANTED and self.alive(at) and self.binding == binding

    def allows(self, line: Line) -> bool:
        """Say whether this call may use it, as it is written to the ledger."""
        return self.good_for(line.binding, line.at)

    def answers(self, asked: "Approval") -> bool:
        """Say whether it already is what another request asks for; a denied one is, until it expires."""
        same = (self.binding, frozenset(self.reasons)) == (asked.binding, frozenset(asked.reasons))
        return same and self.alive(asked.asked_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the gate asks the ledger about one call. The windows are seconds before `now`."""

    identity: str
    conversation: str | None
    tool_id: str
    schema_hash: str
    arguments: str
    key: str | None
    now: float
    repeat_window_s: float
    limit_windows_s: tuple[float, ...]
    flow_window_s: float
    """How far back a conversation reaches where the application named none: it is then all that this caller ran."""

    @property
    def binding(self) -> tuple[str, str, str, str]:
        """Return what an approval must be bound to, to allow it."""
        return self.identity, self.tool_id, self.schema_hash, self.arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What the ledger says of this caller at one moment.

    `sequence` grows with every line of this caller that is opened, closed or approved: a line is only opened if it
    is still the one that was judged by, so that two calls at once cannot both be the first.
    """

    sequence: int = 0
    recorded: Past | None = None
    """The call under the same key that may have run: one that was not sent leaves its key free."""
    like: Past | None = None
    """The newest call of this tool with these arguments that may have run: within the window, or of unknown outcome
    whenever it was."""
    calls: tuple[int, ...] = ()
    """How many calls were opened within each of the limit windows."""
    spent: tuple[float, ...] = ()
    """What they cost, likewise."""
    touched: Mapping[Flow, str] = field(default_factory=dict)
    """The labels of what ran in this conversation, each with the first call that touched it."""
    granted: tuple[Approval, ...] = ()
    """Every one that is `good_for` this binding at that time, newest first: they may cover different reasons."""
