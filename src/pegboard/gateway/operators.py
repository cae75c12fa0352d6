"""What operators ask over HTTP: versions, halts, traces, replay, servers and the audit.

Apart from the agents' doors: these take an operator's key and nothing else, and they see everything.
"""

from pegboard.core.names import Json
from pegboard.core.snapshot import diff
from pegboard.core.times import stamp
from pegboard.gateway import asked
from pegboard.gateway.refusals import nothing
from pegboard.gateway.running import Running
from pegboard.service.identity import Application
from pegboard.service.ports import Head
from pegboard.service.replayer import Against
from pegboard.service.traces import Wanted

__all__ = [
    "audit",
    "compare",
    "halt",
    "halts",
    "refresh",
    "replay",
    "resume",
    "rollback",
    "servers",
    "trace",
    "traces",
    "versions",
]


async def versions(running: Running, by: Application, said: asked.Nothing) -> dict[str, Json]:
    """List the published versions, oldest first."""
    found = await running.catalog.snapshots.versions()
    return {
        "versions": [
            {"version": one.version, "published_at": stamp(one.published_at), "by": one.by, "tools": one.tools}
            for one in found
        ]
    }


async def compare(running: Running, by: Application, said: asked.Compare) -> dict[str, Json]:
    """Say what changed from one version to another."""
    old, new = await _version(running, said.from_), await _version(running, said.to)
    snapshots = running.catalog.snapshots
    change = diff(await snapshots.load(old.number), await snapshots.load(new.number))
    return {"from": old.version, "to": new.version, **change.to_json()}


async def rollback(running: Running, by: Application, said: asked.Rollback) -> dict[str, Json]:
    """Serve the tools of a version again, under the present lock and the present halts."""
    head = await _version(running, said.version)
    snapshot = await running.catalog.rollback(head.number, by=f"{by.name}: rollback to {head.version}")
    return {"from": head.version, "catalog_version": snapshot.version}


async def refresh(running: Running, by: Application, said: asked.Refresh) -> dict[str, Json]:
    """Fetch what servers list, and publish it."""
    known = [one.server for one in running.health.read()]
    for name in said.servers or ():
        if name not in known:
            raise nothing("server", name)
    report = await running.refresher.refresh(said.servers, dry_run=said.dry_run, by=by.name)
    return report.to_json()


async def servers(running: Running, by: Application, said: asked.Nothing) -> dict[str, Json]:
    """Say how each tool server does."""
    return {"servers": [one.to_json() for one in running.health.read()]}


async def halts(running: Running, by: Application, said: asked.Nothing) -> dict[str, Json]:
    """List what is halted, and what refreshes have revoked."""
    now, policies = running.catalog.clock.now(), running.catalog.policies
    found = [one for one in await policies.halts() if one.expires_at is None or one.expires_at > now]
    return {
        "halts": [one.to_json() for one in found],
        "revoked": [{"tool_id": one.target, "why": one.why} for one in await policies.suspended()],
    }


async def halt(running: Running, by: Application, said: asked.Halt) -> dict[str, Json]:
    """Stop a target from the next request on, whatever catalog and lock say."""
    one = await running.halts.halt(said.target, why=said.why, by=by.name, seconds=said.seconds)
    if one is None:
        raise nothing("tool, namespace or server", said.target)
    return one.to_json()


async def resume(running: Running, by: Application, said: asked.Resume) -> dict[str, Json]:
    """Lift the halt of a target."""
    lifted, others = await running.halts.resume(said.target, by=by.name)
    return {"target": said.target, "resumed": lifted, "halted": list(others)}


async def traces(running: Running, by: Application, said: asked.Traced) -> dict[str, Json]:
    """Read traces, the newest first; each selection has the calls that were made of it."""
    wanted = Wanted(since=said.since, until=said.until, principal=said.principal, outcome=said.outcome)
    found: list[Json] = []
    async for one in running.traces.newest(wanted):
        found.append(one)
        if len(found) == said.limit:
            break
    return {"traces": found}


async def trace(running: Running, by: Application, said: asked.Nothing, *, trace_id: str) -> dict[str, Json]:
    """Read one trace whole."""
    found = await running.traces.one(trace_id)
    if found is None:
        raise nothing("trace", trace_id)
    return found


async def replay(running: Running, by: Application, said: asked.Replay) -> dict[str, Json]:
    """Make the selection of each trace again and compare."""
    for trace_id in said.traces:
        if await running.traces.body(trace_id) is None:
            raise nothing("trace", trace_id)
    number = None if said.against is None else (await _version(running, said.against)).number
    found = await running.replayer.replay(said.traces, Against(catalog=number))
    return {"traces": [one.to_json() for one in found]}


async def audit(running: Running, by: Application, said: asked.Showing) -> dict[str, Json]:
    """Read the operators' stream, oldest first, after the event of a number."""
    found: list[Json] = []
    async for one in running.audit.events(said.after):
        found.append({"number": one.number, "at": one.at, "kind": one.kind, "body": one.body, "hash": one.hash})
        if len(found) == said.limit:
            break
    return {"events": found}


async def _version(running: Running, name: str) -> Head:
    """Find a version by its whole name or its number alone."""
    for one in await running.catalog.snapshots.versions():
        if name in (one.version, str(one.number)):
            return one
    raise nothing("catalog version", name)
