"""Real tool servers behind the `ToolServers` port: over stdio or streamable HTTP, in both protocol eras.

The SDK's `ClientSession` speaks the protocol: a probe with `server/discover`, and where that brings nothing within
two seconds, the `initialize` handshake. Nothing a server does can hold us longer than its time limits or fill more
memory than its byte limit, and only the port's errors leave. What passes in a session is in `mcp_session`; `upstream`
keeps sessions open between uses.

Source: MCP 2026-07-28 and 2025-11-25, lifecycle and transports.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from importlib.metadata import version

import anyio
from mcp import MCPError
from mcp.client.session import ClientSession
from mcp.types import Implementation
from pydantic import ValidationError

from pegboard.adapters.clock import SystemClock
from pegboard.adapters.credential_settings import TokenGrant
from pegboard.adapters.credentials import Bearer, bearer_of
from pegboard.adapters.egress import Egress
from pegboard.adapters.mcp_authorized import AuthorizedChannel
from pegboard.adapters.mcp_faults import said, unreachable
from pegboard.adapters.mcp_handshake import negotiate
from pegboard.adapters.mcp_http import open_http
from pegboard.adapters.mcp_inputs import Inputs
from pegboard.adapters.mcp_process import child_environment
from pegboard.adapters.mcp_session import OpenServer
from pegboard.adapters.mcp_settings import ServerSettings
from pegboard.adapters.mcp_stdio import open_child
from pegboard.adapters.mcp_wire import TEXT_SHOWN, Channel, LostError, Wire
from pegboard.core.errors import UnreachableServerError
from pegboard.core.text import one_line
from pegboard.service.ports import Clock

__all__ = ["McpServers"]


class McpServers:
    """The configured tool servers; implements `ToolServers`."""

    def __init__(
        self, settings: Mapping[str, ServerSettings], clock: Clock | None = None, egress: Egress | None = None
    ) -> None:
        """Serve these servers; by *egress*, token endpoints are asked, those that the settings name."""
        self._settings = dict(settings)
        self._clock = clock or SystemClock()
        self._egress = egress

    def names(self) -> tuple[str, ...]:
        """Return the configured servers' names, sorted."""
        return tuple(sorted(self._settings))

    @asynccontextmanager
    async def connect(self, server: str, principal: str | None = None) -> AsyncIterator[OpenServer]:
        """Open one session and close it at exit, child processes included; it is nobody else's, whoever asks.

        Raises (on entering):
            UnreachableServerError: It is not configured, cannot be started or reached, or does not answer in time.
            NoCredentialError: It takes one that there is not.
        """
        settings = self._settings.get(server)
        if settings is None:
            raise UnreachableServerError(server, "no server of this name is configured")
        failure: BaseException | None = None
        inputs = Inputs(server=server, kinds=settings.may_ask)
        try:
            async with _channel(settings, inputs, self._bearers.get(server), principal) as channel:
                wire = Wire(channel, inputs.declared)
                client = Implementation(name="pegboard", version=version("pegboard"))
                async with ClientSession(dispatcher=wire, client_info=client) as session:
                    await _shake_hands(settings, session, channel)
                    try:
                        yield OpenServer(settings, session, wire, inputs)
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

    @cached_property
    def _bearers(self) -> Mapping[str, Bearer]:
        """Return what is shown to the servers that are shown more than a header."""
        shown = {name: one.credential for name, one in self._settings.items() if one.credential is not None}
        if not shown:
            return {}
        egress = self._egress or Egress(
            operators=[one.token_url for one in shown.values() if isinstance(one, TokenGrant)]
        )
        return {name: bearer_of(name, one, egress, self._clock) for name, one in shown.items()}


@asynccontextmanager
async def _channel(
    settings: ServerSettings, inputs: Inputs, bearer: Bearer | None, principal: str | None
) -> AsyncIterator[Channel]:
    if settings.command is not None:
        environment = child_environment(os.environ, settings.env)
        async with open_child(settings.command, settings.cwd, environment, settings.page_bytes, inputs) as child:
            yield child
        return
    assert settings.url is not None  # one of the two is set
    async with open_http(settings.url, settings.headers, settings.page_bytes, inputs) as http:
        yield http if bearer is None else AuthorizedChannel(http, bearer, principal)


async def _shake_hands(settings: ServerSettings, session: ClientSession, channel: Channel) -> None:
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
