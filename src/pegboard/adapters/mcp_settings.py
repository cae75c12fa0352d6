"""How one tool server is reached and how long it is waited for.

Values only; what they mean on the wire is in `mcp_stdio` and `mcp_http`. Secrets in them are never shown.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pegboard.adapters.credential_settings import ServerCredential
from pegboard.core.errors import ConfigError
from pegboard.service.inputs import Kind

__all__ = ["CALL_TIMEOUT_S", "ServerSettings"]

# The largest whole listing among 63 real servers has 2.1 MB; a page past this is an attack or a mistake.
_PAGE_BYTES = 32 * 1024 * 1024
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]*")
# How long a call may take, unless its server is given another time.
CALL_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How to reach one server, by a command or by a URL, and how long to wait for it.

    The page walk is not bounded here: how many pages and tools are taken, and what a repeated cursor means, is for
    the one who asks for pages.
    """

    name: str
    command: tuple[str, ...] | None = None
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Set in the child over an allowlist of our own environment; may hold secrets."""
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The only headers sent besides the protocol's; may hold secrets."""
    credential: ServerCredential | None = field(default=None, repr=False)
    """What is shown in `Authorization` where no header says it."""
    may_ask: frozenset[Kind] = frozenset()
    """What the server may ask of whoever calls it."""
    connect_timeout_s: float = 30.0
    """From the start to the end of the handshake; a first `npx` run installs the server meanwhile."""
    list_timeout_s: float = 60.0
    """A page. One of 63 real servers takes 35 s to list."""
    call_timeout_s: float = CALL_TIMEOUT_S
    page_bytes: int = _PAGE_BYTES
    """The largest message taken from the server, a page or a result."""

    def __post_init__(self) -> None:
        """Refuse contradictions.

        Raises:
            ConfigError: There is not exactly one of command and URL, or one of them or a header cannot be used.
        """
        where = f"servers.{self.name}"
        if (self.command is None) == (self.url is None):
            raise ConfigError(f"server {self.name!r} needs either a command or a url", where)
        if self.command is not None and not (self.command and self.command[0]):
            raise ConfigError(f"the command of server {self.name!r} is empty", where)
        if self.url is not None and not re.fullmatch(r"https?://[^/@\s]+(/[^\s]*)?", self.url):
            fix = "write http(s)://host/path; put a credential under headers"
            raise ConfigError(f"the url of server {self.name!r} cannot be used", where, fix)
        for name, value in self.headers.items():
            if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
                raise ConfigError(
                    f"header {name!r} of server {self.name!r} cannot be sent", where, "use printable ASCII"
                )
