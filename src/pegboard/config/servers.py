"""Tool servers: what the files declare of one, joined and resolved against the environment.

A `[servers.NAME]` table stands over the entry of the same name in an `mcpServers` file, key by key. Then `${VAR}`
and `${VAR:-default}` are replaced and the credential is fetched, from the environment or a file and nowhere else.
What cannot be resolved is that server's own problem and stops no other.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from pegboard.config.evaluation import ModelApi
from pegboard.config.parsers import At, at_most_one_of, text
from pegboard.config.reading import placed
from pegboard.config.values import ServerConfig, Trust
from pegboard.core.errors import ConfigError
from pegboard.engine.proposals import ProposeRule

__all__ = ["Credential", "Located", "ModelPart", "ServerPart", "UnresolvedError", "located", "over", "resolve"]

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
            return placed(self.folder, _filled(self.written, environ))
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
class ServerPart:
    """What one file declares of a server, nothing replaced yet; None: it does not say."""

    command: tuple[str, ...] | None = field(default=None, repr=False)
    cwd: Located | None = None
    env: Mapping[str, str] | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    credential: Credential | None = None
    namespace: str | None = None
    trust: Trust | None = None
    propose: tuple[ProposeRule, ...] | None = None
    connect_timeout_s: float | None = None
    list_timeout_s: float | None = None
    call_timeout_s: float | None = None
    refresh_timeout_s: float | None = None
    poll_s: float | None = None
    shared: bool | None = None
    problem: str | None = None

    def __post_init__(self) -> None:
        """Refuse two ways to reach one server."""
        at_most_one_of({"command": self.command, "url": self.url}, "command", "url")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointPart:
    """What the file says of an endpoint for embeddings, its credential not fetched yet."""

    url: str = field(repr=False)
    model: str
    dimensions: int
    credential: Credential | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPart:
    """What the file says of a model for evaluations, its credential not fetched yet."""

    api: ModelApi
    url: str = field(repr=False)
    model: str
    credential: Credential | None = None
    timeout_s: float = 60.0
    turns: int = 8


def over(upper: ServerPart, lower: ServerPart) -> ServerPart:
    """Lay one part over another: what the upper says stands; variables and headers are joined one by one."""
    said = {each.name: value for each in fields(ServerPart) if (value := getattr(upper, each.name)) is not None}
    # Whoever says how the server is reached replaces the other way too, and what was wrong with it.
    if "command" in said or "url" in said:
        lower = replace(lower, command=None, url=None, problem=None)
    for name in ("env", "headers"):
        if name in said and getattr(lower, name):
            said[name] = {**getattr(lower, name), **said[name]}
    return replace(lower, **said)


def resolve(name: str, part: ServerPart, *, origin: str, environ: Mapping[str, str]) -> ServerConfig:
    """Replace variables, fetch the credential and check that the server can be reached that way.

    Never raises: what is wrong becomes the server's `problem`.
    """
    plain = ServerConfig(
        name=name,
        origin=origin,
        namespace=part.namespace or name,
        trust=part.trust or Trust.REVIEW,
        propose=part.propose or (),
        connect_timeout_s=part.connect_timeout_s,
        list_timeout_s=part.list_timeout_s,
        call_timeout_s=part.call_timeout_s,
        refresh_timeout_s=part.refresh_timeout_s,
        poll_s=part.poll_s,
        shared=part.shared or False,
        problem=part.problem,
    )
    if part.problem is not None:
        return plain
    try:
        env, headers = _given(part, environ)
        server = replace(
            plain,
            command=None if part.command is None else tuple(_filled(each, environ) for each in part.command),
            cwd=None if part.cwd is None else str(part.cwd.path(environ)),
            env=env,
            url=None if part.url is None else _filled(part.url, environ),
            headers=headers,
        )
        server.settings()  # refuses what no client could reach
        return server
    except (UnresolvedError, ConfigError) as error:
        return replace(plain, problem=str(error))


def _given(part: ServerPart, environ: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the variables of the process and the headers of the requests, the credential among them."""
    env = {key: _filled(value, environ) for key, value in (part.env or {}).items()}
    headers = {key: _filled(value, environ) for key, value in (part.headers or {}).items()}
    if part.credential is None:
        return env, headers
    if part.command is not None:
        if part.credential.env is None:
            raise UnresolvedError("a command takes its credential from the environment: credential = { env = … }")
        return {**env, part.credential.env: secret(part.credential, environ)}, headers
    if any(key.lower() == "authorization" for key in headers):
        raise UnresolvedError("both its credential and its headers say Authorization")
    return env, {**headers, "Authorization": f"Bearer {secret(part.credential, environ)}"}


def secret(credential: Credential, environ: Mapping[str, str]) -> str:
    """Fetch a credential.

    Raises:
        UnresolvedError: It is not there.
    """
    if credential.file is None:
        return _variable(credential.env or "", environ)
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


def _filled(written: str, environ: Mapping[str, str]) -> str:
    """Replace `${VAR}` and `${VAR:-default}`; as in a shell the default stands for an empty variable too."""

    def value(found: re.Match[str]) -> str:
        variable = _VARIABLE.fullmatch(found.group(1))
        if variable is None:
            raise UnresolvedError(f"the placeholder {found.group()!r} cannot be replaced; ${{VARIABLE}} can")
        name, default = variable.groups()
        return _variable(name, environ) if default is None else environ.get(name) or default

    return _PLACEHOLDER.sub(value, written)


def _variable(name: str, environ: Mapping[str, str]) -> str:
    if (value := environ.get(name)) is None:
        raise UnresolvedError(f"the environment variable {name!r} is not set")
    return value
