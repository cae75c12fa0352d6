"""The system's clock and dice: the only file that reads the time or draws random bits.

Everything else is given both, so that a selection can be replayed and a test needs no waiting.
"""

import secrets
import time

__all__ = ["SystemClock"]


class SystemClock:
    """`Clock` on the wall clock and the operating system's random source."""

    def ticks(self) -> float:
        """Return seconds of a clock that never goes back."""
        return time.perf_counter()

    def now(self) -> float:
        """Return Unix seconds."""
        return time.time()

    def new_id(self, prefix: str) -> str:
        """Return `<prefix>_<32 hex>`: 128 bits, so that an id can be neither guessed nor met twice."""
        return f"{prefix}_{secrets.token_hex(16)}"
