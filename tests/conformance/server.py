"""The tool server that the conformance suite asks for, over stdio: behind the gateway, and of no use beside that.

Source: the scenarios' own descriptions, `@modelcontextprotocol/conformance`.
"""

from collections.abc import Mapping
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

# The smallest pictures and sounds there are.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="

NO_ARGUMENTS: dict[str, Any] = {"type": "object"}
SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def resource(uri: str, kind: str, said: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": said}}


# Name -> what it answers.
ANSWERS: Mapping[str, dict[str, Any]] = {
    "test_simple_text": {"content": [text("This is a simple text response for testing.")]},
    "test_image_content": {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]},
    "test_audio_content": {"content": [{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}]},
    "test_embedded_resource": {
        "content": [resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")]
    },
    "test_multiple_content_types": {
        "content": [
            text("Multiple content types test:"),
            {"type": "image", "data": PIXEL, "mimeType": "image/png"},
            resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ]
    },
    "test_error_handling": {
        "content": [text("This tool intentionally returns an error for testing")],
        "isError": True,
    },
    "test_tool_with_progress": {"content": [text("done")]},
    "test_logging_tool": {"content": [text("done")]},
    "test_streaming_elicitation": {"content": [text("done")]},
    "test_tool_with_logging": {"content": [text("done")]},
    "json_schema_2020_12_tool": {"content": [text("done")]},
}


async def list_tools(ctx: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None) -> ListToolsResult:
    schemas = {"json_schema_2020_12_tool": SCHEMA_2020_12}
    tools = [
        {"name": name, "description": f"Tests: {name}.", "inputSchema": schemas.get(name, NO_ARGUMENTS)}
        for name in ANSWERS
    ]
    return ListToolsResult.model_validate({"tools": tools})


async def call_tool(ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
    if params.name == "test_tool_with_progress":
        for step in (0, 50, 100):
            await ctx.session.report_progress(step, 100)
            await anyio.sleep(0.05)
    return CallToolResult.model_validate(ANSWERS[params.name])


async def main() -> None:
    server: Server[Any] = Server("conformance", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
