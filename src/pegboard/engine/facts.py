"""What a call is judged on, as one value: policy and revocations of this moment, and the caller's own selection."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pegboard.core.catalog import CatalogEntry
from pegboard.core.context import RuntimeContext
from pegboard.core.policy import Policy
from pegboard.core.revocations import Revocations
from pegboard.core.snapshot import Snapshot
from pegboard.engine.approvals import ApprovalRules
from pegboard.engine.limits import Limits
from pegboard.engine.schemas import Validators

__all__ = ["REVOCATIONS_MAX_AGE_S", "CallDecision", "CallPolicy", "GateFacts"]

# Revocations are read for each call; older ones mean that reading them failed (DESIGN, law 4).
REVOCATIONS_MAX_AGE_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDecision:
    """What a policy over arguments says of a call; `reasons` name its rules, for operators."""

    allowed: bool
    reasons: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()
    """The log-only policies by which it would have come out the other way; they change nothing."""


# Anything but a `CallDecision` that allows denies, and so does an error.
CallPolicy: TypeAlias = Callable[[CatalogEntry, RuntimeContext, Mapping[str, Any]], CallDecision]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFacts:
    """All that a call is judged on before the ledger is asked, as it stands now.

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
    call_policy: CallPolicy | None = None
    """The layer over arguments; None: this deployment has none."""
    approvals: ApprovalRules = field(default_factory=ApprovalRules)
    limits: Limits = field(default_factory=Limits)
    costs: Mapping[str, float] = field(default_factory=dict)
    """What a call of a tool costs, by its id; 0 where nothing is said."""
    key_arguments: Mapping[str, str] = field(default_factory=dict)
    """The argument in which a tool's server takes an application's key, by tool id."""
    validators: Validators = field(default_factory=Validators, compare=False)
