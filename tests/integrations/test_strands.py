"""Strands: the plugin in an agent, with a model that plays a script.

Run by `make adapters` in an environment of its own.
"""

import runpy
from typing import Any

import pytest

pytest.importorskip("strands", reason="agent frameworks are in environments of their own: make adapters")

from strands import Agent, tool

from pegboard.integrations.strands import PegboardPlugin
from tests.crm import AGENT
from tests.crm import CASHIER as DANA
from tests.integrations.desk import EXAMPLES, WrittenOut, leaving, runs, shows_the_script

OPEN = "crm__orders__list_open_orders"


def agent(door: Any, turns: Any = (), production: Any = None, **more: Any) -> Agent:
    """Return an agent with the example's model, and another script."""
    example = runpy.run_path(str(EXAMPLES / "strands_agent.py"))
    scripted = example["Scripted"]
    scripted.stream.__globals__["SCRIPT"] = turns
    return Agent(model=scripted(), plugins=[PegboardPlugin(door, production=production)], callback_handler=None, **more)


def offered(capsys: Any) -> list[str]:
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith("offered:")]


def results(made: Agent) -> list[tuple[str, str]]:
    blocks = [block["toolResult"] for one in made.messages for block in one["content"] if "toolResult" in block]
    return [(one["status"], one["content"][0]["text"]) for one in blocks]


def test_the_example_does_what_an_adapter_has_to_do(capsys):
    runs("strands_agent.py")
    shows_the_script(capsys.readouterr().out)


@pytest.mark.parametrize("state", [{}, {"context": "sam"}])
def test_an_invocation_for_nobody_reaches_no_model(state, capsys):
    with pytest.raises(TypeError, match="no RuntimeContext"):
        agent(WrittenOut())("list open orders", invocation_state=state)
    assert offered(capsys) == []


def test_what_was_loaded_with_other_rights_is_not_handed_on(capsys):
    made = agent(WrittenOut())
    for context in (DANA, AGENT):
        made("refund a payment", invocation_state={"context": context})
    assert ["billing__refunds__create_refund" in one for one in offered(capsys)] == [True, False]


def test_the_agents_own_tools_are_left_to_it_and_none_of_ours_gets_their_name(capsys):
    @tool(name=OPEN)
    def own() -> str:
        """Do something of the application's own."""
        return "its own"

    door = WrittenOut()
    made = agent(door, (((OPEN, {}),),), tools=[own])
    made("list open orders", invocation_state={"context": AGENT})
    assert results(made) == [("success", "its own")]
    assert offered(capsys)[0].count(OPEN) == 1
    assert len(door.asked) == 1


@pytest.mark.parametrize("left", [True, False])
def test_the_agents_former_tools_stand_in_while_a_rollout_leaves_their_namespace_to_them(left, capsys):
    @tool(name=OPEN)
    def own(customer_id: str) -> str:
        """Do what was done before."""
        return "as before"

    door = leaving(["crm.orders"] if left else [])
    made = agent(door, (((OPEN, {"customer_id": "1"}),),), production={"crm.orders": [own]})
    made("list open orders", invocation_state={"context": AGENT})
    assert offered(capsys)[0].count(OPEN) == 1
    assert results(made) == [("success", "as before" if left else "crm.orders.list_open_orders ran")]
