"""Attacks on a call that waits for its client's answer: what was stopped meanwhile is told nothing more (law 4)."""

from collections.abc import Iterator
from contextlib import ExitStack

import anyio
import pytest
from mcp.types import ElicitResult, InputRequiredResult

from pegboard.adapters.mcp_client import McpServers
from pegboard.adapters.mcp_settings import ServerSettings
from pegboard.service.inputs import Kind
from tests.adapters.scripted_http_server import serving
from tests.gateway.asking_server import TOOLS, asking_app
from tests.gateway.made import client
from tests.gateway.real import SAM, Real
from tests.service.made import FixedClock

RED = ElicitResult(action="accept", content={"colour": "red"})


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, str]]:
    with ExitStack() as stack:
        yield {era: stack.enter_context(serving(asking_app(era))) for era in ("legacy", "modern")}


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("stopped", [True, False])
def test_a_tool_that_was_halted_while_its_client_thought_is_not_told_the_answer(
    urls: dict[str, str], era: str, stopped: bool
):
    settings = ServerSettings(name="s", may_ask=frozenset(Kind), url=urls[era])
    desk = Real(McpServers({"s": settings}), FixedClock(), *(f"s.{name}" for name in TOOLS))

    async def unasked(context: object, params: object) -> ElicitResult:
        raise AssertionError

    async def scene() -> str:
        await desk.start()
        async with desk.pool.running(), desk.serving() as url, client(url, SAM, elicitation_callback=unasked) as made:
            asked = await made.session.call_tool("s.form", {}, allow_input_required=True)
            assert isinstance(asked, InputRequiredResult)
            if stopped:
                assert await desk.system.halts.halt("s.form", why="it leaks", by="ops") is not None
            said = await made.session.call_tool(
                "s.form", {}, allow_input_required=True,
                request_state=asked.request_state, input_responses={"question": RED},
            )  # fmt: skip
        return str(said.content[0].text)

    assert ("red" in anyio.run(scene)) is not stopped
