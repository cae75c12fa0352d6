"""A deployment: everything the configuration says that the service's verbs need, as one value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pegboard.core.catalog import Reach, Risk
from pegboard.core.policy import DIMENSIONS, AccessTemplate, Reason, Switch
from pegboard.engine.asking import SelectionSettings
from pegboard.engine.compose import Curation
from pegboard.engine.proposals import ProposeRule
from pegboard.engine.trace import Record

__all__ = ["Deployment"]

_DAY_S = 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What an operator configured. Times are seconds."""

    templates: Mapping[str, AccessTemplate] = field(default_factory=dict)
    used: frozenset[Reason] = DIMENSIONS
    switches: Mapping[str, Switch] = field(default_factory=dict)
    curation: Mapping[str, Curation] = field(default_factory=dict)
    propose: Mapping[str, tuple[ProposeRule, ...]] = field(default_factory=dict)
    """Rules by server; they only propose lock lines."""
    namespaces_of: Mapping[str, str] = field(default_factory=dict)
    """The namespace of each server's tools where it is not the server's name."""
    deadlines_s: Mapping[str, float] = field(default_factory=dict)
    """How long one refresh of a server may take, where it is not the usual."""
    selection: SelectionSettings = field(default_factory=SelectionSettings)
    record: Record = Record.TERMS
    selection_lifetime_s: float = _DAY_S
    revocations_at_most_s: float = 30.0
    """How old the revocations may be at a call; beyond it every call is refused."""
    ask_before: frozenset[Risk] = frozenset({Risk.DESTRUCTIVE})
    """The risks, as locked, whose calls need an approval."""
    ask_before_reach: frozenset[Reach] = frozenset({Reach.OPEN})
    """The reaches, as locked, whose calls need an approval."""
    encoding: str = "characters/4"
    count_tokens: Callable[[str], int] = lambda text: -(-len(text) // 4)
    packages: Mapping[str, str] = field(default_factory=dict)
    """Versions of the packages that a selection's bytes depend on."""
