"""What operators release over HTTP, namespace by namespace, and what a shadow has found.

The answers are those of `pegboard rollout` and `pegboard shadow`, and so is what a change has to bring: a reason, and
what the guards ask for. Whoever makes it is on record by the key's name.
"""

from pegboard.core.names import Json
from pegboard.engine.rollout import setting_of
from pegboard.gateway import asked
from pegboard.gateway.running import Running
from pegboard.service.identity import Application

__all__ = ["change", "history", "report", "rollout"]


async def rollout(running: Running, by: Application, said: asked.Nothing) -> dict[str, Json]:
    """Say what holds of each namespace that was set, what its guards find, and how it came to be."""
    return (await running.rollouts.shown()).to_json()


async def history(running: Running, by: Application, said: asked.Nothing) -> dict[str, Json]:
    """List the changes, with who made each and why, the newest first."""
    return {"history": [one.to_json() for one in reversed(await running.rollouts.history())]}


async def change(running: Running, by: Application, said: asked.Release, *, namespace: str) -> dict[str, Json]:
    """Set a namespace, where that serves no more callers or the guards allow it; `changed` says whether they did."""
    setting = setting_of(said.setting)
    found = await running.rollouts.change(namespace, setting, by=by.name, why=said.why, waived=said.waive)
    return found.to_json()


async def report(running: Running, by: Application, said: asked.Reported) -> dict[str, Json]:
    """Compare what was or would have been offered with the tools really called."""
    return await running.shadow.report(said.since)
