"""All stores in one SQLite file: catalog versions, halts, lock versions, traces, selections, ledger, audit, keys.

Every change is one transaction, so a fault leaves the last committed state (law 5). What a loss of power may
take: the newest selections and traces (NORMAL), which only fails closed; never a publish, a halt, a lock
version, a document, a line of the ledger, an approval or an event of the audit (FULL), and syncing one of those
syncs all that came before it, so no call is on record whose selection is not. The death of any process takes
nothing that had returned.

Where it runs: reads and traces on the caller's thread without waiting (another process that holds the file
makes them move to a worker thread and wait there); everything else on a worker thread. Any number of threads
and processes may use one file.

Source: ENGINES "Storage"; https://sqlite.org/pragma.html#pragma_synchronous.
"""

import os
from collections.abc import Collection, Mapping, Sequence

from pegboard.adapters import sqlite_catalog as catalog
from pegboard.adapters import sqlite_listings as listed
from pegboard.adapters import sqlite_policy as policy
from pegboard.adapters import sqlite_traces as recorded
from pegboard.adapters import sqlite_vectors as kept
from pegboard.adapters.sqlite_audit import SqliteAudit
from pegboard.adapters.sqlite_contexts import SqliteContexts
from pegboard.adapters.sqlite_keys import SqliteKeys
from pegboard.adapters.sqlite_lanes import Lanes
from pegboard.adapters.sqlite_ledger import SqliteLedger
from pegboard.adapters.sqlite_prune import discard
from pegboard.adapters.sqlite_rollout import SqliteRollout
from pegboard.adapters.sqlite_schema import Place
from pegboard.adapters.sqlite_verify import verify
from pegboard.core.catalog import CatalogEntry
from pegboard.core.lock import Lock
from pegboard.core.revocations import Revocation
from pegboard.core.snapshot import Snapshot
from pegboard.service.ports import Discarded, Head, Listing, StoredSelection, Verification

__all__ = ["SqliteStore"]


