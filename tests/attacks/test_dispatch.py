"""A call that reaches its server twice."""

import json
import sys
from pathlib import Path

import pytest
from mcp.types import HEADER_MISMATCH

from pegboard.adapters.mcp_client import McpServers, ServerSettings
from pegboard.core.errors import UpstreamError

SCRIPTED = Path(__file__).parents[1] / "adapters" / "scripted_stdio_server.py"


@pytest.mark.anyio
async def test_a_call_over_stdio_is_sent_once_whatever_the_server_answers(tmp_path):
    # There are no headers on stdio, so "refused for a missing header" is no reason to send it again.
    diary = tmp_path / "diary"
    listed = {
        "name": "pay",
        "inputSchema": {"type": "object", "properties": {"to": {"type": "string", "x-mcp-header": "To"}}},
    }
    refusal = json.dumps({"jsonrpc": "2.0", "id": "ID", "error": {"code": HEADER_MISMATCH, "message": "h"}})
    script = {
        "pages": [[listed]],
        "on": {"tools/call": [["instead", refusal.replace('"ID"', "$ID")]]},
        "diary": str(diary),
    }
    settings = ServerSettings(name="s", command=(sys.executable, str(SCRIPTED), json.dumps(script)))
    with pytest.raises(UpstreamError):
        async with McpServers({"s": settings}).connect("s") as server:
            await server.call_tool("pay", {"to": "eu"})
    assert diary.read_text().splitlines().count("tools/call") == 1
