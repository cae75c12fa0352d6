"""A token endpoint: access tokens for one tool server, our own or in exchange for a caller's, kept while they hold.

A token is known by whom it is for and by the digest of the token that was given for it, so none is ever found by
anybody else. For each there is one request at a time, and whoever comes meanwhile shares how it ends; one that fails
is not kept, so the next asks anew.

Source: RFC 6749, sections 2.3.1, 4.4 and 5.1; RFC 8693, section 2; RFC 8707, section 2.
"""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import anyio

from pegboard.adapters.credential_settings import Grant, TokenGrant, sendable
from pegboard.adapters.egress import Egress, EgressError
from pegboard.adapters.token_settings import basic
from pegboard.core.names import parse_json
from pegboard.service.keys import digest_of
from pegboard.service.ports import Clock

__all__ = ["NoTokenError", "TokenEndpoint"]

_KEPT_AT_MOST = 10_000
_MOST_BYTES = 64 * 1024
# A token that expires on its way is refused, so it is not used so shortly before.
_EARLY_S = 30.0
# RFC 6749 leaves it to us how long a token holds of which the endpoint does not say.
_UNSAID_S = 60.0
_LONGEST_S = 24 * 3600.0
_ACCESS = "urn:ietf:params:oauth:token-type:access_token"
# What may be issued in an exchange: both are sent as bearer tokens.
_ISSUED = frozenset({_ACCESS, "urn:ietf:params:oauth:token-type:jwt"})

_Key: TypeAlias = tuple[str, str]


class NoTokenError(Exception):
    """No token came. The text holds no secret of either side."""


@dataclass(slots=True)
class _Asking:
    """One request on its way, and how it ended: with a token, or what kept it from one."""

    over: anyio.Event
    token: str | None = field(default=None, repr=False)
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Kept:
    token: str = field(repr=False)
    until: float


class TokenEndpoint:
    """Gets tokens of one endpoint under one grant."""

    def __init__(self, settings: TokenGrant, egress: Egress, clock: Clock) -> None:
        self._settings = settings
        self._egress = egress
        self._clock = clock
        self._headers = basic(settings.client_id, settings.client_secret)
        self._kept: dict[_Key, _Kept] = {}
        self._asking: dict[_Key, _Asking] = {}

    async def token(self, principal: str = "", subject: str | None = None) -> str:
        """Return a token that holds now: our own, or a caller's in exchange for *subject*, which it presented.

        Raises:
            NoTokenError: The endpoint cannot be reached, refuses, or answers something else.
        """
        key = _key(principal, subject)
        while (kept := self._kept.get(key)) is None or kept.until <= self._clock.ticks():
            if (asking := self._asking.get(key)) is None:
                return await self._asked(key, subject)
            await asking.over.wait()
            if asking.problem is not None:
                raise NoTokenError(asking.problem)
            if asking.token is not None:
                return asking.token
        return kept.token

    def forget(self, refused: str, principal: str = "", subject: str | None = None) -> None:
        """Forget a token that its server refused, unless there is another by now."""
        kept = self._kept.get(key := _key(principal, subject))
        if kept is not None and kept.token == refused:
            del self._kept[key]

    async def _asked(self, key: _Key, subject: str | None) -> str:
        asking = self._asking[key] = _Asking(anyio.Event())
        try:
            said = await self._egress.fetch(
                self._settings.token_url, form=self._form(subject), headers=self._headers, most_bytes=_MOST_BYTES
            )
            token, holds_s = _read(parse_json(said), exchanged=subject is not None)
            asking.token = token
        except (EgressError, ValueError) as error:
            asking.problem = f"no token came from its token endpoint: {error}"
            raise NoTokenError(asking.problem) from None
        finally:
            # Where the wait was cancelled nothing is said, and one of those who wait asks in its place.
            del self._asking[key]
            asking.over.set()
        self._keep(key, _Kept(token, self._clock.ticks() + holds_s))
        return token

    def _form(self, subject: str | None) -> dict[str, str]:
        settings = self._settings
        exchange = {
            "grant_type": Grant.EXCHANGE.value,
            "subject_token": subject,
            "subject_token_type": _ACCESS,
            "requested_token_type": _ACCESS,
        }
        said = {
            **({"grant_type": Grant.CLIENT_CREDENTIALS.value} if subject is None else exchange),
            "scope": " ".join(settings.scopes) or None,
            "resource": settings.resource,
            "audience": settings.audience,
        }
        return {name: value for name, value in said.items() if value is not None}

    def _keep(self, key: _Key, kept: _Kept) -> None:
        self._kept.pop(key, None)
        self._kept[key] = kept
        while len(self._kept) > _KEPT_AT_MOST:
            del self._kept[next(iter(self._kept))]


def _key(principal: str, subject: str | None) -> _Key:
    return principal, "" if subject is None else digest_of(subject)


def _read(said: Any, *, exchanged: bool) -> tuple[str, float]:
    """Read an answer: the token, and for how many seconds it is used.

    Raises:
        ValueError: It holds no bearer token that can be sent. Nothing of it is repeated.
    """
    found = said if isinstance(said, dict) else {}
    token, kind, issued = found.get("access_token"), found.get("token_type"), found.get("issued_token_type")
    if not isinstance(token, str) or not sendable(token):
        raise ValueError("its answer holds no token that can be sent")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise ValueError("its answer holds no bearer token")
    if exchanged and issued not in _ISSUED:
        raise ValueError("what it issued is no access token")
    holds = found.get("expires_in")
    if not isinstance(holds, int | float) or isinstance(holds, bool):
        return token, _UNSAID_S
    return token, max(0.0, min(holds, _LONGEST_S)) - _EARLY_S
