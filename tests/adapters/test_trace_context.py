"""A trace context reaches a real tool server in `_meta`, in both eras, beside what the protocol keeps there."""

import pytest
from mcp.server.lowlevel import Server
from mcp.types import CallToolResult, ListToolsResult, Tool

from pegboard.adapters.mcp_client import McpServers
from tests.adapters.scripted_http_server import serving, without_probe
from tests.adapters.sessions import during, settings

CARRIER = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "a=b"}


@pytest.mark.parametrize("era", ["modern", "handshake"])
@pytest.mark.parametrize("meta", [CARRIER, {}, None])
def test_a_call_carries_the_trace_context_in_its_meta(era, meta):
    came = []

    async def list_tools(_, params):
        return ListToolsResult(tools=[Tool(name="look", input_schema={"type": "object"})])

    async def call_tool(_, params):
        came.append(dict(params.meta or {}))
        return CallToolResult(content=[])

    app = Server("real", on_list_tools=list_tools, on_call_tool=call_tool).streamable_http_app(json_response=True)
    with serving(without_probe(app, []) if era == "handshake" else app) as url:
        during(McpServers({"s": settings(url=url)}), lambda server: server.call_tool("look", {}, meta))
    assert {key: value for key, value in came[0].items() if key.startswith("trace")} == (meta or {})
