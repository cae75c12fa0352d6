"""`pegboard serve`: the gateway, over HTTP or over this process's standard streams.

Safe by default: it listens on this machine alone, and refuses to listen wider while nobody could show who they are.
"""

import logging
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import click
from anyio.abc import TaskStatus

from pegboard.cli.command import Command, as_json
from pegboard.cli.errors import DONE, INTERRUPTED
from pegboard.cli.opening import opened, run
from pegboard.cli.printing import note
from pegboard.core.errors import ConfigError
from pegboard.core.names import compact_json

if TYPE_CHECKING:
    import socket

    from pegboard.adapters.http_server import HttpServer
    from pegboard.config.values import Config
    from pegboard.gateway.settings import GatewaySettings
    from pegboard.wiring import System

__all__ = ["admits", "serve"]


@click.command(cls=Command)
@click.option("--host", metavar="HOST", help="The address to listen on.  [default: as configured, or 127.0.0.1]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="0 takes any free one.  [default: as configured, or 8700]",
)
@click.option("--stdio", is_flag=True, help="Serve MCP to the program that started this one, and nothing else.")
@click.option("--as", "profile", metavar="PROFILE", help="With --stdio: as whom that program counts.")
@click.option("--quiet", is_flag=True, help="Log no requests.")
@click.pass_context
def serve(
    context: click.Context, host: str | None, port: int | None, stdio: bool, profile: str | None, quiet: bool
) -> int:
    """Serve agents: MCP at /mcp, the HTTP API at /v1.

    Runs until it is told to end, lets running requests end, and keeps the catalog fresh meanwhile. Beyond this machine
    only where callers can show who they are: with [identity.jwt], or an API key (`pegboard keys create`).
    """
    if stdio != (profile is not None):
        raise click.UsageError("--stdio and --as PROFILE go together", context)
    if stdio and (host is not None or port is not None or as_json()):
        raise click.UsageError("--stdio takes no address and prints nothing but the protocol", context)
    with opened() as (config, system):
        if profile is not None:
            config.context(profile)  # says so where there is none
            run(lambda: _streamed(config, system, profile))
            return DONE
        settings = config.gateway
        settings = replace(settings, host=host or settings.host, port=settings.port if port is None else port)
        if not run(lambda: admits(config, system, settings)):
            note(("nobody can use this yet:", "yellow"), "[gateway] profile lets in whoever is on this machine,")
            note("`pegboard keys create` and [identity.jwt] let in those who show who they are")
        _log(quiet)
        return _listened(config, system, settings)


def _listened(config: "Config", system: "System", settings: "GatewaySettings") -> int:
    from pegboard.adapters.http_server import listening

    try:
        with listening(settings.host, settings.port) as listener:
            told = run(lambda: _served(config, system, settings, listener))
    except OSError as error:
        problem = f"cannot listen on {settings.host}, port {settings.port}: {(error.strerror or str(error)).lower()}"
        raise ConfigError(problem, fix="--port takes another one, 0 any that is free") from None
    return INTERRUPTED if told is signal.SIGINT else DONE


async def admits(config: "Config", system: "System", settings: "GatewaySettings") -> bool:
    """Say whether anybody could use the gateway.

    Raises:
        ConfigError: It would let in from beyond this machine whoever cannot show who they are.
    """
    from pegboard.gateway.settings import is_loopback

    alone = is_loopback(settings.host) and all(map(is_loopback, settings.hosts))
    if settings.profile is not None:
        config.context(settings.profile)
        if not alone:
            raise ConfigError(
                f"profile {settings.profile!r} is for callers on this machine, and others would be let in as it",
                f"{config.file}: gateway.profile",
                "leave out `profile`, or `host` and `hosts`",
            )
    now = system.catalog.clock.now()
    known = config.tokens is not None or any(one.alive(now) for one in await system.keys.list())
    if not is_loopback(settings.host) and not known:
        raise ConfigError(
            f"nobody could show who they are, so it does not listen on {settings.host}",
            f"{config.file}: identity",
            "configure [identity.jwt], or make a key: `pegboard keys create NAME --workload NAME`",
        )
    return known or settings.profile is not None


async def _served(
    config: "Config", system: "System", settings: "GatewaySettings", listener: "socket.socket"
) -> signal.Signals | None:
    """Serve until told to end; return by what."""
    from pegboard.adapters.http_server import HttpServer
    from pegboard.gateway.app import Gateway
    from pegboard.gateway.mcp import McpGateway
    from pegboard.wiring import served

    running = served(config, system)
    mcp = McpGateway(running, settings, system.telemetry)
    gateway = Gateway(running, settings, mcp.asgi())
    server = HttpServer(gateway, connections=settings.connections, drain_s=settings.drain_s, on_end=gateway.drain)
    told: list[signal.Signals] = []
    async with _watched(system), mcp.serving(), anyio.create_task_group() as tasks:
        await tasks.start(_obey, server, told)
        _say_ready(settings.host, listener.getsockname()[1])
        await server.serve(listener)
        tasks.cancel_scope.cancel()
    return told[0] if told else None


async def _streamed(config: "Config", system: "System", profile: str) -> None:
    """Serve the program that started this one until it closes the streams."""
    from pegboard.gateway.mcp import McpGateway
    from pegboard.wiring import served

    mcp = McpGateway(served(config, system), config.gateway, system.telemetry)
    async with _watched(system):
        await mcp.serve_stdio(profile)


@asynccontextmanager
async def _watched(system: "System") -> AsyncIterator[None]:
    """Keep sessions with servers open and their listings fresh for the time of the body."""
    async with system.sessions(), anyio.create_task_group() as tasks:
        tasks.start_soon(system.watcher.run)
        yield
        tasks.cancel_scope.cancel()


async def _obey(server: "HttpServer", told: list[signal.Signals], *, task_status: TaskStatus[None]) -> None:
    """End the server when the process is told to; told twice, at once."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for one in signals:
            told.append(one)
            server.end()


def _say_ready(host: str, port: int) -> None:
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if as_json():
        click.echo(compact_json({"ready": True, "url": url, "mcp": f"{url}/mcp", "api": f"{url}/v1", "port": port}))
        sys.stdout.flush()
    else:
        note(("serving", "bold green"), f"MCP at {url}/mcp, the HTTP API at {url}/v1; Ctrl-C ends it")


def _log(quiet: bool) -> None:
    """Log to stderr: requests by door and status, and faults by their place. No query, no header, no body."""
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(name)s %(message)s", level=logging.WARNING)
    logging.getLogger("pegboard").setLevel(logging.WARNING if quiet else logging.INFO)
