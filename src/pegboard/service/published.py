"""What is published: one value that every request reads, and the single cell that swaps it (law 5).

A reader takes `current()` once and keeps it. Each call looks whether the lock file or the store's head has
moved since, so what another process approved, or took back, holds from the next request on (law 4).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import anyio
import numpy as np
from numpy.typing import NDArray

from pegboard.core.catalog import CatalogEntry
from pegboard.core.errors import RetrievalError, StoreError
from pegboard.core.lock import Lock
from pegboard.core.names import Json, canonical_json, digest, digest_bytes
from pegboard.core.policy import Policy
from pegboard.core.revocations import Revocations
from pegboard.core.snapshot import Diff, Snapshot, diff
from pegboard.engine.compose import Composition, Pending, compose, pending
from pegboard.engine.records import policy_record, revocations_record, settings_record
from pegboard.engine.trace import Versions
from pegboard.engine.view import View
from pegboard.retrieval.index import Index
from pegboard.service.deployment import Deployment
from pegboard.service.encoding import Encoders
from pegboard.service.ports import Clock, Head, Listing, LockFile, PolicyStore, SnapshotStore, VectorStore
from pegboard.service.preparing import Preparer

__all__ = ["Catalog", "Published", "rejection"]

EMPTY = Snapshot.of(0, ())


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
    ) -> None:
        self.snapshots = snapshots
        self.policies = policies
        self.lock_file = lock_file
        self.clock = clock
        self.deployment = deployment
        self.encoders = encoders
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
        return Revocations.at(now, await self.policies.halts())

    async def live(self) -> dict[str, tuple[CatalogEntry, ...]]:
        """Return what each server last listed."""
        return {listing.server: listing.entries for listing in await self.snapshots.listings()}

    async def pending(self) -> tuple[Pending, ...]:
        """Return what waits for a person, by tool id."""
        live = [entry for entries in (await self.live()).values() for entry in entries]
        lock = self.lock_file.read()
        return pending(live, lock, await self._locked_content(live, lock))

    async def compose(self, listings: Sequence[Listing]) -> tuple[Composition, Diff]:
        """Build the next snapshot with *listings* in place of these servers' last ones; nothing is written."""
        before = await self._snapshot(await self.snapshots.head())
        known = {one.server: one for one in (*await self.snapshots.listings(), *listings)}
        lock = self.lock_file.read()
        found = await self._locked_content([entry for one in known.values() for entry in one.entries], lock)
        composition = compose(
            {server: one.entries for server, one in known.items()},
            lock,
            found,
            refused_names={server: [name for name, _ in one.refused] for server, one in known.items()},
            curation=self.deployment.curation,
            previous=before if before.number else None,
        )
        return composition, diff(before, composition.snapshot)

    async def publish(self, listings: Sequence[Listing], by: str) -> tuple[Composition, Diff, bool]:
        """Compose and publish, in one transaction; without a difference only the listings are kept.

        A tool that was kept out is kept with its server's refused ones: it does not wait for review, stands for no
        lock line, and comes in when its server lists it again and its place is free.

        Raises:
            StoreError: Someone else published meanwhile, or storage failed; the old version stands whole.
        """
        composition, change = await self.compose(listings)
        taken = [_without_refused(one, composition) for one in listings]
        if change or await self.snapshots.head() is None:
            await self.snapshots.publish(composition.snapshot, by=by, at=self.clock.now(), listings=taken)
            return composition, change, True
        await self.snapshots.keep_listings(taken)
        return composition, change, False

    async def rollback(self, number: int, by: str) -> Snapshot:
        """Publish the tools of an older version as if every server had just listed them, and no other server any.

        What is served of them is what the lock grants today; the next refresh of a server goes forward again.

        Raises:
            StoreError: There is no such version, or someone else published meanwhile; nothing has changed then.
        """
        servers: dict[str, list[CatalogEntry]] = {one.server: [] for one in await self.snapshots.listings()}
        for entry in (await self.snapshots.load(number)).entries:
            servers.setdefault(entry.source_server, []).append(entry)
        now = self.clock.now()
        composition, _, _ = await self.publish(
            [Listing(server=name, fetched_at=now, entries=tuple(found)) for name, found in servers.items()], by
        )
        return composition.snapshot

    async def settle(self) -> None:
        """Publish anew if the lock or the curated texts have changed what should be served.

        An approved change, a lock merged from elsewhere and an edited summary all come in here.
        """
        head = await self.snapshots.head()
        if head is None:
            return
        if await self.policies.document("settled", self._inputs(head.digest)) is None:
            try:
                composition, _, _ = await self.publish((), by="settle")
            except StoreError:
                if await self.snapshots.head() == head:
                    raise
                return  # another process published meanwhile, and so settled the same
            await self.policies.keep("settled", self._inputs(composition.snapshot.digest), b"")

    def _inputs(self, snapshot_digest: str) -> str:
        """Identify a snapshot together with the local inputs that it was composed from."""
        curation: dict[str, Json] = {
            tool: [local.summary, _listed(local.examples), _listed(local.keywords)]
            for tool, local in self.deployment.curation.items()
        }
        return digest({"snapshot": snapshot_digest, "lock": self.lock_file.read().digest, "curation": curation})

    async def _read(self, previous: Published | None) -> Published:
        await self.settle()
        head, stamp = await self.snapshots.head(), self.lock_file.stamp()
        lock = self.lock_file.read()
        snapshot = previous.view.snapshot if previous and previous.head == head else await self._snapshot(head)
        policy = self.policy(lock)
        index, tokens = (previous.view.index, previous.view.tokens) if _same(previous, snapshot) else (None, None)
        if index is None or tokens is None:
            index = await self._index(snapshot, previous.view.index if previous else None)
            tokens = await self._preparer.tokens(snapshot)
        now = self.clock.now()
        settings = canonical_json(settings_record(self.deployment.selection))
        settings_digest = digest_bytes(settings)
        await self.policies.keep("policy", policy.version, canonical_json(policy_record(policy)))
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

    async def _index(self, snapshot: Snapshot, previous: Index | None) -> Index | None:
        """Build the index; where that fails there is none, and selections answer by the fallback table (law 7)."""
        try:
            return await self._preparer.index(snapshot, previous)
        except (RetrievalError, ValueError):
            return None

    def policy(self, lock: Lock) -> Policy:
        """Join the lock to what is configured."""
        return Policy(
            lock=lock,
            templates=self.deployment.templates,
            used=self.deployment.used,
            switches=self.deployment.switches,
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
        held = [key for key in await self.snapshots.live() if not lock.grants(*key)]
        rejected = [
            await self.policies.document("rejected", rejection(tool_id, schema_hash)) is not None
            for tool_id, schema_hash, _ in held
        ]
        return rejected.count(False)

    async def _snapshot(self, head: Head | None) -> Snapshot:
        return EMPTY if head is None else await self.snapshots.load(head.number)

    async def _locked_content(self, live: Sequence[CatalogEntry], lock: Lock) -> "_Found":
        """Fetch the locked content of every tool whose live content is another."""
        wanted = [
            (entry.tool_id, line.hash, entry.source_server)
            for entry in live
            if (line := lock.lines.get(entry.tool_id)) is not None and line.hash != entry.schema_hash
        ]
        return _Found({key: await self.snapshots.find(*key) for key in wanted})


class _Found:
    """Entries that were fetched before a pure function asks for them."""

    def __init__(self, entries: Mapping[tuple[str, str, str], CatalogEntry | None]) -> None:
        self._entries = entries

    def __call__(self, tool_id: str, schema_hash: str, server: str) -> CatalogEntry | None:
        return self._entries.get((tool_id, schema_hash, server))


def _without_refused(listing: Listing, composition: Composition) -> Listing:
    """Move what was kept out of the snapshot from a listing's tools to its refused ones."""
    out = {name: reason for server, name, reason in composition.refused if server == listing.server}
    if not out:
        return listing
    kept = tuple(entry for entry in listing.entries if entry.name not in out)
    return replace(listing, entries=kept, refused=(*listing.refused, *out.items()))


def rejection(tool_id: str, schema_hash: str) -> str:
    """Return the key under which it is kept that a person rejected this content of a tool."""
    return digest({"tool": tool_id, "hash": schema_hash})


def _same(previous: Published | None, snapshot: Snapshot) -> TypeGuard[Published]:
    return previous is not None and previous.view.snapshot is snapshot


def _listed(texts: tuple[str, ...] | None) -> list[str] | None:
    return None if texts is None else list(texts)
