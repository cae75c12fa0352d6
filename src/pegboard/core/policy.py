"""Eligibility: which tools this caller may be shown, decided before any ranking.

The attribute layer: one table of checks over facts that an operator wrote (the `AccessRule`) and facts
that the identity system or the application verified (the `RuntimeContext`). It never reads a tool's
text. A check that raises denies; nothing turns the table off.

This is the reference, one rule at a time, in the plainest form. `policy/table.py` decides all rules of a
catalog at once and is held equal to it by a property test.

Source: NIST SP 800-162 for decision and enforcement points; DESIGN section 4.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TypeAlias

from pegboard.core.catalog import ALWAYS, CatalogEntry
from pegboard.core.context import RuntimeContext
from pegboard.core.layer import Layer, consider_one
from pegboard.core.lock import Lock
from pegboard.core.names import Json, digest
from pegboard.core.revocations import Revocations

__all__ = [
    "ANY",
    "CHECKS",
    "DIMENSIONS",
    "DIMENSION_OF",
    "AccessRule",
    "AccessTemplate",
    "Decision",
    "Policy",
    "Reason",
    "Switch",
    "access_rule",
    "decide",
    "decide_tool",
    "outlasts_halt",
    "pinned_stages",
]

# Written out in a template's list it stands for every tenant, environment or stage.
ANY = "*"


class Reason(StrEnum):
    """Why a tool is not eligible. The names stand in `explain` and in the audit stream."""

    DISABLED = "disabled"
    UNLOCKED = "unlocked"
    REVOKED = "revoked"
    SERVER = "server"
    TENANT = "tenant"
    ENVIRONMENT = "environment"
    STAGE = "stage"
    SCOPE = "scopes"
    ROLE = "roles"
    FLAG = "flags"
    CLEARANCE = "clearance"
    CEDAR = "cedar"


# The dimensions a deployment may use; the values are their names in `[dimensions] used`.
DIMENSIONS = frozenset(
    {Reason.TENANT, Reason.ENVIRONMENT, Reason.STAGE, Reason.SCOPE, Reason.ROLE, Reason.FLAG, Reason.CLEARANCE}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessTemplate:
    """What a caller must hold, named once and used by many tools. None: the template does not say."""

    required_scopes: frozenset[str] | None = None
    required_roles: frozenset[str] | None = None
    required_flags: frozenset[str] | None = None
    tenants: frozenset[str] | None = None
    environments: frozenset[str] | None = None
    allowed_stages: frozenset[str] | None = None
    minimum_clearance: int | None = None

    def __post_init__(self) -> None:
        """Refuse a field of another kind, which the checks and the table of all rules could read differently.

        Raises:
            TypeError: A field is of another kind.
        """
        for name in self.__slots__:
            value = getattr(self, name)
            kind = int if name == "minimum_clearance" else frozenset
            if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
                raise TypeError(f"the template's {name} cannot be {value!r}; it takes a {kind.__name__}")

    def to_json(self) -> dict[str, Json]:
        """Return what the template says, sets sorted."""
        found: dict[str, Json] = {}
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None:
                found[name] = sorted(value) if isinstance(value, frozenset) else value
        return found


# Which dimension each field of a template states.
DIMENSION_OF: dict[str, Reason] = {
    "required_scopes": Reason.SCOPE,
    "required_roles": Reason.ROLE,
    "required_flags": Reason.FLAG,
    "tenants": Reason.TENANT,
    "environments": Reason.ENVIRONMENT,
    "allowed_stages": Reason.STAGE,
    "minimum_clearance": Reason.CLEARANCE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRule:
    """Everything the checks ask of one tool. Tools with equal rules are decided together."""

    enabled: bool
    locked: bool
    server: str
    template: AccessTemplate
    used: frozenset[Reason] = DIMENSIONS
    """The dimensions that are asked. One that is used and that the template does not state denies."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a rule admits a caller, and every reason why not, in the order of `CHECKS`."""

    reasons: tuple[Reason, ...]
    rules: tuple[str, ...] = ()
    """The ids of the policies by which the second layer decided; none where it was not asked, or nothing permitted."""

    @property
    def allowed(self) -> bool:
        """Say whether no check denied."""
        return not self.reasons


Check: TypeAlias = Callable[[AccessRule, RuntimeContext], bool]


def _held(required: frozenset[str] | None, held: frozenset[str]) -> bool:
    return required is not None and required <= held


def _listed(listed: frozenset[str] | None, value: str | None) -> bool:
    # An empty value is a missing one: a blank claim must not match "*". Nor is a text a list: "eu" is in "europe".
    return isinstance(listed, frozenset) and bool(value) and (ANY in listed or value in listed)


def _reached(minimum: int | None, level: int | None) -> bool:
    return minimum is not None and level is not None and level >= minimum


