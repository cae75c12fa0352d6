"""The execution gate: may this proposed call run, for this caller, now.

`STEPS` is walked in order and the first row that objects gives the verdict; only the last row allows. A call that
passes every row without an answer, or a step that raises, is `unavailable`: nothing is ever allowed by omission.
Policy is the one handed in (today's), never the selection's or an index's (law 4).

A caller learns the same of a tool that does not exist, is not eligible, was not selected, or was selected by someone
else: one verdict, byte for byte (law 2). The difference is in `internal`, for operators only. A tool is resolved
inside the caller's own selection and lists, by id, and never by its bare name: two tenants' `get_inventory` are two.

Rows still to come: policy with arguments, flow, recorded repeats, limits; and approvals that can be granted: until
then what needs one does not run. The ledger and the dispatch are the service's, after `allowed`.

Source: DESIGN section 8; NIST SP 800-162, policy enforcement point.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeAlias

from pegboard.core.catalog import CatalogEntry, Reach, Risk
from pegboard.core.context import RuntimeContext
from pegboard.core.mentions import redact
from pegboard.core.names import Json
from pegboard.core.policy import Policy, Reason, decide_tool
from pegboard.core.revocations import Revocations
from pegboard.core.snapshot import Snapshot
from pegboard.core.text import clean
from pegboard.engine.schemas import Validators, check_arguments, still_takes

__all__ = [
    "REVOCATIONS_MAX_AGE_S",
    "STEPS",
    "Cause",
    "GateFacts",
    "Internal",
    "ProposedCall",
    "Verdict",
    "VerdictKind",
    "judge",
]

# Revocations are read for each call; older ones mean that reading them failed (DESIGN, law 4).
REVOCATIONS_MAX_AGE_S = 30.0


class VerdictKind(StrEnum):
    """What a caller is told. `outcome_unknown` is the service's, after a dispatch without an answer."""

    ALLOWED = "allowed"
    UNKNOWN_OR_DENIED = "unknown_or_denied"
    STALE_SCHEMA = "stale_schema"
    INVALID_ARGUMENTS = "invalid_arguments"
    APPROVAL_REQUIRED = "approval_required"
    UNAVAILABLE = "unavailable"
    OUTCOME_UNKNOWN = "outcome_unknown"


