"""Signed access tokens: is this one the configured issuer's, for us, and in force?

The algorithm is one of an allowlist of public-key signatures and must be the one that the key is for; what a token
says about keys itself (`jku`, `jwk`, `x5u`) is never looked at. Times are judged by our clock and not the library's.
Whatever goes wrong refuses the token, in words that hold nothing of it.

Source: RFC 7519 and RFC 8725 (best practices), RFC 9068 (access tokens), RFC 8707 (audience).
"""

from collections.abc import Callable, Mapping
from typing import Any

import jwt

from pegboard.adapters.jwks import KeysError, KeySet
from pegboard.adapters.token_settings import IntrospectionSettings, JwtSettings
from pegboard.core.names import parse_json
from pegboard.service.identity import LONGEST, Refused, Verified, invalid_token
from pegboard.service.ports import Clock

__all__ = ["CHECKS", "UNAVAILABLE", "JwtVerifier", "judged"]

UNAVAILABLE = Refused(status=503, error="temporarily_unavailable", description="the token cannot be verified now")
# RFC 9068 wants the first two; many issuers write the third or nothing. Others (logout, DPoP proofs) are not for us.
_TYPES = {"at+jwt", "application/at+jwt", "jwt", ""}

# The end of the year 9999, beyond which no calendar here goes.
_LAST = 253_402_300_800

_Said = Mapping[str, Any]
_Settings = JwtSettings | IntrospectionSettings

# One row a check, in the order of what a caller is told: what is wrong, and whether the claims pass at a moment.
CHECKS: tuple[tuple[str, Callable[[_Said, _Settings, float], bool]], ...] = (
    ("the token is of another issuer", lambda said, wanted, _: said.get("iss") == wanted.issuer),
    ("the token is for another audience", lambda said, wanted, _: _is_for(said.get("aud"), wanted.audience)),
    ("the token does not say when it expires", lambda said, _, __: _is_time(said.get("exp"))),
    ("the token has expired", lambda said, wanted, now: now < said["exp"] + wanted.skew_s),
    ("the token is not valid yet", lambda said, wanted, now: _is_past(said.get("nbf"), now + wanted.skew_s)),
    ("the token is from the future", lambda said, wanted, now: _is_past(said.get("iat"), now + wanted.skew_s)),
    # Bound to a key (RFC 7800): taken without a proof of that key it would be worth as much to a thief.
    ("the token is bound to a key, which is not checked here", lambda said, _, __: "cnf" not in said),
)


def judged(claims: Any, settings: _Settings, now: float) -> Verified | Refused:
    """Judge what an issuer said, its word being beyond doubt, against every row of `CHECKS`."""
    if not isinstance(claims, dict):
        return invalid_token("the token is malformed")
    for problem, passes in CHECKS:
        if not passes(claims, settings, now):
            return invalid_token(problem)
    return Verified(claims=claims, expires_at=float(claims["exp"]))


class JwtVerifier:
    """`TokenVerifier` by the issuer's signature."""

    def __init__(self, settings: JwtSettings, keys: KeySet, clock: Clock) -> None:
        self._settings = settings
        self._keys = keys
        self._clock = clock
        self._signatures = jwt.PyJWS(options={"enforce_minimum_key_length": True})

    async def verify(self, token: str) -> Verified | Refused:
        """Check signature, issuer, audience and times."""
        try:
            return await self._verified(token)
        except KeysError:
            return UNAVAILABLE
        except Exception:  # noqa: BLE001 - fails closed: what the library did not foresee in a token is no credential
            return invalid_token("the token is malformed or its signature is wrong")

    async def problem(self) -> str | None:
        """Say why no signature can be verified now: the issuer's keys cannot be had."""
        return await self._keys.problem()

    async def _verified(self, token: str) -> Verified | Refused:
        if len(token) > LONGEST:
            return invalid_token("the token is too long")
        header = self._signatures.get_unverified_header(token)
        algorithm, kid = header.get("alg"), header.get("kid")
        if algorithm not in self._settings.algorithms:
            return invalid_token("the token is signed in a way that is not accepted")
        if str(header.get("typ", "")).lower() not in _TYPES or "crit" in header:
            return invalid_token("this is no access token")
        found = await self._keys.key(kid, algorithm)
        if found is None:
            return invalid_token("the token is signed with a key that is not the issuer's")
        # INVARIANT: the key is made for the algorithm that was accepted, so that it has no other reading.
        key = jwt.PyJWK(dict(found), algorithm)
        body = self._signatures.decode(token, key, algorithms=[algorithm])
        return judged(parse_json(body), self._settings, self._clock.now())


def _is_for(audience: Any, wanted: str) -> bool:
    """Compare exactly: an address that begins like ours is somebody else's."""
    return wanted == audience or (isinstance(audience, list) and wanted in audience)


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _LAST


def _is_past(value: Any, now: float) -> bool:
    """Say whether a time lies before *now*; one that is not said does."""
    return value is None or (_is_time(value) and value <= now)
