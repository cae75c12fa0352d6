"""What went wrong with a server, as the port's errors, without the secrets that it was given.

A server's own words are quoted shortened, and what was configured for it is taken out of them: some print the key
that they were given.
"""

from mcp import MCPError

from pegboard.adapters.mcp_settings import ServerSettings
from pegboard.adapters.mcp_wire import TEXT_SHOWN, LossKind, LostError
from pegboard.core.errors import MalformedPageError, PageLimitError, UnreachableServerError, UpstreamError
from pegboard.core.text import one_line

__all__ = ["lost_page", "masked", "said", "unreachable"]

_SHORTEST_SECRET = 6


def unreachable(settings: ServerSettings, problem: str) -> UnreachableServerError:
    """Say that a server cannot be reached, and what to look at."""
    fix = "run its command by hand to see why" if settings.command is not None else "check its url and headers"
    return UnreachableServerError(settings.name, masked(settings, problem), f"servers.{settings.name}", fix)


def lost_page(settings: ServerSettings, lost: LostError) -> UpstreamError:
    """Say why a page did not come."""
    match lost.kind:
        case LossKind.TOO_BIG:
            return PageLimitError(settings.name, masked(settings, lost.problem))
        case LossKind.GARBLED:
            return MalformedPageError(settings.name, masked(settings, lost.problem))
        case LossKind.NO_ANSWER:
            return unreachable(settings, lost.problem)


def said(settings: ServerSettings, refusal: MCPError) -> str:
    """Quote what a server said when it refused."""
    return masked(settings, one_line(refusal.error.message, TEXT_SHOWN))


def masked(settings: ServerSettings, text: str) -> str:
    """Take what was configured for the server out of what it says."""
    for given in (*settings.env.values(), *settings.headers.values()):
        # "Bearer x" is masked by its parts too; what is shorter than a key would garble the text.
        for secret in (given, *given.split()):
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, "***")
    return text
