"""Claims: what a verified token says becomes a runtime context, by the operator's configuration.

Only the claims that the configuration names are read, each as one kind of value; a claim of another kind denies. A
workload that acts for a user has what both have: scopes, roles and servers of the token are cut down to those of every
acting party. Environment, stage and flags never come from a token by themselves.

Source: DESIGN section 3; RFC 9068 (client_id, scope), RFC 8693 section 4.1 (act), OpenID Connect Core (azp).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pegboard.core.context import RuntimeContext
from pegboard.core.names import name_problem

__all__ = ["FIELDS", "ClaimError", "IdentitySettings", "Workload", "context_of_claims", "context_of_workload"]

# A chain of services behind one user's act is three or four long; what is longer is a mistake or an attack.
_CHAIN = 8
_ITEMS = 1_000
_CLEARANCE = 1_000_000


class ClaimError(Exception):
    """A verified token says what cannot be taken as a fact; the text quotes none of its values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What one workload may do, by itself and for any user; what is unsaid is empty."""

    tenant: str | None = None
    scopes: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    servers: frozenset[str] | None = None
    """None: those of every caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentitySettings:
    """How verified credentials become a context."""

    issuer: str | None = None
    audience: str | None = None
    """What this deployment is called in tokens: the address of its MCP endpoint."""
    environment: str = "production"
    servers: frozenset[str] = frozenset()
    """Those that every caller may use, where no claim or workload says otherwise."""
    required_scopes: frozenset[str] = frozenset()
    """A token without all of these opens nothing."""
    claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The claim of each field where it is not the usual one; of several the first that is there."""
    workloads: Mapping[str, Workload] = field(default_factory=dict)


def context_of_claims(claims: Mapping[str, Any], settings: IdentitySettings) -> RuntimeContext:
    """Make the context of a token whose signature, issuer, audience and times were verified.

    Raises:
        ClaimError: A claim is of the wrong kind, an acting party is unknown or of another tenant, or nobody is named.
    """
    said = {name: found for name in FIELDS if (found := _said(claims, name, settings)) is not None}
    if said.get("user") == said.get("workload"):
        # Without a user behind it a client is its own subject (RFC 9068, section 2.2).
        said.pop("user", None)
    chain = _acting(claims.get("act"), settings.issuer)
    context = RuntimeContext(
        **{"servers": settings.servers, **said}, environment=settings.environment, delegation=chain
    )
    if context.user is None and context.workload is None:
        raise ClaimError("the token names no user and no client")
    if any(party not in settings.workloads for party in chain):
        raise ClaimError("the token is used by a party that is not known here")
    parties = [name for name in (*chain, context.workload or "") if name in settings.workloads]
    if context.user is None and context.tenant is None and parties:
        context = replace(context, tenant=settings.workloads[parties[-1]].tenant)
    for party in dict.fromkeys(parties):
        context = _narrowed(context, settings.workloads[party], settings)
    return context


def context_of_workload(name: str, scopes: frozenset[str] | None, settings: IdentitySettings) -> RuntimeContext:
    """Make the context of a workload that acts for nobody else.

    Its own configuration bounds it; a workload without one has the scopes of its key, and nothing beside them.
    """
    found = settings.workloads.get(name)
    rights = found or Workload(scopes=scopes or frozenset())
    return RuntimeContext(
        workload=name,
        tenant=rights.tenant,
        environment=settings.environment,
        scopes=rights.scopes if scopes is None else rights.scopes & scopes,
        roles=rights.roles,
        servers=settings.servers if rights.servers is None else rights.servers,
    )


def _narrowed(context: RuntimeContext, party: Workload, settings: IdentitySettings) -> RuntimeContext:
    """Cut a context down to what this party may do as well."""
    if party.tenant is not None and party.tenant != context.tenant:
        raise ClaimError("the token is of another tenant than its party")
    return replace(
        context,
        scopes=context.scopes & party.scopes,
        roles=context.roles & party.roles,
        servers=context.servers & (settings.servers if party.servers is None else party.servers),
    )


def _acting(act: Any, issuer: str | None) -> tuple[str, ...]:
    """Return who acts, the present party last.

    The outermost `act` is the present party and those inside acted before it. RFC 8693 leaves the earlier ones out of
    decisions; here they only take away.
    """
    chain: list[str] = []
    while act is not None:
        if not isinstance(act, Mapping) or len(chain) == _CHAIN or act.get("iss", issuer) != issuer:
            raise ClaimError("the claim 'act' is malformed")
        chain.append(_read("act", _text, act.get("sub")))
        act = act.get("act")
    return tuple(reversed(chain))


def _said(claims: Mapping[str, Any], name: str, settings: IdentitySettings) -> Any:
    """Read one field, None where the token does not say it."""
    usual, read = FIELDS[name]
    for claim in settings.claims.get(name, usual):
        if (value := _at(claims, claim)) is not None:
            return _read(claim, read, value)
    return None


def _read(claim: str, read: Callable[[Any], Any], value: Any) -> Any:
    try:
        return read(value)
    except ClaimError as error:
        raise ClaimError(f"the claim {claim!r} is malformed: {error}") from None


def _at(claims: Mapping[str, Any], name: str) -> Any:
    """Return the claim of this name; a dotted name that is none leads into tables (`realm_access.roles`)."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return None
        found = found[part]
    return found


def _text(value: Any) -> str:
    if not isinstance(value, str) or name_problem(value) is not None:
        raise ClaimError("a short text is needed")
    return value


def _words(value: Any) -> frozenset[str]:
    """Take scopes: one text with spaces between them (RFC 6749, section 3.3), or a list."""
    return _texts([word for word in value.split(" ") if word] if isinstance(value, str) else value)


def _texts(value: Any) -> frozenset[str]:
    if not isinstance(value, list) or len(value) > _ITEMS:
        raise ClaimError(f"a list of at most {_ITEMS:,} texts is needed")
    return frozenset(map(_text, value))


def _level(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _CLEARANCE:
        raise ClaimError(f"a whole number from 0 to {_CLEARANCE:,} is needed")
    return value


# One row a field that a token can say: the claims that usually say it, none where only the configuration can name one,
# and how they are read.
FIELDS: Mapping[str, tuple[tuple[str, ...], Callable[[Any], Any]]] = {
    "user": (("sub",), _text),
    "workload": (("client_id", "azp"), _text),
    "scopes": (("scope",), _words),
    "tenant": ((), _text),
    "roles": ((), _texts),
    "clearance": ((), _level),
    "servers": ((), _texts),
    "approved_namespaces": ((), _texts),
    "flags": ((), _texts),
}
