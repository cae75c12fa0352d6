"""FastMCP's client: URL and AUTHORIZATION."""

import sys

import anyio
from deeds import deeds, tried
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport


async def main(url: str, authorization: str) -> None:
    async with Client(StreamableHttpTransport(url, headers={"Authorization": authorization})) as client:

        async def asked(name, arguments):
            answer = await client.call_tool(name, arguments, raise_on_error=False)
            return answer.is_error, answer.content[0].text

        await deeds([tool.name for tool in await client.list_tools()], lambda *call: tried(asked(*call)))


anyio.run(main, *sys.argv[1:])
