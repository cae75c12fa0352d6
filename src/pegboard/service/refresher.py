"""Refresh: fetch what servers list, and publish it whole or keep what was served.

All servers at once, each with its own deadline; one that fails is reported and hides no other. A suspect, and a tool
that a complete walk no longer lists, is revoked as soon as its own server's walk is done, whatever fails later. What
was fetched is published in one transaction, so a reader sees the old version or the new one (law 5).

Source: DESIGN section 9; LAYOUT "The trip of one refresh".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import anyio
from anyio import to_thread

from pegboard.core.errors import PegboardError, UnreachableServerError
from pegboard.core.lock import Lock
from pegboard.core.revocations import Revocation
from pegboard.core.snapshot import Snapshot
from pegboard.engine.findings import Incumbents
from pegboard.engine.pending import incumbents
from pegboard.engine.refresh import Candidate, Refresh, Standing, lifted
from pegboard.engine.trust import Trust
from pegboard.service.audit import AuditKind
from pegboard.service.composing import Publication
from pegboard.service.lockkeeper import LockKeeper
from pegboard.service.ports import Listing, ToolServers
from pegboard.service.published import Catalog
from pegboard.service.reports import RefreshReport, ServerReport, Status, report_of, with_publication
from pegboard.service.walking import walked

__all__ = ["RefreshReport", "Refresher", "ServerReport", "Status"]

DEADLINE_S = 60.0
# Each stdio server is a process; more at once would only make all of them slow.
AT_ONCE = 16

Progress = Callable[[ServerReport], None]


@dataclass(slots=True)
class _Round:
    """One refresh on its way: what it found until now, by server."""

    write: bool
    progress: Progress
    found: dict[str, Candidate] = field(default_factory=dict)
    listings: dict[str, Listing] = field(default_factory=dict)
    reports: dict[str, ServerReport] = field(default_factory=dict)
    slots: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(AT_ONCE))


class Refresher:
    """Drives refreshes of the configured servers."""

    def __init__(self, catalog: Catalog, servers: ToolServers, keeper: LockKeeper) -> None:
        self._catalog = catalog
        self._servers = servers
        self._keeper = keeper
        self._gathered: tuple[Snapshot, Lock, Incumbents] | None = None

    async def refresh(
        self,
        servers: Sequence[str] | None = None,
        *,
        dry_run: bool = False,
        by: str = "refresh",
        progress: Progress = lambda _: None,
    ) -> RefreshReport:
        """Fetch the named servers, or all of them, and publish what they list.

        Raises:
            StoreError: The store failed; the old version stands, and what was revoked stays revoked.
            LockError: The lock cannot be read.
        """
        self._catalog.composer.lock()
        one = _Round(write=not dry_run, progress=progress)
        async with anyio.create_task_group() as tasks:
            for name in self._servers.names() if servers is None else servers:
                tasks.start_soon(self._one, name, one)
        listings = [one.listings[name] for name in sorted(one.listings)]
        if dry_run:
            publication = await self._catalog.compose(listings)
        else:
            publication = await self._published(one, listings, by)
        for name, candidate in one.found.items():
            one.reports[name] = with_publication(one.reports[name], candidate, publication)
        head = await self._catalog.snapshots.head()
        served = None if head is None else head.version
        would = publication.composition.snapshot.version if dry_run and publication.change else served
        reports = tuple(one.reports[name] for name in sorted(one.reports))
        return RefreshReport(catalog_version=would, published=publication.published, servers=reports)

    async def _one(self, name: str, one: _Round) -> None:
        """Refresh one server as far as it goes alone: fetched, judged, and what must be is revoked."""
        began = self._catalog.clock.ticks()
        async with one.slots:
            try:
                fetched, fetched_at = await self._fetch(name), self._catalog.clock.now()
                candidate = await self._judged(name, fetched)
                if one.write:
                    await self._revoke(candidate)
                one.found[name], one.listings[name] = candidate, _listing(candidate, fetched_at)
                report = report_of(candidate)
            except PegboardError as error:
                report = ServerReport(server=name, status=Status.FAILED, error=str(error))
        one.reports[name] = replace(report, seconds=self._catalog.clock.ticks() - began)
        one.progress(one.reports[name])

    async def _fetch(self, name: str) -> Refresh:
        """Walk one server's whole listing."""
        deployment = self._catalog.deployment
        deadline_s = deployment.deadlines_s.get(name, DEADLINE_S)
        try:
            with anyio.fail_after(deadline_s):
                namespace = deployment.namespaces_of.get(name, name)
                async with self._servers.connect(name) as server:
                    return await walked(name, server, lambda: Refresh(name, namespace))
        except TimeoutError:
            raise UnreachableServerError(
                server=name,
                problem=f"its listing was not complete after {deadline_s:g} s",
                fix=f"raise `list_timeout` of [servers.{name}], or look at what the server prints",
            ) from None

    async def _judged(self, name: str, refresh: Refresh) -> Candidate:
        """Compare a complete listing with what stands at this moment."""
        # Beside the loop, which serves requests meanwhile: a listing of thousands of tools takes seconds.
        taken = await to_thread.run_sync(refresh.taken)
        composer, lock = self._catalog.composer, self._catalog.composer.lock()
        served = await composer.snapshot(await self._catalog.snapshots.head())
        last = (await composer.listings([name])).get(name)
        standing = Standing(
            lock=lock,
            listed=() if last is None else last.entries,
            incumbents=self._incumbents(served, lock),
            suspended=[one.target for one in await self._catalog.policies.suspended()],
            trust=self._catalog.deployment.trust.get(name, Trust.REVIEW),
        )
        # What is gone is looked for too, hence the last listing: a server may list nothing at all.
        found = await composer.find((*taken, *standing.listed), lock)
        return await to_thread.run_sync(lambda: refresh.finish(standing, found))

    def _incumbents(self, served: Snapshot, lock: Lock) -> Incumbents:
        """Return the names that newcomers must not take; they are gathered once for a version and a lock."""
        known = self._gathered
        if known is None or known[0] is not served or known[1] is not lock:
            self._gathered = known = served, lock, incumbents(served.entries, lock)
        return known[2]

    async def _revoke(self, candidate: Candidate) -> None:
        """Revoke suspects and what is gone, durably, before anything else is done with the listing."""
        if not candidate.revoked:
            return
        policies, now = self._catalog.policies, self._catalog.clock.now()
        known = {one.target: one.why for one in await policies.suspended()}
        new = {tool: why for tool, why in candidate.revoked.items() if known.get(tool) != why}
        await policies.suspend([Revocation(target=tool, why=why, by="refresh", since=now) for tool, why in new.items()])
        if new:
            kind = AuditKind.REFRESH_SUSPECT
            await self._catalog.audit.record(kind, server=candidate.server, tools=new, alarm=candidate.alarm)

    async def _published(self, one: _Round, listings: Sequence[Listing], by: str) -> Publication:
        """Publish what was found; what is followed is locked in between, and what is itself again is lifted last."""
        held_before = await self._held(one)
        publication = await self._catalog.publish(listings, by)
        lines = [line for name in sorted(one.found) for line in one.found[name].followed]
        # INVARIANT: the contents are stored by now, so whatever ends this here, the lock names nothing unknown.
        if lines and await self._keeper.follow(lines):
            followed = await self._catalog.publish((), by)
            publication = replace(followed, published=publication.published or followed.published)
        await self._lift(one)
        await self._tell(one, held_before)
        return publication

    async def _lift(self, one: _Round) -> None:
        """Lift what is itself again in the listing that stands: another refresh may have overtaken this one."""
        if not any(candidate.lifted for candidate in one.found.values()):
            return
        lock, live = self._catalog.composer.lock(), await self._catalog.live(one.found)
        found = [
            tool for name, candidate in one.found.items() for tool in lifted(live.get(name, ()), lock, candidate.lifted)
        ]
        if found:
            await self._catalog.policies.suspend((), lifted=found)

    async def _held(self, one: _Round) -> frozenset[tuple[str, str]]:
        """Return what these servers listed until now and is not granted as it is, by id and hash."""
        lock = self._catalog.composer.lock()
        live = await self._catalog.live(one.found)
        return frozenset(
            (entry.tool_id, entry.schema_hash)
            for entries in live.values()
            for entry in entries
            if not lock.grants(entry.tool_id, entry.schema_hash, entry.source_server)
        )

    async def _tell(self, one: _Round, held: frozenset[tuple[str, str]]) -> None:
        """Put on the audit what began to wait."""
        audit = self._catalog.audit
        for candidate in one.found.values():
            new = {
                waiting.live.tool_id: list(waiting.reasons)
                for waiting in candidate.waiting
                if (waiting.live.tool_id, waiting.live.schema_hash) not in held
            }
            if new:
                await audit.record(AuditKind.REFRESH_HELD, server=candidate.server, tools=new)


def _listing(candidate: Candidate, fetched_at: float) -> Listing:
    return Listing(server=candidate.server, fetched_at=fetched_at, entries=candidate.entries, refused=candidate.refused)
