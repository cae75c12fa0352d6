"""API keys and stated contexts in memory. Nothing outlives the process."""

import threading
from dataclasses import replace

from pegboard.service.keys import ApiKey
from pegboard.service.stated import Bound

__all__ = ["MemoryContexts", "MemoryKeys"]


class MemoryKeys:
    """`KeyStore` in memory. Safe from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._keys: dict[str, ApiKey] = {}

    async def add(self, key: ApiKey) -> bool:
        """Keep a new key; False where one of this name is there and not revoked."""
        with self._guard:
            if key.key_id in self._keys or self._in_use(key.name) is not None:
                return False
            self._keys[key.key_id] = key
            return True

    async def key(self, key_id: str) -> ApiKey | None:
        """Return one key, revoked and expired ones included; None where there is none."""
        with self._guard:
            return self._keys.get(key_id)

    async def keys(self) -> tuple[ApiKey, ...]:
        """Return every key, the newest first."""
        with self._guard:
            return tuple(reversed(self._keys.values()))

    async def revoke(self, name: str, at: float) -> ApiKey | None:
        """End the key of this name that is not revoked; None where there is none."""
        with self._guard:
            if (found := self._in_use(name)) is None:
                return None
            self._keys[found.key_id] = replace(found, revoked_at=at)
            return self._keys[found.key_id]

    def _in_use(self, name: str) -> ApiKey | None:
        return next((key for key in self._keys.values() if key.name == name and key.revoked_at is None), None)


class MemoryContexts:
    """`ContextStore` in memory. Safe from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._bound: dict[str, Bound] = {}

    async def bind(self, digest: str, bound: Bound) -> None:
        """Keep what holds for this credential from now on, and drop what has expired."""
        with self._guard:
            self._bound = {one: kept for one, kept in self._bound.items() if kept.expires_at > bound.at}
            self._bound[digest] = bound

    async def bound(self, digest: str) -> Bound | None:
        """Return what was last stated, expired or not; None where nothing was."""
        with self._guard:
            return self._bound.get(digest)
