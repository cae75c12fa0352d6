"""The client of the library `mcp` from 2 on: URL, AUTHORIZATION, and the mode, which is an era or `auto`."""

import sys

import anyio
import httpx2
from deeds import deeds, tried
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, authorization: str, mode: str) -> None:
    async with (
        httpx2.AsyncClient(headers={"Authorization": authorization}) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):

        async def asked(name, arguments):
            answer = await client.call_tool(name, arguments)
            return answer.is_error, answer.content[0].text

        listed = await client.list_tools()
        await deeds([tool.name for tool in listed.tools], lambda *call: tried(asked(*call)))


anyio.run(main, *sys.argv[1:])
