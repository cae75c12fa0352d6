"""Keep the lock: turn proposals and a person's word into lock lines, and lines back out.

Every change goes through here, is written whole, and says who made it and when. What a server sends never
writes a line (law 6).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pegboard.core.catalog import CatalogEntry, Flow, Reach, Risk
from pegboard.core.errors import ConfigError, UnknownToolError
from pegboard.core.lock import Lock, LockLine
from pegboard.core.names import Json
from pegboard.engine.compose import Pending
from pegboard.engine.proposals import proposed
from pegboard.service.published import Catalog, rejection

__all__ = ["Draft", "LockCheck", "LockKeeper"]


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
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LockCheck:
    """What `lock check` found: each problem with the tool it is about."""

    lines: int
    problems: tuple[tuple[str, str], ...]


class LockKeeper:
    """Reads what waits and writes what was agreed."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    async def drafts(self) -> tuple[Draft, ...]:
        """Return what waits for a person and was not rejected, each with the line that is proposed for it."""
        lock = self._catalog.lock_file.read()
        waiting = await self._catalog.pending()
        return tuple([self._draft(one, lock) for one in waiting if not await self._rejected(one.live)])

    async def classify(self, *, apply: bool, by: str) -> tuple[tuple[Draft, ...], tuple[Draft, ...]]:
        """Sort the new tools into those whose proposal is complete and those that need a review.

        With *apply* the first are locked. A changed tool is never among them: a person looks at its diff.
        """
        drafts = await self.drafts()
        ready = tuple(one for one in drafts if not one.waiting.changed and one.access in self._templates)
        rest = tuple(one for one in drafts if one not in ready)
        if apply and ready:
            await self._grant(ready, by)
        return ready, rest

    async def approve(
        self,
        tools: Sequence[str],
        *,
        by: str,
        access: str | None = None,
        risk: Risk | None = None,
        reach: Reach | None = None,
        flow: frozenset[Flow] | None = None,
    ) -> tuple[LockLine, ...]:
        """Lock the live content of *tools*; what is not said is taken from the proposal.

        Raises:
            UnknownToolError: One of them does not wait for review.
            ConfigError: One has no access template, or names one that does not exist; nothing is locked then.
        """
        known = {one.tool_id: one for one in await self._all()}
        chosen = [_known(tool, known) for tool in tools]
        said = [
            replace(
                one,
                access=access or one.access,
                risk=risk or one.risk,
                reach=reach or one.reach,
                flow=one.flow if flow is None else flow,
            )
            for one in chosen
        ]
        return await self._grant(said, by)

    async def reject(self, tools: Sequence[str]) -> None:
        """Take the live content of *tools* off the list; what was locked before is served on.

        Raises:
            UnknownToolError: One of them does not wait for review.
        """
        known = {one.tool_id: one for one in await self._all()}
        for one in [_known(tool, known) for tool in tools]:
            await self._catalog.policies.keep("rejected", _rejection(one.waiting.live), b"")

    async def lock_entries(self, entries: Iterable[CatalogEntry], access: str, by: str) -> tuple[LockLine, ...]:
        """Lock *entries* under one template, each with its proposed risk and reach.

        Raises:
            ConfigError: There is no such template.
        """
        lock = self._catalog.lock_file.read()
        drafts = (self._draft(Pending(live=entry), lock) for entry in entries)
        return await self._grant([replace(draft, access=access) for draft in drafts], by)

    def show(self) -> Lock:
        """Return the lock as it is."""
        return self._catalog.lock_file.read()

    async def replace(self, lock: Lock) -> None:
        """Put another lock in place of the present one; every line names its own approver."""
        self._catalog.lock_file.write(lock)

    async def check(self) -> LockCheck:
        """Compare the lock with the templates and with what the servers list."""
        lock = self._catalog.lock_file.read()
        live = {entry.tool_id: entry for entries in (await self._catalog.live()).values() for entry in entries}
        problems = []
        for line in lock:
            if line.access not in self._templates:
                problems.append((line.tool, f"names the access template {line.access!r}, which does not exist"))
            if line.tool not in live:
                problems.append(
                    (line.tool, "is locked, and no server lists it; remove its line if it is gone for good")
                )
            elif not line.is_of(live[line.tool].source_server):
                problems.append((line.tool, f"was locked as a tool of {line.server!r}, and another server lists it"))
            elif live[line.tool].schema_hash != line.hash:
                problems.append((line.tool, "has changed since it was locked; the locked content is served"))
        return LockCheck(lines=len(lock), problems=tuple(problems))

    @property
    def _templates(self) -> frozenset[str]:
        return frozenset(self._catalog.deployment.templates)

    async def _all(self) -> tuple[Draft, ...]:
        """Return what waits, rejected or not: a person may change their mind."""
        lock = self._catalog.lock_file.read()
        return tuple(self._draft(one, lock) for one in await self._catalog.pending())

    def _draft(self, waiting: Pending, lock: Lock) -> Draft:
        """Propose a line: what the lock said of the tool before, else what rules, file and name suggest."""
        line = lock.lines.get(waiting.live.tool_id)
        if line is not None:
            return Draft(waiting=waiting, access=line.access, risk=line.risk, reach=line.reach, flow=line.flow)
        rules = self._catalog.deployment.propose.get(waiting.live.source_server, ())
        one = proposed(waiting.live, rules)
        assert one.risk is not None
        assert one.reach is not None
        return Draft(waiting=waiting, access=one.access, risk=one.risk, reach=one.reach, flow=one.flow or frozenset())

    async def _rejected(self, entry: CatalogEntry) -> bool:
        return await self._catalog.policies.document("rejected", _rejection(entry)) is not None

    async def _grant(self, drafts: Iterable[Draft], by: str) -> tuple[LockLine, ...]:
        at = datetime.fromtimestamp(int(self._catalog.clock.now()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        lines = tuple(self._line(draft, by, at) for draft in drafts)
        self._catalog.lock_file.write(self._catalog.lock_file.read().granting(lines))
        await self._catalog.current()
        return lines

    def _line(self, draft: Draft, by: str, at: str) -> LockLine:
        if draft.access is None:
            raise ConfigError(
                problem=f"no access template is proposed for {draft.tool_id!r}",
                fix="name one with --access",
            )
        if draft.access not in self._templates:
            raise ConfigError(
                problem=f"there is no access template {draft.access!r}",
                where="[access] in pegboard.toml",
                fix=f"use one of: {', '.join(sorted(self._templates)) or '(none is configured)'}",
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


def _known(tool: str, known: dict[str, Draft]) -> Draft:
    if tool not in known:
        raise UnknownToolError(tool_id=tool, fix="`pegboard review list` names the tools that wait")
    return known[tool]


def _rejection(entry: CatalogEntry) -> str:
    return rejection(entry.tool_id, entry.schema_hash)
