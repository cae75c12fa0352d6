"""Callers: whose request this is, found out anew for each request.

Of a request only its `Authorization` header is read; nothing else in it reaches a context (law 9). Where a profile
stands in for callers that present nothing, the deployment said so for its own machine.

Source: DESIGN sections 12 and 14; MCP 2026-07-28, authorization; RFC 6750.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pegboard.core.context import RuntimeContext
from pegboard.core.errors import StoreError
from pegboard.service.identity import Credential, CredentialKind, Identity, Refused, presented

__all__ = ["Caller", "Callers"]

_UNREADABLE = Refused(status=503, description="credentials cannot be verified now; try again later")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks: what was presented, and the context it gives at this moment."""

    credential: Credential
    context: RuntimeContext


class Callers:
    """Finds out who asks."""

    def __init__(self, identity: Identity, *, profile: str | None = None) -> None:
        """Serve callers of *identity*; those that present nothing are *profile*, where one is named."""
        self.identity = identity
        self._nobody = None if profile is None else Credential(kind=CredentialKind.PROFILE, text=profile)

    async def of(self, authorization: Sequence[str]) -> Caller | Refused:
        """Say whose request it is, by its `Authorization` headers."""
        if not authorization and self._nobody is not None:
            return await self.again(self._nobody)
        credential = presented(authorization)
        return credential if isinstance(credential, Refused) else await self.again(credential)

    async def again(self, credential: Credential) -> Caller | Refused:
        """Say what a credential gives now: it may have expired or been revoked, and its work may have moved on."""
        try:
            context = await self.identity.context_of(credential)
        except StoreError:
            return _UNREADABLE
        return context if isinstance(context, Refused) else Caller(credential=credential, context=context)
