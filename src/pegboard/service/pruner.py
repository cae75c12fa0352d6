"""Prune: forget old catalog versions that nothing needs any more.

Kept are the head, the newest few, what was served while a selection may still be called, and every version that a
trace refers to, since it replays on it. Contents that the lock names stay whatever becomes of their versions (law 6).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pegboard.core.names import Json
from pegboard.service.ports import Discarded, Head, TraceStore
from pegboard.service.published import Catalog

__all__ = ["KEPT", "PruneReport", "Pruner"]

KEPT = 10
# More traces than any store holds.
_ALL = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneReport:
    """What was removed, or would be."""

    applied: bool
    versions: tuple[str, ...]
    kept: int
    """How many versions stay."""
    needed: int
    """How many of those stay only because a trace refers to them."""
    rows: int
    policies: int
    size_bytes: int

    def to_json(self) -> dict[str, Json]:
        """Return the answer of `catalog prune`."""
        return {
            "applied": self.applied,
            "versions": list(self.versions),
            "kept": self.kept,
            "needed": self.needed,
            "rows": self.rows,
            "policies": self.policies,
            "bytes": self.size_bytes,
        }


class Pruner:
    """Finds out what nothing refers to."""

    def __init__(self, catalog: Catalog, traces: TraceStore) -> None:
        self._catalog = catalog
        self._traces = traces

    async def prune(self, keep: int = KEPT, *, apply: bool) -> PruneReport:
        """Remove what nothing needs, the newest *keep* versions apart; without *apply* only say what it would be.

        Raises:
            StoreError: The store failed; nothing was removed.
        """
        versions = await self._catalog.snapshots.versions()
        catalogs, policies = await self._named_by_traces()
        recent = self._recent(versions, keep)
        old = [one for one in versions if one not in recent]
        gone = [one for one in old if one.version not in catalogs]
        lock = self._catalog.composer.lock()
        contents = {(line.tool, line.hash) for line in lock}
        found: Discarded = await self._catalog.snapshots.discard([one.number for one in gone], contents, apply=apply)
        unused = await self._unused_policies(policies)
        if apply:
            await self._catalog.policies.forget("policy", unused)
            await self._catalog.locks.forget(await self._unused_locks())
        return PruneReport(
            applied=apply,
            versions=tuple(one.version for one in gone),
            kept=len(versions) - len(gone),
            needed=len(old) - len(gone),
            rows=found.rows,
            policies=len(unused),
            size_bytes=found.size_bytes,
        )

    def _recent(self, versions: Sequence[Head], keep: int) -> set[Head]:
        """Return the head, the newest versions, and those that were served within the life of a selection."""
        since = self._catalog.clock.now() - self._catalog.deployment.selection_lifetime_s
        served = {one for one, following in pairwise(versions) if following.published_at > since}
        return served.union(versions[-max(1, keep) :])

    async def _named_by_traces(self) -> tuple[set[str], set[str]]:
        """Return the catalog and policy versions that traces refer to."""
        catalogs: set[str] = set()
        policies: set[str] = set()
        for trace_id, _ in await self._traces.traces(_ALL):
            body = await self._traces.trace(trace_id)
            named = json.loads(body).get("versions") if body is not None else None
            if isinstance(named, dict):
                catalogs.add(str(named.get("catalog")))
                policies.add(str(named.get("policy")))
        return catalogs, policies

    async def _unused_policies(self, named: set[str]) -> list[str]:
        """Return the kept policies that no trace names and no process decides on, since the lock is another by now."""
        policies, present = self._catalog.policies, self._catalog.composer.lock().digest
        unused = []
        for digest in await policies.documents("policy"):
            body = await policies.document("policy", digest) if digest not in named else None
            if body is not None and json.loads(body).get("lock") != present:
                unused.append(digest)
        return unused

    async def _unused_locks(self) -> list[str]:
        """Return the kept locks that no kept policy is of."""
        policies = self._catalog.policies
        bodies = [await policies.document("policy", digest) for digest in await policies.documents("policy")]
        return await self._catalog.locks.unused(json.loads(body)["lock"] for body in bodies if body is not None)
