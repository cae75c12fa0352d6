"""Tool servers: what the files declare of one, joined and resolved against the environment.

A `[servers.NAME]` table stands over the entry of the same name in an `mcpServers` file, key by key. Then `${VAR}`
and `${VAR:-default}` are replaced and the credential is fetched, from the environment or a file and nowhere else;
what is found for each caller only when it calls is checked as far as it can be. What cannot be resolved is that
server's own problem and stops no other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from pegboard.adapters.credential_settings import ServerCredential
from pegboard.config.credentials import (
    Credential,
    CredentialPart,
    Located,
    UnresolvedError,
    filled,
    secret,
    shown,
    variable,
)
from pegboard.config.evaluation import ModelApi
from pegboard.config.parsers import at_most_one_of
from pegboard.config.values import ServerConfig, Trust
from pegboard.core.errors import ConfigError
from pegboard.engine.proposals import ProposeRule
from pegboard.service.inputs import Kind

__all__ = ["EndpointPart", "ModelPart", "ServerPart", "over", "resolve"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPart:
    """What one file declares of a server, nothing replaced yet; None: it does not say."""

    command: tuple[str, ...] | None = field(default=None, repr=False)
    cwd: Located | None = None
    env: Mapping[str, str] | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    credential: CredentialPart | None = None
    namespace: str | None = None
    trust: Trust | None = None
    propose: tuple[ProposeRule, ...] | None = None
    connect_timeout_s: float | None = None
    list_timeout_s: float | None = None
    call_timeout_s: float | None = None
    refresh_timeout_s: float | None = None
    poll_s: float | None = None
    shared: bool | None = None
    may_ask: frozenset[Kind] | None = None
    problem: str | None = None

    def __post_init__(self) -> None:
        """Refuse two ways to reach one server, and one session for callers who are told apart."""
        at_most_one_of({"command": self.command, "url": self.url}, "command", "url")
        if self.shared and self.credential is not None and self.credential.per_caller:
            raise ValueError("'shared' gives all callers one session, and this credential is each caller's own")


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
        may_ask=part.may_ask or frozenset(),
        problem=part.problem,
    )
    if part.problem is not None:
        return plain
    try:
        env, headers, credential = _given(part, environ)
        server = replace(
            plain,
            command=None if part.command is None else tuple(filled(each, environ) for each in part.command),
            cwd=None if part.cwd is None else str(part.cwd.path(environ)),
            env=env,
            url=None if part.url is None else filled(part.url, environ),
            headers=headers,
            credential=credential,
        )
        server.settings()  # refuses what no client could reach
        return server
    except (UnresolvedError, ConfigError) as error:
        return replace(plain, problem=str(error))


def _given(
    part: ServerPart, environ: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str], ServerCredential | None]:
    """Return the variables of the process, the headers of the requests, one secret among them, or what is shown else.

    Raises:
        UnresolvedError: Something of it is not there, or does not go with how the server is reached.
    """
    env = {key: filled(value, environ) for key, value in (part.env or {}).items()}
    headers = {key: filled(value, environ) for key, value in (part.headers or {}).items()}
    said = part.credential
    if said is None:
        return env, headers, None
    if part.command is not None:
        if said.env is None:
            raise UnresolvedError("a command takes its credential from the environment: credential = { env = … }")
        return {**env, said.env: variable(said.env, environ)}, headers, None
    if any(key.lower() == "authorization" for key in headers):
        raise UnresolvedError("both its credential and its headers say Authorization")
    if (found := shown(said, None if part.url is None else filled(part.url, environ), environ)) is not None:
        return env, headers, found
    one = secret(Credential(env=said.env, file=said.file), environ)
    return env, {**headers, "Authorization": f"Bearer {one}"}, None
