"""Spans and measurements: what a deployment tells its operators' telemetry, and under which names.

The names are a table of our own, since the GenAI conventions are still moving and the constants that packages ship
for them are marked as moved. A span never holds a task, arguments, a result, or a name that a caller asked for: only
what was given to the caller, and of a call that was refused a fixed word (law 2). Errors are told by their kind.

Source: PROVIDERS section 7; OpenTelemetry GenAI and MCP conventions (status Development); W3C Trace Context.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol, TypeAlias

__all__ = ["NOT_NAMED", "QUIET", "Key", "Measure", "Operation", "Quiet", "Span", "Telemetry", "Value"]

Value: TypeAlias = str | bool | int | float | Sequence[str]

_CONTEXT = ("traceparent", "tracestate")
# W3C Trace Context, level 1, 3.2: a later version may say more behind what this one says.
_TRACEPARENT = re.compile("(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")
_PASSED: ContextVar[Mapping[str, str]] = ContextVar("passed", default=MappingProxyType({}))

# What stands where a tool's name would, if the caller may not know whether there is such a tool.
NOT_NAMED = "not_named"


class Operation(StrEnum):
    """What a span is about; its first word."""

    SELECT = "retrieval"
    CALL = "execute_tool"
    SEND = "tools/call"
    """One request to a tool server: a client's span, where the others are internal."""


class Key(StrEnum):
    """The attributes that spans and measurements may have."""

    OPERATION = "gen_ai.operation.name"
    DATA_SOURCE = "gen_ai.data_source.id"
    TOP_K = "gen_ai.request.top_k"
    TOOL = "gen_ai.tool.name"
    TOOL_TYPE = "gen_ai.tool.type"
    CALL_ID = "gen_ai.tool.call.id"
    METHOD = "mcp.method.name"
    ERROR = "error.type"
    STATUS = "rpc.response.status_code"
    SERVER = "pegboard.server"
    CATALOG = "pegboard.catalog.version"
    POLICY = "pegboard.policy.version"
    SELECTED = "pegboard.selected_tool_ids"
    FALLBACK = "pegboard.fallback.kind"
    OUTCOME = "pegboard.outcome"
    VERDICT = "pegboard.verdict"
    SELECTION_ID = "pegboard.selection.id"
    TRACE_ID = "pegboard.trace.id"
    STREAM = "pegboard.stream"


class Measure(StrEnum):
    """What is measured. Durations are histograms in seconds, the rest are counters."""

    SELECT_DURATION = "pegboard.select.duration"
    CALL_DURATION = "gen_ai.execute_tool.duration"
    SEND_DURATION = "mcp.client.operation.duration"
    DROPPED = "pegboard.records.dropped"
    """Traces and events of the audit that could not be put on record."""


class Span(Protocol):
    """A span that is open."""

    def about(self, target: str) -> None:
        """Call it by operation and target, where the target is known only now."""

    def note(self, attributes: Mapping[Key, Value]) -> None:
        """Add attributes."""

    def fail(self, kind: str) -> None:
        """Say that what it is about failed, and how: a kind, never a message."""


class Telemetry(Protocol):
    """Where spans and measurements go. Nothing here raises or waits."""

    def within(self, carrier: Mapping[str, str]) -> AbstractContextManager[None]:
        """Make what happens inside part of the caller's trace: `traceparent` and `tracestate` as they came."""

    def span(
        self, operation: Operation, target: str | None, attributes: Mapping[Key, Value]
    ) -> AbstractContextManager[Span]:
        """Open a span called by operation and target; what leaves it as an error fails it by its kind."""

    def carrier(self) -> dict[str, str]:
        """Return what makes another system's spans part of this trace, to be sent along."""

    def measure(self, measure: Measure, value: float, attributes: Mapping[Key, Value]) -> None:
        """Add one measurement."""


class Quiet:
    """`Telemetry` that goes nowhere. A caller's trace context is passed on as it came, as W3C asks of a middleman."""

    def about(self, target: str) -> None:
        """Forget it."""

    def note(self, attributes: Mapping[Key, Value]) -> None:
        """Forget it."""

    def fail(self, kind: str) -> None:
        """Forget it."""

    @contextmanager
    def within(self, carrier: Mapping[str, str]) -> Iterator[None]:
        """Keep the context for what is sent meanwhile; one that is malformed is none."""
        good = _TRACEPARENT.fullmatch(carrier.get("traceparent", "")) is not None
        token = _PASSED.set({name: carrier[name] for name in _CONTEXT if name in carrier} if good else {})
        try:
            yield
        finally:
            _PASSED.reset(token)

    def span(self, operation: Operation, target: str | None, attributes: Mapping[Key, Value]) -> "Quiet":
        """Open nothing."""
        del operation, target, attributes
        return self

    def carrier(self) -> dict[str, str]:
        """Return what came."""
        return dict(_PASSED.get())

    def measure(self, measure: Measure, value: float, attributes: Mapping[Key, Value]) -> None:
        """Forget it."""

    def __enter__(self) -> "Quiet":
        return self

    def __exit__(self, *failure: object) -> None:
        return None


QUIET = Quiet()
