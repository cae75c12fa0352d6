"""Where a request came from, and under which of our names it arrived.

Host and Origin are checked on every request, so that no web page reaches the gateway under a name of its own (DNS
rebinding). Only what came straight from this machine may do without a credential; what a proxy passed on shows it by
its headers.

Source: MCP 2026-07-28, Streamable HTTP, "Security Warning"; RFC 9110, section 7.2; RFC 7239.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from pegboard.gateway.settings import is_loopback

__all__ = ["Arrival", "Scope", "headers_of"]

Scope: TypeAlias = Mapping[str, Any]
"""The ASGI scope of a request."""

# What proxies add. A request that holds one did not come straight from where its connection did.
PASSED_ON = frozenset(
    {b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip"}
)
_USUAL_PORTS = {80, 443}


class Arrival:
    """Knows the names under which the gateway is reached."""

    def __init__(self, hosts: Iterable[str], origins: Iterable[str]) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origins)

    def knows_host(self, scope: Scope) -> bool:
        """Say whether the request was made to a name of ours: the address it arrived at, or a configured one."""
        hosts = headers_of(scope, b"host")
        return len(hosts) == 1 and self._is_ours(hosts[0], scope)

    def knows_origin(self, scope: Scope) -> bool:
        """Say whether the request is of no web page, of one of ours, or of one that is configured."""
        origins = headers_of(scope, b"origin")
        if not origins:
            return True
        scheme, _, host = origins[0].partition("://")
        known = origins[0] in self._origins or (scheme in {"http", "https"} and self._is_ours(host, scope))
        return known and len(origins) == 1

    def is_local(self, scope: Scope) -> bool:
        """Say whether the request came straight from this machine, and was made to a name of this machine."""
        client, hosts = scope.get("client"), headers_of(scope, b"host")
        return (
            client is not None
            and is_loopback(str(client[0]))
            and len(hosts) == 1
            and is_loopback(_split(hosts[0])[0])
            and not any(name.lower() in PASSED_ON for name, _ in scope["headers"])
        )

    def _is_ours(self, written: str, scope: Scope) -> bool:
        host, port = _split(written)
        if host in self._hosts:
            return True
        address, arrived_at = scope.get("server") or ("", None)
        # An address is no name that someone else could point at us; of names, this machine's own stand for loopback.
        same = host == str(address).lower() or (is_loopback(str(address)) and is_loopback(host))
        return same and (port == str(arrived_at) or (not port and arrived_at in _USUAL_PORTS))


def headers_of(scope: Scope, name: bytes) -> list[str]:
    """Return every header of this name, which is in lower case."""
    found: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return [value.decode("latin-1") for key, value in found if key.lower() == name]


def _split(written: str) -> tuple[str, str]:
    """Split `host:port` or `[address]:port`; what is neither has no host."""
    try:
        parts = urlsplit(f"//{written}")
        port = "" if parts.port is None else str(parts.port)
    except ValueError:
        return "", ""
    if parts.netloc != written or parts.username is not None:
        return "", ""
    return (parts.hostname or "").lower(), port
