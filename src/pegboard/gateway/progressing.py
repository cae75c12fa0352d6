"""Pass the progress of a call on to the client that asked to hear of it, before its result.

What a server says faster than a client reads is left out: progress is a hint, and the last word is the result.

Source: MCP 2026-07-28, progress.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias, TypeGuard

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.context import ServerRequestContext

from pegboard.service.progress import progress_to

__all__ = ["passed_on"]

_WAITING = 16

_Step: TypeAlias = tuple[float, float | None, str | None]


@asynccontextmanager
async def passed_on(ctx: ServerRequestContext[Any, Any], *, asked: bool) -> AsyncIterator[None]:
    """Pass on what is heard of the calls in the body, where the client asked for it."""
    if not asked:
        yield
        return
    send, receive = anyio.create_memory_object_stream[_Step](_WAITING)

    def hears(said: Mapping[str, Any]) -> None:
        if (step := _step(said)) is not None:
            # A call that waits for its client's answer goes on after this request has ended.
            with suppress(anyio.WouldBlock, anyio.ClosedResourceError):
                send.send_nowait(step)

    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_passing, ctx, receive)
        with send:
            try:
                with progress_to(hears):
                    yield
            except Exception as error:  # noqa: BLE001 - raised below, outside the group, which would wrap it
                failure = error
    if failure is not None:
        raise failure


async def _passing(ctx: ServerRequestContext[Any, Any], receive: MemoryObjectReceiveStream[_Step]) -> None:
    with receive:
        async for step in receive:
            await ctx.session.report_progress(*step)


def _step(said: Mapping[str, Any]) -> _Step | None:
    progress, total, message = said.get("progress"), said.get("total"), said.get("message")
    if not _is_number(progress):
        return None
    return progress, total if _is_number(total) else None, message if isinstance(message, str) else None


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
