"""What log-only policies would have done, as the traces have it: a policy may be put in force when this is right.

Each selection's trace says how many of the caller's own tools a policy would have taken away, and each call's whether
one would have decided otherwise.
"""

from dataclasses import dataclass, field
from typing import Any

from pegboard.core.names import Json
from pegboard.service.traces import SELECTION, Traces, Wanted

__all__ = ["Noted", "policy_report"]


@dataclass(slots=True, kw_only=True)
class Noted:
    """One log-only policy in numbers."""

    selections: int = 0
    """Selections of which it would have taken a tool away from the caller."""
    tools: int = 0
    """The most tools that it would have taken from one caller."""
    calls: dict[str, int] = field(default_factory=dict)
    """By verdict, the calls that it would have decided otherwise."""
    last: str | None = None
    """The newest of their traces."""

    def to_json(self) -> dict[str, Json]:
        """Return one element of the answer of `policy report`, but for the policy's id."""
        return {"selections": self.selections, "tools": self.tools, "calls": dict(self.calls), "last": self.last}


async def policy_report(traces: Traces, wanted: Wanted) -> tuple[int, dict[str, Noted]]:
    """Return how many traces there were, and what each log-only policy would have done in them, by its id.

    Raises:
        StoreError: The store could not be read.
    """
    total, found = 0, dict[str, Noted]()
    async for trace in traces.newest(wanted):
        total += 1
        for policy in trace.get("log_only", ()):
            _count(found.setdefault(policy, Noted()), policy, trace)
    return total, dict(sorted(found.items()))


def _count(noted: Noted, policy: str, trace: dict[str, Any]) -> None:
    noted.last = noted.last or trace["trace_id"]
    if trace["kind"] == SELECTION:
        noted.selections += 1
        noted.tools = max(noted.tools, trace["log_only"][policy])
    else:
        noted.calls[trace["verdict"]] = noted.calls.get(trace["verdict"], 0) + 1
