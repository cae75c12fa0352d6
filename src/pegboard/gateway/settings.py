"""What is configured of the gateway: `[gateway]` of the configuration, as one value with safe defaults."""

from dataclasses import dataclass, field
from ipaddress import ip_address

from pegboard.gateway.listing import ListSettings

__all__ = ["GatewaySettings", "is_loopback"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """How the gateway listens, whom it lets in, and how much it takes. Times are seconds."""

    host: str = "127.0.0.1"
    port: int = 8700
    hosts: frozenset[str] = frozenset()
    """The names under which it is reached, besides the address that it listens on."""
    origins: frozenset[str] = frozenset()
    """Web pages that may call it, besides its own."""
    profile: str | None = None
    """As whom a caller on this machine counts that presents no credential; None: it is refused."""
    listing: ListSettings = field(default_factory=ListSettings)
    """What the MCP door lists."""
    requests_per_minute: int = 600
    """Of one caller; 0: any number."""
    body_bytes: int = 4 * 1024 * 1024
    body_timeout_s: float = 30.0
    connections: int = 1_000
    drain_s: float = 30.0
    """How long running requests may take to end when the gateway is told to."""


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach what listens on *host*."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
