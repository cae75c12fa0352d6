"""The OpenAI Agents SDK: an agent with our tools, with the SDK's scripted model.

Run by `make adapters` in an environment of its own.
"""

import asyncio
from typing import Any

import pytest

pytest.importorskip("agents", reason="agent frameworks are in environments of their own: make adapters")

from agents import Runner, ToolCallOutputItem, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from pegboard.integrations.openai_agents import PegboardAgent, run_config
from tests.crm import AGENT
from tests.integrations.desk import CASHIER, CLERK, WrittenOut, leaving, opened, runs, shows_the_script

OPEN = "crm__orders__list_open_orders"
QUIET = run_config(tracing_disabled=True)


def agent(door: Any, *turns: Any, **more: Any) -> tuple[PegboardAgent, ScriptedModel]:
    steps = [[function_call(name, given, call_id=f"{place}")] for place, (name, given) in enumerate(turns)]
    model = ScriptedModel([*steps, [assistant_message("done")], [assistant_message("done")]])
    return PegboardAgent(name="clerk", model=model, door=door, **more), model


def run(made: PegboardAgent, said: Any, context: Any) -> Any:
    return asyncio.run(Runner.run(made, said, context=context, run_config=QUIET))


def offered(model: ScriptedModel) -> list[list[str]]:
    return [[tool.name for tool in call.tools] for call in model.calls]


def outputs(found: Any) -> list[str]:
    return [one.output for one in found.new_items if isinstance(one, ToolCallOutputItem)]


def test_the_example_does_what_an_adapter_has_to_do(capsys):
    runs("openai_agents_agent.py")
    shows_the_script(capsys.readouterr().out)


def test_each_run_has_the_tools_of_its_caller():
    with opened() as door:
        made, model = agent(door)
        run(made, "refund an order", CLERK)
        run(made, [{"role": "user", "content": [{"type": "input_text", "text": "refund an order"}]}], CASHIER)
    assert ["shop__refund_order" in one for one in offered(model)] == [False, True]


@pytest.mark.parametrize("context", [None, {"user": "sam"}])
def test_a_run_for_nobody_does_not_begin(context):
    made, model = agent(WrittenOut())
    with pytest.raises(TypeError, match="no RuntimeContext"):
        run(made, "list open orders", context)
    assert model.calls == ()


def test_a_tool_that_was_never_offered_does_not_end_the_run():
    made, _ = agent(WrittenOut(), ("billing__refunds__create_refund", {}))
    found = run(made, "list open orders", AGENT)
    assert (len(outputs(found)), found.final_output) == (1, "done")


@pytest.mark.parametrize("arguments", ["{", "[]", "null"])
def test_arguments_that_are_no_object_reach_the_gate_and_do_not_end_the_run(arguments):
    door = WrittenOut()
    made, _ = agent(door, (OPEN, arguments))
    assert run(made, "list open orders", AGENT).final_output == "done"


def test_the_agents_own_tools_stay_and_none_of_ours_gets_their_name():
    @function_tool(name_override=OPEN)
    def own() -> str:
        """Do something of the application's own."""
        return "its own"

    made, model = agent(WrittenOut(), (OPEN, {}), tools=[own])
    found = run(made, "list open orders", AGENT)
    assert outputs(found) == ["its own"]
    assert offered(model)[0].count(OPEN) == 1


def test_an_agent_without_a_door_says_so():
    made, _ = agent(None)
    with pytest.raises(ValueError, match="has no door"):
        run(made, "list open orders", AGENT)


@pytest.mark.parametrize("left", [True, False])
def test_the_agents_former_tools_stand_in_while_a_rollout_leaves_their_namespace_to_them(left):
    @function_tool(name_override=OPEN)
    def own(customer_id: str) -> str:
        """Do what was done before."""
        return "as before"

    door = leaving(["crm.orders"] if left else [])
    made, model = agent(door, (OPEN, {"customer_id": "1"}), production={"crm.orders": [own]})
    found = run(made, "list open orders", AGENT)
    assert offered(model)[0].count(OPEN) == 1
    assert outputs(found) == ["as before" if left else "crm.orders.list_open_orders ran"]
