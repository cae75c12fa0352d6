"""A tool server that lets in whoever shows a token, and the token endpoint that issues them: real HTTP, one address.

Whose a token is, the server knows by who asked for it: a client for itself, or for the caller whose token it brought.
The tokens of callers are written `NAME-NUMBER`, so that a test sees at once whose work was done with what.
"""

import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import parse_qs, unquote

import anyio
import pytest
from mcp.server import Server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

from pegboard.adapters.credential_settings import Grant, TokenGrant
from pegboard.adapters.mcp_client import McpServers
from pegboard.core.context import RuntimeContext
from pegboard.core.errors import UpstreamError
from pegboard.service.acting import acting_for, presenting
from pegboard.service.identity import Credential, CredentialKind
from tests.adapters.issuer import egress_to
from tests.adapters.scripted_http_server import serving, without_probe
from tests.adapters.sessions import settings
from tests.service.made import FixedClock

__all__ = [
    "CLIENT",
    "DANA",
    "SAM",
    "SECRET",
    "Guarded",
    "asked",
    "bearer",
    "grant",
    "guarded",
    "reached",
    "refusal",
    "who",
]

CLIENT, SECRET = "peg board", "s:e/c ret"
SAM = RuntimeContext(user="sam", tenant="acme")
DANA = RuntimeContext(user="dana", tenant="acme")


class Guarded:
    """Both, and what came to them. `answer` replaces what the endpoint answers; "hangs" never answers."""

    def __init__(self) -> None:
        self.url = ""
        self.begins_anew()

    def begins_anew(self) -> None:
        """Forget everything, as between two tests."""
        self.owner: dict[str, str] = {}
        """Token -> whose it is, of all that were issued or given out otherwise."""
        self.refused: set[str] = set()
        self.forms: list[dict[str, str]] = []
        self.shown: list[tuple[str, str | None]] = []
        """The method and the token of each request to the server."""
        self.ran: list[str] = []
        """Whose calls were carried out."""
        self.challenge = [(b"www-authenticate", b'Bearer error="invalid_token"')]
        self.expires_in: Any = 600
        self.answer: tuple[int, dict[str, str], bytes] | str | None = None

    def issues(self, owner: str) -> str:
        """Make a token of somebody."""
        token = f"upstream-{len(self.owner)}-of-{owner}"
        self.owner[token] = owner
        return token

    async def token_endpoint(self, scope: Any, receive: Any, send: Any) -> None:
        said = parse_qs((await receive())["body"].decode())
        self.forms.append({name: value for name, (value,) in said.items()})
        if self.answer == "hangs":
            await anyio.sleep(30)
        name, _, secret = (
            base64.b64decode(_header(scope, b"authorization").removeprefix("Basic ")).decode().partition(":")
        )
        if isinstance(self.answer, tuple):
            status, headers, body = self.answer
        elif (unquote(name), unquote(secret)) != (CLIENT, SECRET):
            status, headers, body = 401, {}, b'{"error": "invalid_client"}'
        else:
            subject = self.forms[-1].get("subject_token")
            token = self.issues("client" if subject is None else subject.partition("-")[0])
            said = {"access_token": token, "token_type": "Bearer", "expires_in": self.expires_in}
            if subject is not None:
                said["issued_token_type"] = "urn:ietf:params:oauth:token-type:access_token"
            status, headers, body = 200, {}, json.dumps(said).encode()
        pairs = [(one.encode(), value.encode()) for one, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": body})


def guarded_app(made: Guarded, *, legacy: bool = False) -> Any:
    """Serve the tool `whoami`, which says whose token came with the call, and the endpoint at `/token`."""

    async def list_tools(_: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="whoami", input_schema={"type": "object"})])

    async def call_tool(ctx: Any, params: Any) -> CallToolResult:
        owner = made.owner[ctx.request.headers["authorization"].removeprefix("Bearer ")]
        made.ran.append(owner)
        return CallToolResult(content=[TextContent(type="text", text=owner)])

    tools = Server("guarded", on_list_tools=list_tools, on_call_tool=call_tool).streamable_http_app()
    tools = without_probe(tools, []) if legacy else tools

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await tools(scope, receive, send)
        if scope["path"] == "/token":
            return await made.token_endpoint(scope, receive, send)
        token = _header(scope, b"authorization").removeprefix("Bearer ")
        made.shown.append((_header(scope, b"mcp-method"), token or None))
        if token in made.refused or token not in made.owner:
            said = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": f"bad {token}"}})
            head = {
                "type": "http.response.start",
                "status": 401,
                "headers": [(b"content-type", b"application/json"), *made.challenge],
            }
            await send(head)
            return await send({"type": "http.response.body", "body": said.encode()})
        return await tools(scope, receive, send)

    return app


@contextmanager
def guarded(*, legacy: bool = False) -> Iterator[Guarded]:
    """Serve both for the time of the body."""
    made = Guarded()
    with serving(guarded_app(made, legacy=legacy)) as url:
        made.url = url
        yield made


def grant(made: Guarded, kind: Grant = Grant.EXCHANGE, **changed: Any) -> TokenGrant:
    """Write how tokens are got there."""
    url = made.url.replace("/mcp", "/token")
    return TokenGrant(**{"grant": kind, "token_url": url, "client_id": CLIENT, "client_secret": SECRET, **changed})


def reached(made: Guarded, credential: Any, clock: FixedClock | None = None, **changed: Any) -> McpServers:
    """Reach the server under the name `s`, showing it this."""
    token_url = made.url.replace("/mcp", "/token")
    return McpServers(
        {"s": settings(url=made.url, credential=credential, **changed)}, clock or FixedClock(), egress_to(token_url)
    )


def bearer(text: str) -> Credential:
    """Present an access token."""
    return Credential(kind=CredentialKind.BEARER, text=text)


async def who(servers: Any, context: RuntimeContext | None, token: str | None = None) -> str:
    """Ask the server whose call it sees, for a caller with a token, or as the operator."""
    with ExitStack() as stack:
        if context is not None and token is not None:
            stack.enter_context(presenting(bearer(token), context))
        elif context is not None:
            stack.enter_context(acting_for(context))
        async with servers.connect("s", None if context is None else context.identity) as session:
            return str((await session.call_tool("whoami", {}))["content"][0]["text"])


def asked(servers: Any, *who_asks: Any) -> str:
    """Ask as `who` does."""
    return anyio.run(who, servers, *who_asks)


def refusal(servers: Any, *who_asks: Any) -> UpstreamError:
    """Ask in vain, and return why."""
    with pytest.raises(UpstreamError) as raised:
        asked(servers, *who_asks)
    return raised.value


def _header(scope: Any, name: bytes) -> str:
    return next((value.decode() for one, value in scope["headers"] if one == name), "")
