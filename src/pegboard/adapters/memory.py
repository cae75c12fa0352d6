"""All stores in dictionaries: for tests, notebooks and a board made from a list of tools.

The same contract as a store on disk, checks included; nothing outlives the process.
"""

import threading
from collections.abc import Collection, Mapping, Sequence
from math import inf

from pegboard.adapters.memory_audit import MemoryAudit
from pegboard.adapters.memory_keys import MemoryContexts, MemoryKeys
from pegboard.adapters.memory_ledger import MemoryLedger
from pegboard.adapters.memory_rollout import MemoryRollout
from pegboard.adapters.store_errors import no_version, overtaken, refused
from pegboard.core.catalog import CatalogEntry, to_row
from pegboard.core.lock import Lock
from pegboard.core.names import digest, short
from pegboard.core.revocations import Revocation
from pegboard.core.snapshot import Snapshot, snapshot_digest
from pegboard.service.ports import Discarded, Head, Listing, StoredSelection, Verification

__all__ = ["MemoryLockFile", "MemoryStore"]


class MemoryStore:
    """All stores in memory, some of them objects of their own, as `ledger` is. Safe from several threads."""

    def __init__(self) -> None:
        # INVARIANT: no method awaits while it holds the guard, so a method is one step for every other.
        self._guard = threading.Lock()
        self._snapshots: dict[int, Snapshot] = {}
        self._heads: dict[int, Head] = {}
        self._listings: dict[str, Listing] = {}
        self._rows: dict[str, CatalogEntry] = {}
        self._contents: dict[tuple[str, str, str], CatalogEntry] = {}
        self._halts: dict[str, Revocation] = {}
        self._suspended: dict[str, Revocation] = {}
        self._locks: list[str] = []
        self._documents: dict[tuple[str, str], bytes] = {}
        self._selections: dict[str, StoredSelection] = {}
        self._traces: dict[str, tuple[float, bytes]] = {}
        self._vectors: dict[tuple[str, str], bytes] = {}
        self.ledger, self.audit = MemoryLedger(), MemoryAudit()
        self.keys, self.contexts = MemoryKeys(), MemoryContexts()
        self.rollout = MemoryRollout()

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    async def head(self) -> Head | None:
        """Return the served version, None in an empty store."""
        with self._guard:
            return self._heads[max(self._heads)] if self._heads else None

    async def load(self, number: int) -> Snapshot:
        """Return one version whole."""
        with self._guard:
            if number not in self._snapshots:
                raise no_version(number)
            return self._snapshots[number]

    async def versions(self) -> tuple[Head, ...]:
        """Return all versions, oldest first."""
        with self._guard:
            return tuple(self._heads.values())

    async def publish(self, snapshot: Snapshot, *, by: str, at: float, listings: Sequence[Listing]) -> Head:
        """Make *snapshot* the head and replace the listings of these servers, all or nothing."""
        new = Head(
            number=snapshot.number,
            digest=snapshot.digest,
            published_at=at,
            by=by,
            tools=len(snapshot.entries),
        )
        with self._guard:
            if (served := max(self._heads, default=0)) != new.number - 1:
                raise overtaken(new.number, served)
            self._store(snapshot.entries)
            self._snapshots[new.number] = snapshot
            self._heads[new.number] = new
            self._keep_listings(listings)
        return new

    async def keep_listings(self, listings: Sequence[Listing], *, gone: Sequence[str] = ()) -> None:
        """Replace the listings of these servers and drop those of *gone*, without a new version."""
        with self._guard:
            for server in gone:
                self._listings.pop(server, None)
            self._keep_listings(listings)

    async def listings(self, servers: Collection[str] | None = None) -> tuple[Listing, ...]:
        """Return the last listing of each server, or of these, by name."""
        with self._guard:
            wanted = self._listings if servers is None else self._listings.keys() & set(servers)
            return tuple(self._listings[server] for server in sorted(wanted))

    async def listing_stamps(self) -> dict[str, object]:
        """Return each server's listing itself, which is never changed."""
        with self._guard:
            return dict(self._listings)

    async def live(self, servers: Collection[str] | None = None) -> tuple[tuple[str, str, str], ...]:
        """Return the (tool id, schema hash, server) of what servers, or these, last listed."""
        with self._guard:
            listed = [one for name, one in sorted(self._listings.items()) if servers is None or name in servers]
            return tuple((entry.tool_id, entry.schema_hash, one.server) for one in listed for entry in one.entries)

    async def find(self, tool_id: str, schema_hash: str, server: str) -> CatalogEntry | None:
        """Return the newest stored entry of this server's tool with this declared content, or None."""
        with self._guard:
            return self._contents.get((tool_id, schema_hash, server))

    async def discard(
        self, versions: Collection[int], contents: Collection[tuple[str, str]], *, apply: bool
    ) -> Discarded:
        """Remove versions and the entries that nothing refers to then."""
        with self._guard:
            gone = {number for number in versions if number in self._heads and number != max(self._heads)}
            kept = [one.entries for number, one in self._snapshots.items() if number not in gone]
            kept += [listing.entries for listing in self._listings.values()]
            used = {entry.row for entries in kept for entry in entries}
            lost = {
                row: entry
                for row, entry in self._rows.items()
                if row not in used and (entry.tool_id, entry.schema_hash) not in contents
            }
            if apply:
                for number in gone:
                    del self._snapshots[number], self._heads[number]
                for row, entry in lost.items():
                    del self._rows[row]
                    self._contents.pop((entry.tool_id, entry.schema_hash, entry.source_server), None)
                self._contents.update(
                    ((one.tool_id, one.schema_hash, one.source_server), one) for one in self._rows.values()
                )
            return Discarded(versions=len(gone), rows=len(lost))

    async def verify(self) -> Verification:
        """Compute every digest anew."""
        with self._guard:
            bad = [
                f"the row {row} has another digest" for row, entry in self._rows.items() if digest(to_row(entry)) != row
            ]
            bad += [
                f"the version {number} has another digest"
                for number, snapshot in self._snapshots.items()
                if snapshot_digest(snapshot.entries) != self._heads[number].digest
            ]
            return Verification(versions=len(self._snapshots), rows=len(self._rows), bad=tuple(bad))

    async def halts(self) -> tuple[Revocation, ...]:
        """Return every halt on record, expired ones included, by target."""
        with self._guard:
            return tuple(self._halts[target] for target in sorted(self._halts))

    async def halt(self, revocation: Revocation) -> None:
        """Put a halt in force; it replaces one of the same target."""
        with self._guard:
            self._halts[revocation.target] = revocation

    async def resume(self, target: str) -> bool:
        """Lift a halt; False where there was none."""
        with self._guard:
            return self._halts.pop(target, None) is not None

    async def suspended(self) -> tuple[Revocation, ...]:
        """Return what refreshes have revoked, by target."""
        with self._guard:
            return tuple(self._suspended[target] for target in sorted(self._suspended))

    async def suspend(self, revocations: Sequence[Revocation], *, lifted: Collection[str] = ()) -> None:
        """Revoke tools on a refresh's behalf and lift others."""
        with self._guard:
            self._suspended.update({one.target: one for one in revocations})
            for target in lifted:
                self._suspended.pop(target, None)

    async def lock_version(self, lock: Lock, *, at: float) -> str:
        """Return `<n>-<digest>` of this state of the lock; a state that is not the last becomes a new version."""
        del at  # nothing here reads it back
        with self._guard:
            if not self._locks or self._locks[-1] != lock.digest:
                self._locks.append(lock.digest)
            return f"{len(self._locks)}-{short(lock.digest)}"

    async def keep(self, kind: str, digest: str, body: bytes) -> None:
        """Keep a document under its digest; keeping it again changes nothing."""
        with self._guard:
            self._documents.setdefault((kind, digest), body)

    async def document(self, kind: str, digest: str) -> bytes | None:
        """Return a kept document, None where there is none."""
        with self._guard:
            return self._documents.get((kind, digest))

    async def documents(self, kind: str) -> tuple[str, ...]:
        """Return the digests of the kept documents of one kind, sorted."""
        with self._guard:
            return tuple(sorted(digest for one, digest in self._documents if one == kind))

    async def forget(self, kind: str, digests: Collection[str]) -> None:
        """Remove documents that nothing refers to any more."""
        with self._guard:
            for one in digests:
                self._documents.pop((kind, one), None)

    async def save_selection(self, selection: StoredSelection) -> None:
        """Keep a selection, before its answer returns."""
        with self._guard:
            if selection.selection_id in self._selections:
                raise refused(f"there is a selection {selection.selection_id!r} already")
            self._selections[selection.selection_id] = selection

    async def selection(self, selection_id: str) -> StoredSelection | None:
        """Return a selection, expired or not; None where there is none."""
        with self._guard:
            return self._selections.get(selection_id)

    async def save_traces(self, traces: Sequence[tuple[str, float, bytes]]) -> None:
        """Keep traces as (trace id, time, record), all or none."""
        with self._guard:
            new: dict[str, tuple[float, bytes]] = {}
            for trace_id, at, body in traces:
                if trace_id in self._traces or trace_id in new:
                    raise refused(f"there is a trace {trace_id!r} already")
                new[trace_id] = (at, body)
            self._traces.update(new)

    async def trace(self, trace_id: str) -> bytes | None:
        """Return one trace, None where there is none."""
        with self._guard:
            return self._traces[trace_id][1] if trace_id in self._traces else None

    async def traces(
        self, limit: int, *, since: float = 0.0, until: float | None = None, skip: int = 0
    ) -> tuple[tuple[str, float], ...]:
        """Return ids and times of the newest traces, newest first; of one time, the one written last comes first."""
        end = inf if until is None else until
        with self._guard:
            last_first = [(id_, at) for id_, (at, _) in reversed(self._traces.items()) if since <= at < end]
        return tuple(sorted(last_first, key=lambda found: -found[1])[skip:][: max(0, limit)])

    async def prune(self, before: float, now: float, limit: int) -> int:
        """Remove the oldest traces from before *before* and selections that expired before *now*; say how many."""
        with self._guard:
            old = sorted((at, trace_id) for trace_id, (at, _) in self._traces.items() if at < before)[:limit]
            gone = sorted((one.expires_at, id_) for id_, one in self._selections.items() if one.expires_at < now)[
                :limit
            ]
            for _, trace_id in old:
                del self._traces[trace_id]
            for _, selection_id in gone:
                del self._selections[selection_id]
            return len(old) + len(gone)

    async def vectors(self, model_id: str, digests: Collection[str]) -> dict[str, bytes]:
        """Return the vectors that are kept of these texts."""
        with self._guard:
            return {key: self._vectors[model_id, key] for key in digests if (model_id, key) in self._vectors}

    async def keep_vectors(self, model_id: str, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors of texts; one that is there already stays."""
        with self._guard:
            for key, vector in vectors.items():
                self._vectors.setdefault((model_id, key), vector)

    async def prepared(self, key: str) -> bytes | None:
        """Return None: what is made in this process is held by whoever made it."""
        return None

    async def keep_prepared(self, key: str, body: bytes) -> None:
        """Keep nothing."""

    def _store(self, entries: Sequence[CatalogEntry]) -> None:
        for entry in entries:
            if entry.row not in self._rows:
                self._rows[entry.row] = entry
                self._contents[entry.tool_id, entry.schema_hash, entry.source_server] = entry

    def _keep_listings(self, listings: Sequence[Listing]) -> None:
        for listing in listings:
            self._store(listing.entries)
            self._listings[listing.server] = listing


class MemoryLockFile:
    """`LockFile` in memory."""

    def __init__(self, lock: Lock | None = None) -> None:
        self._lock = lock or Lock.of()

    def stamp(self) -> object:
        """Return the content's digest."""
        return self._lock.digest

    def read(self) -> Lock:
        """Return the lock."""
        return self._lock

    def write(self, lock: Lock) -> None:
        """Replace the lock."""
        self._lock = lock
