"""The gateway: MCP at `/mcp`, the HTTP API at `/v1`, probes beside them, and what every request passes first.

In order: under which of our names it arrived, from which web page, how many its caller made, and how large it says it
is. Nothing of a request is logged but its method, its door and what it came to.
"""

import logging
from collections.abc import Awaitable, Callable
from pathlib import PurePath
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import anyio
from starlette.responses import JSONResponse, PlainTextResponse, Response

from pegboard.gateway.arrival import Arrival, Scope, headers_of
from pegboard.gateway.callers import Callers
from pegboard.gateway.counting import Counts
from pegboard.gateway.http import ROUTE, HttpApi
from pegboard.gateway.limits import Rates, Receive, check_length, in_time
from pegboard.gateway.probes import Probes
from pegboard.gateway.refusals import Refusal, refused
from pegboard.gateway.running import Running
from pegboard.gateway.settings import GatewaySettings
from pegboard.service.challenges import WELL_KNOWN, resource_metadata
from pegboard.service.identity import NO_CREDENTIAL, Credential, Refused, presented
from pegboard.service.keys import KeyRole

__all__ = ["Gateway"]

Send: TypeAlias = Callable[[Any], Awaitable[None]]
App: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]

_LOG = logging.getLogger("pegboard.gateway")
_MCP = "/mcp"
# What a client of the present era sends beside its body; without it, its request is refused.
_LISTEN = "subscriptions/listen"
# Why a request goes no further: status, kind, what is wrong, and what helps.
_ENDS = {
    "nothing": (404, "not-found", "there is nothing here", "see /v1/openapi.json"),
    "host": (
        421,
        "unknown-host",
        "the request was made to a name that is not ours",
        "the operator adds the name to `hosts` of [gateway]",
    ),
    "origin": (
        403,
        "unknown-origin",
        "the request is of an unknown web page",
        "the operator adds it to `origins` of [gateway]",
    ),
    "fault": (500, "unexpected", "this is a fault of Pegboard; its operator's log has a line of it", None),
}


class Gateway:
    """The whole of the doors as one ASGI application, for HTTP."""

    def __init__(self, running: Running, settings: GatewaySettings, mcp: App) -> None:
        audience = urlsplit(running.identity.settings.audience or "").hostname
        self._running = running
        self._settings = settings
        self._arrival = Arrival([*settings.hosts, *([audience] if audience else [])], settings.origins)
        self._rates = Rates(settings.requests_per_minute, running.catalog.clock.ticks)
        self._counts = Counts()
        self.probes = Probes(running, self._counts)
        self._mcp = mcp
        self._listening: set[anyio.CancelScope] = set()
        self._api = HttpApi(running, Callers(running.identity, profile=settings.profile), settings)

    def drain(self) -> None:
        """Be ready for nothing more, and end the streams on which clients only listen: the process is told to end."""
        self.probes.draining = True
        for listening in tuple(self._listening):
            listening.cancel()

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        ticks, status = self._running.catalog.clock.ticks, 0
        scope[ROUTE], began = "(none)", ticks()

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._counts.open += 1
        try:
            await self._served(scope, receive, sending)
        except Refusal as refusal:
            await refusal.response()(scope, receive, sending)
        except Exception as error:  # noqa: BLE001 - the process's edge: one request's fault ends no other
            _LOG.error("a request failed at %s: %s", scope[ROUTE], _fault(error))
            if not status:
                await _end("fault").response()(scope, receive, sending)
        finally:
            self._counts.open -= 1
            self._counts.done(scope["method"], scope[ROUTE], status, ticks() - began)

    async def _served(self, scope: Any, receive: Receive, send: Send) -> None:
        """Let a request pass, or not.

        Raises:
            Refusal: It may not.
        """
        path = scope["path"]
        if not self._arrival.knows_host(scope):
            raise _end("host")
        if not self._arrival.knows_origin(scope):
            raise _end("origin")
        if (answer := await self._beside(path, scope)) is not None:
            await answer(scope, receive, send)
            return
        self._admit(scope)
        check_length(scope, self._settings.body_bytes)
        receive = in_time(receive, self._settings.body_timeout_s)
        if path == _MCP:
            scope[ROUTE] = _MCP
            await self._mcp_served(scope, receive, send)
        elif path.startswith("/v1/"):
            await self._api.asgi(scope, receive, send)
        else:
            raise _end("nothing")

    async def _mcp_served(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve the MCP door; a stream on which a client only listens ends when the process does."""
        listens = scope["method"] == "GET" or _LISTEN in headers_of(scope, b"mcp-method")
        if not listens:
            await self._mcp(scope, receive, send)
            return
        with anyio.CancelScope() as listening:
            self._listening.add(listening)
            try:
                await self._mcp(scope, receive, send)
            finally:
                self._listening.discard(listening)

    def _admit(self, scope: Scope) -> None:
        """Count a request for its caller, known by what it presents or else by where it comes from.

        Raises:
            Refusal: It made too many, or presents nothing and did not come straight from this machine.
        """
        written = headers_of(scope, b"authorization")
        found = presented(written)
        client = scope.get("client") or ("", 0)
        self._rates.take(found.digest if isinstance(found, Credential) else f"at:{client[0]}")
        if not written and self._settings.profile is not None and not self._arrival.is_local(scope):
            raise refused(NO_CREDENTIAL, self._running.identity.settings)

    async def _beside(self, path: str, scope: Any) -> Response | None:
        """Answer what needs no caller; None for everything else."""
        # The metadata of a resource lies under its own path (RFC 9728, section 3.1), and there is one resource here.
        path = WELL_KNOWN if path.startswith(f"{WELL_KNOWN}/") else path
        if path not in _BESIDE:
            return None
        scope[ROUTE] = path
        if scope["method"] not in {"GET", "HEAD"}:
            return Refusal(
                status=405, kind="method-not-allowed", message="method not allowed", headers={"allow": "GET, HEAD"}
            ).response()
        return await _BESIDE[path](self, scope)

    async def _healthz(self, scope: Scope) -> Response:
        return PlainTextResponse("ok\n")

    async def _readyz(self, scope: Scope) -> Response:
        ready = await self.probes.ready()
        return PlainTextResponse("ready\n" if ready else "not ready\n", status_code=200 if ready else 503)

    async def _metrics(self, scope: Scope) -> Response:
        """Answer this machine's own collector, or an operator."""
        written = headers_of(scope, b"authorization")
        if written or not self._arrival.is_local(scope):
            identity = self._running.identity
            found = presented(written)
            who = found if isinstance(found, Refused) else await identity.application_of(found, KeyRole.OPERATOR)
            if isinstance(who, Refused):
                raise refused(who, identity.settings)
        return PlainTextResponse(await self.probes.metrics(), media_type="text/plain; version=0.0.4")

    async def _resource(self, scope: Scope) -> Response:
        """Say where tokens come from (RFC 9728)."""
        found = resource_metadata(self._running.identity.settings)
        if found is None:
            raise _end("nothing")
        return JSONResponse(found)


_BESIDE: dict[str, Callable[[Gateway, Scope], Awaitable[Response]]] = {
    "/healthz": Gateway._healthz,
    "/readyz": Gateway._readyz,
    "/metrics": Gateway._metrics,
    WELL_KNOWN: Gateway._resource,
}


def _end(why: str) -> Refusal:
    status, kind, message, fix = _ENDS[why]
    return Refusal(status=status, kind=kind, message=message, fix=fix)


def _fault(error: BaseException) -> str:
    """Name a fault by its class and its place: its text may hold what was sent."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = "" if last is None else f" in {PurePath(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}"
    return f"{type(error).__name__}{place}"
