"""Composing and publishing: the next catalog version out of what servers list, under the lock of this moment.

A publish costs what has changed: servers whose listing stands as it was when the head was composed are taken over from
it, and are not even read. Where someone else published meanwhile, the next version is composed anew on theirs and
nothing is lost.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pegboard.core.catalog import CatalogEntry
from pegboard.core.errors import StoreError
from pegboard.core.lock import Lock
from pegboard.core.names import Json, digest
from pegboard.core.snapshot import Diff, Snapshot, diff
from pegboard.engine.compose import Composition, compose
from pegboard.engine.pending import wanted
from pegboard.service.deployment import Deployment
from pegboard.service.ports import Clock, Head, Listing, LockFile, PolicyStore, SnapshotStore

__all__ = ["Composer", "Publication"]

EMPTY = Snapshot.of(0, ())
# How often a version is composed anew because someone else published first; each time one of them got on.
_ATTEMPTS = 20
# A listing fetched so shortly before the one that is kept was overtaken by it; longer ago, a clock was set back.
_OVERTAKEN_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What a publish came to; `published` is False where nothing differed from the head."""

    composition: Composition
    before: Snapshot
    change: Diff
    published: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Basis:
    """What a head was composed from, so that the next version may take over what stands."""

    head: Head | None
    snapshot: Snapshot
    lock: Lock | None = None
    """None: it was read from the store, and what it was composed from is not known."""
    stamps: Mapping[str, object] = field(default_factory=dict)
    """Of each server, what told its listing from others."""
    listings: Mapping[str, Listing] = field(default_factory=dict)
    """Those that were at hand; of a server whose stamp has moved since, the content may still be the same."""


