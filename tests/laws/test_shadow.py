"""A shadow changes no byte of an answer: in a program and at the gateway, sampled or not, its store up or down."""

import json
import re
from contextlib import suppress
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as some
from mcp import Client, MCPError

from pegboard.core.errors import StoreError
from pegboard.engine.guards import Guards
from pegboard.gateway.listing import ListMode, ListSettings
from pegboard.gateway.verbs import TASK
from pegboard.service.selector import Request
from tests.crm import AGENT
from tests.gateway.made import Desk
from tests.service.calls import Crm
from tests.strategies import cases

TASKS = some.sampled_from(["read an order", "delete an order", "knit a jumper", ""])
TOOLS = some.sampled_from(["crm.get_order", "crm.delete_order", "crm.nothing"])
ARGUMENTS = some.sampled_from([{"id": "7"}, {"id": 7}, {}])
STEPS = some.lists(
    some.one_of(
        some.tuples(some.just("select"), TASKS, some.just(None)), some.tuples(some.just("call"), TOOLS, ARGUMENTS)
    ),
    min_size=1,
    max_size=6,
)
WAYS = {
    "with a shadow": {},
    "sampled": {"guards": Guards(sample=0.5)},
    "with a store that is down": {"down": True},
}


class Unwritten:
    """A store of rollouts that answers and keeps nothing."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def observe(self, records: Any) -> None:
        raise StoreError("the disk is full")


def bytes_of(answers: list[Any]) -> str:
    """Write answers down, without the random part of their ids."""
    return re.sub(r"\b(sel|tr|call|ap)_\w+", r"\1", json.dumps(answers))


async def program(steps, *, shadowed: bool, down: bool = False, **deployment: Any) -> str:
    """Select and call as a program does; *shadowed*: with a shadow beside each step, and a word on each call."""
    crm = await Crm(**deployment).start()
    system, answers, name = crm.system, [], crm.selection.selection_id
    if down:
        system.rollouts.store = Unwritten(system.rollouts.store)
    for verb, what, arguments in steps:
        if shadowed:
            name = crm.clock.new_id("sel")
            system.shadow.ask(name, Request(tasks=(what,)), AGENT, ["crm.get_order", "crm.delete_order"])
        if verb == "select":
            answers.append((await system.selector.select(Request(tasks=(what,)), AGENT))[0].to_json())
            continue
        call = crm.proposed(what, arguments)
        answer = await system.gatekeeper.call(call, AGENT)
        answers.append(answer.to_json())
        if shadowed:
            system.observer.answered(name, call, answer, AGENT, sent=True)
            with suppress(StoreError):
                await system.shadow.flush()
    return bytes_of([answers, crm.server.calls])


@pytest.mark.parametrize("way", WAYS)
@given(STEPS)
@cases(6, 300)
def test_a_shadow_in_a_program_changes_no_byte_of_any_answer(way, steps):
    alone = anyio.run(lambda: program(steps, shadowed=False))
    assert anyio.run(lambda: program(steps, shadowed=True, **WAYS[way])) == alone


CALLS = (
    ("crm.find_customer", {"query": "kim"}),
    ("crm.find_customer", {"query": 7}),
    ("crm.close_case", {}),
    ("billing.create_refund", {"payment_id": "p"}),
    ("crm.nothing", {}),
)


async def answer(made: Client, name: str, arguments: Any, task: str | None) -> Any:
    try:
        found = await made.call_tool(name, arguments, meta=None if task is None else {TASK: task})
    except MCPError as error:
        return error.error.model_dump(mode="json")
    return found.model_dump(mode="json")


async def gateway(task: str | None, *, down: bool = False, **deployment: Any) -> tuple[str, int]:
    """List and call as an MCP client does; return the answers' bytes, and how many shadows were made."""
    desk = await Desk(ListSettings(mode=ListMode.SHADOW), **deployment).start()
    rollouts = desk.system.rollouts
    if down:
        rollouts.store = Unwritten(rollouts.store)
    async with desk.streams("sam") as made:
        answers = [(await made.list_tools()).model_dump(mode="json")]
        answers += [await answer(made, name, arguments, task) for name, arguments in CALLS]
        answers.append((await made.list_tools()).model_dump(mode="json"))
    with suppress(StoreError):
        await desk.system.shadow.flush()
    return bytes_of(answers), len(await rollouts.store.observed(0.0, 99))


@pytest.mark.parametrize("way", WAYS)
def test_a_shadow_at_the_gateway_changes_no_byte_of_any_answer(way):
    alone, observed = anyio.run(lambda: gateway(None))
    assert observed == 0
    beside, observed = anyio.run(lambda: gateway("find a customer by email", **WAYS[way]))
    assert beside == alone
    assert way == "sampled" or (observed == 0) is ("down" in WAYS[way])


@pytest.mark.parametrize("task", [None, "", " \n"])
def test_where_no_task_is_said_none_is_made_up(task):
    _, observed = anyio.run(lambda: gateway(task))
    assert observed == 0
