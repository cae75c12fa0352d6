"""All stores in one SQLite file: catalog versions, halts, lock versions, traces, selections, the ledger.

Every change is one transaction, so a fault leaves the last committed state (law 5). What a loss of power may
take: the newest selections and traces (NORMAL), which only fails closed; never a publish, a halt, a lock
version, a document or a line of the ledger (FULL), and syncing one of those syncs all that came before it, so
no call is on record whose selection is not. The death of any process takes nothing that had returned.

Where it runs: reads and traces on the caller's thread without waiting (another process that holds the file
makes them move to a worker thread and wait there); everything else on a worker thread. Any number of threads
and processes may use one file.

Source: ENGINES "Storage"; https://sqlite.org/pragma.html#pragma_synchronous.
"""

import os
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from typing import TypeVar

from anyio import to_thread

from pegboard.adapters import sqlite_catalog as catalog
from pegboard.adapters import sqlite_policy as policy
from pegboard.adapters import sqlite_traces as ledger
from pegboard.adapters import sqlite_vectors as kept
from pegboard.adapters.sqlite_schema import Guarded, Place, connect, create_private, prepare
from pegboard.adapters.sqlite_verify import verify
from pegboard.adapters.store_errors import is_busy, translated
from pegboard.core.catalog import CatalogEntry
from pegboard.core.lock import Lock
from pegboard.core.revocations import Revocation
from pegboard.core.snapshot import Snapshot
from pegboard.service.ports import Head, Listing, StoredSelection, Verification

__all__ = ["SqliteStore"]

T = TypeVar("T")
_Work = Callable[[sqlite3.Connection], T]


