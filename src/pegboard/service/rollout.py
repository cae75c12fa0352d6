"""Release namespace by namespace: who is served by what, changed by people with a reason, taken back by guards.

The state is in the store and read for every request, so that a change and a demotion hold on all replicas from the
next request on. A promotion needs what the guards ask for; a demotion needs nothing but a reason.

Source: DESIGN section 11.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pegboard.core.catalog import Risk
from pegboard.core.context import RuntimeContext
from pegboard.core.errors import ConfigError
from pegboard.core.names import Json, digest
from pegboard.core.text import well_formed
from pegboard.engine.guards import END, GUARDS, Guarded, Observed, breach, guarded, observed_of, tallies
from pegboard.engine.rollout import LIVE, WHOLE, Change, Rollout, Setting, Sides
from pegboard.engine.view import View
from pegboard.service.audit import AuditKind
from pegboard.service.published import Catalog
from pegboard.service.rollout_store import RolloutStore

__all__ = ["READS_FIRST", "RECORDS", "Promotion", "Rollouts", "Shown"]

# How many of the newest records are read where a person asks.
RECORDS = 100_000
# … and how many of one selection count for the guards, so that what is written of it costs no more the longer it lasts.
JOINED = 100
READS_FIRST = "reads_first"
_SHADOW = Setting(0.0)
_GUARD = "guard"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """What became of a change that was asked for: it is there, or these problems stop it."""

    namespace: str
    asked: Setting
    change: Change | None
    guards: tuple[Guarded, ...]
    problems: Mapping[str, str]
    """Measure -> what is wrong; empty where the change was made."""

    def to_json(self) -> dict[str, Json]:
        """Return the answer of `rollout set`."""
        return {
            "namespace": self.namespace,
            "asked": str(self.asked),
            "changed": self.change is not None,
            "guards": [one.to_json() for one in self.guards],
            "problems": list(self.problems.values()),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What holds, what the guards find of it, and how it came to be."""

    rollout: Rollout
    guards: Mapping[str, tuple[Guarded, ...]]
    """Of every namespace that was set, by name."""
    history: tuple[Change, ...]
    """The newest first."""

    def to_json(self) -> dict[str, Json]:
        """Return the answer of `rollout show`."""
        namespaces: list[Json] = [
            {
                "namespace": path,
                "setting": str(self.rollout.last[path].setting),
                "guards": [one.to_json() for one in found],
            }
            for path, found in self.guards.items()
        ]
        return {"namespaces": namespaces, "history": [one.to_json() for one in self.history]}