# One row a fact, in the order a trace reports them. A new fact is a new row and a new Reason. Revocation is not a
# row: it is asked of the tool itself, on a list that changes between requests (`decide_tool`).
CHECKS: tuple[tuple[Reason, Check], ...] = (
    (Reason.DISABLED, lambda rule, _: rule.enabled),
    (Reason.UNLOCKED, lambda rule, _: rule.locked),
    (Reason.SERVER, lambda rule, context: _held(frozenset((rule.server,)), context.servers)),
    (Reason.TENANT, lambda rule, context: _listed(rule.template.tenants, context.tenant)),
    (Reason.ENVIRONMENT, lambda rule, context: _listed(rule.template.environments, context.environment)),
    (Reason.STAGE, lambda rule, context: _listed(rule.template.allowed_stages, context.stage)),
    (Reason.SCOPE, lambda rule, context: _held(rule.template.required_scopes, context.scopes)),
    (Reason.ROLE, lambda rule, context: _held(rule.template.required_roles, context.roles)),
    (Reason.FLAG, lambda rule, context: _held(rule.template.required_flags, context.flags)),
    (Reason.CLEARANCE, lambda rule, context: _reached(rule.template.minimum_clearance, context.clearance)),
)


def decide(rule: AccessRule, context: RuntimeContext) -> Decision:
    """Judge one rule for one caller against every row of `CHECKS`.

    A denial is a value, not an exception, and this never raises: a check that raises, or returns
    anything but True, denies. A dimension that the deployment does not use is not asked.
    """
    asked = ((reason, check) for reason, check in CHECKS if reason not in DIMENSIONS or reason in rule.used)
    return Decision(tuple(reason for reason, check in asked if not _passes(check, rule, context)))


def _passes(check: Check, rule: AccessRule, context: RuntimeContext) -> bool:
    try:
        return check(rule, context) is True
    except Exception:  # noqa: BLE001 - fail closed: whatever goes wrong inside a check, it denies
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """What `[tools."id"]` in the configuration says of one tool; None leaves the catalog's word."""

    enabled: bool | None = None
    pinned: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Policy:
    """All that eligibility is decided on, as one value: lock, access templates, dimensions, switches, policies."""

    lock: Lock
    templates: Mapping[str, AccessTemplate] = field(default_factory=dict)
    used: frozenset[Reason] = DIMENSIONS
    switches: Mapping[str, Switch] = field(default_factory=dict)
    layer: Layer | None = None
    """The policies beyond the attributes; None: this deployment has none."""

    @cached_property
    def version(self) -> str:
        """Identify this policy by its content, the lock's included."""
        return digest(
            {
                "lock": self.lock.digest,
                "templates": {name: template.to_json() for name, template in self.templates.items()},
                "used": sorted(map(str, self.used)),
                "switches": {
                    tool: {"enabled": switch.enabled, "pinned": None if switch.pinned is None else list(switch.pinned)}
                    for tool, switch in self.switches.items()
                },
                # Left out where there is none, so that policies without it keep the version they had.
                **({} if self.layer is None else {"cedar": self.layer.digest}),
            }
        )


_UNSTATED = AccessTemplate()
_NO_SWITCH = Switch()


def access_rule(entry: CatalogEntry, policy: Policy) -> AccessRule:
    """Join a tool to its lock line and access template.

    A lock line whose hash is not this content's, or which is another server's, does not grant. One that names
    a template which does not exist gets the template that states nothing, which denies in every used
    dimension, and is not locked either, so that a deployment which uses no dimension stays closed.
    """
    line = policy.lock.lines.get(entry.tool_id)
    switch = policy.switches.get(entry.tool_id, _NO_SWITCH)
    template = policy.templates.get(line.access) if line is not None else None
    return AccessRule(
        enabled=entry.enabled if switch.enabled is None else switch.enabled,
        locked=template is not None and policy.lock.grants(entry.tool_id, entry.schema_hash, entry.source_server),
        server=entry.source_server,
        template=template or _UNSTATED,
        used=policy.used,
    )


def pinned_stages(entry: CatalogEntry, policy: Policy) -> tuple[str, ...]:
    """Return the stages in which a tool is loaded without ranking: the operator's switch, else the catalog's word."""
    pinned = policy.switches.get(entry.tool_id, _NO_SWITCH).pinned
    return entry.pinned if pinned is None else pinned


def outlasts_halt(entry: CatalogEntry, policy: Policy) -> bool:
    """Say whether a tool goes on under `halt all`: only where the configuration pins it, never by a catalog's word."""
    return ALWAYS in (policy.switches.get(entry.tool_id, _NO_SWITCH).pinned or ())


def decide_tool(entry: CatalogEntry, policy: Policy, context: RuntimeContext, revocations: Revocations) -> Decision:
    """Judge one tool for one caller, revocations included: the reference for everything that judges many.

    The second layer is asked only of what everything else lets through.
    """
    reasons = decide(access_rule(entry, policy), context).reasons
    if revocations.covers(entry, outlasts_halt(entry, policy)) or revocations.covers_caller(context):
        reasons = tuple(reason for reason in Reason if reason in {*reasons, Reason.REVOKED})
    if reasons or policy.layer is None:
        return Decision(reasons)
    ruling = consider_one(policy.layer, entry, policy.lock.lines[entry.tool_id], context)
    return Decision(() if ruling.allowed else (Reason.CEDAR,), ruling.rules)
