"""Google's Agent Development Kit: the toolset in an agent, with a model that plays a script.

Run by `make adapters` in an environment of its own.
"""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("google.adk", reason="agent frameworks are in environments of their own: make adapters")

from google.adk.tools.base_tool import BaseTool
from google.genai.types import Content, Part

from pegboard.integrations import google_adk
from pegboard.integrations.google_adk import PegboardToolset, unknown_tool
from tests.crm import AGENT, pick
from tests.crm import CASHIER as DANA
from tests.integrations.desk import CASHIER, CLERK, WrittenOut, leaving, opened, runs, shows_the_script

OPEN = "crm__orders__list_open_orders"


def given(said: str = "list open orders", user: str = "sam", session: str = "7") -> Any:
    """Return what the toolset reads of the kit's context."""
    held = SimpleNamespace(app_name="shop", user_id=user, id=session)
    content = Content(role="user", parts=[Part(text=said)])
    return SimpleNamespace(session=held, user_id=user, user_content=content, invocation_id="i")


def tools(toolset: PegboardToolset, context: Any) -> dict[str, Any]:
    return {one.name: one for one in asyncio.run(toolset.get_tools_with_prefix(context))}


def test_the_example_does_what_an_adapter_has_to_do(capsys):
    runs("google_adk_agent.py")
    shows_the_script(capsys.readouterr().out)


def test_each_user_has_tools_of_its_own():
    with opened() as door:
        toolset = PegboardToolset(door, identity=lambda one: {"sam": CLERK, "dana": CASHIER}[one.user_id])
        found = [tools(toolset, given("refund an order", user)) for user in ("sam", "dana")]
    assert ["shop__refund_order" in one for one in found] == [False, True]


def test_without_a_context_there_is_nobody_and_nothing():
    toolset = PegboardToolset(WrittenOut(), identity=lambda one: AGENT)
    assert asyncio.run(toolset.get_tools(None)) == []


def test_the_list_is_made_anew_within_one_invocation():
    door = WrittenOut(selections=lambda task, context, **_: pick(task, context, limit=1))
    toolset = PegboardToolset(door, identity=lambda one: AGENT)
    before = tools(toolset, given())
    asyncio.run(before["search_tools"].run_async(args={"task": "cancel an order"}, tool_context=calling()))
    after = tools(toolset, given())
    assert list(after) == [*before, "crm__orders__cancel_order"]


def test_what_was_loaded_with_other_rights_is_not_handed_on():
    rights = iter([DANA, AGENT])
    toolset = PegboardToolset(WrittenOut(), identity=lambda one: next(rights))
    found = [tools(toolset, given("refund a payment")) for _ in range(2)]
    assert ["billing__refunds__create_refund" in one for one in found] == [True, False]


def test_sessions_are_remembered_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(google_adk, "_REMEMBERED", 2)
    door = WrittenOut()
    toolset = PegboardToolset(door, identity=lambda one: AGENT)
    for session in ("1", "2", "1", "3", "1", "2"):
        tools(toolset, given(session=session))
    assert len(door.asked) == 4


def calling() -> Any:
    return SimpleNamespace(function_call_id="c1")


def test_a_call_is_made_under_the_sessions_name():
    door = WrittenOut()
    found = tools(PegboardToolset(door, identity=lambda one: AGENT), given())
    answer = asyncio.run(found[OPEN].run_async(args={"customer_id": "1"}, tool_context=calling()))
    assert answer == {"output": "crm.orders.list_open_orders ran"}
    assert door.asked[-1][-1]["conversation"] == "shop/sam/7"


def test_only_a_tool_that_is_not_there_is_answered_for():
    class Own(BaseTool):
        pass

    bare, own = BaseTool(name="x", description=""), Own(name="x", description="")
    assert "no such tool" in unknown_tool(bare, {}, calling(), ValueError())["error"]
    assert unknown_tool(own, {}, calling(), ValueError()) is None


@pytest.mark.parametrize("left", [True, False])
def test_the_agents_former_tools_stand_in_while_a_rollout_leaves_their_namespace_to_them(left):
    own = BaseTool(name=OPEN, description="Do what was done before.")
    door = leaving(["crm.orders"] if left else [])
    toolset = PegboardToolset(door, identity=lambda one: AGENT, production={"crm.orders": [own]})
    found = asyncio.run(toolset.get_tools(given()))
    assert [one.name for one in found].count(OPEN) == 1
    assert (own in found) is left
