"""Write traces off the request path, in batches, and let go of those that are too old.

Nobody waits for a trace. Where traces come faster than the store takes them, those of selections and of reads are
dropped and counted; the trace of a call that may change something is written through instead. A process that is
killed loses what it took in during the last `LINGER_S`; what such a call was stands in the ledger all the same.

Source: DESIGN section 10.
"""

from collections.abc import Sequence

from pegboard.core.errors import StoreError
from pegboard.service.audit import Audit, AuditKind
from pegboard.service.batching import Batches
from pegboard.service.ports import Clock, TraceStore
from pegboard.service.telemetry import QUIET, Key, Measure, Telemetry

__all__ = ["TraceWriter"]

# Pruning goes along with a batch, at most once a second and so many at a time: removing 1,000 held a SQLite file for
# 70 ms on a busy machine. That is 500 a second, more than one process makes.
PRUNE_EVERY_S = 1.0
PRUNED_AT_ONCE = 500


class TraceWriter:
    """Takes traces from whoever answers requests, and writes them."""

    def __init__(
        self, store: TraceStore, clock: Clock, audit: Audit, keep_s: float, telemetry: Telemetry = QUIET
    ) -> None:
        self._store = store
        self._clock = clock
        self._audit = audit
        self._keep_s = keep_s
        self._pruned_at = clock.now()
        self._told = 0
        self._batches: Batches[tuple[str, float, bytes]] = Batches(
            self._write, lost=lambda count: telemetry.measure(Measure.DROPPED, count, {Key.STREAM: "traces"})
        )

    @property
    def dropped(self) -> int:
        """Say how many traces of this process were lost: for want of room, or because the store took none."""
        return self._batches.dropped

    async def put(self, trace_id: str, at: float, body: bytes, *, keep: bool) -> None:
        """Take a trace, which is written soon; one to *keep* is written at once where there is no room.

        Raises:
            StoreError: A trace to keep could not be written through.
        """
        if keep and self._batches.full:
            await self._store.save_traces([(trace_id, at, body)])
        else:
            self._batches.offer((trace_id, at, body))

    async def flush(self) -> None:
        """Write everything that was taken in. Raises StoreError where that fails."""
        await self._batches.flush()

    async def prune(self, *, before: float | None = None) -> int:
        """Remove the traces from before a time, of which all are gone when this returns, and expired selections.

        Args:
            before: Unix seconds; unsaid: as long ago as traces are kept.

        Returns:
            How many records were removed.

        Raises:
            StoreError: The store could not be written.
        """
        await self.flush()
        now, total = self._clock.now(), 0
        limit = now - self._keep_s if before is None else before
        while removed := await self._store.prune(limit, now, PRUNED_AT_ONCE):
            total += removed
        return total

    async def _write(self, traces: Sequence[tuple[str, float, bytes]]) -> None:
        await self._store.save_traces(traces)
        try:
            await self._tidy()
        except StoreError:
            return  # the traces are written, which is what was asked; the next turn does the rest

    async def _tidy(self) -> None:
        """Tell operators what was lost, and now and then remove what is too old."""
        lost, now = self.dropped - self._told, self._clock.now()
        if lost:
            await self._audit.record(AuditKind.TRACES_LOST, count=lost)
            self._told += lost
        if now - self._pruned_at >= PRUNE_EVERY_S:
            self._pruned_at = now
            await self._store.prune(now - self._keep_s, now, PRUNED_AT_ONCE)
