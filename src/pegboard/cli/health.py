"""`pegboard doctor`: everything that is wrong, at once.

One row of `_CHECKS` a question; each is asked even where another has found something, as far as it can be. The exit
status is that of the most basic trouble: 2 configuration or lock, 3 store or servers, 1 anything else.
"""

import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from pegboard.cli.command import Command, as_json, config_path
from pegboard.cli.errors import DONE, NO, OUTSIDE, USAGE
from pegboard.cli.finding import Finding, ok, problem, remark
from pegboard.cli.lock import GONE
from pegboard.cli.misnamed import misnamed
from pegboard.cli.opening import run
from pegboard.cli.printing import counted, note, print_json, say
from pegboard.cli.refreshing import fetch
from pegboard.cli.surroundings import AROUND, issuer, running_gateway
from pegboard.core.errors import ConfigError, PegboardError
from pegboard.core.lock import Lock
from pegboard.core.times import stamp

if TYPE_CHECKING:
    from pegboard.config.values import Config
    from pegboard.wiring import System

__all__ = ["doctor"]

_NO_LOCK = "the lock is not there, and there was one: nothing is granted to anyone"


@click.command(cls=Command)
@click.option("--offline", is_flag=True, help="Do not start or reach any server.")
def doctor(offline: bool) -> int:
    """Say everything that is wrong, at once.

    Looks at configuration, store, lock, index, halts, listings, servers, the gateway, the issuer of tokens and the
    files of other clients. Changes nothing.
    """
    findings = list(_examined(offline))
    problems = [one for one in findings if one.level == "problem"]
    if as_json():
        print_json({"ok": not problems, "findings": [one.to_json() for one in findings]})
    else:
        for one in findings:
            _show(one)
        note(("all is well", "green") if not problems else (counted(len(problems), "problem"), "bold red"))
    statuses = {one.status for one in problems}
    return next((status for status in (USAGE, OUTSIDE, NO) if status in statuses), DONE)


def _examined(offline: bool) -> Iterable[Finding]:
    from pegboard.config.load import problems_of
    from pegboard.wiring import build, read_config

    path = Path(config_path())
    if not path.exists():
        absent = ConfigError("there is no configuration", str(path), "`pegboard init` writes one")
        yield problem("configuration", absent)
        return
    problems = problems_of(path, os.environ)
    yield from (problem("configuration", error) for error in problems)
    if problems:
        return
    config = read_config(path)
    yield from (remark("configuration", notice.problem, notice.where) for notice in config.warnings)
    yield ok(
        "configuration", f"{path}: {counted(len(config.servers), 'server')}, {counted(len(config.profiles), 'profile')}"
    )
    checks = _CHECKS
    with TemporaryDirectory() as folder:
        if not config.store.exists():
            # Opening a store makes one. Lock and servers are looked at beside one that nobody keeps.
            yield remark("store", "there is none yet", str(config.store), "`pegboard refresh` makes it")
            config, checks = replace(config, store=Path(folder) / "pegboard.db"), _WITHOUT_STORE
        try:
            system = build(config)
        except PegboardError as error:
            yield problem("store", error)
            return
        try:
            said: set[Finding] = set()
            for name, check in checks:
                for one in run(partial(_asked, name, check, config, system)):
                    # One cause is said once, by the check that met it first: a broken line of the lock stops several.
                    if one.level != "problem" or replace(one, check="") not in said:
                        yield one
                    said.add(replace(one, check=""))
            if not offline:
                yield from _servers(system)
                yield from run(partial(running_gateway, config))
                yield from run(partial(issuer, config, system))
        finally:
            system.close()


async def _asked(name: str, check: "_Check", config: "Config", system: "System") -> tuple[Finding, ...]:
    try:
        return tuple(await check(config, system))
    except PegboardError as error:
        return (problem(name, error),)


async def _store(config: "Config", system: "System") -> Iterable[Finding]:
    found = await system.catalog.snapshots.verify()
    if found.bad:
        fix = "restore the file from a backup, or move it away and run `pegboard refresh`"
        return [
            Finding(check="store", level="problem", message=line, where=str(config.store), fix=fix, status=OUTSIDE)
            for line in found.bad
        ]
    text = f"{config.store}: {counted(found.versions, 'version')}, {counted(found.rows, 'row')}, every digest right"
    return [ok("store", text)]


async def _lock(config: "Config", system: "System") -> Iterable[Finding]:
    found, where = await system.keeper.check(), str(config.lock)
    if not config.lock.exists() and await _was_locked(system):
        fix = "restore it from version control, or a backup"
        return [Finding(check="lock", level="problem", message=_NO_LOCK, where=where, fix=fix, status=USAGE)]
    return [
        *(
            Finding(check="lock", level="problem", message=f"{tool} {problem}", where=where, status=NO)
            for tool, problem in found.problems
        ),
        *(
            remark("lock", f"{tool} {GONE}", where, f"if it is gone for good: pegboard lock remove {tool}")
            for tool in found.gone
        ),
    ] or [ok("lock", f"{config.lock}: {counted(found.lines, 'line')}, all of what is listed now")]


