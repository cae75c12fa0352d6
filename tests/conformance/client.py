"""Our client of tool servers, as the suite runs it: `python -m tests.conformance.client URL`.

It does what a refresh and the calls after it do: reads the whole list, and calls each tool once, with the arguments
that the scenario names or else the least that the tool's schema takes.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import anyio

from pegboard.adapters.mcp_client import McpServers
from pegboard.adapters.mcp_settings import ServerSettings
from pegboard.core.errors import UpstreamError
from pegboard.service.ports import ToolServer

_SCHEMA, _ECHO = "json_schema_2020_12_tool", "json_schema_echo"
_LEAST: Mapping[str, Any] = {"number": 1, "integer": 1, "boolean": True, "array": [], "object": {}}


async def main(url: str) -> None:
    """List, then call."""
    settings = ServerSettings(name="suite", url=url, connect_timeout_s=10, list_timeout_s=10, call_timeout_s=10)
    asked = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}").get("toolCalls")
    async with McpServers({"suite": settings}).connect("suite") as server:
        tools = await _listed(server)
        calls = asked or [{"name": one["name"], "arguments": _arguments(one, tools)} for one in tools]
        for call in calls:
            try:
                await server.call_tool(call["name"], call.get("arguments") or {})
            except UpstreamError as error:
                print(f"{call['name']}: {error}", file=sys.stderr)


async def _listed(server: ToolServer) -> list[Any]:
    found: list[Any] = []
    cursor = None
    while True:
        page = await server.list_page(cursor)
        found += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return found


def _arguments(tool: Mapping[str, Any], tools: Sequence[Any]) -> dict[str, Any]:
    if tool["name"] == _ECHO:
        # One scenario asks for a schema just as it came.
        return {"schema": next(one["inputSchema"] for one in tools if one["name"] == _SCHEMA)}
    properties = tool["inputSchema"].get("properties", {})
    return {name: _LEAST.get(schema.get("type"), "x") for name, schema in properties.items()}


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