class Cause(StrEnum):
    """Why, for operators and the audit stream; a caller must not be able to tell these apart."""

    NOT_SELECTED = "not_selected"
    NO_SELECTION = "no_selection"
    NOT_IN_CATALOG = "not_in_catalog"
    AMBIGUOUS = "ambiguous"
    DENIED = "denied"
    REVOCATIONS_TOO_OLD = "revocations_too_old"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Internal:
    """What operators may know of a refusal."""

    cause: Cause
    tool_id: str | None = None
    reasons: tuple[Reason, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedCall:
    """What a model asks to run: an alias of the selection, a tool id or `namespace/name`; and its arguments."""

    tool: str
    arguments: Any
    selection_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """May it run; if not, what the caller is told. `to_json` is what may leave; `internal` may not."""

    kind: VerdictKind
    tool_id: str | None = None
    message: str | None = None
    path: str | None = None
    constraint: str | None = None
    internal: Internal | None = None

    @property
    def allowed(self) -> bool:
        """Say whether the call may be dispatched."""
        return self.kind is VerdictKind.ALLOWED

    def to_json(self) -> dict[str, Json]:
        """Return the caller's part of the shape of `call --json`."""
        said: dict[str, Json] = {"tool_id": self.tool_id, "message": self.message}
        return {"verdict": str(self.kind), **said, "path": self.path, "constraint": self.constraint}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFacts:
    """All that a call is judged on, as it stands now.

    `selected` is the caller's own stored selection, alias -> (tool id, schema hash); None where there is none, it
    has expired, or it is another principal's. `listed` holds the ids that may be called without a selection: those
    pinned for the caller or, at the operator's CLI, every tool. `former` gives the entry of a selected content that
    is no longer served, so that a compatible change does not refuse the call; without it hashes must be equal.
    """

    context: RuntimeContext
    snapshot: Snapshot
    policy: Policy
    revocations: Revocations
    now: float
    selected: Mapping[str, tuple[str, str]] | None = None
    listed: Collection[str] = ()
    former: Mapping[str, CatalogEntry] = field(default_factory=dict)
    """Schema hash -> entry."""
    revocations_max_age_s: float = REVOCATIONS_MAX_AGE_S
    ask_before: frozenset[Risk] = frozenset({Risk.DESTRUCTIVE})
    """The risks, as locked, of which a call needs an approval."""
    ask_before_reach: frozenset[Reach] = frozenset({Reach.OPEN})
    """The reaches, as locked, of which one does, whatever the risk."""
    validators: Validators = field(default_factory=Validators, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How far the walk has come: what the call was resolved to, and the content that was selected."""

    call: ProposedCall
    facts: GateFacts
    entry: CatalogEntry | None = None
    selected_hash: str | None = None


Step: TypeAlias = Callable[[Judged], "Judged | Verdict"]

_UNKNOWN = "there is no such tool for this caller; search again and call a tool of the new selection"
_UNAVAILABLE = "calls cannot be judged at the moment; nothing was run; try again later"


def judge(call: ProposedCall, facts: GateFacts) -> Verdict:
    """Judge a proposed call against every row of `STEPS`. A refusal is a value; this never raises."""
    judged = Judged(call=call, facts=facts)
    for _, step in STEPS:
        try:
            answer = step(judged)
        except Exception as error:  # noqa: BLE001 - fail closed: a step that fails allows nothing
            return _unavailable(Internal(cause=Cause.FAILED, error=f"{type(error).__name__}: {error}"))
        if isinstance(answer, Verdict):
            return answer
        judged = answer
    return _unavailable(Internal(cause=Cause.FAILED, error="no step gave a verdict"))


def _fresh(judged: Judged) -> Judged | Verdict:
    """Refuse to judge on revocations that are too old, or from a clock that runs ahead of ours."""
    facts = judged.facts
    limit = facts.revocations_max_age_s
    # Written so that a time that is no number does not pass.
    if -limit <= facts.now - facts.revocations.as_of <= limit:
        return judged
    return _unavailable(Internal(cause=Cause.REVOCATIONS_TOO_OLD))


def _known(judged: Judged) -> Judged | Verdict:
    """Resolve the tool for this caller, and ask whether it is eligible now."""
    found = _resolved(judged.call.tool, judged.facts)
    if isinstance(found, Cause):
        return _unknown(Internal(cause=found))
    tool_id, schema_hash = found
    facts = judged.facts
    entry = facts.snapshot.get(tool_id)
    if entry is None:
        return _unknown(Internal(cause=Cause.NOT_IN_CATALOG, tool_id=tool_id))
    decision = decide_tool(entry, facts.policy, facts.context, facts.revocations)
    if not decision.allowed:
        return _unknown(Internal(cause=Cause.DENIED, tool_id=tool_id, reasons=decision.reasons))
    return replace(judged, entry=entry, selected_hash=schema_hash)


def _current(judged: Judged) -> Judged | Verdict:
    """Refuse arguments made for a content that the present one does not take any more."""
    entry, selected = _entry(judged), judged.selected_hash
    if selected is None or selected == entry.schema_hash:
        return judged
    former = judged.facts.former.get(selected)
    if former is not None and former.tool_id == entry.tool_id and still_takes(entry.input_schema, former.input_schema):
        return judged
    message = "the tool has changed since it was selected; search again and call it as it is described then"
    return Verdict(kind=VerdictKind.STALE_SCHEMA, tool_id=entry.tool_id, message=message)


def _valid(judged: Judged) -> Judged | Verdict:
    """Ask whether the arguments keep to the schema as the server declares it."""
    entry = _entry(judged)
    problem = check_arguments(judged.facts.validators.of(entry), judged.call.arguments)
    if problem is None:
        return judged
    return Verdict(
        kind=VerdictKind.INVALID_ARGUMENTS,
        tool_id=entry.tool_id,
        # No value of the schema is in it where there are mentions, but names of properties, and keys that the caller
        # sent, may be. All that is mentioned is taken out, eligible or not: a message need not tell which.
        message=redact(clean(problem.message), entry.mentions),
        path=problem.path,
        constraint=problem.constraint,
    )


def _approved(judged: Judged) -> Judged | Verdict:
    """Hold back what may only run after someone else's approval, by the risk and reach in the lock."""
    entry, facts = _entry(judged), judged.facts
    line = facts.policy.lock.lines[entry.tool_id]
    if line.risk in facts.ask_before or line.reach in facts.ask_before_reach:
        message = "this call needs an approval by someone who may give one; nothing was run"
        return Verdict(kind=VerdictKind.APPROVAL_REQUIRED, tool_id=entry.tool_id, message=message)
    return judged


def _allow(judged: Judged) -> Judged | Verdict:
    """Allow what nothing objected to."""
    return Verdict(kind=VerdictKind.ALLOWED, tool_id=_entry(judged).tool_id)


# One row a step of DESIGN 8, in its order; the first that answers ends the walk.
STEPS: tuple[tuple[str, Step], ...] = (
    ("fresh", _fresh),
    ("known", _known),
    ("schema current", _current),
    ("arguments valid", _valid),
    ("approval", _approved),
    ("allowed", _allow),
)


def _resolved(tool: str, facts: GateFacts) -> tuple[str, str | None] | Cause:
    """Say which of the tools selected and listed for this caller is meant, and by which content it was selected."""
    selected = facts.selected or {}
    if tool in selected:
        return selected[tool]
    hashes = dict(selected.values())
    if tool in hashes or tool in facts.listed:
        return tool, hashes.get(tool)
    named = {
        entry.tool_id
        for entry in _named(tool, facts.snapshot)
        if (entry.tool_id in hashes or entry.tool_id in facts.listed) and _eligible(entry, facts)
    }
    if len(named) == 1:
        tool_id = named.pop()
        return tool_id, hashes.get(tool_id)
    if named:
        return Cause.AMBIGUOUS
    return Cause.NO_SELECTION if facts.selected is None else Cause.NOT_SELECTED


def _named(tool: str, snapshot: Snapshot) -> list[CatalogEntry]:
    """Return the entries that `namespace/name` may mean; the name as the server has it, or its last part."""
    namespace, slash, name = tool.partition("/")
    within = [entry for entry in snapshot.entries if entry.namespace == namespace] if slash else []
    return [entry for entry in within if name in {entry.name, entry.name.rpartition(".")[2]}]


def _eligible(entry: CatalogEntry, facts: GateFacts) -> bool:
    return decide_tool(entry, facts.policy, facts.context, facts.revocations).allowed


def _entry(judged: Judged) -> CatalogEntry:
    # INVARIANT: only `_known` resolves a tool. Without it nothing is judged, and nothing is allowed.
    if judged.entry is None:
        raise LookupError("the tool was not resolved")
    return judged.entry


def _unknown(internal: Internal) -> Verdict:
    return Verdict(kind=VerdictKind.UNKNOWN_OR_DENIED, message=_UNKNOWN, internal=internal)


def _unavailable(internal: Internal) -> Verdict:
    return Verdict(kind=VerdictKind.UNAVAILABLE, message=_UNAVAILABLE, internal=internal)
