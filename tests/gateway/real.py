"""A gateway in front of real tool servers that are all reached as `s`, for two users, sam and dana."""

import json

import anyio

from pegboard.adapters.upstream import Sessions, UpstreamPool
from pegboard.core.catalog import Reach, Risk
from pegboard.core.context import RuntimeContext
from pegboard.core.policy import AccessTemplate, Reason
from pegboard.gateway.listing import ListMode, ListSettings
from pegboard.gateway.mcp import McpGateway
from pegboard.gateway.settings import GatewaySettings
from pegboard.service.claims import IdentitySettings, Workload
from pegboard.service.identity import Identity
from tests.gateway.made import Desk, Tokens, _Running
from tests.service.made import FixedClock, system

__all__ = ["DANA", "SAM", "Real"]

# Access tokens as their callers have them here: nobody else may come to see one.
SAM, DANA = "sam-t0ken", "dana-t0ken"
SERVERS = frozenset({"s"})
OPEN = AccessTemplate(required_scopes=frozenset())


class Real(Desk):
    """The gateway; both may use these tools, which are locked as reads."""

    def __init__(self, servers: Sessions, clock: FixedClock, *tools: str) -> None:
        self.clock, self.tokens, self.tools = clock, Tokens(), tools
        self.tokens.claims.update({SAM: {"sub": "sam"}, DANA: {"sub": "dana"}})
        self.pool = UpstreamPool(servers, clock)
        self.system = made = system(self.pool, clock, templates={"open": OPEN}, used=frozenset({Reason.SCOPE}))
        self.identity = Identity(
            IdentitySettings(servers=SERVERS, workloads={"bot": Workload(servers=SERVERS)}),
            made.keys,
            made.store.contexts,
            made.audit,
            clock,
            verifier=self.tokens,
            profiles={name: RuntimeContext(user=name, servers=SERVERS) for name in ("sam", "dana")},
        )
        self.settings = GatewaySettings(listing=ListSettings(mode=ListMode.ALL))
        self.gateway = McpGateway(_Running(made, self.identity), self.settings, made.telemetry)

    async def start(self) -> "Real":
        """Refresh and lock."""
        (report,) = (await self.system.refresher.refresh()).servers
        assert report.error is None, report.error
        harmless = {"risk": Risk.READ, "reach": Reach.BOUNDED, "flow": frozenset()}
        await self.system.keeper.approve(list(self.tools), access="open", by="tests", **harmless)
        return self

    async def ended(self) -> list[str]:
        """Wait until a call has ended, and return the verdicts of all that have."""
        while True:
            await self.system.flush()
            store = self.system.store
            bodies = [json.loads(await store.trace(number) or b"{}") for number, _ in await store.traces(limit=100)]
            if found := [body["verdict"] for body in bodies if body["kind"] == "call"]:
                return found
            await anyio.sleep(0.005)
