"""MCP: a selection's tools as `tools/list` gives them.

The list of a server varies with the caller's rights alone and never within a conversation, so nothing is appended
here; a gateway offers a search and a call beside it.

Source: MCP 2026-07-28, "Tool".
"""

from dataclasses import replace

from pegboard.core.names import Json
from pegboard.engine.selection import mcp_tool
from pegboard.providers.wired import Wired

__all__ = ["function"]


def function(tool: Wired) -> dict[str, Json]:
    """Return one tool of `tools`."""
    return mcp_tool(replace(tool.tool, input_schema=tool.schema), tool.name)