class Composer:
    """Composes catalog versions and publishes them."""

    def __init__(
        self,
        snapshots: SnapshotStore,
        policies: PolicyStore,
        lock_file: LockFile,
        clock: Clock,
        deployment: Deployment,
    ) -> None:
        self._snapshots = snapshots
        self._policies = policies
        self._lock_file = lock_file
        self._clock = clock
        self._deployment = deployment
        self._basis = _Basis(head=None, snapshot=EMPTY)
        self._read_lock: tuple[object, Lock] | None = None
        self._listed: dict[str, tuple[object, Listing]] = {}

    def lock(self) -> Lock:
        """Return the lock of this moment; it is read again only where it may have changed.

        Raises:
            LockError: It cannot be read; nothing is granted then.
        """
        stamp = self._lock_file.stamp()
        if self._read_lock is None or self._read_lock[0] != stamp:
            self._read_lock = stamp, self._lock_file.read()
        return self._read_lock[1]

    async def snapshot(self, head: Head | None) -> Snapshot:
        """Return the snapshot of a head, the one that was composed here where it is that."""
        if self._basis.head != head:
            snapshot = EMPTY if head is None else await self._snapshots.load(head.number)
            self._basis = _Basis(head=head, snapshot=snapshot)
        return self._basis.snapshot

    async def listings(self, servers: Iterable[str] | None = None) -> dict[str, Listing]:
        """Return the last listing of each server, or of these; those that stand as they were are not read again."""
        return await self._listings(await self._snapshots.listing_stamps(), servers)

    async def _listings(self, stamps: Mapping[str, object], servers: Iterable[str] | None) -> dict[str, Listing]:
        wanted = stamps.keys() if servers is None else stamps.keys() & set(servers)
        listed = {name: kept for name, kept in self._listed.items() if name in stamps}
        if stale := {name for name in wanted if name not in listed or listed[name][0] != stamps[name]}:
            for listing in await self._snapshots.listings(stale):
                for before in (self._last(listing.server), self._basis.listings.get(listing.server)):
                    listing = _steadied(listing, before)
                listed[listing.server] = stamps[listing.server], listing
        self._listed = listed
        return {name: listed[name][1] for name in sorted(wanted) if name in listed}

    def _last(self, server: str) -> Listing | None:
        return self._listed[server][1] if server in self._listed else None

    async def find(self, entries: Iterable[CatalogEntry], lock: Lock) -> "Found":
        """Fetch every locked content that judging and composing *entries* may ask for."""
        # What changed a moment ago still stands in the last listing as it was locked.
        last: dict[str, dict[str, CatalogEntry]] = {}
        found: dict[tuple[str, str, str], CatalogEntry | None] = {}
        for key in list(wanted(entries, lock)):
            tool_id, schema_hash, server = key
            if server not in last:
                listing = self._last(server)
                last[server] = {} if listing is None else {entry.tool_id: entry for entry in listing.entries}
            listed = last[server].get(tool_id)
            same = listed is not None and listed.schema_hash == schema_hash
            found[key] = listed if same else await self._snapshots.find(*key)
        return Found(found)

    async def compose(self, listings: Sequence[Listing]) -> Publication:
        """Build the next snapshot with *listings* in place of these servers' last ones; nothing is written."""
        basis, composition = await self._composed(listings)
        change = diff(basis.snapshot, composition.snapshot)
        return Publication(composition=composition, before=basis.snapshot, change=change, published=False)

    async def publish(self, listings: Sequence[Listing], by: str) -> Publication:
        """Compose and publish, in one transaction; without a difference only the listings are kept.

        A tool that was kept out is kept with its server's refused ones: it does not wait for review, stands for no
        lock line, and comes in when its server lists it again and its place is free.

        Raises:
            StoreError: Storage failed, or others published again and again; the old version stands whole.
        """
        for _ in range(_ATTEMPTS):
            basis, composition = await self._composed(listings)
            change = diff(basis.snapshot, composition.snapshot)
            publish = bool(change) or basis.head is None
            now = self._clock.now()
            taken = [_without_refused(one, composition) for one in self._current(listings)]
            try:
                if publish:
                    head = await self._snapshots.publish(composition.snapshot, by=by, at=now, listings=taken)
                    self._basis = replace(basis, head=head, snapshot=composition.snapshot)
                else:
                    await self._snapshots.keep_listings(taken)
                    self._basis = basis
            except StoreError:
                if await self._snapshots.head() == basis.head:
                    raise
                continue
            await self._keep_settled(self._basis)
            return Publication(composition=composition, before=basis.snapshot, change=change, published=publish)
        raise StoreError(
            problem="others published faster than this could follow", where="the store", fix="run the command again"
        )

    async def settled(self, head: Head) -> bool:
        """Say whether the head is what composing it now would give."""
        if self._basis.head == head and self._basis.lock is self.lock():
            return True
        return await self._policies.document("settled", self._inputs(head.digest, self.lock())) is not None

    async def _composed(self, listings: Sequence[Listing]) -> tuple[_Basis, Composition]:
        """Return what the next snapshot is composed from, over the present head, and that snapshot."""
        head = await self._snapshots.head()
        before, lock, stamps = await self.snapshot(head), self.lock(), await self._snapshots.listing_stamps()
        old = await self._stood(head, stamps)
        known = await self._listings(stamps, (one.server for one in listings))
        new = {one.server: _steadied(one, known.get(one.server)) for one in self._current(listings)}
        moved = None
        if old.head == head and old.lock is not None:
            moved = await self._moved(old, stamps, new, lock)
        known = await self._listings(stamps, moved) | new
        basis = _Basis(head=head, snapshot=before, lock=lock, stamps=stamps, listings=known)
        if moved is not None and not moved:
            # An unchanged listing, as most are, costs nothing that grows with the catalog.
            return basis, Composition(snapshot=before)
        listed = {name: one.entries for name, one in known.items() if moved is None or name in moved}
        composition = compose(
            listed,
            lock,
            await self.find((entry for entries in listed.values() for entry in entries), lock),
            refused_names={name: [refused for refused, _ in one.refused] for name, one in known.items()},
            curation=self._deployment.curation,
            previous=before if before.number else None,
            moved=moved,
        )
        return basis, composition

    async def _stood(self, head: Head | None, stamps: Mapping[str, object]) -> _Basis:
        """Return what the head was composed from, if that can be told.

        A head that was read from the store and is settled is what composing the stored listings gives.
        """
        basis = self._basis
        if head is not None and basis.head == head and basis.lock is None and await self.settled(head):
            self._basis = basis = replace(basis, lock=self.lock(), stamps=stamps)
        return basis

    async def _moved(self, old: _Basis, stamps: Mapping[str, object], new: dict[str, Listing], lock: Lock) -> set[str]:
        """Return the servers that list something else than before, or that own a tool whose lock line is another."""
        assert old.lock is not None
        elsewhere = {name for name in stamps if name not in new and stamps[name] != old.stamps.get(name)}
        read = await self._listings(stamps, elsewhere | new.keys())
        # Where the stamp stands, so does the content, whether or not it was at hand.
        stood = {name: read[name] for name in read if stamps[name] == old.stamps.get(name)}
        moved = {name for name, one in (read | new).items() if _differ(one, stood.get(name) or old.listings.get(name))}
        relocked = (old.snapshot.get(tool) for tool in lock.differing(old.lock))
        gone = (old.stamps.keys() | old.listings.keys()) - stamps.keys() - new.keys()
        return moved | gone | {entry.source_server for entry in relocked if entry is not None}

    def _current(self, listings: Iterable[Listing]) -> list[Listing]:
        """Leave out what another process fetched again, and published, while this was on its way."""
        kept = {name: listing.fetched_at for name, (_, listing) in self._listed.items()}
        return [one for one in listings if not 0 < kept.get(one.server, one.fetched_at) - one.fetched_at < _OVERTAKEN_S]

    async def _keep_settled(self, basis: _Basis) -> None:
        if basis.lock is not None:
            await self._policies.keep("settled", self._inputs(basis.snapshot.digest, basis.lock), b"")

    def _inputs(self, snapshot_digest: str, lock: Lock) -> str:
        """Identify a snapshot together with the local inputs that it was composed from."""
        curation: dict[str, Json] = {
            tool: [local.summary, _listed(local.examples), _listed(local.keywords)]
            for tool, local in self._deployment.curation.items()
        }
        return digest({"snapshot": snapshot_digest, "lock": lock.digest, "curation": curation})


class Found:
    """Entries that were fetched before a pure function asks for them."""

    def __init__(self, entries: Mapping[tuple[str, str, str], CatalogEntry | None]) -> None:
        self._entries = entries

    def __call__(self, tool_id: str, schema_hash: str, server: str) -> CatalogEntry | None:
        return self._entries.get((tool_id, schema_hash, server))


def _steadied(listing: Listing, kept: Listing | None) -> Listing:
    """Take the very entries over that are known already where nothing differs, so that this is seen at a glance."""
    if kept is None or [one.row for one in listing.entries] != [one.row for one in kept.entries]:
        return listing
    return replace(listing, entries=kept.entries)


def _differ(one: Listing, other: Listing | None) -> bool:
    return other is None or one.entries is not other.entries or one.refused != other.refused


def _without_refused(listing: Listing, composition: Composition) -> Listing:
    """Move what was kept out of the snapshot from a listing's tools to its refused ones."""
    out = {name: reason for server, name, reason in composition.refused if server == listing.server}
    if not out:
        return listing
    kept = tuple(entry for entry in listing.entries if entry.name not in out)
    return replace(listing, entries=kept, refused=(*listing.refused, *out.items()))


def _listed(texts: tuple[str, ...] | None) -> list[str] | None:
    return None if texts is None else list(texts)
