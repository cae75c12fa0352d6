"""A channel that shows its server a credential which is found anew for each request.

A request that is answered with 401 and a challenge was not carried out (RFC 9110, section 15.5.2), so where there is
another credential it is sent once more with that. Nothing else is ever sent twice. What was shown is taken out of what
the server says when it refuses.

Source: RFC 6750; MCP 2026-07-28, authorization.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mcp import MCPError

from pegboard.adapters.credentials import Bearer
from pegboard.adapters.mcp_bell import Bell
from pegboard.adapters.mcp_http import HttpChannel
from pegboard.adapters.mcp_status import UnauthorizedError
from pegboard.adapters.mcp_wire import Attempt, LostError

__all__ = ["AuthorizedChannel"]

# By so many characters a token is known.
_BEGINNING = 16


class AuthorizedChannel:
    """Moves messages as the channel under it does; implements `Channel`."""

    def __init__(self, channel: HttpChannel, bearer: Bearer, principal: str | None) -> None:
        self._channel = channel
        self._bearer = bearer
        self._principal = principal
        self._shown: str | None = None

    @property
    def bell(self) -> Bell:
        """Return the bell that rings when the server says that its list changed."""
        return self._channel.bell

    @property
    def standing(self) -> bool:
        """Say whether the session stands as far as it is known here."""
        return self._channel.standing

    @property
    def kept_by_server(self) -> bool:
        """Say whether the server keeps the session."""
        return self._channel.kept_by_server

    async def exchange(self, request: dict[str, Any], headers: Mapping[str, str], attempt: Attempt) -> object:
        """Send a request with the principal's credential and return its result.

        Raises:
            NoCredentialError: There is none; nothing was sent.
            MCPError: The server answered with an error.
            LostError: No usable answer came.
        """
        token = await self._bearer.token(self._principal)
        try:
            return await self._sent(request, headers, attempt, token)
        except UnauthorizedError as refusal:
            if token is None:
                raise
            self._bearer.forget(self._principal, token)
            another = await self._bearer.token(self._principal)
            if another == token:
                raise refusal
        attempt.sent = False
        return await self._sent(request, headers, attempt, another)

    async def tell(self, notification: dict[str, Any], headers: Mapping[str, str]) -> None:
        """Send a notification with what was shown last."""
        await self._channel.tell(notification, headers)

    async def listen(self) -> None:
        """Hear what a server of the handshake era says unasked, with what was shown last."""
        with _unsaid(self._shown):
            await self._channel.listen()

    def last_words(self) -> str:
        """Return what the server said last outside the protocol."""
        return self._channel.last_words()

    async def _sent(
        self, request: dict[str, Any], headers: Mapping[str, str], attempt: Attempt, token: str | None
    ) -> object:
        self._shown = token
        own = {} if token is None else {"authorization": f"Bearer {token}"}
        with _unsaid(token):
            return await self._channel.exchange(request, {**headers, **own}, attempt)


@contextmanager
def _unsaid(token: str | None) -> Iterator[None]:
    """Take a token out of whatever the server says that ends the body."""
    try:
        yield
    except MCPError as refusal:
        raise type(refusal)(refusal.code, _without(token, refusal.message), refusal.data) from None
    except LostError as lost:
        raise LostError(_without(token, lost.problem), lost.sent, lost.kind) from None


def _without(token: str | None, text: str) -> str:
    """Take a token out of what a server says, also where its end was cut off with the rest of the text."""
    return text if token is None else re.sub(rf"{re.escape(token[:_BEGINNING])}\S*", "***", text)
