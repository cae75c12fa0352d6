"""A tool server that asks whoever calls it: in the present era by its results, before that by requests.

`python -m tests.gateway.asking_server ERA` serves it over stdio, `asking_app(era)` over HTTP. Its tools say as JSON
what they were answered, and `ran` counts how often a call was begun.
"""

import json
import sys
from typing import Any

import anyio
from mcp import MCPError
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import (
    METHOD_NOT_FOUND,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageResult,
    ElicitRequest,
    ElicitResult,
    ErrorData,
    InputRequiredResult,
    JSONRPCError,
    ListToolsResult,
    TextContent,
    Tool,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

__all__ = ["TOOLS", "asking_app"]

FORM = {
    "message": "Which\u202e colour?\x1b[31m",
    "requestedSchema": {"type": "object", "properties": {"colour": {"type": "string"}}},
}
SIGN_IN = {"mode": "url", "message": "Sign in.", "url": "https://e.example/", "elicitationId": "1"}
# Tool -> what it asks, round by round.
TOOLS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "form": [("elicitation/create", FORM)],
    "twice": [("elicitation/create", FORM), ("elicitation/create", {**FORM, "message": "And which size?"})],
    "endless": [("elicitation/create", FORM)] * 30,
    "url": [
        (
            "elicitation/create",
            {"mode": "url", "message": "Sign in.", "url": "https://e.example/", "elicitationId": "1"},
        )
    ],
    "bad_url": [
        ("elicitation/create", {"mode": "url", "message": "x", "url": "http://e.example/", "elicitationId": "1"})
    ],
    "sampling": [
        (
            "sampling/createMessage",
            {
                "messages": [{"role": "user", "content": {"type": "text", "text": "Say something."}}],
                "maxTokens": 5,
                "systemPrompt": "Be brief.",
                "includeContext": "allServers",
            },
        )
    ],
    "with_tools": [
        (
            "sampling/createMessage",
            {"messages": [], "maxTokens": 5, "tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
        )
    ],
}
_MODELS: dict[str, Any] = {
    "elicitation/create": (ElicitRequest, ElicitResult),
    "sampling/createMessage": (CreateMessageRequest, CreateMessageResult),
}
ran: list[str] = []


def _request(method: str, params: dict[str, Any]) -> Any:
    return _MODELS[method][0].model_validate({"method": method, "params": params})


def _said(answers: list[Any]) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=json.dumps(answers))])


async def list_tools(ctx: Any, params: Any) -> ListToolsResult:
    return ListToolsResult(tools=[Tool(name=name, input_schema={"type": "object"}) for name in TOOLS])


async def call_tool(ctx: Any, params: Any) -> CallToolResult | InputRequiredResult:
    rounds = TOOLS[params.name]
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        answers = json.loads(params.request_state or "[]")
        if params.request_state is None:
            ran.append(params.name)
        else:
            answers.append(params.input_responses["q"].model_dump(mode="json", by_alias=True, exclude_none=True))
        offered = ctx.session.client_capabilities.model_dump(exclude_none=True, by_alias=True)
        wanted = rounds[0][0].partition("/")[0]
        if wanted not in offered:
            return _said(["not offered"])
        if len(answers) == len(rounds):
            return _said(answers)
        return InputRequiredResult(
            input_requests={"q": _request(*rounds[len(answers)])}, request_state=json.dumps(answers)
        )
    ran.append(params.name)
    answers = []
    for method, asked in rounds:
        try:
            where = ServerMessageMetadata(related_request_id=ctx.request_id)
            found = await ctx.session.send_request(_request(method, asked), _MODELS[method][1], 20, where)
            answers.append(found.model_dump(mode="json", by_alias=True, exclude_none=True))
        except MCPError as refusal:
            answers.append(f"refused {refusal.code}: {refusal.message}")
            break
    return _said(answers)


def made() -> Server[Any]:
    """Make the server."""
    return Server("asking", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


def asking_app(era: str) -> Any:
    """Serve it over HTTP."""
    # Not for the one over stdio, whose start a test waits for.
    from tests.adapters.scripted_http_server import without_probe

    app = made().streamable_http_app()
    return without_probe(app, []) if era == "legacy" else app


async def main() -> None:
    server, deaf = made(), sys.argv[1] == "legacy"
    send, receive = anyio.create_memory_object_stream[Any]()
    async with stdio_server() as (read, write), anyio.create_task_group() as tasks:

        async def pass_on() -> None:
            async with send:
                async for message in read:
                    asked = message.message
                    if deaf and getattr(asked, "method", None) == "server/discover":
                        unknown = ErrorData(code=METHOD_NOT_FOUND, message="no such method")
                        await write.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=asked.id, error=unknown)))
                    else:
                        await send.send(message)

        tasks.start_soon(pass_on)
        await server.run(receive, write, server.create_initialization_options())
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main)
