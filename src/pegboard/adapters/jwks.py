"""The issuer's keys: fetched, kept for a while, fetched again when a token names one that is not among them.

Whoever sends tokens can name any key, so that fetching again is limited in its rate. Where the issuer cannot be
reached, the keys at hand serve for an hour more and then no longer: a key that was withdrawn must not live on.

Why they cannot be had is for operators: a warning in the log when it begins, and what `doctor` says.

Source: RFC 7517 (keys), RFC 8414 and OpenID Connect Discovery (where they are).
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from pegboard.adapters.egress import Egress, EgressError
from pegboard.adapters.token_settings import ALGORITHMS, JwtSettings
from pegboard.core.names import parse_json
from pegboard.service.ports import Clock

__all__ = ["FRESH_S", "SOONEST_S", "STALE_S", "KeySet", "KeysError", "key_source"]

FRESH_S = 300.0
"""So long keys serve without being fetched again."""
STALE_S = 3600.0
"""So long after that where they cannot be."""
SOONEST_S = 10.0
"""At least so long lies between two attempts."""
_MOST_KEYS = 100

Load = Callable[[], Awaitable[bytes]]

_LOG = logging.getLogger("pegboard.tokens")


class KeysError(Exception):
    """The issuer's keys cannot be had, or are none. The text is for an operator."""


class KeySet:
    """The keys of one issuer. *load* returns the document, and may raise EgressError or OSError."""

    def __init__(self, load: Load, clock: Clock) -> None:
        self._load = load
        self._clock = clock
        self._keys: tuple[Mapping[str, Any], ...] = ()
        self._fetched: float | None = None
        self._tried: float | None = None
        self._problem: str | None = None
        self._one_at_a_time = anyio.Lock()

    async def key(self, kid: str | None, algorithm: str) -> Mapping[str, Any] | None:
        """Return the key of this id that verifies this algorithm, None where there is none.

        A token that names no key means the only one that can have signed it.

        Raises:
            KeysError: The keys cannot be had.
        """
        # Whoever comes while another fetches goes on with the keys at hand, as long as they serve.
        if self._age() > FRESH_S + STALE_S or (self._age() > FRESH_S and not self._one_at_a_time.locked()):
            await self._try()
        found = self._found(kid, algorithm)
        if found is None:
            # It may be new: issuers announce a key and sign with it soon after.
            await self._try()
            found = self._found(kid, algorithm)
        if self._age() > FRESH_S + STALE_S:
            raise KeysError(f"the issuer's keys cannot be had: {self._problem}")
        return found

    async def problem(self) -> str | None:
        """Fetch the keys unless they are fresh, and say why they cannot be had; None where they can."""
        if self._age() > FRESH_S:
            await self._try()
        return self._problem

    async def _try(self) -> None:
        async with self._one_at_a_time:
            if self._tried is None or self._clock.ticks() - self._tried >= SOONEST_S:
                # Whoever stops waiting must not take the keys from those who wait on, nor the limit from the rest.
                with anyio.CancelScope(shield=True):
                    await self._fetch()
                self._tried = self._clock.ticks()

    async def _fetch(self) -> None:
        try:
            self._keys = _usable(await self._load())
            self._fetched, self._problem = self._clock.ticks(), None
        except (EgressError, OSError, ValueError) as error:
            # What was fetched before stands, as long as it may.
            if str(error) != self._problem:
                _LOG.warning("the issuer's keys cannot be had: %s", error)
            self._problem = str(error)

    def _age(self) -> float:
        return float("inf") if self._fetched is None else self._clock.ticks() - self._fetched

    def _found(self, kid: str | None, algorithm: str) -> Mapping[str, Any] | None:
        fitting = [key for key in self._keys if _fits(key, algorithm) and kid in (None, key.get("kid"))]
        return fitting[0] if len(fitting) == 1 else None


def key_source(settings: JwtSettings, egress: Egress) -> Load:
    """Return what fetches an issuer's keys: from a file, an address, or where the issuer's metadata says they are."""
    if (file := settings.jwks_file) is not None:

        async def from_file() -> bytes:
            return await anyio.Path(file).read_bytes()

        return from_file
    if (url := settings.jwks_url) is not None:
        return lambda: egress.fetch(url)

    async def discovered() -> bytes:
        return await egress.fetch(await _jwks_uri(settings.issuer, egress))

    return discovered


async def _jwks_uri(issuer: str, egress: Egress) -> str:
    """Ask the issuer's metadata, in both places where it may be.

    Raises:
        EgressError: It is in neither.
        ValueError: It is another issuer's, or says nothing of keys.
    """
    base = issuer.rstrip("/")
    scheme, _, rest = base.partition("://")
    host, slash, path = rest.partition("/")
    try:
        body = await egress.fetch(f"{scheme}://{host}/.well-known/oauth-authorization-server{slash}{path}")
    except EgressError:
        body = await egress.fetch(f"{base}/.well-known/openid-configuration")
    metadata: Any = parse_json(body)
    # RFC 8414, section 3.3: metadata of another issuer must not be used.
    if not isinstance(metadata, Mapping) or metadata.get("issuer") != issuer:
        raise ValueError("the metadata is not of the configured issuer")
    if not isinstance(found := metadata.get("jwks_uri"), str):
        raise ValueError("the metadata says no 'jwks_uri'")
    return found


def _usable(body: bytes) -> tuple[Mapping[str, Any], ...]:
    """Return the public signature keys of a document.

    Raises:
        ValueError: It is no set of keys, or has none of use here.
    """
    document: Any = parse_json(body)
    keys = document.get("keys") if isinstance(document, Mapping) else None
    if not isinstance(keys, list) or len(keys) > _MOST_KEYS:
        raise ValueError(f"the document is no set of at most {_MOST_KEYS} keys")
    found = tuple(key for key in keys if isinstance(key, Mapping) and _verifies(key))
    if not found:
        raise ValueError("the document has no public key that verifies signatures")
    return found


def _verifies(key: Mapping[str, Any]) -> bool:
    """Say whether a key is public and for signatures (RFC 7517, sections 4.2 and 4.3)."""
    operations = key.get("key_ops", ["verify"])
    kinds = {kind for kind, _ in ALGORITHMS.values()}
    return (
        key.get("kty") in kinds
        and "d" not in key
        and key.get("use", "sig") == "sig"
        and isinstance(operations, list)
        and "verify" in operations
    )


def _fits(key: Mapping[str, Any], algorithm: str) -> bool:
    kind, curve = ALGORITHMS[algorithm]
    return key.get("kty") == kind and key.get("alg", algorithm) == algorithm and curve in (None, key.get("crv"))