async def _was_locked(system: "System") -> bool:
    """Say whether the store has seen a lock with lines."""
    kept = await system.catalog.policies.documents("lock")
    return any(digest != Lock.of().digest for digest in kept)


async def _lock_alone(config: "Config", system: "System") -> Iterable[Finding]:
    return [ok("lock", f"{config.lock}: {counted(len(system.keeper.show()), 'line')}, nothing to compare them with")]


async def _index(_: "Config", system: "System") -> Iterable[Finding]:
    published = await system.catalog.current()
    view = published.view
    if view.index is None:
        fix = "run `pegboard refresh`"
        return [Finding(check="index", level="problem", message="there is no index", fix=fix, status=OUTSIDE)]
    found = [ok("index", f"{counted(len(view.snapshot.entries), 'tool')} of version {view.snapshot.version}")]
    if published.waiting:
        found.append(
            remark(
                "review",
                f"{counted(published.waiting, 'tool')} waiting",
                fix="`pegboard classify`, then `pegboard review`",
            )
        )
    return found


async def _halts(_: "Config", system: "System") -> Iterable[Finding]:
    now = system.catalog.clock.now()
    halts = [one for one in await system.catalog.policies.halts() if one.expires_at is None or one.expires_at > now]
    return [
        remark("halts", f"{one.target} is halted by {one.by}: {one.why}", fix=f"pegboard resume {one.target}")
        for one in halts
    ] or [ok("halts", "nothing is halted")]


async def _listings(_: "Config", system: "System") -> Iterable[Finding]:
    """Say how old the listing of each server is: what is served of one that cannot be reached."""
    found = {listing.server: listing for listing in await system.catalog.snapshots.listings()}
    return [
        ok(
            "listings",
            f"{server}: {counted(len(found[server].entries), 'tool')}, listed {stamp(found[server].fetched_at)}",
        )
        if server in found
        else remark("listings", f"{server} was never listed", fix=f"pegboard refresh {server}")
        for server in system.servers.names()
    ]


async def _records(_: "Config", system: "System") -> Iterable[Finding]:
    """Say what could not be put on record in the last week: whoever reads traces must know that some are missing."""
    from pegboard.service.audit import AuditKind

    week, lost = system.catalog.clock.now() - 7 * 24 * 3600.0, dict.fromkeys(("traces", "audit events"), 0)
    names = {AuditKind.TRACES_LOST: "traces", AuditKind.EVENTS_LOST: "audit events"}
    async for event in system.audit.events():
        if event.at >= week and event.kind in names:
            lost[names[AuditKind(event.kind)]] += int(str(event.body["count"]))
    found = [f"{count:,} {name}" for name, count in lost.items() if count]
    fix = "see why the store is slow or full"
    return [remark("records", f"{' and '.join(found)} were lost in the last week", fix=fix)] if found else []


async def _suspended(_: "Config", system: "System") -> Iterable[Finding]:
    """Tell what refreshes have revoked, by server where a mass removal is behind it."""
    found = await system.catalog.policies.suspended()
    alarms = await system.keeper.alarms()
    fix = "look at what the server lists; it is lifted when that is as locked, or `pegboard review` approves it"
    return [
        *(Finding(check="revoked", level="problem", message=alarm, fix=fix, status=NO) for alarm in alarms),
        *(remark("revoked", f"{one.target}: {one.why}", fix=fix) for one in found),
    ] or [ok("revoked", "refreshes have revoked nothing")]


_Check = Callable[["Config", "System"], Awaitable[Iterable[Finding]]]
_CHECKS: tuple[tuple[str, _Check], ...] = (
    ("store", _store),
    ("lock", _lock),
    ("index", _index),
    ("names", misnamed),
    ("halts", _halts),
    ("revoked", _suspended),
    ("listings", _listings),
    ("records", _records),
    *AROUND,
)
_WITHOUT_STORE: tuple[tuple[str, _Check], ...] = (("lock", _lock_alone), *AROUND)


def _servers(system: "System") -> Iterable[Finding]:
    """Start or reach every server, and walk its listing; nothing is published."""
    if not system.servers.names():
        yield ok("servers", "none is configured")
        return
    try:
        report = fetch(system, dry_run=True)
    except PegboardError as error:
        yield problem("servers", error)
        return
    for one in report.servers:
        if one.error is not None:
            yield Finding(check="servers", level="problem", message=one.error, where=one.server, status=OUTSIDE)
            continue
        tools = len(one.added) + len(one.changed) + one.same
        yield ok("servers", f"{one.server}: {counted(tools, 'tool')} in {one.seconds:.1f} s")
        yield from (remark("servers", f"{one.server} lists {name!r}: {reason}") for name, reason in one.refused)


_MARKS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "problem": ("problem", "bold red")}


def _show(one: Finding) -> None:
    word, style = _MARKS[one.level]
    say((f"{word:8}", style), (f"{one.check:14}", "bold"), one.message)
    for name, text in (("where", one.where), ("fix", one.fix)):
        if text and one.level != "ok":
            say(" " * 8, (f"{name:14}", "dim"), text)
