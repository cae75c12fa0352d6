"""Time that a test moves: a clock whose sleepers wake when the test has moved it past their hour."""

from itertools import count

import anyio
import anyio.lowlevel
import anyio.to_thread

# anyio's own `wait_all_tasks_blocked` takes a tenth of a second each time.
_ROUNDS = 40


class SteeredClock:
    """A clock that a test sets, with ids that count up, and with sleep that waits for no real time."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.time = now
        self._ids = count(1)
        self._sleepers: list[tuple[float, anyio.Event]] = []

    def now(self) -> float:
        """Return the time that was set."""
        return self.time

    def ticks(self) -> float:
        """Return the same."""
        return self.time

    def new_id(self, prefix: str) -> str:
        """Return the next number."""
        return f"{prefix}_{next(self._ids)}"

    async def sleep(self, seconds: float) -> None:
        """Sleep until the test has moved the clock so far."""
        sleeper = (self.time + seconds, anyio.Event())
        self._sleepers.append(sleeper)
        try:
            await sleeper[1].wait()
        finally:
            self._sleepers.remove(sleeper)

    async def advance(self, seconds: float) -> None:
        """Let time pass: each sleeper wakes at its hour, and everyone comes to rest before the next does."""
        await _rest()
        until = self.time + seconds
        while due := [sleeper for sleeper in self._sleepers if sleeper[0] <= until]:
            hour, event = min(due, key=lambda sleeper: sleeper[0])
            self.time = max(self.time, hour)
            event.set()
            await _rest()
        self.time = until
        await _rest()


async def _rest() -> None:
    """Let everyone come to rest: nothing here waits for more than other tasks, so that takes a few rounds, and threads.

    What a thread works on takes moments of real time, in which no time passes here.
    """
    threads = anyio.to_thread.current_default_thread_limiter()
    for _ in range(_ROUNDS):
        await anyio.lowlevel.checkpoint()
        while threads.borrowed_tokens:
            await anyio.sleep(0.001)
