"""Import: catalog files and saved listings as if their servers had just listed them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pegboard.core.catalog import CatalogEntry
from pegboard.core.names import Json
from pegboard.engine.intake import Refusal, take_in_lines, take_in_listing
from pegboard.service.lockkeeper import LockKeeper
from pegboard.service.ports import Listing
from pegboard.service.published import Catalog

__all__ = ["ImportReport", "Importer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What was taken in, what was refused and why, and how many lock lines were written."""

    catalog_version: str | None
    imported: int
    locked: int
    removed: tuple[str, ...]
    """Tools that these servers had and that are not in the file: what is imported is all that a server has."""
    refused: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Json]:
        """Return the answer of `catalog import`."""
        return {
            "catalog_version": self.catalog_version,
            "imported": self.imported,
            "locked": self.locked,
            "removed": list(self.removed),
            "refused": [{"name": name, "reason": reason} for name, reason in self.refused],
        }


class Importer:
    """Takes tools in from files."""

    def __init__(self, catalog: Catalog, keeper: LockKeeper) -> None:
        self._catalog = catalog
        self._keeper = keeper

    async def lines(
        self,
        raws: Sequence[Json],
        *,
        server: str | None = None,
        unread: Sequence[tuple[str, str]] = (),
        approve: str | None = None,
        by: str,
    ) -> ImportReport:
        """Take in the lines of a catalog file; each names its server, or its namespace does.

        Args:
            raws: The lines, parsed.
            server: Whose tools those are that name neither; None refuses them.
            unread: Lines that were no tools: where, and why.
            approve: An access template to lock them under; None locks nothing.
            by: Who imports.
        """
        entries, refusals = take_in_lines(raws, default_server=server)
        by_server: dict[str, list[CatalogEntry]] = {}
        for entry in entries:
            by_server.setdefault(entry.source_server, []).append(entry)
        return await self._publish(by_server, [*unread, *_said(refusals)], approve, by)

    async def listings(
        self,
        listings: Mapping[str, Sequence[Json]],
        *,
        unread: Sequence[tuple[str, str]] = (),
        approve: str | None = None,
        by: str,
    ) -> ImportReport:
        """Take in saved listings: what each server answered to `tools/list`."""
        namespaces = self._catalog.deployment.namespaces_of
        by_server: dict[str, Sequence[CatalogEntry]] = {}
        refused = list(unread)
        for server, raws in sorted(listings.items()):
            by_server[server], refusals = take_in_listing(server, namespaces.get(server, server), raws)
            refused.extend(_said(refusals))
        return await self._publish(by_server, refused, approve, by)

    async def _publish(
        self,
        by_server: Mapping[str, Sequence[CatalogEntry]],
        refused: Sequence[tuple[str, str]],
        approve: str | None,
        by: str,
    ) -> ImportReport:
        """Publish in one transaction; lock first, so that a template that does not exist changes nothing.

        What another server's tool keeps out is not locked either: the line belongs to the owner.
        """
        now = self._catalog.clock.now()
        before = {one.server: one for one in await self._catalog.snapshots.listings()}
        listings = [Listing(server=name, fetched_at=now, entries=tuple(found)) for name, found in by_server.items()]
        composition = (await self._catalog.compose(listings)).composition
        kept_out = {(server, name): reason for server, name, reason in composition.refused}
        entries = [
            entry for one in listings for entry in one.entries if (entry.source_server, entry.name) not in kept_out
        ]
        locked = await self._keeper.lock_entries(entries, approve, by) if approve is not None else ()
        await self._catalog.publish(listings, by)
        head = await self._catalog.snapshots.head()
        listed = {entry.tool_id for entry in entries}
        old = (entry.tool_id for name in by_server if name in before for entry in before[name].entries)
        return ImportReport(
            catalog_version=None if head is None else head.version,
            imported=len(entries),
            locked=len(locked),
            removed=tuple(tool_id for tool_id in old if tool_id not in listed),
            refused=(*refused, *((name, reason) for (_, name), reason in kept_out.items())),
        )


def _said(refusals: Sequence[Refusal]) -> list[tuple[str, str]]:
    return [(refusal.name, refusal.reason) for refusal in refusals]
