"""Progress: what a tool's server says of a call while it runs, for whoever waits for that call and asked to hear.

It goes beside the call and not through the gate: it decides nothing, and is the server's own word as its result is.

Source: MCP 2026-07-28, progress.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from pegboard.service.beside import Beside

__all__ = ["Hears", "hears_progress", "progress_to"]

# Takes the parameters of one notification as they were sent; it must not wait or raise.
Hears: TypeAlias = Callable[[Mapping[str, Any]], None]

_HEARS: Beside[Hears] = Beside("hears")


def progress_to(hears: Hears) -> AbstractContextManager[None]:
    """Have *hears* told of the progress of calls that are made in the body, by this task."""
    return _HEARS.said(hears)


def hears_progress() -> Hears | None:
    """Return who wants to hear of the call that this task makes, None where nobody does."""
    return _HEARS.now()
