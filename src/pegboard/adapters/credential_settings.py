"""What a tool server is shown of a caller or of us, where that is more than one secret. Values only; never shown."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from pegboard.adapters.token_settings import check_url

__all__ = ["Grant", "ServerCredential", "TokenGrant", "UserFiles", "sendable"]

_SENDABLE = re.compile(r"[\x21-\x7e]{1,16384}")


class Grant(StrEnum):
    """By which right a token endpoint is asked for a token."""

    CLIENT_CREDENTIALS = "client_credentials"
    """In our own name (RFC 6749, section 4.4)."""
    EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
    """In exchange for the caller's (RFC 8693)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserFiles:
    """A file for each caller, named as `credentials.file_name` says."""

    folder: Path
    listing: str | None = field(default=None, repr=False)
    """What the server is shown when its tools are listed; None: nothing."""

    @property
    def per_caller(self) -> bool:
        """Say that no caller is shown for another."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenGrant:
    """A token endpoint, as whom it is asked and for what."""

    grant: Grant
    token_url: str
    client_id: str
    client_secret: str = field(repr=False)
    scopes: tuple[str, ...] = ()
    resource: str | None = None
    """The server for which the token is (RFC 8707); None: it is not said."""
    audience: str | None = None
    listing: str | None = field(default=None, repr=False)
    """What the server is shown when its tools are listed; None: a token of our own from the same endpoint."""

    def __post_init__(self) -> None:
        """Refuse an address that cannot be used.

        Raises:
            ValueError: It cannot.
        """
        check_url("token_url", self.token_url)

    @property
    def per_caller(self) -> bool:
        """Say whether no caller is shown for another."""
        return self.grant is Grant.EXCHANGE


ServerCredential: TypeAlias = UserFiles | TokenGrant


def sendable(token: str) -> bool:
    """Say whether this can stand in a header as a bearer token."""
    return _SENDABLE.fullmatch(token) is not None
