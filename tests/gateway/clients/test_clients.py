"""Other people's clients against the gateway: list, search, call.

    uv pip install fastmcp openai-agents     # in an environment of its own; the Inspector comes with npm

LangChain's adapters need the library `mcp` before 2, so they cannot share a process with the gateway: their test runs
where PEGBOARD_LANGCHAIN names the Python of an environment that has them.
"""

import json
import os
import shutil
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from tests.gateway.made import Desk

PAY = "billing.create_refund"
TASK = {"task": "give money of a payment back to the customer"}


def told(desk_user: str, deed: Callable[[str, dict[str, str]], Awaitable[Any]]) -> Any:
    """Do one thing with a client, which is given the address and the headers of one user."""
    desk = Desk()
    desk.billing.answers("create_refund", {"content": [{"type": "text", "text": "paid back"}]})

    async def scene() -> Any:
        await desk.start()
        async with desk.serving() as url:
            return await deed(url, {"Authorization": f"Bearer {desk_user}"})

    return anyio.run(scene)


def call_of(found: dict[str, Any]) -> dict[str, Any]:
    return {"tool": PAY, "arguments": {"payment_id": "1"}, "selection": found["selection"]}


def test_fastmcp():
    fastmcp = pytest.importorskip("fastmcp")
    transports = pytest.importorskip("fastmcp.client.transports")

    async def deed(url: str, headers: dict[str, str]) -> Any:
        async with fastmcp.Client(transports.StreamableHttpTransport(url, headers=headers)) as client:
            names = [tool.name for tool in await client.list_tools()]
            found = (await client.call_tool("search_tools", TASK)).structured_content
            answer = await client.call_tool("call_tool", call_of(found), raise_on_error=False)
            return names, answer.content[0].text

    names, answer = told("dana", deed)
    assert names == ["search_tools", "describe_tool", "call_tool", "crm.stop_all"]
    assert answer == "paid back"


_LANGCHAIN = """
import asyncio, json, sys
from langchain_mcp_adapters.client import MultiServerMCPClient
def text(content): return content if isinstance(content, str) else content[0]["text"]
async def main(url, authorization, task, payment):
    connection = {"transport": "streamable_http", "url": url, "headers": {"Authorization": authorization}}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"pegboard": connection}).get_tools()}
    found = json.loads(text(await tools["search_tools"].ainvoke(json.loads(task))))
    call = {**json.loads(payment), "selection": found["selection"]}
    print(json.dumps([sorted(tools), text(await tools["call_tool"].ainvoke(call))]))
asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.skipif("PEGBOARD_LANGCHAIN" not in os.environ, reason="PEGBOARD_LANGCHAIN names no Python")
def test_langchain():
    async def deed(url: str, headers: dict[str, str]) -> Any:
        payment = json.dumps({"tool": PAY, "arguments": {"payment_id": "1"}})
        command = [os.environ["PEGBOARD_LANGCHAIN"], "-c", _LANGCHAIN, url, headers["Authorization"]]
        return json.loads((await anyio.run_process([*command, json.dumps(TASK), payment])).stdout.splitlines()[-1])

    names, answer = told("dana", deed)
    assert names == ["call_tool", "crm.stop_all", "describe_tool", "search_tools"]
    assert answer == "paid back"


def test_openai_agents():
    mcp = pytest.importorskip("agents.mcp")

    async def deed(url: str, headers: dict[str, str]) -> Any:
        async with mcp.MCPServerStreamableHttp(params={"url": url, "headers": headers}) as server:
            names = [tool.name for tool in await server.list_tools()]
            found = json.loads(_text((await server.call_tool("search_tools", TASK)).content))
            return names, _text((await server.call_tool("call_tool", call_of(found))).content)

    names, answer = told("dana", deed)
    assert names == ["search_tools", "describe_tool", "call_tool", "crm.stop_all"]
    assert answer == "paid back"


@pytest.mark.skipif(
    shutil.which("mcp-inspector") is None, reason="the Inspector (@modelcontextprotocol/inspector) is not here"
)
def test_the_inspector():
    async def deed(url: str, headers: dict[str, str]) -> Any:
        command = ["mcp-inspector", "--cli", url, "--transport", "http", "--method", "tools/list"]
        command += ["--header", f"Authorization: {headers['Authorization']}"]
        said = await anyio.run_process(command)
        return [tool["name"] for tool in json.loads(said.stdout)["tools"]]

    assert told("sam", deed) == ["search_tools", "describe_tool", "call_tool", "crm.stop_all"]


def _text(content: Any) -> str:
    """Return the text of what a framework makes of a result."""
    if isinstance(content, str):
        return content
    first = content[0]
    return str(first["text"] if isinstance(first, dict) else getattr(first, "text", first))
