"""The MCP client of OpenAI's Agents: URL and AUTHORIZATION."""

import sys

import anyio
from agents.mcp import MCPServerStreamableHttp
from deeds import deeds, tried


async def main(url: str, authorization: str) -> None:
    params = {"url": url, "headers": {"Authorization": authorization}}
    async with MCPServerStreamableHttp(name="pegboard", params=params) as server:

        async def asked(name, arguments):
            answer = await server.call_tool(name, arguments)
            return answer.is_error, answer.content[0].text

        await deeds([tool.name for tool in await server.list_tools()], lambda *call: tried(asked(*call)))


anyio.run(main, *sys.argv[1:])
