"""A CRM server behind a gatekeeper, for the tests of calls: two locked tools, and a selection of one."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pegboard.core.catalog import Flow, Reach, Risk
from pegboard.core.context import RuntimeContext
from pegboard.engine.verdict import ProposedCall
from pegboard.service.answering import CallAnswer
from pegboard.service.selector import Request
from tests.crm import AGENT, schema
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import FixedClock, system

__all__ = ["GET", "PAY", "Crm"]

GET = tool("get_order", description="Read an order.", inputSchema=schema("id", id="Order number"))
PAY = tool("delete_order", description="Delete an order.")


class Crm:
    """A running system and what its server was asked; `delete_order` is destructive until a test locks it anew."""

    def __init__(self, *more: dict[str, Any], **deployment: Any) -> None:
        self.listed = [GET, PAY, *more]
        self.server = ScriptedToolServer(self.listed)
        self.server.answers("get_order", {"content": [{"type": "text", "text": "7"}], "structuredContent": {"n": 7}})
        self.clock = FixedClock()
        self.system = system(ScriptedToolServers(crm=self.server), self.clock, **deployment)

    async def start(self) -> "Crm":
        """Refresh, lock everything, and select once."""
        await self.system.refresher.refresh()
        ids = [f"crm.{one['name']}" for one in self.listed]
        await self.system.keeper.approve(ids, access="sales", by="tests")
        self.selection, _ = await self.system.selector.select(Request(tasks=("read an order",)), AGENT)
        return self

    async def locks(self, name: str, risk: Risk, reach: Reach = Reach.BOUNDED, *flow: Flow) -> None:
        """Lock a tool anew under another risk, reach and flow."""
        lock = self.system.keeper.show()
        line = lock.lines[f"crm.{name}"]
        changed = {"risk": risk, "reach": reach, "flow": frozenset(flow)}
        await self.system.keeper.replace(lock.granting([replace(line, **changed)]))

    async def call(
        self,
        tool_name: str = "crm.get_order",
        arguments: Any = None,
        context: RuntimeContext = AGENT,
        selection: str | None = None,
        *,
        all_listed: bool = False,
        **more: Any,
    ) -> CallAnswer:
        """Call a tool; unsaid, the read that was selected."""
        proposed = self.proposed(tool_name, arguments, selection, **more)
        return await self.system.gatekeeper.call(proposed, context, all_listed=all_listed)

    def proposed(
        self, tool_name: str = "crm.get_order", arguments: Any = None, selection: str | None = None, **more: Any
    ) -> ProposedCall:
        """Propose a call."""
        return ProposedCall(
            tool=tool_name,
            arguments={"id": "7"} if arguments is None else arguments,
            selection_id=self.selection.selection_id if selection is None else selection,
            **more,
        )

    async def pays(self, **more: Any) -> CallAnswer:
        """Call the write."""
        return await self.call("crm.delete_order", {}, all_listed=True, **more)

    async def trace(self, answer: CallAnswer) -> Mapping[str, Any]:
        """Return the trace of a call."""
        await self.system.flush()
        body = await self.system.store.trace(answer.trace_id)
        assert body is not None
        return json.loads(body)

    async def audited(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the operators' stream: kinds and bodies."""
        await self.system.flush()
        return [(event.kind, event.body) async for event in self.system.audit.events()]
