"""Acting: for whom a call is made, for whatever shows a tool server a credential of the caller's own.

It goes beside the call, as progress does. What a caller presented is in no context, no proposed call and no answer,
so no trace, ledger, audit or span can come to hold it. It decides nothing, and whoever reads it says for which caller:
what was presented by another is not there.

Source: DESIGN section 14 (confused deputy, token passthrough); MCP 2026-07-28, authorization, "Access token privilege
restriction".
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from pegboard.core.context import RuntimeContext
from pegboard.core.errors import UpstreamError
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


_ACTING: ContextVar[Acting | None] = ContextVar("acting", default=None)


@contextmanager
def presenting(credential: Credential, context: RuntimeContext) -> Iterator[None]:
    """Have calls in the body, by this task, made with what their caller presented for *context*."""
    token = credential.text if credential.kind is CredentialKind.BEARER else None
    with _set(_of(context, token)):
        yield


@contextmanager
def acting_for(context: RuntimeContext) -> Iterator[None]:
    """Make calls in the body for *context*; what a door said of the same caller stands."""
    with _set(acting(context.identity) or _of(context, None)):
        yield


def acting(identity: str) -> Acting | None:
    """Return for whom this task makes a call, None where that is not the caller of this identity."""
    found = _ACTING.get()
    return found if found is not None and found.identity == identity else None


@contextmanager
def _set(value: Acting) -> Iterator[None]:
    before = _ACTING.set(value)
    try:
        yield
    finally:
        _ACTING.reset(before)


def _of(context: RuntimeContext, token: str | None) -> Acting:
    return Acting(
        identity=context.identity,
        user=context.user,
        tenant=context.tenant,
        workload=context.workload,
        token=token,
    )
