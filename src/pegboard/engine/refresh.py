"""The refresh machine: one server's pages in, a candidate out; pure, and it grants nothing.

Obey it: fetch what `next_cursor` says and give each page to `receive` until `done`; then `finish` compares the whole
listing with what stood. A walk that broke a bound, or a page that is none, leaves no candidate, so what was served
stays (law 5). What of a candidate is revoked must be revoked at once, whatever fails after that. New lock lines are
only those that an operator's standing `follow` covers (law 6, `trust.py`).

Source: DESIGN section 9; the trusted metadata set of python-tuf for the division into a pure part and one that fetches.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pegboard.core.catalog import CatalogEntry
from pegboard.core.lock import Lock, LockLine
from pegboard.core.names import Json
from pegboard.core.text import hidden
from pegboard.engine.findings import Finding, Incumbents, Severity
from pegboard.engine.intake import take_in_listing
from pegboard.engine.listing import LIMITS, ListedPage, Walk, WalkLimits
from pegboard.engine.meaning import steadied
from pegboard.engine.pending import LockedContent, Pending, pending
from pegboard.engine.trust import Trust, followed_lines, suspicion

__all__ = ["GONE", "Candidate", "Refresh", "Standing", "Step", "alarm", "lifted"]

GONE = "its server lists it no longer"
_BROKEN = "what its server lists now cannot be taken in"

# A control character inside of JSON, but for tab, line feed and carriage return, of which nothing is cleaned. After an
# escaped backslash stand letters.
_ESCAPED = re.compile(r"(?<!\\)(?:\\\\)*\\(?:u00[01]|[bf])")
# Of a server's locked tools, when so many are gone at once, that is more than a clean-up (DESIGN 9).
_ALARM_LEAST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a server's new listing is compared with, as it stands when the walk has come to its end."""

    lock: Lock
    listed: Sequence[CatalogEntry] = ()
    """What the server listed last."""
    incumbents: Incumbents
    suspended: Collection[str] = ()
    """The tool ids that refreshes have revoked until now."""
    trust: Trust = Trust.REVIEW


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a refresh, with what it counted."""

    name: str
    counts: Mapping[str, int]

    def to_json(self) -> dict[str, Json]:
        """Return one element of `steps`."""
        return {"step": self.name, **self.counts}

    def __str__(self) -> str:
        return f"{self.name}: " + ", ".join(f"{what} {count:,}" for what, count in self.counts.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What one complete walk came to. The counts compare it with the server's last listing."""

    server: str
    entries: tuple[CatalogEntry, ...]
    refused: tuple[tuple[str, str], ...]
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    waiting: tuple[Pending, ...]
    """What waits for a person, those that `followed` locks left out."""
    followed: tuple[LockLine, ...]
    """The new lines, each as the line before it but for the hash; `by` and `at` are still that line's."""
    revoked: Mapping[str, str]
    """The locked tools that nobody may have from now on, each with the reason."""
    lifted: tuple[str, ...]
    """Revoked before, and again what the lock names, or not in the lock any more."""
    alarm: str | None
    steps: tuple[Step, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what was found in the tools that wait."""
        return tuple(found for one in self.waiting for found in one.findings)


class Refresh:
    """One refresh of one server."""

    def __init__(self, server: str, namespace: str, limits: WalkLimits = LIMITS) -> None:
        self._server = server
        self._namespace = namespace
        self._walk = Walk(server, limits)
        self._taken: tuple[CatalogEntry, ...] | None = None
        self._refused: tuple[tuple[str, str], ...] = ()

    @property
    def done(self) -> bool:
        """Say whether the last page was received."""
        return self._walk.done

    def next_cursor(self) -> str | None:
        """Return the cursor of the page to fetch; None asks for the first one."""
        return self._walk.next_cursor()

    def receive(self, page: ListedPage) -> None:
        """Take the page that was asked for.

        Raises:
            MalformedPageError: It is no page.
            PageLimitError: Too much, or a cursor that repeats. The refresh is over then, and nothing has changed.
        """
        self._walk.receive(page)

    def taken(self) -> tuple[CatalogEntry, ...]:
        """Return what could be taken in of the whole listing, so that its locked contents can be fetched.

        Raises:
            ValueError: The walk is not done; part of a listing is never looked at.
        """
        if self._taken is None:
            entries, refusals = take_in_listing(self._server, self._namespace, self._walk.tools())
            self._taken = entries
            self._refused = tuple((refusal.name, refusal.reason) for refusal in refusals)
        return self._taken

    def finish(self, standing: Standing, locked_content: LockedContent) -> Candidate:
        """Compare the listing with what stood.

        Args:
            standing: What stands now, read after the walk: someone may have approved something meanwhile.
            locked_content: Finds the contents that `pending.wanted` named for what was taken.
        """
        fresh = self.taken()
        lock = standing.lock
        entries = tuple(_steadied(fresh, standing, locked_content))
        waiting = pending(entries, lock, locked_content, standing.incumbents, self._metas(entries))
        followed = tuple(followed_lines(waiting, lock)) if standing.trust is Trust.FOLLOW else ()
        locked_now = {line.tool for line in followed}
        waiting = tuple(one for one in waiting if one.live.tool_id not in locked_now)
        added, changed, removed = _difference(entries, standing.listed)
        revoked = {
            **{one.live.tool_id: reason for one in waiting if (reason := suspicion(one)) is not None},
            **_gone(removed, self._refused, standing, self._server),
        }
        granted = lock.granting(followed) if followed and standing.suspended else lock
        return Candidate(
            server=self._server,
            entries=entries,
            refused=self._refused,
            added=added,
            changed=changed,
            removed=removed,
            waiting=waiting,
            followed=followed,
            revoked=revoked,
            lifted=tuple(lifted(entries, granted, standing.suspended)),
            alarm=_alarm(self._server, standing, removed),
            steps=(
                Step(name="fetched", counts=self._walk.counts()),
                Step(name="validated", counts={"taken": len(fresh), "refused": len(self._refused)}),
                _cleaned(fresh, entries, {*added, *changed}),
                _compared(entries, waiting, followed, removed),
                _found(waiting),
                Step(name="decided", counts={"held": len(waiting), "followed": len(followed), "revoked": len(revoked)}),
            ),
        )

    def _metas(self, entries: Iterable[CatalogEntry]) -> dict[str, Json]:
        """Return the `_meta` of the tools that came with one, by tool id."""
        raws = (raw for raw in self._walk.tools() if isinstance(raw, dict) and raw.get("_meta") is not None)
        metas = {raw["name"]: raw["_meta"] for raw in raws if isinstance(raw.get("name"), str)}
        return {entry.tool_id: metas[entry.name] for entry in entries if entry.name in metas}


def alarm(locked: Collection[str], gone: Collection[str]) -> str | None:
    """Say that too many of a server's locked tools are gone at once, None where they are not."""
    if len(gone) < _ALARM_LEAST or 2 * len(gone) <= len(locked):
        return None
    return f"{len(gone):,} of its {len(locked):,} locked tools are gone; they are revoked until it lists them again"


def lifted(entries: Iterable[CatalogEntry], lock: Lock, suspended: Collection[str]) -> Iterator[str]:
    """Yield what is suspended no longer: what its server lists as it is locked, and what is in no lock."""
    live = {entry.tool_id: entry for entry in entries if entry.tool_id in suspended} if suspended else {}
    for tool in suspended:
        entry = live.get(tool)
        if tool not in lock.lines or (entry is not None and lock.grants(tool, entry.schema_hash, entry.source_server)):
            yield tool


def _steadied(
    fresh: Iterable[CatalogEntry], standing: Standing, locked_content: LockedContent
) -> Iterator[CatalogEntry]:
    """Keep the bytes of what means the same as what is locked, or else as what was listed last."""
    last = {entry.tool_id: entry for entry in standing.listed}
    for entry in fresh:
        line = standing.lock.lines.get(entry.tool_id)
        if line is not None and line.hash != entry.schema_hash and line.is_of(entry.source_server):
            entry = steadied(entry, locked_content(entry.tool_id, line.hash, entry.source_server))
        if line is None or line.hash != entry.schema_hash:
            entry = steadied(entry, last.get(entry.tool_id))
        yield entry


def _difference(
    entries: Iterable[CatalogEntry], listed: Iterable[CatalogEntry]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the tools that are added, changed and removed since the last listing."""
    old = {entry.tool_id: entry.schema_hash for entry in listed}
    new = {entry.tool_id: entry.schema_hash for entry in entries}
    added = tuple(tool for tool in new if tool not in old)
    changed = tuple(tool for tool in new if tool in old and new[tool] != old[tool])
    return added, changed, tuple(tool for tool in old if tool not in new)


def _alarm(server: str, standing: Standing, removed: Collection[str]) -> str | None:
    locked = {entry.tool_id for entry in standing.listed if _is_locked(entry.tool_id, server, standing.lock)}
    return alarm(locked, locked.intersection(removed))


def _is_locked(tool: str, server: str, lock: Lock) -> bool:
    line = lock.lines.get(tool)
    return line is not None and line.is_of(server)


def _gone(
    removed: Iterable[str], refused: Iterable[tuple[str, str]], standing: Standing, server: str
) -> dict[str, str]:
    """Return the locked tools that are not there any more, with the reason."""
    names = {entry.tool_id: entry.name for entry in standing.listed}
    broken = dict(refused)
    return {
        tool: f"{_BROKEN}: {broken[names[tool]]}" if names[tool] in broken else GONE
        for tool in removed
        if _is_locked(tool, server, standing.lock)
    }


def _cleaned(fresh: Sequence[CatalogEntry], entries: Sequence[CatalogEntry], touched: Collection[str]) -> Step:
    """Count the new and changed tools with characters nobody can see, and those that only look changed."""
    unseen = sum(_needs_cleaning(entry) for entry in entries if entry.tool_id in touched)
    same = sum(one.schema_hash != other.schema_hash for one, other in zip(fresh, entries, strict=True))
    return Step(name="cleaned", counts={"unseen": unseen, "steadied": same})


def _compared(
    entries: Sequence[CatalogEntry], waiting: Sequence[Pending], followed: Sequence[LockLine], removed: Sequence[str]
) -> Step:
    changed = sum(one.changed for one in waiting) + len(followed)
    new = sum(not one.changed for one in waiting)
    counts = {"unchanged": len(entries) - changed - new, "changed": changed, "new": new, "gone": len(removed)}
    return Step(name="compared", counts=counts)


def _found(waiting: Iterable[Pending]) -> Step:
    found = [found.severity for one in waiting for found in one.findings]
    return Step(name="found", counts={str(one): found.count(one) for one in reversed(Severity)})


def _needs_cleaning(entry: CatalogEntry) -> bool:
    """Say whether a declared text holds what nobody sees; a schema is read as its JSON, where controls are escapes."""
    schemas = f"{entry.input_schema_json}{entry.output_schema_json or ''}{entry.annotations_json or ''}"
    return hidden(f"{entry.title or ''}{entry.description}{schemas}") or _ESCAPED.search(schemas) is not None
