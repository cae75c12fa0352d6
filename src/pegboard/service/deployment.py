"""A deployment: everything the configuration says that the service's verbs need, as one value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pegboard.core.layer import Layer
from pegboard.core.policy import DIMENSIONS, AccessTemplate, Reason, Switch
from pegboard.engine.approvals import ApprovalRules
from pegboard.engine.asking import SelectionSettings
from pegboard.engine.compose import Curation
from pegboard.engine.guards import Guards
from pegboard.engine.limits import Limits
from pegboard.engine.proposals import ProposeRule
from pegboard.engine.trace import Naming, Record
from pegboard.engine.trust import Trust

__all__ = ["Deployment"]

_DAY_S = 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What an operator configured. Times are seconds."""

    templates: Mapping[str, AccessTemplate] = field(default_factory=dict)
    used: frozenset[Reason] = DIMENSIONS
    switches: Mapping[str, Switch] = field(default_factory=dict)
    layer: Layer | None = None
    """The Cedar policies; None: there is no policy file."""
    curation: Mapping[str, Curation] = field(default_factory=dict)
    propose: Mapping[str, tuple[ProposeRule, ...]] = field(default_factory=dict)
    """Rules by server; they only propose lock lines."""
    trust: Mapping[str, Trust] = field(default_factory=dict)
    """What happens to changes of each server's locked tools, where it is not `review`."""
    namespaces_of: Mapping[str, str] = field(default_factory=dict)
    """The namespace of each server's tools where it is not the server's name."""
    deadlines_s: Mapping[str, float] = field(default_factory=dict)
    """How long one refresh of a server may take, where it is not the usual."""
    polls_s: Mapping[str, float] = field(default_factory=dict)
    """How old a server's listing may get before it is fetched again, where it is not the usual; 0: of any age."""
    longest_call_s: float = 120.0
    """For how long the most patient server is waited for, once it was sent a call."""
    selection: SelectionSettings = field(default_factory=SelectionSettings)
    record: Record = Record.TERMS
    naming: Naming = Naming.NAME
    traces_kept_s: float = 30 * _DAY_S
    """How long traces are kept."""
    ledger_kept_s: float | None = None
    """How long calls are kept at least that nothing needs any more; None: for ever."""
    audit_kept_s: float | None = None
    """How long events are kept; None: for ever."""
    selection_lifetime_s: float = _DAY_S
    revocations_at_most_s: float = 30.0
    """How old the revocations may be at a call; beyond it every call is refused."""
    approvals: ApprovalRules = field(default_factory=ApprovalRules)
    limits: Limits = field(default_factory=Limits)
    guards: Guards = field(default_factory=Guards)
    """What a namespace must show before more callers are given it."""
    costs: Mapping[str, float] = field(default_factory=dict)
    """What a call of a tool costs, by its id."""
    key_arguments: Mapping[str, str] = field(default_factory=dict)
    """The argument in which a tool's server takes an application's key, by tool id."""
    encoding: str = "characters/4"
    count_tokens: Callable[[str], int] = lambda text: -(-len(text) // 4)
    packages: Mapping[str, str] = field(default_factory=dict)
    """Versions of the packages that a selection's bytes depend on."""
