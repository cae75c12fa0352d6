"""Refresh: fetch what servers list, and publish it whole or keep what was served.

All servers at once, each with its own deadline; one that fails is reported and hides no other. What was
fetched is published in one transaction, so a reader sees the old version or the new one (law 5).

Source: DESIGN section 9; LAYOUT "The trip of one refresh".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import anyio

from pegboard.core.errors import PegboardError, UnreachableServerError
from pegboard.core.lock import Lock
from pegboard.core.names import Json
from pegboard.engine.intake import take_in_listing
from pegboard.engine.listing import Walk
from pegboard.service.ports import Listing, ToolServers
from pegboard.service.published import Catalog

__all__ = ["RefreshReport", "Refresher", "ServerReport", "Status"]

DEADLINE_S = 60.0
# Each stdio server is a process; more at once would only make all of them slow.
AT_ONCE = 16


class Status(StrEnum):
    """How one server's refresh went."""

    OK = "ok"
    UNCHANGED = "unchanged"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReport:
    """What one server's refresh found. The counts compare its listing with its last one."""

    server: str
    status: Status
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    same: int = 0
    held: int = 0
    """Tools of this server that wait for a person, whether from this refresh or before."""
    refused: tuple[tuple[str, str], ...] = ()
    error: str | None = None
    seconds: float = 0.0

    def to_json(self) -> dict[str, Json]:
        """Return one element of `servers` in the answer of `refresh`."""
        return {
            "server": self.server,
            "status": str(self.status),
            "added": list(self.added),
            "changed": list(self.changed),
            "removed": list(self.removed),
            "same": self.same,
            "held": self.held,
            "refused": [{"name": name, "reason": reason} for name, reason in self.refused],
            "findings": [],
            "error": self.error,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshReport:
    """What a refresh found and whether it published a new version."""

    catalog_version: str | None
    published: bool
    servers: tuple[ServerReport, ...]

    @property
    def failed(self) -> bool:
        """Say whether any server failed; the others are published all the same."""
        return any(report.status is Status.FAILED for report in self.servers)

    def to_json(self) -> dict[str, Json]:
        """Return the answer of `refresh`."""
        return {
            "catalog_version": self.catalog_version,
            "published": self.published,
            "servers": [report.to_json() for report in self.servers],
        }


class Refresher:
    """Drives refreshes of the configured servers."""

    def __init__(self, catalog: Catalog, servers: ToolServers) -> None:
        self._catalog = catalog
        self._servers = servers

    async def refresh(
        self,
        servers: Sequence[str] | None = None,
        *,
        dry_run: bool = False,
        by: str = "refresh",
        progress: Callable[[ServerReport], None] = lambda _: None,
    ) -> RefreshReport:
        """Fetch the named servers, or all of them, and publish what they list.

        Raises:
            StoreError: The store failed, or someone else published meanwhile; the old version stands.
            LockError: The lock cannot be read.
        """
        names = self._servers.names() if servers is None else tuple(servers)
        found: dict[str, Listing] = {}
        reports: dict[str, ServerReport] = {}
        before = {listing.server: listing for listing in await self._catalog.snapshots.listings()}
        lock = self._catalog.lock_file.read()
        slots = anyio.CapacityLimiter(AT_ONCE)

        async def one(name: str) -> None:
            began = self._catalog.clock.ticks()
            async with slots:
                try:
                    listing = await self._fetch(name)
                    found[name] = listing
                    report = _compared(listing, before.get(name), lock)
                except PegboardError as error:
                    report = ServerReport(server=name, status=Status.FAILED, error=str(error))
            reports[name] = replace(report, seconds=self._catalog.clock.ticks() - began)
            progress(reports[name])

        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(one, name)

        listings = [found[name] for name in sorted(found)]
        if dry_run:
            composition, change = await self._catalog.compose(listings)
            published = False
            would = bool(change)
        else:
            composition, change, published = await self._catalog.publish(listings, by)
            would = published
        for listing in listings:
            if out := {name for server, name, _ in composition.refused if server == listing.server}:
                kept = replace(listing, entries=tuple(one for one in listing.entries if one.name not in out))
                report = _compared(kept, before.get(listing.server), lock)
                refused = [(name, why) for server, name, why in composition.refused if server == listing.server]
                reports[listing.server] = replace(
                    report, refused=(*report.refused, *refused), seconds=reports[listing.server].seconds
                )
        head = await self._catalog.snapshots.head()
        version = composition.snapshot.version if dry_run and would else (None if head is None else head.version)
        return RefreshReport(
            catalog_version=version,
            published=published,
            servers=tuple(reports[name] for name in sorted(reports)),
        )

    async def _fetch(self, name: str) -> Listing:
        """Walk one server's whole listing; what cannot be taken in is refused tool by tool."""
        deployment = self._catalog.deployment
        deadline_s = deployment.deadlines_s.get(name, DEADLINE_S)
        try:
            with anyio.fail_after(deadline_s):
                walk = Walk(name)
                async with self._servers.connect(name) as server:
                    while not walk.done:
                        walk.receive(await server.list_page(walk.next_cursor()))
        except TimeoutError:
            raise UnreachableServerError(
                server=name,
                problem=f"its listing was not complete after {deadline_s:g} s",
                fix=f"raise `list_timeout` of [servers.{name}], or look at what the server prints",
            ) from None
        entries, refusals = take_in_listing(name, deployment.namespaces_of.get(name, name), walk.tools())
        return Listing(
            server=name,
            fetched_at=self._catalog.clock.now(),
            entries=tuple(entries),
            refused=tuple((refusal.name, refusal.reason) for refusal in refusals),
        )


def _compared(listing: Listing, before: Listing | None, lock: Lock) -> ServerReport:
    old = {} if before is None else {entry.tool_id: entry.schema_hash for entry in before.entries}
    new = {entry.tool_id: entry.schema_hash for entry in listing.entries}
    added = tuple(tool for tool in new if tool not in old)
    changed = tuple(tool for tool in new if tool in old and new[tool] != old[tool])
    removed = tuple(tool for tool in old if tool not in new)
    return ServerReport(
        server=listing.server,
        status=Status.OK if added or changed or removed else Status.UNCHANGED,
        added=added,
        changed=changed,
        removed=removed,
        same=len(new) - len(added) - len(changed),
        held=sum(not lock.grants(tool, schema_hash, listing.server) for tool, schema_hash in new.items()),
        refused=listing.refused,
    )
