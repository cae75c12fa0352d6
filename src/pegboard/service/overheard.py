"""Telemetry that is listened to: what spans, measurements and log lines say, kept as text to look through."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pegboard.service.telemetry import QUIET, Key, Measure, Operation, Span, Value

__all__ = ["Overheard"]


class Overheard:
    """`Telemetry` that keeps what spans and measurements say, and log lines."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.within, self.carrier = QUIET.within, QUIET.carrier

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear the log of everything for a while, from the beginning."""
        self.said.clear()
        root, ours = logging.getLogger(), logging.getLogger("pegboard")
        handler, level = _Handler(self.said), ours.level
        root.addHandler(handler)
        ours.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            ours.setLevel(level)
            root.removeHandler(handler)

    def about(self, target: str) -> None:
        self.said.append(target)

    def note(self, attributes: Mapping[Key, Value]) -> None:
        self.said.append(repr(attributes))

    def fail(self, kind: str) -> None:
        self.said.append(kind)

    @contextmanager
    def span(self, operation: Operation, target: str | None, attributes: Mapping[Key, Value]) -> Iterator[Span]:
        self.said.append(f"{operation} {target} {attributes!r}")
        yield self

    def measure(self, measure: Measure, value: float, attributes: Mapping[Key, Value]) -> None:
        self.said.append(f"{measure} {value} {attributes!r}")


class _Handler(logging.Handler):
    def __init__(self, said: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self._said = said

    def emit(self, record: logging.LogRecord) -> None:
        self._said.append(self.format(record))
