"""A running system in memory for service tests: a fixed clock, numbered ids, scripted servers."""

from collections.abc import Mapping
from typing import Any

from pegboard.config.values import RankingChoice, Retrieval
from pegboard.core.policy import Reason
from pegboard.service.deployment import Deployment
from pegboard.wiring import System, in_memory
from tests.crm import TEMPLATES
from tests.servers import ScriptedToolServers


class FixedClock:
    """A clock that a test sets, and ids that count up."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.time = now
        self._ids = 0

    def now(self) -> float:
        """Return the time that was set."""
        return self.time

    def ticks(self) -> float:
        """Return the same."""
        return self.time

    def new_id(self, prefix: str) -> str:
        """Return the next number."""
        self._ids += 1
        return f"{prefix}_{self._ids}"


def system(servers: ScriptedToolServers, clock: FixedClock | None = None, **deployment: Any) -> System:
    """Build a system over scripted servers; only scopes are asked, and every tool is proposed under `sales`."""
    settings: Mapping[str, Any] = {
        "templates": TEMPLATES,
        "used": frozenset({Reason.SCOPE}),
        **deployment,
    }
    return in_memory(Deployment(**settings), servers, clock or FixedClock(), Retrieval(ranking=RankingChoice.FAST))
