"""Serve a department as an MCP server over stdin and stdout.

Arguments are judged by the tool's own schema before the tool sees them. What the caller got wrong is an `isError`
result with a message that helps; only an unknown tool or an unknown cursor is an error of the protocol. The memory
starts from the same data each time and ends with the process.

Source: MCP 2026-07-28, tools/list, tools/call and pagination; the SDK speaks the older handshake as well.
"""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import anyio
import jsonschema_rs
from mcp import MCPError
from mcp.server import CacheHint, Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from pegboard.demo.servers.company import Company, RefusedError, Row, open_company
from pegboard.demo.servers.tools import DemoServer, DemoTool, Releases

__all__ = ["RELEASE_VARIABLE", "answer", "page", "release_asked", "serve"]

RELEASE_VARIABLE = "PEGBOARD_DEMO_RELEASE"

# Five minutes, the same for everyone: these listings change with a release only.
_LISTING = CacheHint(ttl_ms=300_000, scope="public")
# Enough to repair a call with; a caller that broke more rules learns of the rest on the next try.
_PROBLEMS_SHOWN = 3


def serve(releases: Releases) -> None:
    """Serve one department until its input ends."""
    try:
        asked = release_asked(os.environ)
    except ValueError as error:
        sys.exit(f"error: {error}")
    anyio.run(_serve, releases[max(number for number in releases if number <= asked)])


def release_asked(environment: Mapping[str, str]) -> int:
    """Read which release of the servers to run; 1 if the environment does not say.

    Raises:
        ValueError: The variable holds something other than a whole number of at least 1.
    """
    said = environment.get(RELEASE_VARIABLE, "1")
    if not said.isdecimal() or int(said) < 1:
        raise ValueError(f"{RELEASE_VARIABLE} is {said!r}; give a whole number such as 1 or 2")
    return int(said)


def page(server: DemoServer, cursor: str | None) -> ListToolsResult:
    """Give one page of the listing; the cursor is the name of the tool that the page starts with.

    Raises:
        MCPError: The server never gave this cursor.
    """
    size = server.page_size or len(server.tools)
    starts = {server.tools[at].name: at for at in range(size, len(server.tools), size)}
    if cursor is not None and cursor not in starts:
        raise MCPError(INVALID_PARAMS, "Unknown cursor")
    start = 0 if cursor is None else starts[cursor]
    after = start + size
    return ListToolsResult(
        tools=[_declared(tool) for tool in server.tools[start:after]],
        next_cursor=server.tools[after].name if after < len(server.tools) else None,
    )


def answer(tool: DemoTool, company: Company, arguments: Row) -> CallToolResult:
    """Run one tool on the company's memory, or say what was wrong with the call."""
    problems = _problems(tool, arguments)
    if problems:
        return _text(f"Invalid arguments for {tool.name}: {'; '.join(problems)}", is_error=True)
    try:
        result = tool.run(company, arguments)
    except RefusedError as refusal:
        return _text(str(refusal), is_error=True)
    if isinstance(result, str):
        return _text(result)
    structured = result if tool.gives is not None else None
    return _text(json.dumps(result, ensure_ascii=False), structured=structured)


async def _serve(demo: DemoServer) -> None:
    company = open_company()
    tools = {tool.name: tool for tool in demo.tools}

    async def list_tools(_: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:
        return page(demo, params.cursor if params else None)

    async def call_tool(_: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        if params.name not in tools:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        return answer(tools[params.name], company, params.arguments or {})

    server = Server(
        demo.name,
        version=demo.version,
        title=demo.title,
        instructions=demo.instructions,
        cache_hints={"tools/list": _LISTING},
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _declared(tool: DemoTool) -> Tool:
    hints = None if tool.annotations is None else ToolAnnotations.model_validate(tool.annotations)
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.takes,
        output_schema=tool.gives,
        annotations=hints,
    )


def _problems(tool: DemoTool, arguments: Row) -> list[str]:
    validator = jsonschema_rs.validator_for(tool.takes, validate_formats=True, offline=True)
    found = []
    for error in validator.iter_errors(arguments):
        path = ".".join(str(step) for step in error.instance_path)
        found.append(f"{path}: {error.message}" if path else error.message)
    return found[:_PROBLEMS_SHOWN]


def _text(text: str, *, structured: Row | None = None, is_error: bool = False) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=structured, is_error=is_error
    )
