"""Drafts of lock lines, which a person is asked about, the lines they become, and what a check of the lock found."""

from collections.abc import Collection
from dataclasses import dataclass

from pegboard.core.catalog import Flow, Reach, Risk
from pegboard.core.errors import ConfigError
from pegboard.core.lock import LockLine
from pegboard.core.names import Json
from pegboard.engine.pending import Pending

__all__ = ["Draft", "LockCheck", "changed", "line_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A lock line that a person is asked about; `access` None means that nobody proposed a template."""

    waiting: Pending
    access: str | None
    risk: Risk
    reach: Reach
    flow: frozenset[Flow]
    revoked: bool = False
    """A refresh took it from everyone: what is locked is not even served meanwhile."""

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
    """What `lock check` found: each problem with the tool it is about, and the tools that no server lists."""

    lines: int
    problems: tuple[tuple[str, str], ...]
    gone: tuple[str, ...]


def changed(*, revoked: bool) -> str:
    """Say of a tool that was locked as something else what becomes of it until someone looks."""
    meanwhile = "it is revoked until you have looked" if revoked else "the locked content is served"
    return f"changed since it was locked; {meanwhile}"


def line_of(draft: Draft, templates: Collection[str], *, by: str, at: str) -> LockLine:
    """Return the line that a draft stands for, once someone has agreed.

    Raises:
        ConfigError: It has no access template, or none of *templates*, or contradicts itself.
    """
    if draft.access is None:
        raise ConfigError(
            problem=f"no access template is proposed for {draft.tool_id!r}",
            fix="name one with --access",
        )
    if draft.access not in templates:
        raise ConfigError(
            problem=f"there is no access template {draft.access!r}",
            where="[access] in pegboard.toml",
            fix=f"use one of: {', '.join(sorted(templates)) or '(none is configured)'}",
        )
    try:
        return LockLine(
            tool=draft.tool_id,
            hash=draft.waiting.live.schema_hash,
            access=draft.access,
            risk=draft.risk,
            reach=draft.reach,
            flow=draft.flow,
            by=by,
            at=at,
            server=draft.waiting.live.source_server,
        )
    except ValueError as error:
        raise ConfigError(problem=f"{draft.tool_id}: {error}", fix="approve it with --risk write") from None