class SqliteStore:
    """`SnapshotStore`, `PolicyStore` and `TraceStore` over one file. Build it with `open`."""

    def __init__(self, place: Place, quick: Guarded, sure: Guarded) -> None:
        self._place = place
        self._quick = quick
        self._sure = sure

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, timeout_s: float = 10.0, max_bytes: int | None = None
    ) -> "SqliteStore":
        """Open the file, creating it or bringing it to the present format where needed.

        Args:
            path: The file; its folder must exist.
            timeout_s: How long to wait for another process that is writing.
            max_bytes: How large the file may grow; None leaves it to the disk.

        Raises:
            StoreError: It cannot be opened, is no store of ours, is damaged, locked, or of a newer format.
        """
        place = Place(path=os.path.abspath(path), timeout_s=timeout_s, max_bytes=max_bytes)
        create_private(place.path)
        with translated(place.path):
            sure = connect(place)
            try:
                prepare(sure, place)
                quick = connect(place, synchronous="NORMAL")
                quick.execute("PRAGMA busy_timeout = 0")
            except BaseException:
                sure.close()
                raise
        return cls(place, Guarded(quick), Guarded(sure))

    def close(self) -> None:
        """Close the file. Nothing is lost without it."""
        self._quick.close()
        self._sure.close()

    async def head(self) -> Head | None:
        """Return the served version, None in an empty store."""
        return await self._soon(catalog.head)

    async def load(self, number: int) -> Snapshot:
        """Return one version whole, digests checked."""
        return await self._aside(lambda connection: catalog.load(connection, number))

    async def versions(self) -> tuple[Head, ...]:
        """Return all versions, oldest first."""
        return await self._soon(catalog.versions)

    async def publish(self, snapshot: Snapshot, *, by: str, at: float, listings: Sequence[Listing]) -> Head:
        """Make *snapshot* the head and replace the listings of these servers, in one durable transaction."""
        return await self._aside(
            lambda connection: catalog.publish(connection, snapshot, by=by, at=at, listed=listings)
        )

    async def keep_listings(self, listings: Sequence[Listing], *, gone: Sequence[str] = ()) -> None:
        """Replace the listings of these servers and drop those of *gone*, without a new version."""
        await self._aside(lambda connection: catalog.keep_listings(connection, listings, gone))

    async def listings(self) -> tuple[Listing, ...]:
        """Return the last listing of each server, by name."""
        return await self._aside(catalog.listings)

    async def live(self) -> tuple[tuple[str, str, str], ...]:
        """Return the (tool id, schema hash, server) of everything that servers last listed."""
        return await self._aside(catalog.live)

    async def find(self, tool_id: str, schema_hash: str, server: str) -> CatalogEntry | None:
        """Return the newest stored entry of this server's tool with this declared content, or None."""
        return await self._soon(lambda connection: catalog.find(connection, tool_id, schema_hash, server))

    async def verify(self) -> Verification:
        """Compute every digest anew."""
        return await self._aside(verify)

    async def halts(self) -> tuple[Revocation, ...]:
        """Return every halt on record, expired ones included, by target."""
        return await self._soon(policy.halts)

    async def halt(self, revocation: Revocation) -> None:
        """Put a halt in force, durably, before returning; it replaces one of the same target."""
        await self._surely(lambda connection: policy.halt(connection, revocation))

    async def resume(self, target: str) -> bool:
        """Lift a halt; False where there was none."""
        return await self._surely(lambda connection: policy.resume(connection, target))

    async def lock_version(self, lock: Lock, *, at: float) -> str:
        """Return `<n>-<digest>` of this state of the lock, recording it as a new version where it is not the last."""
        return await self._surely(lambda connection: policy.lock_version(connection, lock, at))

    async def keep(self, kind: str, digest: str, body: bytes) -> None:
        """Keep a document under its digest; keeping it again changes nothing."""
        await self._surely(lambda connection: policy.keep(connection, kind, digest, body))

    async def document(self, kind: str, digest: str) -> bytes | None:
        """Return a kept document, None where there is none."""
        return await self._soon(lambda connection: policy.document(connection, kind, digest))

    async def save_selection(self, selection: StoredSelection, trace_id: str, at: float, trace: bytes) -> None:
        """Keep a selection and its trace, both or neither, before the answer returns."""
        await self._soon(lambda connection: ledger.save_selection(connection, selection, trace_id, at, trace))

    async def selection(self, selection_id: str) -> StoredSelection | None:
        """Return a selection, expired or not; None where there is none."""
        return await self._soon(lambda connection: ledger.selection(connection, selection_id))

    async def save_trace(self, trace_id: str, at: float, trace: bytes) -> None:
        """Keep the trace of a call."""
        await self._soon(lambda connection: ledger.save_trace(connection, trace_id, at, trace))

    async def trace(self, trace_id: str) -> bytes | None:
        """Return one trace, None where there is none."""
        return await self._soon(lambda connection: ledger.trace(connection, trace_id))

    async def traces(self, limit: int) -> tuple[tuple[str, float], ...]:
        """Return ids and times of the newest traces, newest first."""
        return await self._soon(lambda connection: ledger.traces(connection, limit))

    async def open_call(self, call_id: str, at: float, record: bytes) -> None:
        """Write a call to the ledger, durably, before it is dispatched."""
        await self._surely(lambda connection: ledger.open_call(connection, call_id, at, record))

    async def close_call(self, call_id: str, at: float, outcome: str) -> None:
        """Write how the call ended; a call that was never closed has an unknown outcome."""
        await self._surely(lambda connection: ledger.close_call(connection, call_id, at, outcome))

    async def vectors(self, model_id: str, digests: Collection[str]) -> dict[str, bytes]:
        """Return the vectors that are kept of these texts."""
        return await self._aside(lambda connection: kept.vectors(connection, model_id, digests))

    async def keep_vectors(self, model_id: str, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors of texts."""
        await self._aside(lambda connection: kept.keep_vectors(connection, model_id, vectors))

    async def prepared(self, key: str) -> bytes | None:
        """Return what was made of a catalog version before."""
        return await self._aside(lambda connection: kept.prepared(connection, key))

    async def keep_prepared(self, key: str, body: bytes) -> None:
        """Keep what was made of a catalog version."""
        await self._aside(lambda connection: kept.keep_prepared(connection, key, body))

    async def _soon(self, work: _Work[T]) -> T:
        """Do short work here; where another process is in the way, wait for it on a worker thread."""
        with translated(self._place.path):
            try:
                return self._quick.use(work)
            except sqlite3.Error as error:
                if not is_busy(error):
                    raise
        return await self._surely(work)

    async def _surely(self, work: _Work[T]) -> T:
        """Do durable work on a worker thread, since it waits for the disk."""

        def run() -> T:
            with translated(self._place.path):
                return self._sure.use(work)

        return await to_thread.run_sync(run)

    async def _aside(self, work: _Work[T]) -> T:
        """Do long work on a worker thread and a connection of its own, so that nothing else waits for it."""

        def run() -> T:
            with translated(self._place.path), closing(connect(self._place)) as connection:
                return work(connection)

        return await to_thread.run_sync(run)
