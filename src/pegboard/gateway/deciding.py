"""What operators decide over HTTP: tools that wait for the lock, and calls that wait for an approval.

Whoever decides is named by the key, and nobody approves what was asked for under a name of their own.
"""

from pegboard.core.catalog import Flow, Reach, Risk
from pegboard.core.errors import UnknownToolError
from pegboard.core.names import Json
from pegboard.engine.pending import declared
from pegboard.gateway import asked
from pegboard.gateway.refusals import nothing
from pegboard.gateway.running import Running
from pegboard.service.identity import Application

__all__ = ["approve", "deny", "grant", "reject", "requests", "review", "show"]


async def review(running: Running, by: Application, said: asked.Nothing) -> dict[str, Json]:
    """List the tools that wait for a person, with the lock line that is proposed for each."""
    return {"waiting": [one.to_json() for one in await running.keeper.drafts()]}


async def show(running: Running, by: Application, said: asked.Named) -> dict[str, Json]:
    """Show what a waiting tool would be locked as and what has changed; an approval will be of what was shown."""
    draft = next((one for one in await running.keeper.drafts() if one.tool_id == said.tool), None)
    if draft is None:
        raise UnknownToolError(tool_id=said.tool, fix="`review` lists the tools that wait")
    await running.keeper.shown(draft, by.name)
    was = {} if draft.waiting.locked is None else declared(draft.waiting.locked)
    changes = [
        {"field": name, "was": was.get(name), "now": now}
        for name, now in declared(draft.waiting.live).items()
        if was.get(name) != now
    ]
    return {"draft": draft.to_json(), "changes": changes}


async def approve(running: Running, by: Application, said: asked.Approve) -> dict[str, Json]:
    """Lock the content of each tool that was looked at; one that has changed since is refused."""
    lines = await running.keeper.approve(
        [one.tool for one in said.tools],
        seen={one.tool: one.hash for one in said.tools},
        by=by.name,
        access=said.access,
        risk=None if said.risk is None else Risk(said.risk),
        reach=None if said.reach is None else Reach(said.reach),
        flow=None if said.flow is None else frozenset(map(Flow, said.flow)),
    )
    return {"locked": [line.to_json() for line in lines]}


async def reject(running: Running, by: Application, said: asked.Reject) -> dict[str, Json]:
    """Take the present content of each tool off the list; what was locked before is served on."""
    await running.keeper.reject(said.tools)
    rejected: list[Json] = [*said.tools]
    return {"rejected": rejected}


async def requests(running: Running, by: Application, said: asked.Requests) -> dict[str, Json]:
    """List the calls that wait for an approval, or had one, the newest first."""
    return {"approvals": [*await running.approver.listed(said.state, said.limit)]}


async def grant(running: Running, by: Application, said: asked.Nothing, *, approval_id: str) -> dict[str, Json]:
    """Let the call of a request run, once."""
    await _asked_for(running, approval_id)
    granted = await running.approver.grant(approval_id, by=by.name, names=(by.workload,))
    return await running.approver.told(granted)


async def deny(running: Running, by: Application, said: asked.Decide, *, approval_id: str) -> dict[str, Json]:
    """Refuse the call of a request."""
    await _asked_for(running, approval_id)
    return await running.approver.told(await running.approver.deny(approval_id, by=by.name, why=said.why))


async def _asked_for(running: Running, approval_id: str) -> None:
    if await running.ledger.approval(approval_id) is None:
        raise nothing("request", approval_id)
