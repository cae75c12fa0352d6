"""The client of the library `mcp` before 2, which many applications still have: URL and AUTHORIZATION."""

import sys

import anyio
from deeds import deeds, tried
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client


async def main(url: str, authorization: str) -> None:
    async with (
        streamablehttp_client(url, headers={"Authorization": authorization}) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()

        async def asked(name, arguments):
            answer = await session.call_tool(name, arguments)
            return answer.isError, answer.content[0].text

        listed = await session.list_tools()
        await deeds([tool.name for tool in listed.tools], lambda *call: tried(asked(*call)))


anyio.run(main, *sys.argv[1:])
