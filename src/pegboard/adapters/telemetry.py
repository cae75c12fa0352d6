"""`Telemetry` over the OpenTelemetry API: spans, measurements and the context that travels with a request.

The API is silent until the application, or `opentelemetry-instrument`, sets up the SDK; nothing here sets it up, names
an exporter or opens a connection. What an error says is never recorded: messages may name what a caller must not know.

Source: OpenTelemetry API 1.x; W3C Trace Context.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from opentelemetry import context as contexts
from opentelemetry import metrics, trace
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from pegboard.core.errors import PegboardError
from pegboard.service.telemetry import Key, Measure, Operation, Value

__all__ = ["OpenTelemetry"]

# `traceparent` and `tracestate` alone: baggage is the application's own, and tool servers are other people's.
_PROPAGATOR = TraceContextTextMapPropagator()

# Durations are histograms, counts are counters.
_HISTOGRAMS: dict[Measure, str] = {
    Measure.SELECT_DURATION: "How long a selection took.",
    Measure.CALL_DURATION: "How long a call took, judged and run.",
    Measure.SEND_DURATION: "How long a tool server took to answer a call.",
}
_COUNTERS: dict[Measure, str] = {
    Measure.DROPPED: "Traces and audit events that could not be put on record.",
}


class OpenTelemetry:
    """Implements `Telemetry`; providers that are given serve in place of the process's own."""

    def __init__(
        self, traced: trace.TracerProvider | None = None, metered: metrics.MeterProvider | None = None
    ) -> None:
        ours = version("pegboard")
        self._tracer = trace.get_tracer("pegboard", ours, traced)
        meter = metrics.get_meter("pegboard", ours, metered)
        self._histograms = {
            name: meter.create_histogram(name.value, unit="s", description=text) for name, text in _HISTOGRAMS.items()
        }
        self._counters = {name: meter.create_counter(name.value, description=text) for name, text in _COUNTERS.items()}

    @contextmanager
    def within(self, carrier: Mapping[str, str]) -> Iterator[None]:
        """Make what happens inside part of the caller's trace; what is no trace context changes nothing."""
        token = contexts.attach(_PROPAGATOR.extract(carrier))
        try:
            yield
        finally:
            contexts.detach(token)

    @contextmanager
    def span(self, operation: Operation, target: str | None, attributes: Mapping[Key, Value]) -> Iterator["_Open"]:
        """Open a span; what leaves it as an error fails it by its kind."""
        with self._tracer.start_as_current_span(
            operation.value if target is None else f"{operation} {target}",
            kind=SpanKind.CLIENT if operation is Operation.SEND else SpanKind.INTERNAL,
            attributes=_plain(attributes),
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            found = _Open(span, operation)
            try:
                yield found
            except BaseException as error:
                found.fail(error.kind if isinstance(error, PegboardError) else type(error).__name__)
                raise

    def carrier(self) -> dict[str, str]:
        """Return what makes another system's spans part of this trace."""
        found: dict[str, str] = {}
        _PROPAGATOR.inject(found)
        return found

    def measure(self, measure: Measure, value: float, attributes: Mapping[Key, Value]) -> None:
        """Add one measurement."""
        if measure in self._histograms:
            self._histograms[measure].record(value, _plain(attributes))
        else:
            self._counters[measure].add(value, _plain(attributes))


class _Open:
    """An open span."""

    def __init__(self, span: trace.Span, operation: Operation) -> None:
        self._span = span
        self._operation = operation

    def about(self, target: str) -> None:
        """Call it by operation and target."""
        self._span.update_name(f"{self._operation} {target}")

    def note(self, attributes: Mapping[Key, Value]) -> None:
        """Add attributes."""
        self._span.set_attributes(_plain(attributes))

    def fail(self, kind: str) -> None:
        """Say that what it is about failed, and how."""
        self._span.set_attribute(Key.ERROR, kind)
        self._span.set_status(Status(StatusCode.ERROR))


def _plain(attributes: Mapping[Key, Value]) -> dict[str, Any]:
    return {key.value: value for key, value in attributes.items()}
