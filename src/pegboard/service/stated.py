"""Stated contexts: what an application says of the work that one of its callers is at.

Stage, flags and clearance are the application's own state. It states them with its own credential, and they hold for
one credential of a caller, which is known by its digest, until that expires; nothing that travels with a caller's
request can state them (law 9).

Source: DESIGN sections 3 and 14.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pegboard.core.names import name_problem

__all__ = ["LONGEST_S", "Bound", "ContextStore", "Stated"]

# However long a caller's credential lives, an application says again within a day what its work is.
LONGEST_S = 24 * 3600.0
_FLAGS = 100
_CLEARANCE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """The stage, the flags and the clearance of a caller's work; what is unsaid is empty."""

    stage: str | None = None
    flags: frozenset[str] = frozenset()
    clearance: int | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Stated":
        """Take what an application sent.

        Raises:
            ValueError: A key is unknown, or a value cannot be what it is said to be; the message says what to send.
        """
        if unknown := sorted(map(str, value.keys() - {"stage", "flags", "clearance"})):
            raise ValueError(f"{unknown[0]!r} cannot be stated; stage, flags and clearance can")
        stage, flags, clearance = value.get("stage"), value.get("flags", []), value.get("clearance")
        if stage is not None and not _is_name(stage):
            raise ValueError("'stage' needs a short text, or null")
        if not isinstance(flags, list) or len(flags) > _FLAGS or not all(map(_is_name, flags)):
            raise ValueError(f"'flags' needs a list of at most {_FLAGS} short texts")
        if clearance is not None and not _is_level(clearance):
            raise ValueError(f"'clearance' needs a whole number from 0 to {_CLEARANCE:,}, or null")
        return cls(stage=stage, flags=frozenset(flags), clearance=clearance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What an application stated, by whom, and until when it holds. Times are Unix seconds."""

    stated: Stated
    by: str
    at: float
    expires_at: float


class ContextStore(Protocol):
    """Where stated contexts are kept, by the digest of the caller's credential. Every method may raise StoreError."""

    async def bind(self, digest: str, bound: Bound) -> None:
        """Keep what holds for this credential from now on, durably; what had expired by `bound.at` may be dropped."""

    async def bound(self, digest: str) -> Bound | None:
        """Return what was last stated, expired or not; None where nothing was."""


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and name_problem(value) is None


def _is_level(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _CLEARANCE
