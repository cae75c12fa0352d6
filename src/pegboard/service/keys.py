"""API keys: how a workload without an identity provider says who it is.

A key is 256 random bits, shown once when it is made. What is kept is its SHA-256, so that nobody who reads the store
can use it; a digest of so many random bits needs no salt and no slow hash. A key has one role: the agents' routes, an
application's and the operators' are apart, and no key opens two of them.

Source: DESIGN section 14; NIST SP 800-63B, section 5.1.1 (a secret of 112 random bits or more may be hashed once).
"""

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from pegboard.core.errors import ConfigError
from pegboard.core.names import name_problem
from pegboard.service.audit import Audit, AuditKind
from pegboard.service.ports import Clock

__all__ = ["ApiKey", "KeyRole", "KeyStore", "Keys", "Made", "digest_of", "is_key"]

_PREFIX = "pgb"
_ID_DIGITS = 12
_SECRET_DIGITS = 64
# The id finds the row; it is no secret and tells nothing about the rest.
_KEY = re.compile(rf"{_PREFIX}_([0-9a-f]{{{_ID_DIGITS}}})_[0-9a-f]{{{_SECRET_DIGITS}}}")


class KeyRole(StrEnum):
    """Which doors a key opens."""

    AGENT = "agent"
    """Select and call, as its workload."""
    APPLICATION = "application"
    """State the stage, the flags and the clearance of callers that it serves."""
    OPERATOR = "operator"
    """The operators' routes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """What is kept of one key. Times are Unix seconds."""

    key_id: str
    name: str
    workload: str
    role: KeyRole = KeyRole.AGENT
    scopes: frozenset[str] | None = None
    """Narrower than the workload's own scopes; None: all of them."""
    digest: str = field(repr=False)
    by: str
    made_at: float
    expires_at: float | None = None
    revoked_at: float | None = None

    def alive(self, now: float) -> bool:
        """Say whether the key opens anything at *now*."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class KeyStore(Protocol):
    """Where API keys are kept, without their secrets. Every method may raise StoreError."""

    async def add(self, key: ApiKey) -> bool:
        """Keep a new key, durably; False, with nothing kept, where one of this name is there and not revoked."""

    async def key(self, key_id: str) -> ApiKey | None:
        """Return one key, revoked and expired ones included; None where there is none."""

    async def keys(self) -> tuple[ApiKey, ...]:
        """Return every key, the newest first."""

    async def revoke(self, name: str, at: float) -> ApiKey | None:
        """End the key of this name that is not revoked, durably, before returning; None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A key that was made just now. `secret` is the whole key, and nothing can show it again."""

    key: ApiKey
    secret: str = field(repr=False)


class Keys:
    """Makes keys, lists them, ends them, and finds the one that was presented."""

    def __init__(self, store: KeyStore, audit: Audit, clock: Clock) -> None:
        self._store = store
        self._audit = audit
        self._clock = clock

    async def create(
        self,
        name: str,
        *,
        workload: str,
        by: str,
        role: KeyRole = KeyRole.AGENT,
        scopes: frozenset[str] | None = None,
        lifetime_s: float | None = None,
    ) -> Made:
        """Make a key and put that on record.

        Raises:
            ConfigError: The name or the workload cannot be one, or a key of this name is in use.
            StoreError: It could not be kept.
        """
        for what, said in (("name", name), ("workload", workload)):
            if problem := name_problem(said):
                raise ConfigError(f"the {what} {said!r} {problem}")
        now = self._clock.now()
        key_id, *secret = (self._clock.new_id(_PREFIX).rpartition("_")[2] for _ in range(3))
        written = f"{_PREFIX}_{key_id[:_ID_DIGITS]}_{''.join(secret)}"
        key = ApiKey(
            key_id=key_id[:_ID_DIGITS],
            name=name,
            workload=workload,
            role=role,
            scopes=scopes,
            digest=digest_of(written),
            by=by,
            made_at=now,
            expires_at=None if lifetime_s is None else now + lifetime_s,
        )
        if not await self._store.add(key):
            raise ConfigError(
                f"there is a key {name!r} already", fix=f"revoke it first, or choose another name: {name}-2"
            )
        told = {"key_id": key.key_id, "name": name, "workload": workload, "role": role, "scopes": scopes, "by": by}
        await self._audit.record(AuditKind.KEY_MADE, **told, expires_at=key.expires_at)
        return Made(key=key, secret=written)

    async def list(self) -> tuple[ApiKey, ...]:
        """Return every key, the newest first. Raises StoreError where they cannot be read."""
        return await self._store.keys()

    async def revoke(self, name: str, *, by: str) -> ApiKey | None:
        """End a key from the next request on; None where no such key is in use. Raises StoreError."""
        # It holds before anyone writes of it: an audit that cannot be written must not keep a key alive.
        key = await self._store.revoke(name, self._clock.now())
        if key is not None:
            await self._audit.record(AuditKind.KEY_REVOKED, key_id=key.key_id, name=name, by=by)
        return key

    async def find(self, presented: str) -> ApiKey | None:
        """Return the living key that this is; None for any other text. Raises StoreError."""
        shape = _KEY.fullmatch(presented)
        key = None if shape is None else await self._store.key(shape.group(1))
        if key is None or not hmac.compare_digest(key.digest, digest_of(presented)):
            return None
        return key if key.alive(self._clock.now()) else None


def digest_of(secret: str) -> str:
    """Return the SHA-256 of a key or a token, under which it is known where it must not be kept."""
    return "sha256:" + hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def is_key(presented: str) -> bool:
    """Say whether this is written as an API key, so that no token is taken for one."""
    return presented.startswith(f"{_PREFIX}_")
