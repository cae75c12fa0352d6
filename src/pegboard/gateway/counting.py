"""What the gateway counts of itself, and how it is read: Prometheus text, and one line a request in the log.

A route is named as the table of doors writes it, never as it was asked for: no tool, no query, no header and no word
of a caller gets into a count or a line.

Source: Prometheus, text exposition format 0.0.4.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Counts"]

_LOG = logging.getLogger("pegboard.access")
_HELP = {
    "pegboard_requests_total": ("counter", "Requests, by route and status."),
    "pegboard_request_seconds_total": ("counter", "Time spent on them, by route."),
    "pegboard_open_requests": ("gauge", "Requests that are running."),
    "pegboard_ready": ("gauge", "1 where it has a catalog, and revocations that can be read."),
    "pegboard_tools": ("gauge", "Tools in the catalog."),
    "pegboard_tools_waiting": ("gauge", "Tools that wait for a person."),
    "pegboard_servers": ("gauge", "Tool servers, by state."),
}


class Counts:
    """Counts requests."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self.open = 0

    def done(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that ended, and log it."""
        self._requests[route, status] += 1
        self._seconds[route] += seconds
        _LOG.info("%s %s %d %.0f ms", method if method.isalpha() else "?", route, status, seconds * 1e3)

    def text(self, gauges: Mapping[str, float], servers: Mapping[str, int]) -> str:
        """Write everything as Prometheus reads it."""
        rows: dict[str, list[str]] = {
            "pegboard_requests_total": [
                f'{{route="{route}",status="{status}"}} {count}'
                for (route, status), count in sorted(self._requests.items())
            ],
            "pegboard_request_seconds_total": [
                f'{{route="{route}"}} {seconds:.6f}' for route, seconds in sorted(self._seconds.items())
            ],
            "pegboard_open_requests": [f" {self.open}"],
            **{name: [f" {value:g}"] for name, value in gauges.items()},
            "pegboard_servers": [f'{{state="{state}"}} {count}' for state, count in sorted(servers.items())],
        }
        return "".join(_lines(rows.items()))


def _lines(rows: Iterable[tuple[str, list[str]]]) -> Iterator[str]:
    for name, values in rows:
        kind, told = _HELP[name]
        yield f"# HELP {name} {told}\n# TYPE {name} {kind}\n"
        yield from (f"{name}{value}\n" for value in values)
