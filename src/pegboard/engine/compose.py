"""Compose: the next snapshot out of what the servers list, what the lock grants and what is curated.

A snapshot is a function of these three, so nothing a server does can widen it: a tool whose content
differs from its lock line is served as it was locked, and the new content is held until someone approves
it (law 6). A tool without a lock line is in the catalog, and eligible for nobody.

Source: DESIGN sections 4 and 9.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pegboard.core.aliases import alias
from pegboard.core.catalog import CatalogEntry, with_row
from pegboard.core.lock import Lock
from pegboard.core.snapshot import Snapshot
from pegboard.engine.intake import relate

__all__ = ["Composition", "Curation", "LockedContent", "Pending", "compose", "pending"]

LockedContent: TypeAlias = Callable[[str, str, str], CatalogEntry | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curation:
    """What `[tools."id"]` in the configuration says in place of the server's words; None leaves the catalog's."""

    summary: str | None = None
    examples: tuple[str, ...] | None = None
    keywords: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """A snapshot, and the tools that another's tool id or alias kept out: (server, name, reason)."""

    snapshot: Snapshot
    refused: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A tool that waits for a person: new, or changed since it was locked."""

    live: CatalogEntry
    locked: CatalogEntry | None = None
    """What is served meanwhile; None where the tool is new, or its locked content is not to be had."""
    changed: bool = False


def compose(
    listed: Mapping[str, Sequence[CatalogEntry]],
    lock: Lock,
    locked_content: LockedContent,
    *,
    refused_names: Mapping[str, Collection[str]] | None = None,
    curation: Mapping[str, Curation] | None = None,
    previous: Snapshot | None = None,
) -> Composition:
    """Build the snapshot that follows *previous*.

    Args:
        listed: The live entries of each server.
        lock: What is granted now.
        locked_content: Finds the stored entry of a tool id, schema hash and server, None where it was never seen.
        refused_names: Of each server, the names of tools that could not be taken in; no text may tell them either.
        curation: Local texts by tool id.
        previous: The version served until now. Where a tool means the same, its bytes are kept; where two
            servers claim one tool id, the one that had it keeps it.
    """
    before = {} if previous is None else {entry.tool_id: entry for entry in previous.entries}
    chosen, refused = _one_owner_each(listed, before)
    siblings = {
        server: [*(entry.name for entry in entries), *(refused_names or {}).get(server, ())]
        for server, entries in listed.items()
    }
    entries = (
        _steady(
            _curated(_as_locked(live, siblings[live.source_server], lock, locked_content), curation or {}),
            before.get(live.tool_id),
        )
        for live in chosen
    )
    number = 1 if previous is None else previous.number + 1
    return Composition(snapshot=Snapshot.of(number, entries), refused=tuple(refused))


def pending(listed: Iterable[CatalogEntry], lock: Lock, locked_content: LockedContent) -> tuple[Pending, ...]:
    """Return what waits for a person, by tool id."""
    waiting = []
    for live in sorted(listed, key=lambda entry: entry.tool_id):
        line = lock.lines.get(live.tool_id)
        if line is None or not line.is_of(live.source_server):
            waiting.append(Pending(live=live))
        elif line.hash != live.schema_hash:
            waiting.append(
                Pending(live=live, locked=locked_content(live.tool_id, line.hash, live.source_server), changed=True)
            )
    return tuple(waiting)


def _one_owner_each(
    listed: Mapping[str, Sequence[CatalogEntry]], before: Mapping[str, CatalogEntry]
) -> tuple[list[CatalogEntry], list[tuple[str, str, str]]]:
    owners: dict[str, CatalogEntry] = {}
    refused = []
    for server in sorted(listed):
        for entry in listed[server]:
            other = owners.get(entry.tool_id)
            if other is None:
                owners[entry.tool_id] = entry
                continue
            incumbent = before.get(entry.tool_id)
            keep, drop = other, entry
            if incumbent is not None and incumbent.source_server == entry.source_server:
                keep, drop = entry, other
            owners[entry.tool_id] = keep
            reason = f"the tool id {entry.tool_id!r} belongs to server {keep.source_server!r}; use another namespace"
            refused.append((drop.source_server, drop.name, reason))
    return _one_alias_each(owners.values(), before, refused), refused


def _one_alias_each(
    entries: Iterable[CatalogEntry], before: Mapping[str, CatalogEntry], refused: list[tuple[str, str, str]]
) -> list[CatalogEntry]:
    """Leave out what would go over a wire under the name of a tool that is there: the one served before stays."""
    named: dict[str, CatalogEntry] = {}
    for entry in sorted(entries, key=lambda one: (one.tool_id not in before, one.tool_id)):
        other = named.setdefault(alias(entry.tool_id), entry)
        if other is not entry:
            reason = f"its name on the wire, {alias(entry.tool_id)!r}, is that of {other.tool_id!r}; rename one"
            refused.append((entry.source_server, entry.name, reason))
    return list(named.values())


def _as_locked(
    live: CatalogEntry,
    siblings: Sequence[str],
    lock: Lock,
    locked_content: LockedContent,
) -> CatalogEntry:
    """Return the content that the lock names, where it was ever seen; else the live one, which is not granted.

    Its mentions are found anew: a text that was locked long ago may name a tool that its server added since.
    """
    line = lock.lines.get(live.tool_id)
    if line is None or line.hash == live.schema_hash or not line.is_of(live.source_server):
        return live
    locked = locked_content(live.tool_id, line.hash, live.source_server)
    if locked is None:
        return live
    return relate([replace(locked, enabled=live.enabled, pinned=live.pinned)], siblings)[0]


def _curated(entry: CatalogEntry, curation: Mapping[str, Curation]) -> CatalogEntry:
    local = curation.get(entry.tool_id)
    if local is None:
        return entry
    return replace(
        entry,
        summary=entry.summary if local.summary is None else local.summary,
        examples=entry.examples if local.examples is None else local.examples,
        keywords=entry.keywords if local.keywords is None else local.keywords,
    )


def _steady(entry: CatalogEntry, before: CatalogEntry | None) -> CatalogEntry:
    """Keep the bytes of what means the same: a schema that came in another key order is not a change."""
    if before is not None and before.schema_hash == entry.schema_hash:
        entry = replace(
            entry,
            title=before.title,
            description=before.description,
            input_schema_json=before.input_schema_json,
            output_schema_json=before.output_schema_json,
            annotations_json=before.annotations_json,
        )
    return with_row(entry)
