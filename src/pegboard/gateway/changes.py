"""Changes: tells a client that its own list changed, and nobody else.

What can change a list (a version that was published, the lock, what is revoked, the clearance that an application
states) may happen in another process. So it is looked at once a second while anyone listens, and only where something
moved are lists made anew and compared. Everything is looked at from time to time all the same: credentials expire.

Source: MCP 2026-07-28, `subscriptions/listen`; MCP 2025-11-25, `notifications/tools/list_changed`.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import anyio

from pegboard.core.errors import PegboardError
from pegboard.gateway.callers import Caller, Callers
from pegboard.gateway.listing import Lister
from pegboard.service.identity import Credential, Refused

__all__ = ["Changes"]

EVERY_S = 1.0
# After so many looks nothing is taken for granted.
ALL_EVERY = 30
# A client that does not read is not waited for; it missed a hint, and its list expires by itself.
TELL_S = 5.0


@dataclass(slots=True, eq=False)
class _Listener:
    """Who listens, and the list that it was last told of."""

    credential: Credential
    digest: str
    tell: Callable[[], Awaitable[None]]
    end: Callable[[], None]


class Changes:
    """Who listens for a change of its list."""

    def __init__(
        self, lister: Lister, callers: Callers, *, sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    ) -> None:
        self._lister = lister
        self._callers = callers
        self._sleep = sleep
        self._listeners: set[_Listener] = set()
        self._state: object = None

    @property
    def listening(self) -> int:
        """Return how many listen."""
        return len(self._listeners)

    @contextmanager
    def heard_by(
        self, caller: Caller, digest: str, tell: Callable[[], Awaitable[None]], end: Callable[[], None]
    ) -> Iterator[None]:
        """Have a caller hear of changes of its list, for the time of the body.

        Args:
            caller: Who listens.
            digest: Of its list as it is now.
            tell: Tells it that its list changed.
            end: Is called when its credential opens nothing any more.
        """
        listener = _Listener(caller.credential, digest, tell, end)
        self._listeners.add(listener)
        try:
            yield
        finally:
            self._listeners.discard(listener)

    async def run(self) -> None:
        """Look again and again until cancelled."""
        looks = 0
        while True:
            await self._sleep(EVERY_S)
            if not self._listeners:
                continue
            looks += 1
            # Where policy cannot be read nobody gets a list either; the next look finds out.
            try:
                await self.look(everything=looks % ALL_EVERY == 0)
            except PegboardError:
                continue

    async def look(self, *, everything: bool = False) -> None:
        """Tell those whose list is not what it was.

        Raises:
            LockError: The lock cannot be read.
            StoreError: The store cannot be read.
        """
        state = await self._lister.state()
        if state == self._state and not everything:
            return
        for listener in tuple(self._listeners):
            await self._look(listener)
        # INVARIANT: after the lists, so that a look that failed is made again.
        self._state = state

    async def _look(self, listener: _Listener) -> None:
        caller = await self._callers.again(listener.credential)
        if isinstance(caller, Refused):
            if caller.status != 503:
                listener.end()
            return
        digest = (await self._lister.listed(caller.context)).digest
        if digest == listener.digest:
            return
        listener.digest = digest
        try:
            with anyio.move_on_after(TELL_S):
                await listener.tell()
        except Exception:  # noqa: BLE001 - one client's broken stream must not end those of others
            listener.end()