class SqliteStore:
    """All stores over one file, some of them objects of their own, as `ledger` is. Build it with `open`."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self.ledger = SqliteLedger(lanes)
        self.audit = SqliteAudit(lanes)
        self.keys = SqliteKeys(lanes)
        self.contexts = SqliteContexts(lanes)
        self.rollout = SqliteRollout(lanes)

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
        return cls(Lanes(place))

    def close(self) -> None:
        """Close the file. Nothing is lost without it."""
        self._lanes.close()

    async def head(self) -> Head | None:
        """Return the served version, None in an empty store."""
        return await self._lanes.soon(catalog.head)

    async def load(self, number: int) -> Snapshot:
        """Return one version whole, digests checked."""
        return await self._lanes.aside(lambda connection: catalog.load(connection, number))

    async def versions(self) -> tuple[Head, ...]:
        """Return all versions, oldest first."""
        return await self._lanes.soon(catalog.versions)

    async def publish(self, snapshot: Snapshot, *, by: str, at: float, listings: Sequence[Listing]) -> Head:
        """Make *snapshot* the head and replace the listings of these servers, in one durable transaction."""
        return await self._lanes.aside(
            lambda connection: catalog.publish(connection, snapshot, by=by, at=at, listed=listings)
        )

    async def keep_listings(self, listings: Sequence[Listing], *, gone: Sequence[str] = ()) -> None:
        """Replace the listings of these servers and drop those of *gone*, without a new version."""
        await self._lanes.aside(lambda connection: catalog.keep_listings(connection, listings, gone))

    async def listings(self, servers: Collection[str] | None = None) -> tuple[Listing, ...]:
        """Return the last listing of each server, or of these, by name."""
        return await self._lanes.aside(lambda connection: listed.listings(connection, servers))

    async def listing_stamps(self) -> dict[str, object]:
        """Return for each server what its row says."""
        return await self._lanes.soon(listed.listing_stamps)

    async def live(self, servers: Collection[str] | None = None) -> tuple[tuple[str, str, str], ...]:
        """Return the (tool id, schema hash, server) of what servers, or these, last listed."""
        return await self._lanes.aside(lambda connection: listed.live(connection, servers))

    async def find(self, tool_id: str, schema_hash: str, server: str) -> CatalogEntry | None:
        """Return the newest stored entry of this server's tool with this declared content, or None."""
        return await self._lanes.soon(lambda connection: catalog.find(connection, tool_id, schema_hash, server))

    async def discard(
        self, versions: Collection[int], contents: Collection[tuple[str, str]], *, apply: bool
    ) -> Discarded:
        """Remove versions and what nothing refers to then, in one durable transaction."""
        return await self._lanes.aside(lambda connection: discard(connection, versions, contents, apply))

    async def verify(self) -> Verification:
        """Compute every digest anew."""
        return await self._lanes.aside(verify)

    async def halts(self) -> tuple[Revocation, ...]:
        """Return every halt on record, expired ones included, by target."""
        return await self._lanes.soon(policy.halts)

    async def halt(self, revocation: Revocation) -> None:
        """Put a halt in force, durably, before returning; it replaces one of the same target."""
        await self._lanes.surely(lambda connection: policy.halt(connection, revocation))

    async def resume(self, target: str) -> bool:
        """Lift a halt; False where there was none."""
        return await self._lanes.surely(lambda connection: policy.resume(connection, target))

    async def suspended(self) -> tuple[Revocation, ...]:
        """Return what refreshes have revoked, by target."""
        return await self._lanes.soon(policy.suspended)

    async def suspend(self, revocations: Sequence[Revocation], *, lifted: Collection[str] = ()) -> None:
        """Revoke tools on a refresh's behalf and lift others, in one durable transaction."""
        await self._lanes.surely(lambda connection: policy.suspend(connection, revocations, lifted))

    async def lock_version(self, lock: Lock, *, at: float) -> str:
        """Return `<n>-<digest>` of this state of the lock, recording it as a new version where it is not the last."""
        return await self._lanes.surely(lambda connection: policy.lock_version(connection, lock, at))

    async def keep(self, kind: str, digest: str, body: bytes) -> None:
        """Keep a document under its digest; keeping it again changes nothing."""
        await self._lanes.surely(lambda connection: policy.keep(connection, kind, digest, body))

    async def document(self, kind: str, digest: str) -> bytes | None:
        """Return a kept document, None where there is none."""
        return await self._lanes.soon(lambda connection: policy.document(connection, kind, digest))

    async def documents(self, kind: str) -> tuple[str, ...]:
        """Return the digests of the kept documents of one kind, sorted."""
        return await self._lanes.soon(lambda connection: policy.documents(connection, kind))

    async def forget(self, kind: str, digests: Collection[str]) -> None:
        """Remove documents that nothing refers to any more."""
        await self._lanes.surely(lambda connection: policy.forget(connection, kind, digests))

    async def save_selection(self, selection: StoredSelection) -> None:
        """Keep a selection, before its answer returns."""
        await self._lanes.soon(lambda connection: recorded.save_selection(connection, selection))

    async def selection(self, selection_id: str) -> StoredSelection | None:
        """Return a selection, expired or not; None where there is none."""
        return await self._lanes.soon(lambda connection: recorded.selection(connection, selection_id))

    async def save_traces(self, traces: Sequence[tuple[str, float, bytes]]) -> None:
        """Keep traces as (trace id, time, record), all or none, in one transaction."""
        await self._lanes.soon(lambda connection: recorded.save_traces(connection, traces))

    async def trace(self, trace_id: str) -> bytes | None:
        """Return one trace, None where there is none."""
        return await self._lanes.soon(lambda connection: recorded.trace(connection, trace_id))

    async def traces(
        self, limit: int, *, since: float = 0.0, until: float | None = None, skip: int = 0
    ) -> tuple[tuple[str, float], ...]:
        """Return ids and times of the newest traces from *since* up to before *until*, newest first."""
        return await self._lanes.soon(lambda connection: recorded.traces(connection, limit, since, until, skip))

    async def prune(self, before: float, now: float, limit: int) -> int:
        """Remove the oldest traces from before *before* and selections that expired before *now*; say how many."""
        return await self._lanes.aside(lambda connection: recorded.prune(connection, before, now, limit))

    async def vectors(self, model_id: str, digests: Collection[str]) -> dict[str, bytes]:
        """Return the vectors that are kept of these texts."""
        return await self._lanes.aside(lambda connection: kept.vectors(connection, model_id, digests))

    async def keep_vectors(self, model_id: str, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors of texts."""
        await self._lanes.aside(lambda connection: kept.keep_vectors(connection, model_id, vectors))

    async def prepared(self, key: str) -> bytes | memoryview | None:
        """Return what was made of a catalog version before."""
        return await self._lanes.aside(lambda connection: kept.prepared(connection, key))

    async def keep_prepared(self, key: str, body: bytes) -> None:
        """Keep what was made of a catalog version."""
        await self._lanes.aside(lambda connection: kept.keep_prepared(connection, key, body))
