"""What an HTTP status says of a request: that it was refused, and so did not run, or that it may have run.

Source: RFC 9110, section 15; MCP 2026-07-28, transports (streamable HTTP).
"""

from typing import Any

import httpx2
from mcp import MCPError
from mcp.types import INVALID_REQUEST

from pegboard.adapters.mcp_messages import outcome
from pegboard.adapters.mcp_wire import TEXT_SHOWN, LostError
from pegboard.core.text import one_line

__all__ = ["UnauthorizedError", "refuse_status"]

# Statuses after which a request may have run all the same: the server or a gateway gave up on it.
_MAYBE_RUN = frozenset({408, 499})
_ADVICE = {
    401: ": it wants a credential",
    403: ": the credential does not allow this",
    404: ": nothing is there, or the session has ended",
    429: ": too many requests, try later",
}


class UnauthorizedError(MCPError):
    """The server did not carry out the request, since it wants another credential (RFC 9110, section 15.5.2).

    Only with the challenge that goes with it: without one the answer may be that of something behind the server.
    """


def refuse_status(response: httpx2.Response, method: str, error: dict[str, Any] | None) -> None:
    """Raise for every status but success.

    Raises:
        MCPError: The server refused the request, or cannot be the one that was meant.
        LostError: The request may have run.
    """
    status = response.status_code
    if status == 401 and "www-authenticate" in response.headers:
        raise UnauthorizedError(INVALID_REQUEST, f"HTTP {status}{_ADVICE[status]}")
    if error is not None:
        outcome(error)
    if 300 <= status < 400:
        place = one_line(response.headers.get("location", ""), TEXT_SHOWN)
        raise MCPError(INVALID_REQUEST, f"HTTP {status}: it redirects to {place!r}, which is not followed")
    # The probe may fail in any way at a server that does not know it; the handshake then decides.
    refused = 400 <= status < 500 and status not in _MAYBE_RUN
    if refused or (status >= 400 and method == "server/discover"):
        raise MCPError(INVALID_REQUEST, f"HTTP {status}{_ADVICE.get(status, '')}")
    if status not in (200, 201):
        raise LostError(f"it answered with HTTP {status}", sent=True)
