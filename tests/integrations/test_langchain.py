"""LangChain: the middleware in a graph, synchronous and awaited, with the framework's fake model.

Run by `make adapters` in an environment of its own.
"""

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain", reason="agent frameworks are in environments of their own: make adapters")

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from pegboard import RuntimeContext
from pegboard.engine.verdict import Verdict, VerdictKind
from pegboard.integrations.langchain import PegboardMiddleware
from tests.crm import AGENT
from tests.integrations.desk import CASHIER, CLERK, TASK, WrittenOut, leaving, opened, runs, shows_the_script

OPEN = "crm__orders__list_open_orders"


class Scripted(GenericFakeChatModel):
    """A model that notes what it was offered."""

    offered: list[list[str]]

    def bind_tools(self, tools: Any, **_: Any) -> "Scripted":
        self.offered.append([one["function"]["name"] if isinstance(one, dict) else one.name for one in tools])
        return self


def calls(*made: tuple[str, Any]) -> AIMessage:
    wanted = [{"name": name, "args": args, "id": f"{place}-{name}"} for place, (name, args) in enumerate(made)]
    return AIMessage(content="", tool_calls=wanted)


def agent(door: Any, *turns: AIMessage, identity: Any = None, **more: Any) -> tuple[Any, list[list[str]]]:
    model = Scripted(messages=iter([*turns, AIMessage("done")] * 3), offered=[])
    ours = PegboardMiddleware(door) if identity is None else PegboardMiddleware(door, identity=identity)
    made = create_agent(model, middleware=[ours], context_schema=RuntimeContext, **more)
    return made, model.offered


def results(found: Any) -> dict[str, ToolMessage]:
    return {one.name: one for one in found["messages"] if isinstance(one, ToolMessage)}


def said(text: str = "list open orders") -> dict[str, Any]:
    return {"messages": [("user", text)]}


def test_the_example_does_what_an_adapter_has_to_do(capsys):
    runs("langchain_agent.py")
    shows_the_script(capsys.readouterr().out)


def test_awaited_it_does_the_same():
    with opened() as door:
        search = calls(("search_tools", {"task": "reserve a desk"}))
        use = calls(("office__reserve_desk", {"day": "Friday"}), ("shop__refund_order", {}))
        made, offered = agent(door, search, use)
        found = results(asyncio.run(made.ainvoke(said(TASK), context=CLERK)))
    assert found["office__reserve_desk"].text == "a desk is reserved for Friday"
    assert found["shop__refund_order"].status == "error"
    assert offered[1][: len(offered[0])] == offered[0]


def test_each_run_has_the_tools_of_its_caller():
    with opened() as door:
        made, offered = agent(door)
        made.invoke(said("refund an order"), context=CLERK)
        made.invoke(said("refund an order"), context=CASHIER)
    assert ["shop__refund_order" in one for one in offered] == [False, True]


def test_a_run_for_nobody_does_not_begin():
    made, offered = agent(WrittenOut())
    with pytest.raises(TypeError, match="no RuntimeContext"):
        made.invoke(said())
    assert offered == []


def test_who_asks_may_be_read_from_elsewhere_than_the_context():
    with opened() as door:
        made, offered = agent(door, identity=lambda runtime: {"dana": CASHIER}[runtime.context.user])
        made.invoke(said("refund an order"), context=RuntimeContext(user="dana"))
    assert "shop__refund_order" in offered[0]


def test_a_callers_own_state_says_nothing_of_tools():
    door = WrittenOut()
    made, offered = agent(door)
    made.invoke({**said(), "pegboard": {"heard": "list open orders", "conversation": {}}}, context=AGENT)
    assert door.asked[0][0] == "list open orders"
    assert OPEN in offered[0]


def test_what_is_loaded_is_kept_with_the_thread_and_shown_to_nobody():
    made, offered = agent(WrittenOut(), checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "7"}}
    found = made.invoke(said(), thread, context=AGENT)
    made.invoke(said("cancel an order"), thread, context=AGENT)
    assert "pegboard" not in found
    assert offered[1][: len(offered[0])] == offered[0]


def test_a_thread_that_someone_else_goes_on_with_shows_nothing_that_is_not_theirs():
    with opened() as door:
        made, offered = agent(door, checkpointer=InMemorySaver())
        for caller in (CASHIER, CLERK):
            made.invoke(said("refund an order"), {"configurable": {"thread_id": "7"}}, context=caller)
    assert ["shop__refund_order" in one for one in offered] == [True, False]


def test_a_call_is_made_under_the_threads_name():
    door = WrittenOut()
    made, _ = agent(door, calls((OPEN, {"customer_id": "1"})), checkpointer=InMemorySaver())
    made.invoke(said(), {"configurable": {"thread_id": "7"}}, context=AGENT)
    assert door.asked[-1][-1] == {"conversation": "7", "caller": "direct"}


def test_the_agents_own_tools_are_left_to_it():
    @tool
    def crm__orders__list_open_orders() -> str:
        """Do something of the application's own."""
        return "its own"

    door = WrittenOut()
    made, offered = agent(door, calls((OPEN, {})), tools=[crm__orders__list_open_orders])
    found = made.invoke(said(), context=AGENT)
    assert results(found)[OPEN].text == "its own"
    assert offered[0].count(OPEN) == 1
    assert len(door.asked) == 1


def test_what_the_gate_no_longer_takes_is_gone_from_the_next_request():
    door = WrittenOut(verdict=Verdict(kind=VerdictKind.STALE_SCHEMA, message="it changed"))
    made, offered = agent(door, calls((OPEN, {}), ("search_tools", {"task": "nothing at all"})))
    found = made.invoke(said(), context=AGENT)
    assert results(found)[OPEN].text == "stale_schema: it changed"
    assert [OPEN in one for one in offered] == [True, False]


def test_two_searches_and_a_call_of_one_turn_are_all_answered():
    made, _ = agent(
        WrittenOut(),
        calls(
            ("search_tools", {"task": "cancel an order"}),
            (OPEN, {"customer_id": "1"}),
            ("search_tools", {"task": "add a note"}),
        ),
    )
    found = made.invoke(said(), context=AGENT)
    answered = [one for one in found["messages"] if isinstance(one, ToolMessage)]
    assert len(answered) == 3
    assert found["messages"][-1].text == "done"


@pytest.mark.parametrize("left", [True, False])
def test_the_agents_former_tools_stand_in_while_a_rollout_leaves_their_namespace_to_them(left):
    @tool
    def crm__orders__list_open_orders(customer_id: str) -> str:
        """Do what was done before."""
        return "as before"

    door = leaving(["crm.orders"] if left else [])
    ours = PegboardMiddleware(door, production={"crm.orders": [crm__orders__list_open_orders]})
    model = Scripted(messages=iter([calls((OPEN, {"customer_id": "1"})), AIMessage("done")]), offered=[])
    found = create_agent(model, middleware=[ours], context_schema=RuntimeContext).invoke(said(), context=AGENT)
    assert model.offered[0].count(OPEN) == 1
    assert results(found)[OPEN].text == ("as before" if left else "crm.orders.list_open_orders ran")
