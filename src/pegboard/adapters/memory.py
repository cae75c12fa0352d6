"""All stores in dictionaries: for tests, notebooks and a board made from a list of tools.

The same contract as a store on disk, checks included; nothing outlives the process.
"""

import threading
from collections.abc import Collection, Mapping, Sequence

from pegboard.adapters.store_errors import no_version, overtaken, refused
from pegboard.core.catalog import CatalogEntry, to_row
from pegboard.core.lock import Lock
from pegboard.core.names import digest, short
from pegboard.core.revocations import Revocation
from pegboard.core.snapshot import Snapshot, snapshot_digest
from pegboard.service.ports import Head, Listing, StoredSelection, Verification

__all__ = ["MemoryLockFile", "MemoryStore"]


class MemoryStore:
    """`SnapshotStore`, `PolicyStore` and `TraceStore` in memory. Safe from several threads."""

    def __init__(self) -> None:
        # INVARIANT: no method awaits while it holds the guard, so a method is one step for every other.
        self._guard = threading.Lock()
        self._snapshots: dict[int, Snapshot] = {}
        self._heads: dict[int, Head] = {}
        self._listings: dict[str, Listing] = {}
        self._rows: dict[str, CatalogEntry] = {}
        self._contents: dict[tuple[str, str, str], CatalogEntry] = {}
        self._halts: dict[str, Revocation] = {}
        self._locks: list[str] = []
        self._documents: dict[tuple[str, str], bytes] = {}
        self._selections: dict[str, StoredSelection] = {}
        self._traces: dict[str, tuple[float, bytes]] = {}
        self._calls: dict[str, tuple[float, bytes]] = {}
        self._outcomes: dict[str, tuple[float, str]] = {}
        self._vectors: dict[tuple[str, str], bytes] = {}

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

    async def listings(self) -> tuple[Listing, ...]:
        """Return the last listing of each server, by name."""
        with self._guard:
            return tuple(self._listings[server] for server in sorted(self._listings))

    async def live(self) -> tuple[tuple[str, str, str], ...]:
        """Return the (tool id, schema hash, server) of everything that servers last listed."""
        with self._guard:
            listed = [(name, entry) for name, listing in sorted(self._listings.items()) for entry in listing.entries]
            return tuple((entry.tool_id, entry.schema_hash, name) for name, entry in listed)

    async def find(self, tool_id: str, schema_hash: str, server: str) -> CatalogEntry | None:
        """Return the newest stored entry of this server's tool with this declared content, or None."""
        with self._guard:
            return self._contents.get((tool_id, schema_hash, server))

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

    async def save_selection(self, selection: StoredSelection, trace_id: str, at: float, trace: bytes) -> None:
        """Keep a selection and its trace, both or neither."""
        with self._guard:
            if selection.selection_id in self._selections:
                raise refused(f"there is a selection {selection.selection_id!r} already")
            self._save_trace(trace_id, at, trace)
            self._selections[selection.selection_id] = selection

    async def selection(self, selection_id: str) -> StoredSelection | None:
        """Return a selection, expired or not; None where there is none."""
        with self._guard:
            return self._selections.get(selection_id)

    async def save_trace(self, trace_id: str, at: float, trace: bytes) -> None:
        """Keep the trace of a call."""
        with self._guard:
            self._save_trace(trace_id, at, trace)

    async def trace(self, trace_id: str) -> bytes | None:
        """Return one trace, None where there is none."""
        with self._guard:
            return self._traces[trace_id][1] if trace_id in self._traces else None

    async def traces(self, limit: int) -> tuple[tuple[str, float], ...]:
        """Return ids and times of the newest traces, newest first; of one time, the one written last comes first."""
        with self._guard:
            last_first = [(trace_id, at) for trace_id, (at, _) in reversed(self._traces.items())]
        return tuple(sorted(last_first, key=lambda found: -found[1])[: max(0, limit)])

    async def open_call(self, call_id: str, at: float, record: bytes) -> None:
        """Write a call to the ledger before it is dispatched."""
        with self._guard:
            if call_id in self._calls:
                raise refused(f"there is a call {call_id!r} already")
            self._calls[call_id] = (at, record)

    async def close_call(self, call_id: str, at: float, outcome: str) -> None:
        """Write how the call ended; the same again changes nothing."""
        with self._guard:
            if call_id not in self._calls:
                raise refused(f"there is no call {call_id!r} in the ledger")
            _, found = self._outcomes.setdefault(call_id, (at, outcome))
            if found != outcome:
                raise refused(f"the call {call_id!r} ended as {found!r} and cannot end as {outcome!r}")

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

    def _save_trace(self, trace_id: str, at: float, trace: bytes) -> None:
        if trace_id in self._traces:
            raise refused(f"there is a trace {trace_id!r} already")
        self._traces[trace_id] = (at, trace)


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
