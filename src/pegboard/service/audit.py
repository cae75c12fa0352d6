"""The operators' stream: who was denied what, who allowed it, who halted it, and who changed the lock.

It names tools that callers may not see, so nothing of it reaches a caller. It is append-only and chained: what is
changed or taken out of the middle is found by `verify`.

Source: DESIGN sections 10 and 2, "The audit stream is for operators and apart".
"""

import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum

from pegboard.core.chain import PRUNED, Walk
from pegboard.core.errors import ConfigError
from pegboard.core.names import Json
from pegboard.core.text import well_formed
from pegboard.core.times import stamp
from pegboard.service.batching import Batches
from pegboard.service.ports import AuditEvent, AuditStore, Clock
from pegboard.service.telemetry import QUIET, Key, Measure, Telemetry

__all__ = ["BATCHED", "Audit", "AuditCheck", "AuditKind", "AuditPruned"]

# A caller's own text is on record only as far as it helps to see what was meant.
LONGEST = 2_000
# A first publish may add a hundred thousand tools; `catalog diff` names them all.
MOST = 1_000
# How many events are read at once.
PAGE = 500


class AuditKind(StrEnum):
    """What an event is about."""

    DENIAL = "denial"
    """A call was refused by policy: the tool, and the rules that refused it."""
    APPROVAL_ASKED = "approval_asked"
    APPROVAL_GRANTED = "approval_granted"
    APPROVAL_DENIED = "approval_denied"
    APPROVAL_USED = "approval_used"
    HALT = "halt"
    RESUME = "resume"
    LOCK_CHANGED = "lock_changed"
    """Lines were added, removed or changed: which, and by whom."""
    REFRESH_HELD = "refresh_held"
    """A server listed what the lock does not grant: it waits for a person."""
    REFRESH_SUSPECT = "refresh_suspect"
    """A locked tool changed in a way that made it a suspect."""
    CATALOG_PUBLISHED = "catalog_published"
    CATALOG_ROLLED_BACK = "catalog_rolled_back"
    KEY_MADE = "key_made"
    """An API key was made: its name, workload and role."""
    KEY_REVOKED = "key_revoked"
    ROLLOUT_CHANGED = "rollout_changed"
    """A person released a namespace to more callers, or to fewer: from what to what, and why."""
    ROLLOUT_DEMOTED = "rollout_demoted"
    """A guard took a namespace back."""
    CONTEXT_STATED = "context_stated"
    """An application stated the stage, the flags or the clearance of a caller's work."""
    CALL_RESOLVED = "call_resolved"
    """A person said how a call of unknown outcome ended, and why."""
    LEDGER_PRUNED = "ledger_pruned"
    """Old calls were removed: how many, from before when."""
    AUDIT_PRUNED = PRUNED
    """Old events were removed: up to which, and its hash, from which the chain goes on."""
    EVENTS_LOST = "events_lost"
    """So many events could not be put on record before this one."""
    TRACES_LOST = "traces_lost"
    """So many traces could not be."""


# What happens on a request's way is written behind it; the acts of people are durable before they return.
BATCHED = frozenset({AuditKind.DENIAL})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCheck:
    """What `audit verify` found: how far the stream goes, and what does not follow from the event before."""

    events: int
    pruned: int
    """How many events were removed before the first."""
    broken: tuple[int, ...]
    last: str
    """The newest hash: kept elsewhere, it shows later that nothing up to here was cut off."""
    found: bool | None
    """Whether the hash that was kept elsewhere is there; None: none was given."""

    @property
    def good(self) -> bool:
        """Say whether all is as it was written, as far as can be seen."""
        return not self.broken and self.found is not False

    def to_json(self) -> dict[str, Json]:
        """Return the answer of `audit verify`."""
        told: dict[str, Json] = {"events": self.events, "pruned": self.pruned, "broken": list(self.broken)}
        return {**told, "last": self.last, "found": self.found}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPruned:
    """What was removed of the stream, or would be."""

    applied: bool
    before: float
    events: int
    through: int | None
    """The number of the last event that goes; None: none does."""

    def to_json(self) -> dict[str, Json]:
        """Return the answer of `audit prune`."""
        return {
            "applied": self.applied,
            "before": stamp(self.before),
            "events": self.events,
            "through": self.through,
        }


