"""Halts: stop what must not run, from the next request on, and let it run again.

A halt that stops nothing because of a slip of the pen is worse than none, so a target is looked up first: in what is
served and in what servers list, without the lock, which may be what is broken. A principal is not known here.

Source: DESIGN section 4, "Revocations".
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pegboard.core.catalog import CatalogEntry
from pegboard.core.revocations import EVERYTHING, Revocation, target_problem, with_parents
from pegboard.service.audit import Audit, AuditKind
from pegboard.service.ports import ToolServers
from pegboard.service.published import Catalog

__all__ = ["Halts", "Targets"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What there is to stop."""

    entries: Mapping[str, CatalogEntry]
    """By tool id; of what is served and listed under one id, what is served."""
    servers: frozenset[str]

    def known(self, kind: str) -> Collection[str]:
        """Return the names of one kind of target, those of no kind being tool ids."""
        if kind == "namespace":
            return {path for entry in self.entries.values() for path in with_parents(entry.namespace)}
        if kind == "server":
            return {entry.source_server for entry in self.entries.values()} | self.servers
        return () if kind else self.entries.keys()

    def stops(self, target: str) -> bool:
        """Say whether a halt of this target would stop anything, as far as can be known."""
        kind, colon, name = target.partition(":")
        if target_problem(target):
            return False
        if target == EVERYTHING or (colon and kind == "principal"):
            return True
        # A colon may stand in a tool's id too.
        return target in self.entries or (bool(colon) and name in self.known(kind))


class Halts:
    """Puts halts in force and lifts them, on the audit as well."""

    def __init__(self, catalog: Catalog, servers: ToolServers, audit: Audit) -> None:
        self._catalog = catalog
        self._servers = servers
        self._audit = audit

    async def targets(self) -> Targets:
        """Read what there is to stop. Raises StoreError."""
        head = await self._catalog.snapshots.head()
        served = () if head is None else (await self._catalog.snapshots.load(head.number)).entries
        listed = [entry for entries in (await self._catalog.live()).values() for entry in entries]
        entries = {entry.tool_id: entry for entry in (*listed, *served)}
        return Targets(entries=entries, servers=frozenset(self._servers.names()))

    async def halt(self, target: str, *, why: str, by: str, seconds: float | None = None) -> Revocation | None:
        """Stop a target from the next request on; None, and nothing is done, where that would stop nothing.

        Args:
            target: A tool id, `namespace:…`, `server:…`, `principal:…` or `all`.
            why: The reason; it is put on record.
            by: Who wants it.
            seconds: For how long; None: until it is resumed.

        Raises:
            StoreError: It is not in force; or it is, and could not be put on the audit.
        """
        if not (await self.targets()).stops(target):
            return None
        now = self._catalog.clock.now()
        one = Revocation(
            target=target, why=why, by=by, since=now, expires_at=None if seconds is None else now + seconds
        )
        # It holds before anyone writes of it: an audit that cannot be written must not keep a tool running.
        await self._catalog.policies.halt(one)
        told = {"target": target, "why": why, "by": by, "expires_at": one.expires_at}
        await self._audit.record(AuditKind.HALT, **told)
        return one

    async def resume(self, target: str, *, by: str) -> tuple[bool, tuple[str, ...]]:
        """Lift the halt of a target; say whether there was one, and what is halted still. Raises StoreError."""
        lifted = await self._catalog.policies.resume(target)
        if lifted:
            await self._audit.record(AuditKind.RESUME, target=target, by=by)
        return lifted, tuple(one.target for one in await self._catalog.policies.halts())
