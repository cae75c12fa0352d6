"""Pydantic AI: the toolset in an agent, with the framework's function model.

Run by `make adapters` in an environment of its own.
"""

from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="agent frameworks are in environments of their own: make adapters")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from pegboard import RuntimeContext
from pegboard.integrations.pydantic_ai import PegboardToolset
from tests.crm import AGENT
from tests.integrations.desk import CASHIER, CLERK, WrittenOut, leaving, opened, runs, shows_the_script

OPEN = "crm__orders__list_open_orders"


def agent(door: Any, *turns: Any, **more: Any) -> tuple[Agent[Any, str], list[list[str]]]:
    offered: list[list[str]] = []

    def model(messages: Any, info: Any) -> ModelResponse:
        offered.append([one.name for one in info.function_tools])
        turn = sum(isinstance(one, ModelResponse) for one in messages)
        return ModelResponse(parts=[ToolCallPart(*turns[turn])] if turn < len(turns) else [TextPart("done")])

    toolset = PegboardToolset(door, **more)
    return Agent(FunctionModel(model), toolsets=[toolset], deps_type=RuntimeContext), offered


def results(found: Any) -> list[ToolReturnPart]:
    return [part for one in found.all_messages() for part in one.parts if isinstance(part, ToolReturnPart)]


def test_the_example_does_what_an_adapter_has_to_do(capsys):
    runs("pydantic_ai_agent.py")
    shows_the_script(capsys.readouterr().out)


def test_each_run_has_the_tools_of_its_caller():
    with opened() as door:
        made, offered = agent(door)
        made.run_sync("refund an order", deps=CLERK)
        made.run_sync("refund an order", deps=CASHIER)
    assert ["shop__refund_order" in one for one in offered] == [False, True]


def test_a_run_for_nobody_does_not_begin():
    made, offered = agent(WrittenOut())
    with pytest.raises(TypeError, match="no RuntimeContext"):
        made.run_sync("list open orders", deps=None)
    assert offered == []


def test_a_call_is_made_under_the_conversations_name_and_with_what_the_model_wrote():
    door = WrittenOut()
    made, _ = agent(door, (OPEN, '{"customer_id": 7}'))
    made.run_sync("list open orders", deps=AGENT, conversation_id="talk 7")
    tool, arguments, _, more = door.asked[-1]
    assert (tool, arguments) == ("crm.orders.list_open_orders", {"customer_id": 7})
    assert more["conversation"] == "talk 7"


def test_a_name_that_is_the_agents_own_is_not_offered_twice():
    made, offered = agent(WrittenOut(), own=[OPEN])
    made.run_sync("list open orders", deps=AGENT)
    assert OPEN not in offered[0]


def test_a_refusal_costs_no_retry():
    door = WrittenOut(verdict=WrittenOut().verdict.__class__(kind="approval_required", message="ask first"))
    made, _ = agent(door, *[(OPEN, {})] * 3)
    found = made.run_sync("list open orders", deps=AGENT)
    assert [(one.outcome, one.content) for one in results(found)] == [("failed", "approval_required: ask first")] * 3
    assert found.output == "done"


@pytest.mark.parametrize("left", [True, False])
def test_the_agents_former_tools_stand_in_while_a_rollout_leaves_their_namespace_to_them(left):
    before = FunctionToolset[Any]()

    @before.tool_plain(name=OPEN)
    def own(customer_id: str) -> str:
        """Do what was done before."""
        return "as before"

    door = leaving(["crm.orders"] if left else [])
    made, offered = agent(door, (OPEN, {"customer_id": "1"}), production={"crm.orders": [before]})
    found = made.run_sync("list open orders", deps=AGENT)
    assert offered[0].count(OPEN) == 1
    assert [one.content for one in results(found)] == ["as before" if left else "crm.orders.list_open_orders ran"]
