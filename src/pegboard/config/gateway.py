"""The `[gateway]` table: where the gateway listens, whom it lets in, and how much it takes."""

from typing import Any
from urllib.parse import urlsplit

from pegboard.config.parsers import At, Parser, choice, integer, listing, name, number, section, text, wrong
from pegboard.gateway.listing import ListMode, ListSettings
from pegboard.gateway.settings import GatewaySettings

__all__ = ["gateway_section"]

_HIGHEST_PORT = 65_535
_DAY_S = 24 * 3600
# What is said of lists here, and what that is in `ListSettings`.
_LISTS = {"list": "mode", "list_all_at_most": "all_at_most"}


def gateway_section() -> Parser[GatewaySettings]:
    """Return the parser of `[gateway]`."""
    return section(
        _gateway,
        host=text,
        port=_port,
        hosts=_hosts,
        origins=_origins,
        profile=name,
        list=choice(ListMode),
        list_all_at_most=integer(0),
        requests_per_minute=integer(0),
        body_bytes=integer(1024),
        body_timeout_s=number(0.001, _DAY_S),
        connections=integer(1),
        drain_s=number(0, _DAY_S),
    )


def _gateway(**said: Any) -> GatewaySettings:
    lists = {name: said.pop(key) for key, name in _LISTS.items() if key in said}
    return GatewaySettings(listing=ListSettings(**lists), **said)


def _hosts(value: Any, at: At) -> frozenset[str]:
    return frozenset(listing(_host)(value, at))


def _origins(value: Any, at: At) -> frozenset[str]:
    return frozenset(listing(_origin)(value, at))


def _port(value: Any, at: At) -> int:
    found = integer(0)(value, at)
    if found > _HIGHEST_PORT:
        raise wrong(at, f"'port' must be at most {_HIGHEST_PORT}, not {found}")
    return found


def _host(value: Any, at: At) -> str:
    """Take a name without a port, as it stands in addresses."""
    found = text(value, at)
    if any(one in found for one in "/:@ "):
        raise wrong(at, f"{found!r} is no name of a host", 'write it alone: "tools.example.com"')
    return found.lower()


def _origin(value: Any, at: At) -> str:
    """Take an origin as browsers send it."""
    found = text(value, at)
    parts = urlsplit(found)
    if parts.scheme not in {"http", "https"} or not parts.netloc or found != f"{parts.scheme}://{parts.netloc}":
        raise wrong(at, f"{found!r} is no origin", 'write it as browsers do: "https://console.example.com"')
    return found