class Audit:
    """Puts events on the operators' stream and reads them back."""

    def __init__(self, store: AuditStore, clock: Clock, telemetry: Telemetry = QUIET) -> None:
        self._store = store
        self._clock = clock
        self._batches: Batches[tuple[float, str, dict[str, Json]]] = Batches(
            self._append, lost=lambda count: telemetry.measure(Measure.DROPPED, count, {Key.STREAM: "audit"})
        )
        self._told = 0

    async def record(self, kind: AuditKind, **fields: object) -> None:
        """Put an event on the stream; fields may be JSON, enums, sets and tuples.

        Events of `BATCHED` kinds are written soon and never raise; any other is durable when this returns, and
        everything that was recorded before it as well.

        Raises:
            StoreError: It could not be written.
        """
        event = (self._clock.now(), str(kind), {name: _plain(value) for name, value in fields.items()})
        if kind in BATCHED:
            self._batches.offer(event)
            return
        await self._batches.flush()
        await self._append([event])

    async def flush(self) -> None:
        """Write what waits. Raises StoreError where that fails."""
        await self._batches.flush()

    async def events(self, after: int = 0) -> AsyncIterator[AuditEvent]:
        """Read the stream, oldest first, what this process has not written yet included."""
        await self._batches.flush()
        while page := await self._store.events(after, PAGE):
            for event in page:
                yield event
            after = page[-1].number

    async def verify(self, kept: str | None = None) -> AuditCheck:
        """Compute the chain anew, and look for a hash that was *kept* elsewhere when it was the newest.

        Raises:
            StoreError: The stream cannot be read.
        """
        walk, found = Walk(), False
        async for event in self.events():
            walk.follow(event.number, event.at, event.kind, event.body, event.hash)
            # What was the newest once may have been removed since, and is then the one that is named.
            found |= kept == event.hash or (event.kind == PRUNED and kept == event.body.get("hash"))
        return AuditCheck(
            events=walk.events,
            pruned=walk.pruned,
            broken=walk.broken,
            last=walk.last,
            found=None if kept is None else found,
        )

    async def prune(self, kept_s: float | None, *, by: str, apply: bool) -> AuditPruned:
        """Remove events that are older than so many seconds; without *apply* only say what it would be.

        That they went, where the chain goes on, and which of them did not follow, is on the stream before they go.

        Raises:
            ConfigError: Nothing says how long events are kept.
            StoreError: The store failed; nothing was removed then.
        """
        if kept_s is None:
            raise ConfigError("every event is kept", fix="say `keep_days` under [audit] in pegboard.toml")
        await self._batches.flush()
        before = self._clock.now() - kept_s
        last = await self._store.older(before)
        (first,) = await self._store.events(0, 1) if last is not None else (None,)
        count = last.number - first.number + 1 if last is not None and first is not None else 0
        if apply and last is not None:
            # What was cut out of the stream is not washed off when what stood around it goes.
            broken = [number for number in (await self.verify()).broken if number <= last.number]
            told = {"through": last.number, "hash": last.hash, "events": count, "before": before, "broken": broken}
            await self.record(AuditKind.AUDIT_PRUNED, **told, by=by)
            await self._store.forget(last.number)
        return AuditPruned(applied=apply, before=before, events=count, through=None if last is None else last.number)

    async def _append(self, events: Sequence[tuple[float, str, dict[str, Json]]]) -> None:
        # Told before it is written, since an act and a batch may be written side by side.
        lost = self._batches.dropped - self._told
        self._told += lost
        if lost:
            events = [(events[0][0], str(AuditKind.EVENTS_LOST), {"count": lost}), *events]
        try:
            await self._store.append(events)
        except BaseException:
            self._told -= lost
            raise


def _plain(value: object) -> Json:
    """Return what can be written down of a field."""
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, str):
        return well_formed(value)[:LONGEST]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, dict):
        first = {well_formed(str(name)): _plain(item) for name, item in list(value.items())[:MOST]}
        return first if len(value) <= MOST else {**first, "…": f"and {len(value) - MOST:,} more"}
    if isinstance(value, frozenset | set):
        return _plain(sorted(map(str, value)))
    if isinstance(value, list | tuple):
        more = [f"… and {len(value) - MOST:,} more"] if len(value) > MOST else []
        return [*map(_plain, value[:MOST]), *more]
    raise TypeError(f"an event cannot hold {value!r}")
