"""A gateway with the suite's own kind of tool server behind it, on a free port: `python -m tests.conformance.gateway`.

The suite calls tools by fixed names, so they are taken in under these as their ids; everything else is as
`pegboard serve` does it. Prints the address and serves until it is ended.
"""

import json
import sys
import tempfile
from pathlib import Path

import anyio

from pegboard.adapters.http_server import HttpServer, listening
from pegboard.core.catalog import Reach, Risk
from pegboard.gateway.app import Gateway
from pegboard.gateway.mcp import McpGateway
from pegboard.wiring import build, read_config, served

CONFIGURATION = """
environment = "development"
store = "sqlite:///pegboard.db"
[dimensions]
used = ["scopes"]
[access.all]
required_scopes = ["all"]
[servers.conformance]
command = {command}
[profiles.me]
user = "me"
scopes = ["all"]
servers = ["conformance"]
[gateway]
profile = "me"
list = "all"
requests_per_minute = 0
"""


async def main(folder: Path) -> None:
    """Serve until ended."""
    path = folder / "pegboard.toml"
    path.write_text(CONFIGURATION.format(command=json.dumps([sys.executable, "-m", "tests.conformance.server"])))
    config = read_config(path)
    system = build(config)
    try:
        async with system.sessions():
            async with system.servers.connect("conformance") as server:
                page = await server.list_page(None)
            lines = [_line(tool) for tool in page.tools]
            await system.importer.lines(lines, by="tests")
            names = [str(line["tool_id"]) for line in lines]
            granted = {"risk": Risk.READ, "reach": Reach.BOUNDED, "flow": frozenset()}
            await system.keeper.approve(names, access="all", by="tests", **granted)
            await _serve(config, system)
    finally:
        system.close()


def _line(tool: object) -> dict[str, object]:
    assert isinstance(tool, dict)
    return {
        "tool_id": tool["name"],
        "namespace": "conformance",
        "source_server": "conformance",
        "name": tool["name"],
        "description": tool["description"],
        "input_schema": tool["inputSchema"],
    }


async def _serve(config: object, system: object) -> None:
    running = served(config, system)  # type: ignore[arg-type]
    settings = config.gateway  # type: ignore[attr-defined]
    mcp = McpGateway(running, settings)
    app = Gateway(running, settings, mcp.asgi())
    server = HttpServer(app, connections=200, drain_s=1, on_end=app.drain)
    with listening("127.0.0.1", 0) as listener:
        async with mcp.serving():
            print(f"http://localhost:{listener.getsockname()[1]}/mcp", flush=True)
            await server.serve(listener)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(main, Path(folder))
