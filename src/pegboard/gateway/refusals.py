"""Refusals: why a request got no answer, in the one shape that errors have everywhere.

Nothing of a credential is repeated, and to an agent nothing of what failed inside: that could name what it may not see.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.responses import JSONResponse, Response

from pegboard.core.errors import (
    CatalogError,
    ConfigError,
    PegboardError,
    RetrievalError,
    StoreError,
    UnknownToolError,
    UpstreamError,
)
from pegboard.core.names import Json
from pegboard.service.challenges import challenge
from pegboard.service.claims import IdentitySettings
from pegboard.service.identity import Refused

__all__ = ["Refusal", "failed", "nothing", "refused"]

# Who must act, as an HTTP status. The first row that fits has its word.
STATUSES: tuple[tuple[type[PegboardError], int], ...] = (
    (UnknownToolError, 404),
    (ConfigError, 409),
    (StoreError, 503),
    (RetrievalError, 503),
    (UpstreamError, 502),
    (CatalogError, 503),
    (PegboardError, 500),
)
_OF_REFUSED = {401: "unauthorized", 403: "forbidden", 503: "unavailable"}
_NO_STORE = {"cache-control": "no-store"}


# Neither frozen nor shared: what raises an error writes its traceback into it.
@dataclass(eq=False, kw_only=True)
class Refusal(Exception):
    """A request that is answered with an error."""

    status: int
    kind: str
    message: str
    where: str | None = None
    fix: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.message

    def response(self) -> Response:
        """Return the answer."""
        shown: dict[str, Json] = {
            "kind": self.kind,
            "message": self.message,
            "where": self.where,
            "fix": self.fix,
        }
        return JSONResponse({"error": shown}, status_code=self.status, headers={**_NO_STORE, **self.headers})


def refused(why: Refused, settings: IdentitySettings) -> Refusal:
    """Return the answer to a credential that opens nothing here, with where to get another one."""
    headers = {"www-authenticate": challenge(why, settings)} if why.status in (401, 403) else {"retry-after": "5"}
    kind = _OF_REFUSED.get(why.status, "forbidden")
    return Refusal(status=why.status, kind=kind, message=why.description or kind, headers=headers)


def nothing(what: str, name: str) -> Refusal:
    """Say to an operator that there is no such thing."""
    return Refusal(status=404, kind="unknown", message=f"there is no {what} {name[:128]!r}")


def failed(error: PegboardError, *, operator: bool) -> Refusal:
    """Return the answer to what failed inside; its words are for operators alone."""
    if not operator:
        message, fix = "this cannot be answered now", "try again later"
        return Refusal(status=503, kind="unavailable", message=message, fix=fix)
    status = next(status for kind, status in STATUSES if isinstance(error, kind))
    return Refusal(status=status, kind=error.kind, message=str(error), where=error.where, fix=error.fix)
