"""What is published: one value that every request reads, and the single cell that swaps it (law 5).

A reader takes `current()` once and keeps it. Each call looks whether the lock file or the store's head has
moved since, so what another process approved, or took back, holds from the next request on (law 4).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import anyio
import numpy as np
from numpy.typing import NDArray

from pegboard.core.catalog import CatalogEntry
from pegboard.core.errors import RetrievalError
from pegboard.core.lock import Lock
from pegboard.core.names import canonical_json, digest, digest_bytes
from pegboard.core.policy import Policy
from pegboard.core.revocations import Revocations
from pegboard.core.snapshot import Snapshot
from pegboard.engine.pending import Pending, incumbents, pending
from pegboard.engine.records import policy_record, revocations_record, settings_record
from pegboard.engine.trace import Versions
from pegboard.engine.view import View
from pegboard.retrieval.index import Index
from pegboard.service.audit import Audit, AuditKind
from pegboard.service.composing import Composer, Publication
from pegboard.service.deployment import Deployment
from pegboard.service.encoding import Encoders
from pegboard.service.held import HeldTools
from pegboard.service.locks import KeptLocks
from pegboard.service.ports import Clock, Head, Listing, LockFile, PolicyStore, SnapshotStore, VectorStore
from pegboard.service.preparing import Preparer

__all__ = ["Catalog", "Published", "rejection"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Published:
    """Snapshot, policy and index as one value, with the versions a trace records."""

    view: View
    lock: Lock
    lock_version: str
    settings_digest: str
    waiting: int
    """How many tools wait for a person, new and changed ones."""
    head: Head | None
    lock_stamp: object

    def versions(self, revocations: Revocations, packages: Mapping[str, str]) -> Versions:
        """Name everything that a selection made now depends on."""
        return Versions(
            catalog=self.view.snapshot.version,
            policy=self.view.policy.version,
            lock=self.lock_version,
            index=None if self.view.index is None else self.view.index.version,
            settings=self.settings_digest,
            revocations=digest(revocations_record(revocations)),
            cedar=None if self.view.policy.layer is None else self.view.policy.layer.digest,
            packages=packages,
        )


class Catalog:
    """The catalog of one deployment: reads and publishes its versions, and holds the one that is served."""

    def __init__(
        self,
        snapshots: SnapshotStore,
        policies: PolicyStore,
        lock_file: LockFile,
        clock: Clock,
        deployment: Deployment,
        encoders: Encoders,
        kept: VectorStore,
        audit: Audit,
    ) -> None:
        self.snapshots = snapshots
        self.policies = policies
        self.lock_file = lock_file
        self.clock = clock
        self.deployment = deployment
        self.encoders = encoders
        self._kept = kept
        self.composer = Composer(snapshots, policies, lock_file, clock, deployment)
        self.audit = audit
        self.locks = KeptLocks(policies)
        self._held = HeldTools(snapshots)
        self._preparer = Preparer(encoders, kept, deployment.encoding, deployment.count_tokens)
        self._published: Published | None = None
        self._turn = anyio.Lock()

    async def current(self) -> Published:
        """Return what is served now, read again if the lock or the head has moved.

        Raises:
            LockError: The lock cannot be read; nothing is granted by a lock that cannot be read.
            StoreError: The store cannot be read.
        """
        head, stamp = await self.snapshots.head(), self.lock_file.stamp()
        published = self._published
        if published is not None and published.head == head and published.lock_stamp == stamp:
            return published
        async with self._turn:
            published = self._published
            if published is None or published.head != head or published.lock_stamp != stamp:
                self._published = published = await self._read(published)
            return published

    async def revocations(self) -> Revocations:
        """Read what is revoked at this moment."""
        now = self.clock.now()
        return Revocations.at(now, (*await self.policies.halts(), *await self.policies.suspended()))

    async def live(self, servers: Iterable[str] | None = None) -> dict[str, tuple[CatalogEntry, ...]]:
        """Return what each server, or each of these, last listed."""
        return {name: listing.entries for name, listing in (await self.composer.listings(servers)).items()}

    async def pending(self) -> tuple[Pending, ...]:
        """Return what waits for a person, by tool id."""
        live = [entry for entries in (await self.live()).values() for entry in entries]
        lock = self.composer.lock()
        served = await self.composer.snapshot(await self.snapshots.head())
        found = await self.composer.find(live, lock)
        return pending(live, lock, found, incumbents(served.entries, lock))

    async def compose(self, listings: Sequence[Listing]) -> Publication:
        """Build the next snapshot with *listings* in place of these servers' last ones; nothing is written."""
        return await self.composer.compose(listings)

    async def publish(self, listings: Sequence[Listing], by: str) -> Publication:
        """Compose and publish, in one transaction; without a difference only the listings are kept.

        Raises:
            StoreError: Storage failed; the old version stands whole.
        """
        publication = await self.composer.publish(listings, by)
        if publication.published:
            version, change = publication.composition.snapshot.version, publication.change.to_json()
            await self.audit.record(AuditKind.CATALOG_PUBLISHED, version=version, by=by, **change)
        return publication

    async def rollback(self, number: int, by: str) -> Snapshot:
        """Publish the tools of an older version as if every server had just listed them, and no other server any.

        What is served of them is what the lock grants today, and what is revoked stays so; the next refresh of a
        server goes forward again.

        Raises:
            StoreError: There is no such version, or storage failed; nothing has changed then.
        """
        servers: dict[str, list[CatalogEntry]] = {one.server: [] for one in await self.snapshots.listings()}
        for entry in (await self.snapshots.load(number)).entries:
            servers.setdefault(entry.source_server, []).append(entry)
        now = self.clock.now()
        listings = [Listing(server=name, fetched_at=now, entries=tuple(found)) for name, found in servers.items()]
        snapshot = (await self.publish(listings, by)).composition.snapshot
        await self.audit.record(AuditKind.CATALOG_ROLLED_BACK, to=number, version=snapshot.version, by=by)
        return snapshot

    async def settle(self) -> None:
        """Publish anew if the lock or the curated texts have changed what should be served.

        An approved change, a lock merged from elsewhere and an edited summary all come in here.
        """
        head = await self.snapshots.head()
        if head is not None and not await self.composer.settled(head):
            await self.publish((), by="settle")

    async def _read(self, previous: Published | None) -> Published:
        await self.settle()
        head, stamp = await self.snapshots.head(), self.lock_file.stamp()
        lock = self.composer.lock()
        snapshot = previous.view.snapshot if previous and previous.head == head else await self.composer.snapshot(head)
        policy = previous.view.policy if previous and previous.lock is lock else self.policy(lock)
        index, tokens = (previous.view.index, previous.view.tokens) if _same(previous, snapshot) else (None, None)
        if index is None or tokens is None:
            index = await self._index(snapshot)
            tokens = await self._preparer.tokens(snapshot)
        now = self.clock.now()
        settings = canonical_json(settings_record(self.deployment.selection))
        settings_digest = digest_bytes(settings)
        if previous is None or previous.view.policy is not policy:
            await self.policies.keep("policy", policy.version, canonical_json(policy_record(policy)))
            # After the policy that names it, so that whoever prunes meanwhile leaves it alone.
            await self.locks.keep(lock)
            await self.policies.keep("settings", settings_digest, settings)
        return Published(
            view=self._bind(snapshot, policy, index, tokens),
            lock=lock,
            lock_version=await self.policies.lock_version(lock, at=now),
            settings_digest=settings_digest,
            waiting=await self._waiting(lock),
            head=head,
            lock_stamp=stamp,
        )

    async def _index(self, snapshot: Snapshot) -> Index | None:
        """Build the index; where that fails there is none, and selections answer by the fallback table (law 7)."""
        try:
            return await self._preparer.index(snapshot)
        except (RetrievalError, ValueError):
            return None

    def ranked_by(self, encoders: Encoders) -> "Catalog":
        """Return a catalog over the same stores that ranks by other encoders, for looking at what it would give."""
        deployment, policies = self.deployment, self.policies
        return Catalog(
            self.snapshots, policies, self.lock_file, self.clock, deployment, encoders, self._kept, self.audit
        )

    def policy(self, lock: Lock) -> Policy:
        """Join the lock to what is configured."""
        return Policy(
            lock=lock,
            templates=self.deployment.templates,
            used=self.deployment.used,
            switches=self.deployment.switches,
            layer=self.deployment.layer,
        )

    async def view(self, snapshot: Snapshot, policy: Policy, *, index: bool) -> View:
        """Make a view of a stored snapshot under a policy, for looking back."""
        tokens = await self._preparer.tokens(snapshot)
        return self._bind(snapshot, policy, await self._preparer.index(snapshot) if index else None, tokens)

    def _bind(self, snapshot: Snapshot, policy: Policy, index: Index | None, tokens: NDArray[np.int32]) -> View:
        return View.of(
            snapshot,
            policy,
            index,
            encoding=self.deployment.encoding,
            count_tokens=self.deployment.count_tokens,
            tokens=tokens,
        )

    async def _waiting(self, lock: Lock) -> int:
        """Count what is listed, is not granted as it is, and was not rejected."""
        held = await self._held.of(lock)
        rejected = [
            await self.policies.document("rejected", rejection(tool_id, schema_hash)) is not None
            for tool_id, schema_hash, _ in held
        ]
        return rejected.count(False)


def rejection(tool_id: str, schema_hash: str) -> str:
    """Return the key under which it is kept that a person rejected this content of a tool."""
    return digest({"tool": tool_id, "hash": schema_hash})


def _same(previous: Published | None, snapshot: Snapshot) -> TypeGuard[Published]:
    return previous is not None and previous.view.snapshot is snapshot
