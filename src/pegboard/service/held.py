"""Held: what servers list and the lock does not grant as it is; only what moved is looked at again."""

from pegboard.core.lock import Lock
from pegboard.service.ports import SnapshotStore

__all__ = ["HeldTools"]

_Keys = tuple[tuple[str, str, str], ...]


class HeldTools:
    """Finds what is held, and remembers it until a listing or a line of the lock is another."""

    def __init__(self, snapshots: SnapshotStore) -> None:
        self._snapshots = snapshots
        self._lock = Lock.of()
        self._known: dict[str, tuple[object, _Keys]] = {}
        """By server: the stamp of its listing, and what of it is held under `_lock`."""

    async def of(self, lock: Lock) -> _Keys:
        """Return the (tool id, schema hash, server) of what is listed and not granted, by server.

        Raises:
            StoreError: The store cannot be read.
        """
        stamps = await self._snapshots.listing_stamps()
        relocked = self._relocked(lock)
        stale = {
            server
            for server, stamp in stamps.items()
            if server not in self._known or self._known[server][0] != stamp or server in relocked or None in relocked
        }
        held: dict[str, list[tuple[str, str, str]]] = {server: [] for server in stale}
        for key in await self._snapshots.live(stale) if stale else ():
            # A listing that came since the stamps were read is looked at again next time.
            if not lock.grants(*key):
                held[key[2]].append(key)
        fresh = {server: (stamps[server], tuple(found)) for server, found in held.items()}
        kept = {server: found for server, found in self._known.items() if server in stamps and server not in stale}
        self._lock, self._known = lock, kept | fresh
        return tuple(key for server in sorted(self._known) for key in self._known[server][1])

    def _relocked(self, lock: Lock) -> set[str | None]:
        """Return the servers of the lines that are others than before; None stands for any."""
        differing = lock.differing(self._lock)
        return {one.lines[tool].server for one in (lock, self._lock) for tool in differing if tool in one.lines}
