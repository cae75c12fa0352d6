"""Compose: the next snapshot out of what the servers list, what the lock grants and what is curated.

A snapshot is a function of these three, so nothing a server does can widen it: a tool whose content
differs from its lock line is served as it was locked, and the new content is held until someone approves
it (law 6). A tool without a lock line is in the catalog, and eligible for nobody.

Source: DESIGN sections 4 and 9.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pegboard.core.aliases import mark
from pegboard.core.catalog import CatalogEntry, with_row
from pegboard.core.lock import Lock
from pegboard.core.mentions import ToolNames
from pegboard.core.snapshot import Snapshot
from pegboard.engine.intake import related
from pegboard.engine.pending import LockedContent

__all__ = ["Composition", "Curation", "compose"]


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


def compose(
    listed: Mapping[str, Sequence[CatalogEntry]],
    lock: Lock,
    locked_content: LockedContent,
    *,
    refused_names: Mapping[str, Collection[str]] | None = None,
    curation: Mapping[str, Curation] | None = None,
    previous: Snapshot | None = None,
    moved: Collection[str] | None = None,
) -> Composition:
    """Build the snapshot that follows *previous*; *previous* itself where nothing differs from it.

    Args:
        listed: The live entries of each server, at least of those in *moved*.
        lock: What is granted now.
        locked_content: Finds the stored entry of a tool id, schema hash and server, None where it was never seen.
        refused_names: Of each server, the names of tools that could not be taken in; no text may tell them either.
        curation: Local texts by tool id.
        previous: The version served until now. Where a tool means the same, its bytes are kept; where two
            servers claim one tool id, the one that had it keeps it.
        moved: The servers whose listing differs from the one that *previous* was composed from, under this same lock
            and curation; the other servers' entries are taken over from it. None: all are composed.
    """
    before = {} if previous is None else {entry.tool_id: entry for entry in previous.entries}
    standing = [] if moved is None else [entry for entry in before.values() if entry.source_server not in moved]
    chosen, refused = _one_owner_each(listed, before, standing)
    names = _Siblings(listed, refused_names or {})
    entries = [
        _steady(
            _curated(_as_locked(live, names, lock, locked_content), curation or {}),
            before.get(live.tool_id),
        )
        for live in chosen
    ]
    none_gone = len(standing) + len(entries) == len(before)
    if previous is not None and none_gone and all(before.get(entry.tool_id) is entry for entry in entries):
        return Composition(snapshot=previous, refused=tuple(refused))
    number = 1 if previous is None else previous.number + 1
    return Composition(snapshot=Snapshot.of(number, [*standing, *entries]), refused=tuple(refused))


def _one_owner_each(
    listed: Mapping[str, Sequence[CatalogEntry]],
    before: Mapping[str, CatalogEntry],
    standing: Iterable[CatalogEntry],
) -> tuple[list[CatalogEntry], list[tuple[str, str, str]]]:
    """Choose one entry for each tool id and each alias; what stands gives neither up."""
    owners: dict[str, CatalogEntry] = {}
    theirs = {entry.tool_id: entry for entry in standing}
    refused = []
    for server in sorted(listed):
        for entry in listed[server]:
            other = theirs.get(entry.tool_id) or owners.get(entry.tool_id)
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
    return _one_alias_each(owners.values(), before, theirs, refused), refused


def _one_alias_each(
    entries: Iterable[CatalogEntry],
    before: Collection[str],
    standing: Iterable[str],
    refused: list[tuple[str, str, str]],
) -> list[CatalogEntry]:
    """Leave out what could go over some wire under the name of a tool that is there: the one served before stays."""
    ordered = sorted(entries, key=lambda one: (one.tool_id not in before, one.tool_id))
    if all(entry.tool_id in before for entry in ordered):
        # What was served together has no name in common, and marks of a whole catalog take long to compute.
        return ordered
    named = {mark(tool_id): tool_id for tool_id in standing}
    chosen = []
    for entry in ordered:
        other = named.setdefault(mark(entry.tool_id), entry.tool_id)
        if other == entry.tool_id:
            chosen.append(entry)
            continue
        reason = f"its name on some wire could be that of {other!r}; rename one"
        refused.append((entry.source_server, entry.name, reason))
    return chosen


def _as_locked(
    live: CatalogEntry,
    names: "_Siblings",
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
    return with_row(related(locked, names[live.source_server]), enabled=live.enabled, pinned=live.pinned)


class _Siblings(dict[str, ToolNames]):
    """By server, the names of all that it lists, refused or not: indexed once, and only where a text is searched."""

    def __init__(self, listed: Mapping[str, Sequence[CatalogEntry]], refused: Mapping[str, Collection[str]]) -> None:
        super().__init__()
        self._listed = listed
        self._refused = refused

    def __missing__(self, server: str) -> ToolNames:
        listed = (entry.name for entry in self._listed[server])
        found = self[server] = ToolNames.of({*listed, *self._refused.get(server, ())})
        return found


def _curated(entry: CatalogEntry, curation: Mapping[str, Curation]) -> CatalogEntry:
    local = curation.get(entry.tool_id)
    if local is None:
        return entry
    return with_row(
        entry,
        summary=entry.summary if local.summary is None else local.summary,
        examples=entry.examples if local.examples is None else local.examples,
        keywords=entry.keywords if local.keywords is None else local.keywords,
    )


def _steady(entry: CatalogEntry, before: CatalogEntry | None) -> CatalogEntry:
    """Keep the bytes of what means the same: a schema that came in another key order is not a change."""
    if before is not None and before.row == entry.row:
        return before
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
