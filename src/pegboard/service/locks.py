"""Kept locks: every state of the lock that a policy names, each as its changes, so that replay can have it again.

What is kept of a change grows with its lines, not with the lock. Every so often a whole one is kept, which bounds how
much is read to put one together.
"""

import json
from collections.abc import Iterable

from pegboard.core.errors import StoreError
from pegboard.core.lock import Lock
from pegboard.core.names import canonical_json
from pegboard.engine.lock_records import follows, lock_of, lock_record
from pegboard.service.ports import PolicyStore

__all__ = ["KeptLocks"]

_KIND = "lock"
# Records that make one lock at most; the whole one among them is read in about the time that the others take.
_CHAIN = 50
# Where a quarter of the lines has changed, the rest is worth writing as well.
_LARGE_SHARE = 4


class KeptLocks:
    """Keeps states of the lock, and puts them together again."""

    def __init__(self, policies: PolicyStore) -> None:
        self._policies = policies
        self._last: Lock | None = None
        self._length = 0
        """How many records make the last one."""

    async def keep(self, lock: Lock) -> None:
        """Keep a lock, as what differs from the one that was kept here before it.

        Raises:
            StoreError: Storage failed.
        """
        body = await self._policies.document(_KIND, lock.digest)
        length = await self._write(lock) if body is None else int(json.loads(body)["length"])
        self._last, self._length = lock, length

    async def _write(self, lock: Lock) -> int:
        """Write the record of a lock; return how many make it."""
        before, length = self._last, self._length + 1
        if before is None or length > _CHAIN or len(lock.differing(before)) * _LARGE_SHARE > len(lock):
            before, length = None, 1
        await self._policies.keep(_KIND, lock.digest, canonical_json(lock_record(lock, before, length)))
        if before is not None and before.digest not in await self._policies.documents(_KIND):
            # Pruned meanwhile, since nothing named it: what follows it could never be read.
            await self._policies.forget(_KIND, [lock.digest])
            await self._policies.keep(_KIND, lock.digest, canonical_json(lock_record(lock)))
            length = 1
        return length

    async def read(self, digest: str) -> Lock:
        """Return a lock that was kept.

        Raises:
            StoreError: It is no longer kept, or what is kept is not it.
        """
        lock = lock_of([json.loads(body) for body in await self._chain(digest)])
        if lock.digest != digest:
            raise StoreError(problem=f"the lock {digest} is not what was kept")
        return lock

    async def unused(self, named: Iterable[str]) -> list[str]:
        """Return the kept locks that are not *named*, and that none of those which are named follows."""
        needed: set[str] = set()
        for digest in named:
            following: str | None = digest
            while following is not None and following not in needed:
                needed.add(following)
                body = await self._policies.document(_KIND, following)
                following = None if body is None else follows(json.loads(body))
        return [digest for digest in await self._policies.documents(_KIND) if digest not in needed]

    async def forget(self, digests: Iterable[str]) -> None:
        """Remove kept locks."""
        await self._policies.forget(_KIND, list(digests))

    async def _chain(self, digest: str) -> list[bytes]:
        """Return the records that make a lock, the whole one first."""
        found: list[bytes] = []
        following: str | None = digest
        while following is not None:
            body = await self._policies.document(_KIND, following)
            # A chain is never that long but where a record was changed to follow itself.
            if body is None or len(found) == _CHAIN:
                raise StoreError(problem=f"the lock {digest} is no longer kept whole")
            found.append(body)
            following = follows(json.loads(body))
        return found[::-1]
