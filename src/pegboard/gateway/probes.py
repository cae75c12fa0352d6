"""Probes: whether the process lives, whether it is ready to serve, and what it counts.

Ready means: there is a catalog, the lock can be read, and revocations were read just now. What is not ready answers 503
and says why to nobody but an operator.
"""

from collections import Counter

from pegboard.core.errors import PegboardError
from pegboard.gateway.counting import Counts
from pegboard.gateway.running import Running

__all__ = ["Probes"]


class Probes:
    """Looks at a running system."""

    def __init__(self, running: Running, counts: Counts) -> None:
        self._running = running
        self._counts = counts
        self.draining = False
        """Whether the process was told to end: nobody should send it more."""

    async def ready(self) -> bool:
        """Say whether requests can be answered and calls be judged."""
        catalog = self._running.catalog
        if self.draining:
            return False
        try:
            published, revocations = await catalog.current(), await catalog.revocations()
        except PegboardError:
            return False
        age_s = catalog.clock.now() - revocations.as_of
        return published.head is not None and age_s <= catalog.deployment.revocations_at_most_s

    async def metrics(self) -> str:
        """Write the counts. They say how many tools there are, so they are not for callers."""
        gauges = {"pegboard_ready": float(await self.ready())}
        try:
            published = await self._running.catalog.current()
            gauges["pegboard_tools"] = float(len(published.view.snapshot.entries))
            gauges["pegboard_tools_waiting"] = float(published.waiting)
        except PegboardError:
            pass  # not ready says it
        states = Counter(str(one.state) for one in self._running.health.read())
        return self._counts.text(gauges, states)
