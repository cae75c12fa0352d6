"""Tell telemetry of calls: of each that is judged, and of each that is sent to a tool server.

A server's own spans join the trace. A span names a tool only where the verdict does, so a name that was asked for and
is unknown or denied is in none (law 2).
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

from pegboard.core.errors import PegboardError, RefusedByServerError
from pegboard.core.names import Json
from pegboard.engine.verdict import VerdictKind
from pegboard.service.answering import CallAnswer
from pegboard.service.ports import Clock, Page, ToolServer, ToolServers
from pegboard.service.telemetry import NOT_NAMED, Key, Measure, Operation, Telemetry, Value

__all__ = ["ObservedServers", "observed_call"]

# MCP conventions: a result with `isError`.
_TOOL_ERROR = "tool_error"


@contextmanager
def observed_call(telemetry: Telemetry, clock: Clock) -> Iterator[Callable[[CallAnswer], None]]:
    """Open the span of one call; what it yields is told the answer."""
    began, about = clock.ticks(), {Key.OPERATION: Operation.CALL.value}
    with telemetry.span(Operation.CALL, None, about) as span:

        def tell(answer: CallAnswer) -> None:
            noted, failed = _noted(answer), _failure(answer)
            span.about(str(noted[Key.TOOL]))
            ids = {Key.TRACE_ID: answer.trace_id, Key.CALL_ID: answer.call_id}
            span.note({**noted, **{key: value for key, value in ids.items() if value is not None}})
            if failed:
                span.fail(failed)
            measured: dict[Key, Value] = {**about, **noted, **({Key.ERROR: failed} if failed else {})}
            telemetry.measure(Measure.CALL_DURATION, clock.ticks() - began, measured)

        yield tell


def _noted(answer: CallAnswer) -> dict[Key, Value]:
    return {Key.TOOL: answer.verdict.tool_id or NOT_NAMED, Key.VERDICT: answer.verdict.kind.value}


def _failure(answer: CallAnswer) -> str:
    """Return what kind of failure a call came to, empty where it did what was asked."""
    if answer.verdict.kind is not VerdictKind.ALLOWED:
        return answer.verdict.kind.value
    return "" if answer.succeeded else _TOOL_ERROR


class ObservedServers:
    """`ToolServers` whose calls are spans."""

    def __init__(self, servers: ToolServers, telemetry: Telemetry, clock: Clock) -> None:
        self._servers = servers
        self._telemetry = telemetry
        self._clock = clock

    def names(self) -> tuple[str, ...]:
        """Return the configured servers' names, sorted."""
        return self._servers.names()

    @asynccontextmanager
    async def connect(self, server: str, principal: str | None = None) -> AsyncIterator[ToolServer]:
        """Open or borrow a session. Raises as the servers themselves do."""
        async with self._servers.connect(server, principal) as session:
            yield _ObservedServer(session, server, self._telemetry, self._clock)


class _ObservedServer:
    """A session whose calls are spans; implements `ToolServer`."""

    def __init__(self, session: ToolServer, server: str, telemetry: Telemetry, clock: Clock) -> None:
        self._session = session
        self._server = server
        self._telemetry = telemetry
        self._clock = clock

    @property
    def changes(self) -> int:
        return self._session.changes

    async def list_page(self, cursor: str | None) -> Page:
        return await self._session.list_page(cursor)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Json], meta: Mapping[str, str] | None = None
    ) -> dict[str, Json]:
        about: dict[Key, Value] = {Key.METHOD: Operation.SEND.value, Key.TOOL: name, Key.SERVER: self._server}
        began, failed = self._clock.ticks(), ""
        try:
            with self._telemetry.span(Operation.SEND, name, {**about, Key.OPERATION: Operation.CALL.value}) as span:
                try:
                    result = await self._session.call_tool(
                        name, arguments, {**(meta or {}), **self._telemetry.carrier()}
                    )
                except PegboardError as error:
                    failed = error.kind
                    if isinstance(error, RefusedByServerError):
                        span.note({Key.STATUS: str(error.code)})
                    raise
                if result.get("isError"):
                    failed = _TOOL_ERROR
                    span.fail(failed)
                return result
        finally:
            wrong: dict[Key, Value] = {Key.ERROR: failed} if failed else {}
            self._telemetry.measure(Measure.SEND_DURATION, self._clock.ticks() - began, {**about, **wrong})

    async def listen(self, ring: Callable[[], None]) -> None:
        await self._session.listen(ring)
