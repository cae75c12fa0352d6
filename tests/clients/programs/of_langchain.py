"""LangChain's MCP adapters: URL and AUTHORIZATION. Tools are called as an agent calls them, by a call of a model."""

import sys

import anyio
from deeds import deeds, tried
from langchain_mcp_adapters.client import MultiServerMCPClient


async def main(url: str, authorization: str) -> None:
    connection = {"transport": "streamable_http", "url": url, "headers": {"Authorization": authorization}}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"pegboard": connection}).get_tools()}

    async def asked(name, arguments):
        message = await tools[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
        return message.status == "error", message.content[0]["text"]

    await deeds(list(tools), lambda *call: tried(asked(*call)))


anyio.run(main, *sys.argv[1:])
