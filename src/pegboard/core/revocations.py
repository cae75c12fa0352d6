"""Revocations: what is denied at once, whatever the catalog, the lock or an index says.

They are policy's own list, read for each request. `halt all` leaves the tools that are pinned
`always` (an emergency stop must still work), and nothing else.

Source: DESIGN section 4, "Revocations"; certificate revocation lists.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pegboard.core.catalog import CatalogEntry
from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json, digest, name_problem
from pegboard.core.times import stamp

__all__ = ["EVERYTHING", "NO_REVOCATIONS", "Revocation", "Revocations", "target_problem", "with_parents"]

_KINDS = ("namespace", "server", "principal")
EVERYTHING = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Revocation:
    """One halt. Times are Unix seconds; `expires_at` None means until it is resumed."""

    target: str
    why: str
    by: str
    since: float
    expires_at: float | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the answer of `halt`."""
        return {
            "target": self.target,
            "why": self.why,
            "by": self.by,
            "since": stamp(self.since),
            "expires_at": None if self.expires_at is None else stamp(self.expires_at),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Revocations:
    """The targets in force at one moment. `as_of` says when they were read (Unix seconds): the gate bounds its age."""

    targets: frozenset[str] = frozenset()
    as_of: float = 0.0

    @classmethod
    def at(cls, now: float, revocations: Iterable[Revocation]) -> "Revocations":
        """Keep those that are in force at *now*."""
        live = (item.target for item in revocations if item.expires_at is None or item.expires_at > now)
        return cls(targets=frozenset(live), as_of=now)

    @property
    def digest(self) -> str:
        """Identify what is revoked, not when that was read."""
        targets: Json = sorted(self.targets)
        return digest(targets)

    def covers_caller(self, context: RuntimeContext) -> bool:
        """Say whether everything is denied to this caller."""
        halted = {target.removeprefix("principal:") for target in self.targets if target.startswith("principal:")}
        return bool(halted) and not halted.isdisjoint(context.principals)

    def covers(self, entry: CatalogEntry, outlasts_halt: bool = False) -> bool:
        """Say whether this tool is denied to everyone; *outlasts_halt*: `all` does not mean it."""
        if not self.targets:
            return False
        if EVERYTHING in self.targets and not outlasts_halt:
            return True
        return (
            entry.tool_id in self.targets
            or f"server:{entry.source_server}" in self.targets
            or any(f"namespace:{path}" in self.targets for path in with_parents(entry.namespace))
        )


NO_REVOCATIONS = Revocations()


def target_problem(target: str) -> str | None:
    """Say why *target* cannot be halted, or None where it can.

    A target is a tool id, `namespace:…`, `server:…`, `principal:…` or `all`.
    """
    kind, colon, rest = target.partition(":")
    if colon and kind in _KINDS:
        return None if rest else f"names no {kind} after the colon"
    return name_problem(target)


def with_parents(namespace: str) -> Iterable[str]:
    """Return the namespace and every namespace that it lies in, the outermost first."""
    parts = namespace.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts) + 1))
