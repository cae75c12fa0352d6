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
    refused: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Json]:
        """Return the answer of `catalog import`."""
        return {
            "catalog_version": self.catalog_version,
            "imported": self.imported,
            "locked": self.locked,
            "refused": [{"name": name, "reason": reason} for name, reason in self.refused],
        }


class Importer:
    """Takes tools in from files."""

    def __init__(self, catalog: Catalog, keeper: LockKeeper) -> None:
        self._catalog = catalog
        self._keeper = keeper

    async def lines(
        self, raws: Sequence[Json], *, unread: Sequence[tuple[str, str]] = (), approve: str | None = None, by: str
    ) -> ImportReport:
        """Take in the lines of a catalog file; each names its server, or its namespace does.

        Args:
            raws: The lines, parsed.
            unread: Lines that were no tools: where, and why.
            approve: An access template to lock them under; None locks nothing.
            by: Who imports.
        """
        entries, refusals = take_in_lines(raws)
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
        """Publish in one transaction; lock first, so that a template that does not exist changes nothing."""
        now = self._catalog.clock.now()
        entries = [entry for server in by_server.values() for entry in server]
        locked = await self._keeper.lock_entries(entries, approve, by) if approve is not None else ()
        composition, _, _ = await self._catalog.publish(
            [Listing(server=server, fetched_at=now, entries=tuple(found)) for server, found in by_server.items()], by
        )
        head = await self._catalog.snapshots.head()
        kept_out = [(name, reason) for _, name, reason in composition.refused]
        return ImportReport(
            catalog_version=None if head is None else head.version,
            imported=len(entries) - len(kept_out),
            locked=len(locked),
            refused=(*refused, *kept_out),
        )


def _said(refusals: Sequence[Refusal]) -> list[tuple[str, str]]:
    return [(refusal.name, refusal.reason) for refusal in refusals]
