"""The three ways in which work on the file is done: without waiting, durably, and aside.

Two connections are open throughout. One waits for nobody, and what it commits may be lost with the power (NORMAL);
the other waits its turn on a worker thread, and what it commits is on the disk (FULL).
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import TypeVar

from anyio import to_thread

from pegboard.adapters.sqlite_schema import Guarded, Place, connect, create_private, prepare
from pegboard.adapters.store_errors import is_busy, translated

__all__ = ["Lanes"]

T = TypeVar("T")
_Work = Callable[[sqlite3.Connection], T]


class Lanes:
    """One file, and the connections to it. Only `StoreError` leaves its methods."""

    def __init__(self, place: Place) -> None:
        """Open the file, creating it or bringing it to the present format where needed.

        Raises:
            StoreError: It cannot be opened, is no store of ours, is damaged, locked, or of a newer format.
        """
        create_private(place.path)
        with translated(place.path):
            sure = connect(place)
            try:
                prepare(sure, place)
                quick = connect(place, synchronous="NORMAL")
                quick.execute("PRAGMA busy_timeout = 0")
            except BaseException:
                sure.close()
                raise
        self._place = place
        self._quick = Guarded(quick)
        self._sure = Guarded(sure)

    def close(self) -> None:
        """Close the file. Nothing is lost without it."""
        self._quick.close()
        self._sure.close()

    async def soon(self, work: _Work[T]) -> T:
        """Do short work here; where another process is in the way, wait for it on a worker thread."""
        with translated(self._place.path):
            try:
                return self._quick.use(work)
            except sqlite3.Error as error:
                if not is_busy(error):
                    raise
        return await self.surely(work)

    async def surely(self, work: _Work[T]) -> T:
        """Do durable work on a worker thread, since it waits for the disk."""

        def run() -> T:
            with translated(self._place.path):
                return self._sure.use(work)

        return await to_thread.run_sync(run)

    async def aside(self, work: _Work[T]) -> T:
        """Do long work on a worker thread and a connection of its own, so that nothing else waits for it."""

        def run() -> T:
            with translated(self._place.path), closing(connect(self._place)) as connection:
                return work(connection)

        return await to_thread.run_sync(run)
