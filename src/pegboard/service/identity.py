"""Identity: verified credentials become a runtime context, here and nowhere else in a running server.

A credential is all that is read of a request: no other header and no word of a body reaches a field of a context
(law 9). Whatever cannot be verified is refused with a value that says what the caller may do about it and nothing
else.

Source: DESIGN sections 3, 12 and 14; RFC 6750 (bearer tokens), MCP 2026-07-28, authorization.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol

from pegboard.core.context import RuntimeContext
from pegboard.service.audit import Audit, AuditKind
from pegboard.service.claims import ClaimError, IdentitySettings, context_of_claims, context_of_workload
from pegboard.service.keys import ApiKey, KeyRole, Keys, digest_of, is_key
from pegboard.service.ports import Clock
from pegboard.service.stated import LONGEST_S, Bound, ContextStore, Stated

__all__ = [
    "LONGEST",
    "NO_CREDENTIAL",
    "Application",
    "Credential",
    "CredentialKind",
    "Identity",
    "Refused",
    "TokenVerifier",
    "Verified",
    "insufficient_scope",
    "invalid_token",
    "presented",
]

# Tokens of large organisations, with every group of a person in them, have 8 KiB; servers take headers up to that.
LONGEST = 16 * 1024


class CredentialKind(StrEnum):
    """What a caller presented."""

    BEARER = "bearer"
    """An access token of the configured issuer."""
    API_KEY = "api_key"
    PROFILE = "profile"
    """The name of a profile; only a process that its operator started (stdio) presents one, never a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What a caller presented, not verified yet."""

    kind: CredentialKind
    text: str = field(repr=False)

    @property
    def digest(self) -> str:
        """Return that under which this credential is known where it must not be kept."""
        return digest_of(f"{self.kind}:{self.text}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A credential that opens nothing here. `challenges.challenge` makes a header of it."""

    status: int
    """401: present another credential. 403: this one is valid and not enough. 503: its issuer cannot be asked now."""
    error: str | None = None
    """The error code of RFC 6750, section 3.1; None where nothing was presented."""
    description: str = ""
    """For whoever wrote the client; it repeats nothing of the credential."""
    scopes: frozenset[str] = frozenset()
    """Every scope that is needed, those that the caller has included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """A program or an operator that presented an API key for routes that are not an agent's."""

    name: str
    """The key's name, which records say."""
    workload: str
    role: KeyRole
    tenant: str | None = None
    """Where its workload is of one: it states nothing about callers of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What an issuer says in a token that is its own, for us, and in force."""

    claims: Mapping[str, Any] = field(repr=False)
    expires_at: float


class TokenVerifier(Protocol):
    """Verifies access tokens of the configured issuer."""

    async def verify(self, token: str) -> Verified | Refused:
        """Check signature, issuer, audience and times. Never raises; whatever cannot be verified is refused."""

    async def problem(self) -> str | None:
        """Say, to an operator, why no token can be verified now; None where they can. May ask the issuer."""


NO_CREDENTIAL = Refused(status=401, description="present an access token or an API key")
_UNKNOWN_KEY = Refused(status=401, error="invalid_token", description="the API key is unknown, expired or revoked")
_UNKNOWN_PROFILE = Refused(status=401, error="invalid_token", description="there is no such profile")
_NO_ISSUER = Refused(status=401, error="invalid_token", description="no issuer of tokens is configured")
_OTHER_TENANT = Refused(status=403, error="access_denied", description="the caller is of another tenant")


def invalid_token(description: str) -> Refused:
    """Refuse a token; the description must hold nothing of it."""
    return Refused(status=401, error="invalid_token", description=description)


def insufficient_scope(needed: frozenset[str]) -> Refused:
    """Ask a caller to come back with more: *needed* are all scopes that it then must have, held ones included."""
    return Refused(status=403, error="insufficient_scope", description="more scopes are needed", scopes=needed)


def presented(authorization: Sequence[str]) -> Credential | Refused:
    """Read the `Authorization` headers of a request: one bearer token or API key, and no profile.

    Two of them are refused: what stands before us may have read the other one.
    """
    if not authorization:
        return NO_CREDENTIAL
    scheme, _, text = authorization[0].strip().partition(" ")
    text = text.strip()
    if len(authorization) > 1 or scheme.lower() != "bearer" or not text.isascii() or not text or " " in text:
        return invalid_token("write one header Authorization: Bearer, and the token or key")
    if len(text) > LONGEST:
        return invalid_token(f"a token may have {LONGEST:,} characters")
    return Credential(kind=CredentialKind.API_KEY if is_key(text) else CredentialKind.BEARER, text=text)


