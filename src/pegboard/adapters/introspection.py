"""Opaque access tokens: their issuer is asked whether they are in force, and what they say.

An answer is taken again for some seconds, so that one caller's requests are not all asked about; so long a token may
outlive its revocation, and never its expiry.

Source: RFC 7662; RFC 6749 section 2.3.1 for how we say who asks.
"""

from typing import Any

from pegboard.adapters.egress import Egress, EgressError
from pegboard.adapters.jwt import UNAVAILABLE, judged
from pegboard.adapters.token_settings import IntrospectionSettings, basic
from pegboard.core.names import parse_json
from pegboard.service.identity import Refused, Verified, invalid_token
from pegboard.service.keys import digest_of
from pegboard.service.ports import Clock

__all__ = ["Introspection"]

_KEPT_AT_MOST = 10_000
_MOST_BYTES = 64 * 1024


class Introspection:
    """`TokenVerifier` by the issuer's own word."""

    def __init__(self, settings: IntrospectionSettings, egress: Egress, clock: Clock) -> None:
        self._settings = settings
        self._egress = egress
        self._clock = clock
        self._headers = basic(settings.client_id, settings.secret)
        self._kept: dict[str, tuple[float, Any]] = {}

    async def verify(self, token: str) -> Verified | Refused:
        """Ask whether the token is in force, and check issuer, audience and times of the answer."""
        try:
            said = await self._said(token)
        except (EgressError, ValueError):
            return UNAVAILABLE
        if not isinstance(said, dict) or said.get("active") is not True:
            return invalid_token("the token is unknown, expired or revoked")
        # Who answers is the issuer, so it need not name itself (RFC 7662, section 2.2); named, it must be that one.
        return judged({"iss": self._settings.issuer, **said}, self._settings, self._clock.now())

    async def problem(self) -> str | None:
        """Ask about a token that nobody has, and say why there is no answer; None where there is one."""
        try:
            await self._said("none")
        except (EgressError, ValueError) as error:
            return str(error)
        return None

    async def _said(self, token: str) -> Any:
        digest, now = digest_of(token), self._clock.ticks()
        at, said = self._kept.get(digest, (0.0, None))
        if said is not None and now - at < self._settings.kept_s:
            return said
        form = {"token": token, "token_type_hint": "access_token"}
        url = self._settings.url
        said = parse_json(await self._egress.fetch(url, form=form, headers=self._headers, most_bytes=_MOST_BYTES))
        self._kept.pop(digest, None)
        if isinstance(said, dict) and said.get("active") is True:
            self._kept[digest] = (now, said)
        while len(self._kept) > _KEPT_AT_MOST:
            del self._kept[next(iter(self._kept))]
        return said
