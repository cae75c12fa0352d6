"""What a server says unasked and that is used: its list of tools changed, and how far a call is.

The first carries nothing, so however many come there is one thing to know: whether any came since. Who hears it fetches
the list anew and believes that alone. The second is for whoever waits for the call, by the token that went along.

Source: MCP 2025-11-25 and 2026-07-28, `notifications/tools/list_changed` and `notifications/progress`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any

from pegboard.service.progress import Hears

__all__ = ["Bell"]


class Bell:
    """Counts what one session heard, and tells those who listen."""

    def __init__(self) -> None:
        self.rung = 0
        """How often it rang."""
        self._ears: list[Callable[[], None]] = []
        self._progress: dict[str, Hears] = {}
        self._tokens = count(1)

    def hear(self, message: Mapping[str, Any]) -> bool:
        """Ring where a message says that the list changed, and say whether it said anything that is heard here."""
        if message.get("method") == "notifications/progress":
            said = message.get("params")
            if isinstance(said, dict) and (hears := self._progress.get(str(said.get("progressToken")))) is not None:
                hears(said)
            return True
        if message.get("method") != "notifications/tools/list_changed":
            return False
        self.rung += 1
        for ear in self._ears:
            ear()
        return True

    @contextmanager
    def heard_by(self, ear: Callable[[], None]) -> Iterator[None]:
        """Call *ear* at each ring of the body's time; it must not wait or raise."""
        self._ears.append(ear)
        try:
            yield
        finally:
            self._ears.remove(ear)

    @contextmanager
    def progress_of(self, hears: Hears | None) -> Iterator[dict[str, str]]:
        """Have the progress of one call heard for the time of the body; yields what goes along with that call."""
        if hears is None:
            yield {}
            return
        token = f"call-{next(self._tokens)}"
        self._progress[token] = hears
        try:
            yield {"progressToken": token}
        finally:
            del self._progress[token]
