"""What `doctor` finds around the catalog: the gateway, the issuer of tokens, clients that bypass it, and credentials
that callers share.
"""

import os
from collections.abc import Awaitable, Callable, Iterable
from shlex import quote
from typing import TYPE_CHECKING

from pegboard.cli.clients import existing
from pegboard.cli.errors import OUTSIDE
from pegboard.cli.finding import Finding, ok, remark
from pegboard.cli.serving import admits
from pegboard.cli.switching import address
from pegboard.core.errors import ConfigError

if TYPE_CHECKING:
    from pegboard.config.values import Config, ServerConfig
    from pegboard.wiring import System

__all__ = ["AROUND", "issuer", "running_gateway"]

_WAIT_S = 2.0


async def _gateway(config: "Config", system: "System") -> Iterable[Finding]:
    """Say whether `serve` would serve, and anybody."""
    if await admits(config, system, config.gateway):
        return [ok("gateway", f"`pegboard serve` would listen on {config.gateway.host}, port {config.gateway.port}")]
    fix = "`profile` of [gateway], `pegboard keys create`, or [identity.jwt]"
    return [remark("gateway", "nobody could use `pegboard serve` yet", str(config.file), fix)]


async def _clients(config: "Config", _: "System") -> Iterable[Finding]:
    """Name the clients whose files lead past the gate to servers that stand behind it."""
    from pegboard.config.mcp_servers import read_mcp_servers

    behind = {address(one): name for name, one in config.servers.items() if one.problem is None}
    found = []
    for client, path in existing(config.file.parent, os.environ):
        try:
            theirs = read_mcp_servers(path, os.environ).servers.values()
        except ConfigError:
            continue  # what cannot be read leads nowhere
        past = sorted({behind[address(one)] for one in theirs if address(one) in behind})
        if past:
            fix = f"`pegboard init --switch --from {quote(str(path))}` puts Pegboard in their place"
            message = f"{client} reaches {', '.join(past)} by itself: such calls pass no gate"
            found.append(remark("clients", message, str(path), fix))
    return found or [ok("clients", "no client's file leads past Pegboard")]


async def _credentials(config: "Config", system: "System") -> Iterable[Finding]:
    """Name the servers that cannot tell callers apart, where there are several."""
    now = system.catalog.clock.now()
    callers = {one.identity for one in config.profiles.values()}
    keys = [one for one in await system.keys.list() if one.alive(now)]
    if config.tokens is None and len(callers) + len(keys) < 2:
        return [ok("credentials", "one caller at most shares each server's credential")]
    shared = sorted(name for name, one in config.servers.items() if _has_credential(one))
    fix = "give the credential no more rights than every caller of that server may have"
    return [
        remark("credentials", f"all callers reach {name} with one credential: it cannot tell them apart", fix=fix)
        for name in shared
    ] or [ok("credentials", "no server is reached with a credential that callers share")]


async def running_gateway(config: "Config") -> Iterable[Finding]:
    """Ask the gateway that is configured, where one runs, how it does."""
    import httpx2

    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(config.gateway.host, config.gateway.host)  # noqa: S104
    url = f"http://{host}:{config.gateway.port}"
    try:
        async with httpx2.AsyncClient(timeout=_WAIT_S, trust_env=False) as http:
            answer = await http.get(f"{url}/readyz")
    except httpx2.HTTPError:
        return [ok("gateway", f"none runs at {url}")]
    if answer.text == "ready\n":
        return [ok("gateway", f"one runs at {url} and is ready")]
    if answer.text == "not ready\n":
        fix = "it has no catalog, cannot read its store, or is ending: see its log"
        return [remark("gateway", f"one runs at {url} and is not ready", fix=fix)]
    return [remark("gateway", f"something else answers at {url}", fix="`port` of [gateway] takes another port")]


async def issuer(config: "Config", system: "System") -> Iterable[Finding]:
    """Say whether access tokens can be verified, which takes their issuer."""
    from pegboard.wiring import identity_of

    if config.tokens is None:
        return []
    why = await identity_of(config, system).problem()
    if why is None:
        return [ok("tokens", f"{config.tokens.issuer} answers, so its tokens can be verified")]
    message = f"no token of {config.tokens.issuer} can be verified: {why}"
    fix = "correct [identity.jwt] or [identity.introspection], or see why the issuer cannot be reached from here"
    where = str(config.file)
    return [Finding(check="tokens", level="problem", message=message, where=where, fix=fix, status=OUTSIDE)]


def _has_credential(server: "ServerConfig") -> bool:
    """Say whether a server is shown one credential for all."""
    if server.credential is not None:
        return not server.credential.per_caller
    return bool(server.env) or "authorization" in {name.lower() for name in server.headers}


AROUND: tuple[tuple[str, Callable[["Config", "System"], Awaitable[Iterable[Finding]]]], ...] = (
    ("gateway", _gateway),
    ("clients", _clients),
    ("credentials", _credentials),
)
