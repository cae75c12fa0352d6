"""Which protocol era a server speaks: a probe first, then the older handshake.

The SDK's own negotiation waits 10 s for an unanswered probe and is no public name; this one runs on the public verbs
of its session. Anything but a modern answer to the probe means that the handshake decides; an outage is no answer
and ends the attempt.

Source: MCP 2026-07-28, `server/discover`; MCP 2025-11-25, lifecycle.
"""

from mcp import MCPError
from mcp.client.session import ClientSession
from mcp.types import DiscoverResult, UnsupportedProtocolVersionErrorData
from mcp.types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

__all__ = ["negotiate"]


async def negotiate(session: ClientSession) -> None:
    """Adopt the modern era where the server shows that it knows it, and shake hands the older way otherwise.

    Raises:
        MCPError: The server refused the handshake.
        ValidationError: It answered the handshake with something else.
        RuntimeError: It chose a version that is not known here.
    """
    if await _adopted(session, LATEST_MODERN_VERSION):
        return
    try:
        await session.initialize()
    except MCPError as refusal:
        # A server that was slow to start has answered the probe meanwhile and is set on the modern era.
        shared = _shared_version(refusal)
        if shared is None or not await _adopted(session, shared):
            raise


async def _adopted(session: ClientSession, protocol_version: str, *, again: bool = True) -> bool:
    try:
        offered = DiscoverResult.model_validate(await session.send_discover(protocol_version))
    except MCPError as refusal:
        # It knows the modern era, and says which of its revisions it takes.
        shared = _shared_version(refusal) if again else None
        return shared is not None and await _adopted(session, shared, again=False)
    except ValidationError:
        return False
    if not set(offered.supported_versions) & set(MODERN_PROTOCOL_VERSIONS):
        return False
    session.adopt(offered)
    return True


def _shared_version(refusal: MCPError) -> str | None:
    try:
        supported = UnsupportedProtocolVersionErrorData.model_validate(refusal.error.data).supported
    except ValidationError:
        return None
    return max(set(supported) & set(MODERN_PROTOCOL_VERSIONS), default=None)