class Rollouts:
    """Reads and changes who is served by what."""

    def __init__(self, store: RolloutStore, catalog: Catalog) -> None:
        self.store = store
        self.guards = catalog.deployment.guards
        self._catalog = catalog
        self._changes: tuple[Change, ...] = ()

    @property
    def in_use(self) -> bool:
        """Say whether anything was ever set, as far as this process has read."""
        return bool(self._changes)

    async def history(self) -> tuple[Change, ...]:
        """Read every change, oldest first. Raises StoreError."""
        # A line never changes, so only what is new is read; another request may have read as far meanwhile.
        known = self._changes
        found = (*known, *await self.store.changes(len(known)))
        if len(found) > len(self._changes):
            self._changes = found
        return self._changes

    async def current(self) -> Rollout:
        """Read what holds now. Raises StoreError."""
        return Rollout.of(await self.history())

    async def shown(self) -> Shown:
        """Read what holds, and measure it. Raises StoreError."""
        history = await self.history()
        now = Rollout.of(history)
        guards = {path: await self.measured(path) for path in sorted(now.last)}
        return Shown(rollout=now, guards=guards, history=tuple(reversed(history)))

    async def sides(self, context: RuntimeContext, conversation: str | None = None) -> Sides | None:
        """Say on which side a caller is; None where nothing was ever set, so that everything is live.

        The key of the canary is the conversation, which the application names, or else who asks.

        Raises:
            StoreError: The store cannot be read.
        """
        history = await self.history()
        if not history:
            return None
        now = Rollout.of(history)
        if conversation is None:
            return Sides(now=now, key=context.identity)
        conversation = well_formed(conversation)
        named = digest([context.identity, conversation])
        number = await self.store.began(named, now.number, self._catalog.clock.now())
        began = None if number == now.number else Rollout.of(history, until=number)
        return Sides(now=now, began=began, key=conversation)

    async def production(self, context: RuntimeContext, conversation: str | None, view: View) -> frozenset[str]:
        """Return the ids of the tools that the production path lists for a caller; policy is asked elsewhere.

        Raises:
            StoreError: The store cannot be read.
        """
        sides = await self.sides(context, conversation)
        if sides is None:
            return frozenset()
        served = {path: sides.serves(path) for path in {entry.namespace for entry in view.snapshot.entries}}
        return frozenset(entry.tool_id for entry in view.snapshot.entries if not served[entry.namespace])

    async def change(
        self, namespace: str, setting: Setting, *, by: str, why: str, waived: Mapping[str, str] | None = None
    ) -> Promotion:
        """Set a namespace, where that serves no more callers or the guards allow it.

        Args:
            namespace: Of the catalog, or `*` for all of which nothing is said.
            setting: What is to hold.
            by: Who wants it.
            why: The reason; it is put on record.
            waived: Measure -> reason, for what has too few samples, and for `reads_first`.

        Raises:
            ConfigError: There is no such namespace or measure, a reason is empty, or another changed the rollout
                at the same time.
            StoreError: The store failed; nothing has changed then.
        """
        waived = waived or {}
        view = (await self._catalog.current()).view
        _refuse(namespace, why, waived, view)
        rollout = await self.current()
        was = rollout.setting(namespace)
        found: tuple[Guarded, ...] = ()
        problems: dict[str, str] = {}
        if setting > max(was, _SHADOW):
            found = await self.measured(namespace)
            problems = {
                one.name: one.problem for one in found if one.problem and (one.missed or one.name not in waived)
            }
            if (first := _reads_first(namespace, rollout, view)) and READS_FIRST not in waived:
                problems[READS_FIRST] = f"reads come first: {', '.join(first)}"
        if problems:
            return Promotion(namespace=namespace, asked=setting, change=None, guards=found, problems=problems)
        evidence: dict[str, Json] = {"guards": [one.to_json() for one in found], "waived": dict(waived)}
        change = self._next(rollout, namespace, setting, by=by, why=why, evidence=evidence)
        if not await self._made(change, AuditKind.ROLLOUT_CHANGED):
            raise ConfigError("another changed the rollout at the same time", fix="look at it, and try again")
        return Promotion(namespace=namespace, asked=setting, change=change, guards=found, problems={})

    async def count(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Count anew what the selections gave that these records, which are written, belong to. Raises StoreError."""
        rollout = await self.current()
        if not (served := _served(rollout)):
            return
        written = tuple(records)
        selections = {str(one["selection_id"]) for one in written if one["kind"] != END}
        calls = {str(one["call_id"]) for one in written if one["kind"] == END}
        seen = observed_of(await self.store.joined(selections, calls, JOINED))
        within = ((path, mine) for path in served for mine in _about(path, rollout, seen))
        await self.store.tally([one for path, mine in within for one in tallies(path, mine, self.guards)])

    async def guard(self) -> tuple[Change, ...]:
        """Take back every namespace whose guards are broken, at once; return what was taken back.

        Raises:
            StoreError: The store failed.
        """
        made = []
        for namespace in _served(await self.current()):
            rollout = await self.current()
            since, most = rollout.last[namespace].at, self.guards.samples
            newest = {row.name: await self.store.tallies(namespace, row.name, since, most) for row in GUARDS}
            broken = breach(newest, self.guards)
            if broken is not None:
                change = self._next(rollout, namespace, _SHADOW, by=_GUARD, why=broken, evidence={})
                # Where another was first, a guard or a person, its change is the one that counts.
                if await self._made(replace(change, automatic=True), AuditKind.ROLLOUT_DEMOTED):
                    made.append(change)
        return tuple(made)

    async def measured(self, namespace: str) -> tuple[Guarded, ...]:
        """Return what the guards find in a namespace since it was last set. Raises StoreError."""
        rollout = await self.current()
        last = rollout.last.get(namespace)
        seen = observed_of(await self.store.observed(0.0 if last is None else last.at, RECORDS))
        return guarded(_about(namespace, rollout, seen), self.guards)

    def _next(
        self, rollout: Rollout, namespace: str, setting: Setting, *, by: str, why: str, evidence: Mapping[str, Json]
    ) -> Change:
        return Change(
            number=rollout.number + 1,
            namespace=namespace,
            setting=setting,
            was=rollout.setting(namespace),
            by=by,
            why=why,
            at=self._catalog.clock.now(),
            evidence=evidence,
        )

    async def _made(self, change: Change, kind: AuditKind) -> bool:
        """Put a change in force, and then tell the audit: one that cannot be told must not keep a breach going."""
        if not await self.store.change(change):
            return False
        told: dict[str, Json] = {"namespace": change.namespace, "setting": str(change.setting), "was": str(change.was)}
        told |= {"by": change.by, "why": change.why, "waived": change.evidence.get("waived", {})}
        await self._catalog.audit.record(kind, **told, number=change.number)
        return True


def _served(rollout: Rollout) -> dict[str, Change]:
    """Return what was set and is served to anyone."""
    return {path: last for path, last in rollout.last.items() if last.setting.share > 0}


def _about(namespace: str, rollout: Rollout, seen: Iterable[Observed]) -> list[Observed]:
    """Return what was observed of what a namespace's setting governs."""
    seen = tuple(seen)
    paths = {path for one in seen for path in one.namespaces}
    ours = {path for path in paths if rollout.governing(path, namespace) == namespace}
    found = (one.within(ours) for one in seen)
    return [one for one in found if one is not None]


def _refuse(namespace: str, why: str, waived: Mapping[str, str], view: View) -> None:
    known = {entry.namespace for entry in view.snapshot.entries}
    if namespace != WHOLE and not any(path == namespace or path.startswith(f"{namespace}.") for path in known):
        fix = f"there are {', '.join(sorted(known)) or 'none yet'}; {WHOLE} is all of which nothing is said"
        raise ConfigError(f"there is no namespace {namespace!r}", fix=fix)
    if not why.strip() or not all(reason.strip() for reason in waived.values()):
        raise ConfigError("a change needs a reason, and so does everything that is waived", fix="say why")
    measures = {*(row.name for row in GUARDS), READS_FIRST}
    if unknown := sorted(waived.keys() - measures):
        raise ConfigError(f"{unknown[0]!r} is no guard", fix=f"there are {', '.join(sorted(measures))}")


def _reads_first(namespace: str, rollout: Rollout, view: View) -> list[str]:
    """Return the namespaces of nothing but reads that are not live yet, where this one has tools that are not."""
    risks: dict[str, set[Risk]] = {}
    for row, entry in enumerate(view.snapshot.entries):
        risks.setdefault(entry.namespace, set()).add(view.risk(row))
    ours = {path for path in risks if rollout.governing(path, namespace) == namespace}
    if all(risks[path] == {Risk.READ} for path in ours):
        return []
    reads = (path for path, found in risks.items() if found == {Risk.READ} and path not in ours)
    return sorted(path for path in reads if rollout.setting(path) != LIVE)
