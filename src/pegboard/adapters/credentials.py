"""Credentials of tool servers that are more than one secret: what is shown for whom, found when it is shown.

A session asks for the credential of its own principal, and is given that of whoever acts then if that is the same one;
otherwise nothing. The operator, who lists, is shown as itself and never as a caller. A caller's own access token is
shown to nobody: it is exchanged, or it stays here.

Source: RFC 8693; MCP 2026-07-28, authorization ("token passthrough"); DESIGN section 14.
"""

import string
from pathlib import Path
from typing import Protocol

import anyio

from pegboard.adapters.credential_settings import ServerCredential, UserFiles, sendable
from pegboard.adapters.egress import Egress
from pegboard.adapters.token_endpoint import NoTokenError, TokenEndpoint
from pegboard.service.acting import Acting, NoCredentialError, acting
from pegboard.service.ports import Clock

__all__ = ["Bearer", "bearer_of", "file_name"]

_MOST_BYTES = 64 * 1024
_PLAIN = frozenset(string.ascii_lowercase + string.digits + "_-.")


class Bearer(Protocol):
    """What one server is shown."""

    async def token(self, principal: str | None) -> str | None:
        """Return what to show for a principal, None for nothing; the operator is None.

        Raises:
            NoCredentialError: There is nothing to show for it, so nothing may be sent.
        """

    def forget(self, principal: str | None, refused: str) -> None:
        """Note that the server refused this: asked again, another is given where there is one."""


def bearer_of(server: str, settings: ServerCredential, egress: Egress, clock: Clock) -> Bearer:
    """Return what a server is shown by its configuration."""
    if isinstance(settings, UserFiles):
        return _Files(server, settings)
    endpoint = TokenEndpoint(settings, egress, clock)
    if settings.per_caller:
        return _Exchanged(server, endpoint, settings.listing)
    return _Own(server, endpoint)


def file_name(user: str | None, tenant: str | None, workload: str | None) -> str | None:
    """Return the name of a caller's file, None where it has none: `USER`, `USER@TENANT`, or `+WORKLOAD` without a user.

    Lower-case letters, digits, `_`, `-` and `.` stand for themselves, any other byte as `%` and two hexadecimal
    digits: no two callers have one name, not even where a file system takes `A` for `a`, and none leads elsewhere.
    """
    who = _escaped(user) if user else f"+{_escaped(workload)}" if workload else None
    return who if who is None or tenant is None else f"{who}@{_escaped(tenant)}"


class _Files:
    """A file for each caller, read whenever it is shown, so that a new one holds at once."""

    def __init__(self, server: str, settings: UserFiles) -> None:
        self._server = server
        self._settings = settings

    async def token(self, principal: str | None) -> str | None:
        if principal is None:
            return self._settings.listing
        who = _acting(self._server, principal)
        name = file_name(who.user, who.tenant, who.workload)
        found = None if name is None else await anyio.to_thread.run_sync(_read, self._settings.folder / name)
        if found is None:
            raise NoCredentialError(self._server, "this caller has no file of its own that holds one")
        return found

    def forget(self, principal: str | None, refused: str) -> None:
        """Do nothing: the file is read again in any case."""


class _Own:
    """One token of our own, for all."""

    def __init__(self, server: str, endpoint: TokenEndpoint) -> None:
        self._server = server
        self._endpoint = endpoint

    async def token(self, principal: str | None) -> str:
        return await _got(self._server, self._endpoint)

    def forget(self, principal: str | None, refused: str) -> None:
        self._endpoint.forget(refused)


class _Exchanged:
    """A token in exchange for each caller's; for the operator, our own."""

    def __init__(self, server: str, endpoint: TokenEndpoint, listing: str | None) -> None:
        self._server = server
        self._endpoint = endpoint
        self._listing = listing

    async def token(self, principal: str | None) -> str:
        if principal is None:
            return self._listing or await _got(self._server, self._endpoint)
        subject = _acting(self._server, principal).token
        if subject is None:
            problem = "this caller presented no access token that could be exchanged (API keys and profiles are none)"
            raise NoCredentialError(self._server, problem)
        return await _got(self._server, self._endpoint, principal, subject)

    def forget(self, principal: str | None, refused: str) -> None:
        if principal is None:
            self._endpoint.forget(refused)
        elif (who := acting(principal)) is not None and who.token is not None:
            self._endpoint.forget(refused, principal, who.token)


def _acting(server: str, principal: str) -> Acting:
    # INVARIANT: what is shown in a session is of its own principal, whoever's task asks.
    if (who := acting(principal)) is None:
        raise NoCredentialError(server, "it is not known for whom the call is made")
    return who


async def _got(server: str, endpoint: TokenEndpoint, principal: str = "", subject: str | None = None) -> str:
    try:
        return await endpoint.token(principal, subject)
    except NoTokenError as error:
        raise NoCredentialError(server, str(error)) from None


def _escaped(text: str) -> str:
    plain = text.encode("utf-8", "surrogatepass")
    found = "".join(chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}" for byte in plain)
    return f"%2E{found[1:]}" if found.startswith(".") else found


def _read(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            found = file.read(_MOST_BYTES).decode("ascii").strip()
    except (OSError, ValueError):
        return None
    return found if sendable(found) else None