class Identity:
    """Makes the runtime context of whoever presents a credential."""

    def __init__(
        self,
        settings: IdentitySettings,
        keys: Keys,
        contexts: ContextStore,
        audit: Audit,
        clock: Clock,
        *,
        verifier: TokenVerifier | None = None,
        profiles: Mapping[str, RuntimeContext] | None = None,
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._contexts = contexts
        self._audit = audit
        self._clock = clock
        self._verifier = verifier
        self._profiles = profiles or {}

    @property
    def settings(self) -> IdentitySettings:
        """Return what was configured."""
        return self._settings

    @property
    def authenticates(self) -> bool:
        """Say whether callers can show who they are over the network with tokens of an issuer."""
        return self._verifier is not None

    async def problem(self) -> str | None:
        """Say, to an operator, why no token can be verified now; None where they can, or where none is taken."""
        return None if self._verifier is None else await self._verifier.problem()

    async def context_of(self, credential: Credential) -> RuntimeContext | Refused:
        """Return the context of an agent's caller, what an application stated of its work included.

        Raises:
            StoreError: Keys or stated contexts cannot be read; nothing is granted then.
        """
        found = await self._found(credential)
        if isinstance(found, Refused):
            return found
        context, _ = found
        bound = await self._contexts.bound(credential.digest)
        if bound is None or bound.expires_at <= self._clock.now():
            return context
        return _with(context, bound.stated)

    async def application_of(self, credential: Credential, role: KeyRole) -> Application | Refused:
        """Return who presents a key of this role: routes of operators and of applications take nothing else.

        Raises:
            StoreError: Keys cannot be read.
        """
        key = await self._keys.find(credential.text) if credential.kind is CredentialKind.API_KEY else None
        if key is None:
            return _UNKNOWN_KEY
        if key.role is not role:
            return _wrong_role(role)
        workload = self._settings.workloads.get(key.workload)
        tenant = None if workload is None else workload.tenant
        return Application(name=key.name, workload=key.workload, role=key.role, tenant=tenant)

    async def set_context(self, application: Application, caller: Credential, stated: Stated) -> Bound | Refused:
        """Let an application state where its caller's work is; it holds until the caller's credential expires.

        It replaces what was stated before. It is on record who stated what of whom; a refusal is the caller's
        credential's, or says that the application may not.

        Raises:
            StoreError: It could not be kept or put on record.
        """
        if application.role is not KeyRole.APPLICATION:
            return _wrong_role(KeyRole.APPLICATION)
        found = await self._found(caller)
        if isinstance(found, Refused):
            return replace(found, status=403) if found.status == 401 else found
        context, expires_at = found
        if application.tenant is not None and application.tenant != context.tenant:
            return _OTHER_TENANT
        now = self._clock.now()
        bound = Bound(stated=stated, by=application.name, at=now, expires_at=min(expires_at, now + LONGEST_S))
        # INVARIANT: on record before it holds, so that no context is in force that nobody can account for.
        await self._audit.record(
            AuditKind.CONTEXT_STATED,
            by=application.name,
            principal=context.principal,
            stage=stated.stage,
            flags=stated.flags,
            clearance=stated.clearance,
            expires_at=bound.expires_at,
        )
        await self._contexts.bind(caller.digest, bound)
        return bound

    async def _found(self, credential: Credential) -> tuple[RuntimeContext, float] | Refused:
        """Return what the credential alone says, and when it expires."""
        if credential.kind is CredentialKind.BEARER:
            return await self._of_token(credential.text)
        if credential.kind is CredentialKind.API_KEY:
            return self._of_key(await self._keys.find(credential.text))
        profile = self._profiles.get(credential.text)
        return _UNKNOWN_PROFILE if profile is None else (profile, float("inf"))

    async def _of_token(self, token: str) -> tuple[RuntimeContext, float] | Refused:
        if self._verifier is None:
            return _NO_ISSUER
        verified = await self._verifier.verify(token)
        if isinstance(verified, Refused):
            return verified
        try:
            context = context_of_claims(verified.claims, self._settings)
        except ClaimError as error:
            return invalid_token(str(error))
        if not self._settings.required_scopes <= context.scopes:
            return insufficient_scope(self._settings.required_scopes)
        return context, verified.expires_at

    def _of_key(self, key: ApiKey | None) -> tuple[RuntimeContext, float] | Refused:
        if key is None:
            return _UNKNOWN_KEY
        if key.role is not KeyRole.AGENT:
            return _wrong_role(KeyRole.AGENT)
        expires_at = float("inf") if key.expires_at is None else key.expires_at
        return context_of_workload(key.workload, key.scopes, self._settings), expires_at


def _wrong_role(role: KeyRole) -> Refused:
    return Refused(status=403, error="access_denied", description=f"a key of the role {role} is needed")


def _with(context: RuntimeContext, stated: Stated) -> RuntimeContext:
    """Add what an application stated. Of two clearances the lower one holds."""
    levels = [level for level in (context.clearance, stated.clearance) if level is not None]
    return replace(context, stage=stated.stage, flags=context.flags | stated.flags, clearance=min(levels, default=None))
