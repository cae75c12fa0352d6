"""Drafts of lock lines, which a person is asked about, and what a check of the lock found."""

from dataclasses import dataclass

from pegboard.core.catalog import Flow, Reach, Risk
from pegboard.core.names import Json
from pegboard.engine.pending import Pending

__all__ = ["Draft", "LockCheck"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A lock line that a person is asked about; `access` None means that nobody proposed a template."""

    waiting: Pending
    access: str | None
    risk: Risk
    reach: Reach
    flow: frozenset[Flow]

    @property
    def tool_id(self) -> str:
        """Name the tool."""
        return self.waiting.live.tool_id

    def to_json(self) -> dict[str, Json]:
        """Return what is proposed, with the kind of change."""
        return {
            "tool": self.tool_id,
            "kind": "changed" if self.waiting.changed else "new",
            "hash": self.waiting.live.schema_hash,
            "access": self.access,
            "risk": str(self.risk),
            "reach": str(self.reach),
            "flow": sorted(map(str, self.flow)),
            "reasons": list(self.waiting.reasons),
            "findings": [found.to_json() for found in self.waiting.findings],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LockCheck:
    """What `lock check` found: each problem with the tool it is about."""

    lines: int
    problems: tuple[tuple[str, str], ...]
