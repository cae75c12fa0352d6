"""A call that waits for its client: what ends it, and which clients are asked at all."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp.types import (
    CallToolRequestParams,
    ClientCapabilities,
    ElicitationCapability,
    FormElicitationCapability,
    SamplingCapability,
    UrlElicitationCapability,
)

from pegboard.gateway.asking import kinds_of, question_of
from pegboard.gateway.holding import HeldCalls
from pegboard.service.inputs import Asked, Kind, RefusedInputError
from tests.service.made import FixedClock

pytestmark = pytest.mark.anyio

FORMS = ElicitationCapability(form=FormElicitationCapability())
CALL = CallToolRequestParams(name="t")


def asked_by(**capabilities: Any) -> Any:
    """Return the request of a client of the present era."""
    session = SimpleNamespace(client_capabilities=ClientCapabilities(**capabilities))
    return SimpleNamespace(session=session, protocol_version="2026-07-28")


@pytest.mark.parametrize(
    ("capabilities", "kinds"),
    [
        (None, set()),
        (ClientCapabilities(), set()),
        (ClientCapabilities(elicitation=ElicitationCapability()), {Kind.FORM}),
        (ClientCapabilities(elicitation=FORMS), {Kind.FORM}),
        (ClientCapabilities(elicitation=ElicitationCapability(url=UrlElicitationCapability())), {Kind.URL}),
        (ClientCapabilities(sampling=SamplingCapability()), {Kind.SAMPLING}),
    ],
)
def test_a_client_is_asked_what_it_says_that_it_answers(capabilities: ClientCapabilities | None, kinds: set[Kind]):
    assert kinds_of(capabilities) == kinds


def test_a_question_is_asked_as_the_protocol_writes_it_and_answered_at_once():
    form = {"message": "x", "requestedSchema": {"type": "object", "properties": {}}}
    asked = Asked(server="s", kind=Kind.FORM, method="elicitation/create", params={**form, "task": {"ttl": 1}})
    question = question_of(asked)
    assert question.params.task is None
    assert question.params.meta == {"io.pegboard/origin": {"server": "s"}}
    with pytest.raises(RefusedInputError):
        question_of(replace(asked, params={"message": "x"}))


async def test_a_client_that_goes_away_ends_its_call_and_no_other():
    held, ended, began = HeldCalls(FixedClock()), [], anyio.Event()

    async def slow() -> dict[str, Any]:
        try:
            began.set()
            await anyio.sleep_forever()
        finally:
            ended.append("slow")
        return {}

    async def quick() -> dict[str, Any]:
        return {"content": []}

    async with held.running():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(held.call, asked_by(elicitation=FORMS), "sam", CALL, slow)
            await began.wait()
            tasks.cancel_scope.cancel()
        assert await held.call(asked_by(elicitation=FORMS), "sam", CALL, quick) == {"content": []}
        await anyio.wait_all_tasks_blocked()
        assert ended == ["slow"]


async def test_what_a_call_fails_with_is_raised_to_whoever_waits():
    async def fails() -> dict[str, Any]:
        raise ZeroDivisionError

    held = HeldCalls(FixedClock())
    async with held.running():
        with pytest.raises(ZeroDivisionError):
            await held.call(asked_by(elicitation=FORMS), "sam", CALL, fails)


async def test_outside_of_its_running_a_call_is_made_as_if_its_client_answered_nothing():
    async def quick() -> dict[str, Any]:
        return {"content": []}

    assert await HeldCalls(FixedClock()).call(asked_by(elicitation=FORMS), "sam", CALL, quick) == {"content": []}
