"""Pending: the tools that wait for a person, and why: new, changed, perhaps renamed, or with a finding.

What waits is served as it was locked, or to nobody (law 6). A newcomer that takes a name like an incumbent's waits,
and the incumbent is left alone.

Source: DESIGN section 9.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pegboard.core.catalog import CatalogEntry
from pegboard.core.lock import Lock, LockLine
from pegboard.core.names import Json, digest
from pegboard.engine.findings import Finding, Incumbents, Severity, findings, worst

__all__ = ["LockedContent", "Pending", "declared", "incumbents", "pending", "wanted"]

LockedContent: TypeAlias = Callable[[str, str, str], CatalogEntry | None]
"""Finds the stored entry of a tool id, schema hash and server, None where it was never seen."""

# How much of their words two tools share for the one to be perhaps the other under a new name.
_ALIKE = 0.8
# Pairs that are compared word by word; beyond them only equal content counts.
_PAIRS = 20_000
# Tools that say next to nothing are all alike.
_FEWEST_WORDS = 6
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A tool that waits for a person: new, or changed since it was locked."""

    live: CatalogEntry
    locked: CatalogEntry | None = None
    """What is served meanwhile; None where the tool is new, or its locked content is not to be had."""
    changed: bool = False
    fields: tuple[str, ...] = ()
    """Which declared fields of a changed tool differ, as MCP calls them; empty where that cannot be told."""
    renamed_from: str | None = None
    """The tool that is gone, and that this new one is like."""
    findings: tuple[Finding, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Say why it waits, in the order of `_REASONS`."""
        return tuple(text for row in _REASONS if (text := row(self)) is not None)

    @property
    def worst(self) -> Severity | None:
        """Return the highest severity among the findings."""
        return worst(self.findings)

    @property
    def doubtful(self) -> bool:
        """Say whether a person has to look, whatever a rule proposes or a standing order says."""
        return self.renamed_from is not None or self.worst in _DOUBTS


_DOUBTS = (Severity.MEDIUM, Severity.HIGH)
# One row a reason to wait.
_REASONS: tuple[Callable[[Pending], str | None], ...] = (
    lambda one: None if one.changed else "new",
    lambda one: f"changed: {', '.join(one.fields) or 'what was locked was never seen here'}" if one.changed else None,
    lambda one: None if one.renamed_from is None else f"perhaps {one.renamed_from} under another name",
    lambda one: f"found: {', '.join(sorted({found.rule for found in one.findings}))}" if one.findings else None,
)


def wanted(listed: Iterable[CatalogEntry], lock: Lock) -> Iterator[tuple[str, str, str]]:
    """Yield the (tool id, schema hash, server) of every locked content that `pending` and `compose` ask for."""
    live: dict[str, set[str]] = {}
    for entry in listed:
        live.setdefault(entry.source_server, set()).add(entry.tool_id)
        line = lock.lines.get(entry.tool_id)
        if line is not None and line.hash != entry.schema_hash and line.is_of(entry.source_server):
            yield entry.tool_id, line.hash, entry.source_server
    for line in lock:
        if line.server in live and line.tool not in live[line.server]:
            yield line.tool, line.hash, line.server


def incumbents(served: Iterable[CatalogEntry], lock: Lock) -> Incumbents:
    """Return the names that newcomers must not take: those of the locked tools among *served*."""
    return Incumbents.of((entry.source_server, entry.name) for entry in served if entry.tool_id in lock.lines)


def pending(
    listed: Iterable[CatalogEntry],
    lock: Lock,
    locked_content: LockedContent,
    held: Incumbents,
    metas: Mapping[str, Json] | None = None,
) -> tuple[Pending, ...]:
    """Return what waits for a person, by tool id.

    *metas* has the `_meta` of tools by id, where they were just listed: an entry does not keep it, since it is served
    to nobody.
    """
    ordered = sorted(listed, key=lambda entry: entry.tool_id)
    renames = _renames(ordered, lock, locked_content)
    return tuple(
        _pending(
            live,
            lock.lines.get(live.tool_id),
            locked_content,
            renames.get(live.tool_id),
            findings(live, incumbents=held, meta=(metas or {}).get(live.tool_id)),
        )
        for live in ordered
        if not lock.grants(live.tool_id, live.schema_hash, live.source_server)
    )


def _pending(
    live: CatalogEntry,
    line: LockLine | None,
    locked_content: LockedContent,
    renamed_from: str | None,
    found: tuple[Finding, ...],
) -> Pending:
    changed = line is not None and line.is_of(live.source_server)
    locked = locked_content(live.tool_id, line.hash, live.source_server) if line is not None and changed else None
    return Pending(
        live=live,
        locked=locked,
        changed=changed,
        fields=() if locked is None else tuple(_changed_fields(locked, live)),
        renamed_from=renamed_from,
        findings=found,
    )


# What a server declares of a tool: our name of the field, MCP's, and what it holds.
_DECLARED: tuple[tuple[str, str, Callable[[CatalogEntry], Json]], ...] = (
    ("name", "name", lambda entry: entry.name),
    ("title", "title", lambda entry: entry.title),
    ("description", "description", lambda entry: entry.description),
    ("input_schema", "inputSchema", lambda entry: None if entry.undeclared_schema else entry.input_schema),
    ("output_schema", "outputSchema", lambda entry: entry.output_schema),
    ("annotations", "annotations", lambda entry: entry.annotations or None),
)


def declared(entry: CatalogEntry) -> dict[str, Json]:
    """Return what a server declares of a tool, by our names of the fields: what a reviewer compares."""
    return {name: read(entry) for name, _, read in _DECLARED}


def _changed_fields(old: CatalogEntry, new: CatalogEntry) -> Iterator[str]:
    return (name for _, name, read in _DECLARED if read(old) != read(new))


def _renames(listed: Sequence[CatalogEntry], lock: Lock, locked_content: LockedContent) -> dict[str, str]:
    """Return for each new tool the locked tool of its server that is gone and that it is like."""
    live = {entry.tool_id for entry in listed}
    servers = {entry.source_server for entry in listed}
    found: dict[str, str] = {}
    gone: dict[str, list[CatalogEntry]] = {}
    for line in lock:
        if line.server in servers and line.tool not in live:
            entry = locked_content(line.tool, line.hash, line.server)
            if entry is not None:
                gone.setdefault(line.server, []).append(entry)
    for server, lost in gone.items():
        new = [entry for entry in listed if entry.source_server == server and entry.tool_id not in lock.lines]
        found.update(_likest(new, lost))
    return found


def _likest(new: Sequence[CatalogEntry], lost: Sequence[CatalogEntry]) -> Iterator[tuple[str, str]]:
    contents = {_content(entry): entry.tool_id for entry in reversed(lost)}
    compare = len(new) * len(lost) <= _PAIRS
    words = [(entry.tool_id, _words(entry)) for entry in lost] if compare else []
    for entry in new:
        own = _words(entry)
        if len(own) < _FEWEST_WORDS:
            continue
        if (same := contents.get(_content(entry))) is not None:
            yield entry.tool_id, same
        elif words:
            likeness, old = max((_likeness(own, theirs), tool_id) for tool_id, theirs in words)
            if likeness >= _ALIKE:
                yield entry.tool_id, old


def _content(entry: CatalogEntry) -> str:
    return digest([entry.title, entry.description, entry.input_schema, entry.output_schema])


def _words(entry: CatalogEntry) -> frozenset[str]:
    return frozenset(_WORD.findall(f"{entry.title or ''} {entry.description} {entry.input_schema_json}".casefold()))


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))
