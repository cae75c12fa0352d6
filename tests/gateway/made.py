"""A gateway in front of two scripted tool servers, and real clients of it, over HTTP and over streams.

Two people use it: sam may use the CRM, dana the CRM and what moves money. Their tokens are their names, which a
verifier of tests takes for verified.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.memory import create_client_server_memory_streams

from pegboard.core.catalog import Risk
from pegboard.core.context import RuntimeContext
from pegboard.core.policy import ANY, AccessTemplate, Reason, Switch
from pegboard.core.revocations import Revocation
from pegboard.gateway.listing import ListSettings
from pegboard.gateway.mcp import McpGateway
from pegboard.gateway.settings import GatewaySettings
from pegboard.service.claims import IdentitySettings
from pegboard.service.identity import (
    Application,
    Credential,
    CredentialKind,
    Identity,
    Refused,
    Verified,
    invalid_token,
)
from pegboard.service.keys import KeyRole
from pegboard.service.stated import Stated
from pegboard.wiring import System
from tests.crm import schema
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import FixedClock, system

__all__ = ["LEGACY", "MODERN", "Desk", "Tokens", "client", "headers", "raw"]

LEGACY, MODERN = "legacy", "2026-07-28"

CRM_TOOLS = (
    tool(
        "list_open_orders",
        description="List the orders of a customer that are still open.",
        inputSchema=schema("customer_id", customer_id="Customer number"),
    ),
    tool(
        "find_customer",
        description="Find a customer by name or email address.",
        inputSchema=schema("query", query="Name or email"),
    ),
    tool(
        "close_case",
        description="Close a support case. Not for `merge_cases`.",
        inputSchema=schema("case_id", case_id="Case number"),
    ),
    tool("merge_cases", description="Merge two support cases."),
    tool("stop_all", description="Stop all automation at once."),
)
BILLING_TOOLS = (
    tool(
        "create_refund",
        description="Give money of a payment back to the customer.",
        inputSchema=schema("payment_id", payment_id="Payment to refund"),
    ),
    tool(
        "get_payment",
        description="Read one payment.",
        inputSchema=schema("payment_id", payment_id="Payment number"),
    ),
)
TEMPLATES = {
    "sales": AccessTemplate(required_scopes=frozenset({"crm"}), allowed_stages=frozenset({ANY})),
    "money": AccessTemplate(required_scopes=frozenset({"crm", "money"}), allowed_stages=frozenset({ANY})),
    "closing": AccessTemplate(required_scopes=frozenset({"crm"}), allowed_stages=frozenset({"resolution"})),
    "never": AccessTemplate(required_scopes=frozenset({"crm"}), allowed_stages=frozenset()),
}
PEOPLE = {
    "sam": {"sub": "sam", "scope": "crm"},
    "sam-again": {"sub": "sam", "scope": "crm"},
    "dana": {"sub": "dana", "scope": "crm money"},
    "nobody": {"sub": "nil", "scope": ""},
}


class Tokens:
    """`TokenVerifier` that takes the names of `PEOPLE` for tokens; `expired` ones are refused."""

    def __init__(self) -> None:
        self.expired: set[str] = set()
        self.claims = {name: dict(claims) for name, claims in PEOPLE.items()}

    async def verify(self, token: str) -> Verified | Refused:
        if token in self.expired or token not in self.claims:
            return invalid_token("the token is not in force")
        return Verified(claims=self.claims[token], expires_at=1e12)


class _Running:
    """A system with an identity."""

    def __init__(self, made: System, identity: Identity) -> None:
        self._made = made
        self.identity = identity

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


def _profile(name: str) -> RuntimeContext:
    return RuntimeContext(
        user=name,
        scopes=frozenset(PEOPLE[name]["scope"].split()),
        servers=frozenset({"crm", "billing"}),
        stage="investigation",
    )


class Desk:
    """The gateway, what stands behind it, and how to get at it."""

    def __init__(
        self, listing: ListSettings | None = None, billing: ScriptedToolServer | None = None, **deployment: Any
    ) -> None:
        self.crm, self.billing = ScriptedToolServer(CRM_TOOLS), billing or ScriptedToolServer(BILLING_TOOLS)
        self.clock, self.tokens = FixedClock(), Tokens()
        settings: dict[str, Any] = {
            "templates": TEMPLATES,
            "used": frozenset({Reason.SCOPE, Reason.STAGE}),
            "switches": {"crm.stop_all": Switch(pinned=("*",))},
            **deployment,
        }
        self.system = system(ScriptedToolServers(crm=self.crm, billing=self.billing), self.clock, **settings)
        settings_of_identity = IdentitySettings(servers=frozenset({"crm", "billing"}))
        made = self.system
        self.identity = Identity(
            settings_of_identity,
            made.keys,
            made.store.contexts,
            made.audit,
            self.clock,
            verifier=self.tokens,
            profiles={name: _profile(name) for name in ("sam", "dana")},
        )
        self.settings = GatewaySettings(listing=listing or ListSettings())
        self.gateway = McpGateway(_Running(made, self.identity), self.settings, made.telemetry)

    async def start(self) -> "Desk":
        """Refresh, and lock everything: what moves money under `money`, closing a case for its stage alone."""
        await self.system.refresher.refresh()
        await self.lock("sales", "crm.list_open_orders", "crm.find_customer", "crm.stop_all")
        await self.lock("closing", "crm.close_case")
        await self.lock("money", "billing.create_refund", "billing.get_payment", "crm.merge_cases")
        for token in PEOPLE:
            await self.state(token, "investigation")
        return self

    def credential(self, token: str) -> Credential:
        """Return what someone with this token presents."""
        return Credential(kind=CredentialKind.BEARER, text=token)

    async def state(self, token: str, stage: str | None, clearance: int | None = None) -> None:
        """State where the work of a caller is, as its application does."""
        application = Application(name="app", workload="app", role=KeyRole.APPLICATION)
        bound = await self.identity.set_context(
            application, self.credential(token), Stated(stage=stage, clearance=clearance)
        )
        assert not isinstance(bound, Refused), bound

    async def halt(self, target: str) -> None:
        """Halt something."""
        await self.system.store.halt(Revocation(target=target, why="a test", by="tests", since=self.clock.time))

    async def lock(self, access: str, *tools: str, risk: Risk = Risk.READ) -> None:
        """Approve tools under a template, as reads unless a test is about more."""
        await self.system.keeper.approve(list(tools), access=access, risk=risk, by="tests")

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Serve over HTTP on a free port for the time of the body."""
        config = uvicorn.Config(self.gateway.asgi(), port=0, lifespan="off", log_config=None, ws="none")
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None
        async with self.gateway.serving(), anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve)
            while not server.started:
                await anyio.sleep(0.005)
            port = server.servers[0].sockets[0].getsockname()[1]
            try:
                yield f"http://127.0.0.1:{port}/mcp"
            finally:
                server.force_exit = server.should_exit = True

    @asynccontextmanager
    async def streams(self, profile: str = "sam", mode: str = MODERN, **options: Any) -> AsyncIterator[Client]:
        """Connect a client over a pair of streams, as over stdio."""
        async with create_client_server_memory_streams() as (ours, theirs), anyio.create_task_group() as tasks:
            tasks.start_soon(self.gateway.serve_streams, *theirs, profile)
            async with Client(_Streams(ours), mode=mode, **options) as client:
                yield client
            tasks.cancel_scope.cancel()


class _Streams:
    """A transport over streams that are there already."""

    def __init__(self, streams: Any) -> None:
        self._streams = streams

    async def __aenter__(self) -> Any:
        return self._streams

    async def __aexit__(self, *failure: object) -> None:
        return None


@asynccontextmanager
async def client(url: str, token: str, mode: str = MODERN, **options: Any) -> AsyncIterator[Client]:
    """Connect a real client over HTTP with a token."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=10) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, **options) as made,
    ):
        yield made


def raw(name: str, params: Mapping[str, Any] | None = None, number: int = 1) -> dict[str, Any]:
    """Write a request of the present revision as JSON."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": number, "method": name, "params": {**(params or {}), "_meta": meta}}


def headers(token: str | None, method: str = "tools/list", name: str | None = None) -> dict[str, str]:
    """Write the headers of a request of the present revision."""
    found = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": method,
    }
    if token is not None:
        found["Authorization"] = f"Bearer {token}"
    return found if name is None else {**found, "Mcp-Name": name}
