"""Write behind: what need not be durable before an answer returns is gathered and written in batches.

The queue is bounded and nobody waits for it: what does not fit is dropped and counted. Whatever a process has not
written when it is killed is lost; `flush` leaves nothing.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import anyio

__all__ = ["LINGER_S", "Batches"]

T = TypeVar("T")

# How long the first of a batch waits for others, and how many make one: a transaction costs as much for 200 as for 1,
# and a person who looks for what just happened does not notice 50 ms.
LINGER_S = 0.05
BATCH = 200
# Ten batches: what a store that stands still for half a second makes wait.
ROOM = 2_000
# A batch that fails goes back once and again, since another process may be writing; a third time it is given up, since
# one bad item would hold up everything behind it for ever.
TRIES = 3


class Batches(Generic[T]):
    """A bounded queue, and the task that empties it into *write*, all or none of a batch."""

    def __init__(
        self,
        write: Callable[[Sequence[T]], Awaitable[None]],
        *,
        batch: int = BATCH,
        room: int = ROOM,
        linger_s: float = LINGER_S,
        lost: Callable[[int], None] = lambda count: None,
    ) -> None:
        self._write = write
        self._batch = batch
        self._room = room
        self._linger_s = linger_s
        self._lost = lost
        self._waiting: deque[T] = deque()
        self._turn = anyio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._enough = asyncio.Event()
        self._failures = 0
        self.dropped = 0
        """How many did not fit, or could not be written."""

    @property
    def full(self) -> bool:
        """Say whether there is no room."""
        return len(self._waiting) >= self._room

    def offer(self, item: T) -> None:
        """Take an item without waiting; where there is no room it is dropped and counted."""
        if self.full:
            self._drop(1)
            return
        self._waiting.append(item)
        self._wake()
        if len(self._waiting) >= self._batch:
            self._enough.set()

    async def flush(self) -> None:
        """Write everything that waits, and let the task that would have written it go.

        Raises:
            StoreError: A batch could not be written; it waits on, or was given up and counted.
        """
        async with self._turn:
            try:
                while self._waiting:
                    await self._one_batch()
            finally:
                # INVARIANT: nothing else is being written while the turn is ours, so the task only lingers.
                if self._task is not None:
                    self._task.cancel()
                    self._task = None

    def _wake(self) -> None:
        """See to it that a task of the running loop writes; a command may run each verb in a loop of its own."""
        loop = asyncio.get_running_loop()
        if self._task is None or self._task.done() or self._task.get_loop() is not loop:
            self._enough = asyncio.Event()
            self._task = loop.create_task(self._later())

    async def _later(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            if len(self._waiting) < self._batch:
                self._enough.clear()
            alarm = loop.call_later(self._linger_s, self._enough.set)
            try:
                await self._enough.wait()
            finally:
                alarm.cancel()
            try:
                async with self._turn:
                    await self._one_batch()
            except Exception:  # noqa: BLE001 - nobody waits for this task: what failed waits on, or is counted
                return

    async def _one_batch(self) -> None:
        batch = [self._waiting.popleft() for _ in range(min(self._batch, len(self._waiting)))]
        try:
            if batch:
                await self._write(batch)
        except BaseException as error:
            self._failures += 1
            if isinstance(error, Exception) and self._failures >= TRIES:
                self._failures = 0
                self._drop(len(batch))
            else:
                self._waiting.extendleft(reversed(batch))
            raise
        self._failures = 0

    def _drop(self, count: int) -> None:
        self.dropped += count
        self._lost(count)
