"""Credentials: where a secret comes from, and what a tool server is shown where that is not one secret for all.

A secret stands in the environment or in a file of its own, and never in pegboard.toml. `${VAR}` and `${VAR:-default}`
are replaced here as well.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pegboard.adapters.credential_settings import Grant, ServerCredential, TokenGrant, UserFiles, sendable
from pegboard.config.parsers import At, Parser, at_most_one_of, section, text, texts
from pegboard.config.reading import placed
from pegboard.core.text import well_formed

__all__ = [
    "Credential",
    "CredentialPart",
    "Located",
    "TokensPart",
    "UnresolvedError",
    "credential_section",
    "filled",
    "located",
    "secret",
    "secret_section",
    "shown",
    "variable",
]

_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")
# `${env:VAR}` is Cursor's spelling, the other two are the shell's and Claude's.
_VARIABLE = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
_CREDENTIAL_BYTES = 64 * 1024


class UnresolvedError(Exception):
    """A variable or a credential is not there; the text names it and holds no secret."""


@dataclass(frozen=True, slots=True)
class Located:
    """A path as written, and the folder of the file that says it, which it is relative to."""

    folder: Path
    written: str

    def path(self, environ: Mapping[str, str]) -> Path:
        """Return the path, its variables replaced.

        Raises:
            UnresolvedError: A variable is not set, or the path cannot be.
        """
        try:
            return placed(self.folder, filled(self.written, environ))
        except ValueError as error:
            raise UnresolvedError(f"the path {self.written!r} cannot be used: {error}") from None


def located(value: Any, at: At) -> Located:
    """Take a path."""
    return Located(Path(at.file).parent, text(value, at))


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """Where a server's own credential comes from: an environment variable, or a file that holds nothing else."""

    env: str | None = None
    file: Located | None = None

    def __post_init__(self) -> None:
        """Refuse a credential from two places or from none."""
        at_most_one_of({"env": self.env, "file": self.file}, "env", "file")
        if self.env is None and self.file is None:
            raise ValueError("a credential needs 'env' or 'file'")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensPart:
    """What the file says of a token endpoint, our client's secret not fetched yet."""

    token_url: str = field(repr=False)
    client_id: str
    client_secret: Credential
    scopes: tuple[str, ...] = ()
    resource: str | None = None
    """For which server tokens are; None: the server's url; empty: it is not said."""
    audience: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialPart:
    """What a server is shown: one secret, or something for each caller."""

    env: str | None = None
    file: Located | None = None
    per_user: Located | None = None
    oauth: TokensPart | None = None
    exchange: TokensPart | None = None
    listing: Credential | None = None

    def __post_init__(self) -> None:
        """Refuse a credential from two places or from none, and one for listings that has no use."""
        ways = ("env", "file", "per_user", "oauth", "exchange")
        said = {name: getattr(self, name) for name in ways}
        at_most_one_of(said, *ways)
        if not any(said.values()):
            raise ValueError(f"a credential needs one of {', '.join(map(repr, ways))}")
        if self.listing is not None and not self.per_caller:
            raise ValueError("'listing' is for 'per_user' and 'exchange'; other credentials list as they call")

    @property
    def per_caller(self) -> bool:
        """Say whether no caller is shown for another."""
        return self.per_user is not None or self.exchange is not None


def secret_section() -> Parser[Credential]:
    """Return the parser of one secret's place."""
    return section(Credential, env=text, file=located)


def credential_section() -> Parser[CredentialPart]:
    """Return the parser of `[servers.NAME.credential]`."""
    tokens = section(
        TokensPart,
        required=("token_url", "client_id", "client_secret"),
        token_url=text,
        client_id=text,
        client_secret=secret_section(),
        scopes=texts,
        resource=_text_or_nothing,
        audience=text,
    )
    return section(
        CredentialPart,
        env=text,
        file=located,
        per_user=located,
        oauth=tokens,
        exchange=tokens,
        listing=secret_section(),
    )


def shown(said: CredentialPart, url: str | None, environ: Mapping[str, str]) -> ServerCredential | None:
    """Return how the credential is found when it is shown, None where it is one secret."""
    listing = None if said.listing is None else secret(said.listing, environ)
    if listing is not None and not sendable(listing):
        raise UnresolvedError("the credential for listing cannot be sent: it is not one word of printable ASCII")
    if said.per_user is not None:
        folder = said.per_user.path(environ)
        if not folder.is_dir():
            raise UnresolvedError(f"the folder of credentials {str(folder)!r} is not there")
        return UserFiles(folder=folder, listing=listing)
    tokens = said.oauth or said.exchange
    if tokens is None:
        return None
    try:
        return TokenGrant(
            grant=Grant.CLIENT_CREDENTIALS if said.exchange is None else Grant.EXCHANGE,
            token_url=filled(tokens.token_url, environ),
            client_id=tokens.client_id,
            client_secret=secret(tokens.client_secret, environ),
            scopes=tokens.scopes,
            resource=(url if tokens.resource is None else tokens.resource) or None,
            audience=tokens.audience,
            listing=listing,
        )
    except ValueError as error:
        raise UnresolvedError(str(error)) from None


def secret(credential: Credential, environ: Mapping[str, str]) -> str:
    """Fetch a credential.

    Raises:
        UnresolvedError: It is not there.
    """
    if credential.file is None:
        found = variable(credential.env or "", environ)
        if found != well_formed(found):
            raise UnresolvedError(f"the environment variable {credential.env!r} is not UTF-8")
        return found
    path = credential.file.path(environ)
    try:
        with path.open("rb") as file:
            found = file.read(_CREDENTIAL_BYTES).decode("utf-8").strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UnresolvedError(f"the credential file {str(path)!r} cannot be read: {reason}") from None
    if not found:
        raise UnresolvedError(f"the credential file {str(path)!r} is empty")
    return found


def filled(written: str, environ: Mapping[str, str]) -> str:
    """Replace `${VAR}` and `${VAR:-default}`; as in a shell the default stands for an empty variable too."""

    def value(found: re.Match[str]) -> str:
        inside = _VARIABLE.fullmatch(found.group(1))
        if inside is None:
            raise UnresolvedError(f"the placeholder {found.group()!r} cannot be replaced; ${{VARIABLE}} can")
        name, default = inside.groups()
        return variable(name, environ) if default is None else environ.get(name) or default

    return _PLACEHOLDER.sub(value, written)


def variable(name: str, environ: Mapping[str, str]) -> str:
    if (value := environ.get(name)) is None:
        raise UnresolvedError(f"the environment variable {name!r} is not set")
    return value


def _text_or_nothing(value: Any, at: At) -> str:
    return "" if value == "" else text(value, at)
