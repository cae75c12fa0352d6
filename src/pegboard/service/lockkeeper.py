"""Keep the lock: turn proposals and a person's word into lock lines, and lines back out.

Every change goes through here, is written whole, and says who made it and when. What a server sends never
writes a line by itself (law 6): a person's word does, for the content that this person was shown, or an operator's
standing `follow`, which signs as that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pegboard.core.catalog import CatalogEntry, Flow, Reach, Risk
from pegboard.core.errors import ConfigError, StoreError, UnknownToolError
from pegboard.core.lock import Lock, LockLine
from pegboard.core.names import digest, short
from pegboard.core.times import stamp
from pegboard.engine.pending import Pending
from pegboard.engine.proposals import proposed
from pegboard.engine.refresh import GONE, alarm
from pegboard.engine.trust import FOLLOW
from pegboard.service.audit import AuditKind
from pegboard.service.drafts import Draft, LockCheck, changed, line_of
from pegboard.service.published import Catalog, rejection

__all__ = ["LockKeeper"]


class LockKeeper:
    """Reads what waits and writes what was agreed."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    async def drafts(self) -> tuple[Draft, ...]:
        """Return what waits for a person and was not rejected, each with the line that is proposed for it."""
        lock = self._catalog.lock_file.read()
        waiting, revoked = await self._catalog.pending(), await self._revoked()
        drafts = [self._draft(one, lock) for one in waiting if not await self._rejected(one.live)]
        return tuple(replace(one, revoked=one.tool_id in revoked) for one in drafts)

    async def classify(self, *, apply: bool, by: str) -> tuple[tuple[Draft, ...], tuple[Draft, ...]]:
        """Sort the new tools into those whose proposal is complete and those that need a review.

        With *apply* the first are locked. A changed tool is never among them, since a person looks at its diff; nor one
        that may be another renamed, or in which something of medium or high severity was found.
        """
        drafts = await self.drafts()
        ready = tuple(
            one
            for one in drafts
            if not one.waiting.changed and not one.waiting.doubtful and one.access in self._templates
        )
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
        seen: Mapping[str, str] | None = None,
    ) -> tuple[LockLine, ...]:
        """Lock the live content of *tools*; what is not said is taken from the proposal.

        *seen* names by tool id the hash of the content that is meant, or its first digits. Of another tool the content
        is meant that *by* was shown last, and where none was ever shown, the live one.

        Raises:
            UnknownToolError: One of them does not wait for review.
            ConfigError: One has no access template, or names one that does not exist, or is by now something else than
                what is meant; nothing is locked then.
        """
        known = {one.tool_id: one for one in await self._all()}
        chosen = [_known(tool, known) for tool in tools]
        for one in chosen:
            await self._check_seen(one, (seen or {}).get(one.tool_id), by)
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

    async def shown(self, draft: Draft, by: str) -> None:
        """Remember that this content was shown to someone: their approval will be of it."""
        for mark in _marks(draft, by):
            await self._catalog.policies.keep("shown", mark, b"")

    async def follow(self, lines: Sequence[LockLine]) -> tuple[LockLine, ...]:
        """Lock changed tools on the operator's standing word.

        Each of *lines* is as the line that it replaces, but for its hash and server. One whose predecessor someone has
        changed meanwhile is left alone.

        Raises:
            StoreError: The lock cannot be written.
        """
        file = self._catalog.lock_file
        while True:
            stamp, lock = file.stamp(), file.read()
            standing = ((line, lock.lines.get(line.tool)) for line in lines)
            new = tuple(
                replace(line, by=FOLLOW, at=self._now())
                for line, old in standing
                if old is not None and replace(old, hash=line.hash, server=line.server) == line
            )
            if not new:
                return ()
            try:
                await self._write(lock, lock.granting(new))
            except StoreError:
                if file.stamp() == stamp:
                    raise
                continue
            return new

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

    async def remove(self, tools: Sequence[str]) -> None:
        """Take the lines of *tools* out of the lock: nobody has them from the next request on.

        Raises:
            UnknownToolError: One of them is not locked; nothing is removed then.
        """
        lock = self._catalog.lock_file.read()
        for tool in tools:
            if tool not in lock.lines:
                raise UnknownToolError(tool_id=tool, fix="`pegboard lock show` names the tools that are locked")
        await self._write(lock, lock.without(tools))
        # What is locked no more needs no revocation; a refresh would lift it too.
        await self._lift(tools)
        await self._catalog.current()

    async def replace(self, lock: Lock) -> None:
        """Put another lock in place of the present one; every line names its own approver."""
        await self._write(self._catalog.lock_file.read(), lock)

    async def check(self) -> LockCheck:
        """Compare the lock with the templates and with what the servers list."""
        lock = self._catalog.lock_file.read()
        live = {entry.tool_id: entry for entries in (await self._catalog.live()).values() for entry in entries}
        revoked, problems, gone = await self._revoked(), [], []
        for line in lock:
            if line.access not in self._templates:
                problems.append((line.tool, f"names the access template {line.access!r}, which does not exist"))
            if line.tool not in live:
                gone.append(line.tool)
            elif not line.is_of(live[line.tool].source_server):
                problems.append((line.tool, f"was locked as a tool of {line.server!r}, and another server lists it"))
            elif live[line.tool].schema_hash != line.hash:
                problems.append((line.tool, f"has {changed(revoked=line.tool in revoked)}"))
        return LockCheck(lines=len(lock), problems=tuple(problems), gone=tuple(gone))

    async def alarms(self) -> tuple[str, ...]:
        """Say of which servers too many locked tools are gone, as refreshes have found them."""
        lock = self._catalog.lock_file.read()
        gone = {one.target for one in await self._catalog.policies.suspended() if one.why == GONE}
        servers: dict[str, list[str]] = {}
        for line in lock:
            servers.setdefault(line.server or "", []).append(line.tool)
        said = ((name, alarm(tools, gone.intersection(tools))) for name, tools in sorted(servers.items()))
        return tuple(f"{name or 'a server'}: {text}" for name, text in said if text is not None)

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

    async def _revoked(self) -> frozenset[str]:
        """Name what refreshes have taken from everyone."""
        return frozenset(one.target for one in await self._catalog.policies.suspended())

    async def _rejected(self, entry: CatalogEntry) -> bool:
        return await self._catalog.policies.document("rejected", _rejection(entry)) is not None

    async def _grant(self, drafts: Iterable[Draft], by: str) -> tuple[LockLine, ...]:
        lines = tuple(line_of(draft, self._templates, by=by, at=self._now()) for draft in drafts)
        before = self._catalog.lock_file.read()
        await self._write(before, before.granting(lines))
        # What a person has agreed to is no suspect any more.
        await self._lift(line.tool for line in lines)
        await self._catalog.current()
        return lines

    async def _lift(self, tools: Iterable[str]) -> None:
        if lifted := (await self._revoked()).intersection(tools):
            await self._catalog.policies.suspend((), lifted=lifted)

    async def _check_seen(self, draft: Draft, seen: str | None, by: str) -> None:
        """Refuse to lock another content than the one that is meant.

        Raises:
            ConfigError: The tool has changed since it was seen.
        """
        live = draft.waiting.live.schema_hash
        if seen is not None:
            fits = live.removeprefix("sha256:").startswith(seen.removeprefix("sha256:"))
        else:
            ever, this = [await self._catalog.policies.document("shown", mark) for mark in _marks(draft, by)]
            fits = ever is None or this is not None
        if not fits:
            raise ConfigError(
                problem=f"{draft.tool_id!r} has changed since it was shown; its content is {short(live)} now",
                fix=f"`pegboard review show {draft.tool_id}`, then approve what it shows",
            )

    def _now(self) -> str:
        return stamp(self._catalog.clock.now())

    async def _write(self, before: Lock, lock: Lock) -> None:
        """Put a lock in place of the one that was read last, and on the audit, which names each line's own approver."""
        # INVARIANT: nothing is read or awaited since `before` was: the file refuses what does not follow from it.
        self._catalog.lock_file.write(lock)
        differing = sorted(lock.differing(before))
        await self._catalog.audit.record(
            AuditKind.LOCK_CHANGED,
            added={tool: lock.lines[tool].by for tool in differing if tool not in before.lines},
            changed={tool: lock.lines[tool].by for tool in differing if tool in lock.lines and tool in before.lines},
            removed=[tool for tool in differing if tool not in lock.lines],
        )


def _known(tool: str, known: dict[str, Draft]) -> Draft:
    if tool not in known:
        raise UnknownToolError(tool_id=tool, fix="`pegboard review list` names the tools that wait")
    return known[tool]


def _marks(draft: Draft, by: str) -> tuple[str, str]:
    """Return the keys under which it is kept that someone was shown a tool at all, and this content of it."""
    ever = {"tool": draft.tool_id, "by": by}
    return digest(ever), digest({**ever, "hash": draft.waiting.live.schema_hash})


def _rejection(entry: CatalogEntry) -> str:
    return rejection(entry.tool_id, entry.schema_hash)
