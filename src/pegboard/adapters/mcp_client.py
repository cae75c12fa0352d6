"""Real tool servers behind the `ToolServers` port: over stdio or streamable HTTP, in both protocol eras.

The SDK's `ClientSession` speaks the protocol: a probe with `server/discover`, and where that brings nothing within
two seconds, the `initialize` handshake. Nothing a server does can hold us longer than its time limits or fill more
memory than its byte limit, and only the port's errors leave. What passes in a session is in `mcp_session`; `upstream`
keeps sessions open between uses.

Source: MCP 2026-07-28 and 2025-11-25, lifecycle and transports.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version

import anyio
from mcp import MCPError
from mcp.client.session import ClientSession
from mcp.types import Implementation
from pydantic import ValidationError

from pegboard.adapters.mcp_faults import said, unreachable
from pegboard.adapters.mcp_handshake import negotiate
from pegboard.adapters.mcp_http import HttpChannel, open_http
from pegboard.adapters.mcp_process import child_environment
from pegboard.adapters.mcp_session import OpenServer
from pegboard.adapters.mcp_settings import ServerSettings
from pegboard.adapters.mcp_stdio import StdioChannel, open_child
from pegboard.adapters.mcp_wire import TEXT_SHOWN, LostError, Wire
from pegboard.core.errors import UnreachableServerError
from pegboard.core.text import one_line

__all__ = ["McpServers"]


class McpServers:
    """The configured tool servers; implements `ToolServers`."""

    def __init__(self, settings: Mapping[str, ServerSettings]) -> None:
        self._settings = dict(settings)

    def names(self) -> tuple[str, ...]:
        """Return the configured servers' names, sorted."""
        return tuple(sorted(self._settings))

    @asynccontextmanager
    async def connect(self, server: str, principal: str | None = None) -> AsyncIterator[OpenServer]:
        """Open one session and close it at exit, child processes included; it is nobody else's, whoever asks.

        Raises (on entering):
            UnreachableServerError: It is not configured, cannot be started or reached, or does not answer in time.
        """
        settings = self._settings.get(server)
        if settings is None:
            raise UnreachableServerError(server, "no server of this name is configured")
        failure: BaseException | None = None
        try:
            async with _channel(settings) as channel:
                wire = Wire(channel)
                client = Implementation(name="pegboard", version=version("pegboard"))
                async with ClientSession(dispatcher=wire, client_info=client) as session:
                    await _shake_hands(settings, session, channel)
                    try:
                        yield OpenServer(settings, session, wire)
                    except BaseException as error:
                        failure = error
                        raise
        except LostError as lost:
            raise unreachable(settings, lost.problem) from lost
        except BaseExceptionGroup as group:
            # The task groups below wrap whatever passes through them; what was raised inside leaves as it was.
            failure = failure or _first(group)
        if failure is not None:
            raise failure


def _channel(settings: ServerSettings) -> AbstractAsyncContextManager[StdioChannel | HttpChannel]:
    if settings.command is not None:
        environment = child_environment(os.environ, settings.env)
        return open_child(settings.command, settings.cwd, environment, settings.page_bytes)
    assert settings.url is not None  # one of the two is set
    return open_http(settings.url, settings.headers, settings.page_bytes)


async def _shake_hands(settings: ServerSettings, session: ClientSession, channel: StdioChannel | HttpChannel) -> None:
    """Settle the era, within `connect_timeout_s`.

    Raises:
        UnreachableServerError: It is not settled.
    """
    with anyio.move_on_after(settings.connect_timeout_s):
        try:
            await negotiate(session)
        except LostError as lost:
            raise unreachable(settings, lost.problem) from lost
        except MCPError as refusal:
            raise unreachable(
                settings, f"it refused the handshake with error {refusal.code}: {said(settings, refusal)}"
            ) from refusal
        except (ValidationError, RuntimeError) as error:
            problem = f"it answered the handshake with nonsense: {one_line(str(error), TEXT_SHOWN)}"
            raise unreachable(settings, problem) from error
        return
    problem = f"it did not finish the handshake within {settings.connect_timeout_s:g} s{channel.last_words()}"
    raise unreachable(settings, problem)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found
