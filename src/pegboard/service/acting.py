"""Acting: for whom a call is made, for whatever shows a tool server a credential of the caller's own.

It goes beside the call, as progress does. What a caller presented is in no context, no proposed call and no answer,
so no trace, ledger, audit or span can come to hold it. It decides nothing, and whoever reads it says for which caller:
what was presented by another is not there.

Source: DESIGN section 14 (confused deputy, token passthrough); MCP 2026-07-28, authorization, "Access token privilege
restriction".
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from pegboard.core.context import RuntimeContext
from pegboard.core.errors import UpstreamError
from pegboard.service.beside import Beside
from pegboard.service.identity import Credential, CredentialKind

__all__ = ["Acting", "NoCredentialError", "acting", "acting_for", "presenting"]


@dataclass(unsafe_hash=True)
class NoCredentialError(UpstreamError):
    """There is no credential to show a server for this caller now; nothing was sent."""

    server: str
    problem: str

    def __str__(self) -> str:
        return f"there is no credential for server {self.server!r}: {self.problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """Who asks, by verified facts, and the access token that was verified; None where none was presented."""

    identity: str
    user: str | None = None
    tenant: str | None = None
    workload: str | None = None
    token: str | None = field(default=None, repr=False)


_ACTING: Beside[Acting] = Beside("acting")


def presenting(credential: Credential, context: RuntimeContext) -> AbstractContextManager[None]:
    """Have calls in the body, by this task, made with what their caller presented for *context*."""
    token = credential.text if credential.kind is CredentialKind.BEARER else None
    return _ACTING.said(_of(context, token))


def acting_for(context: RuntimeContext) -> AbstractContextManager[None]:
    """Make calls in the body for *context*; what a door said of the same caller stands."""
    return _ACTING.said(acting(context.identity) or _of(context, None))


def acting(identity: str) -> Acting | None:
    """Return for whom this task makes a call, None where that is not the caller of this identity."""
    found = _ACTING.now()
    return found if found is not None and found.identity == identity else None


def _of(context: RuntimeContext, token: str | None) -> Acting:
    return Acting(
        identity=context.identity,
        user=context.user,
        tenant=context.tenant,
        workload=context.workload,
        token=token,
    )
