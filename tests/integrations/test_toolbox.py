"""A toolbox: what one conversation has in a framework, and how it answers."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pegboard.core.errors import StoreError
from pegboard.engine.verdict import Verdict, VerdictKind
from pegboard.integrations.toolbox import Toolbox
from pegboard.providers.capabilities import Api
from pegboard.providers.turns import UNKNOWN
from tests.crm import AGENT, CASHIER, pick
from tests.integrations.desk import CLERK, WrittenOut, leaving, shop

OPEN = "crm__orders__list_open_orders"
CANCEL = "crm__orders__cancel_order"


def begun(door: Any = None, **more: Any) -> Toolbox:
    return Toolbox.begin(door or WrittenOut(), AGENT, **more)


def names(toolbox: Toolbox) -> list[str]:
    return [one.name for one in toolbox.functions]


def test_it_begins_with_the_search_alone():
    assert names(begun()) == ["search_tools"]


def test_what_the_user_says_brings_tools_once():
    door = WrittenOut()
    toolbox = begun(door)
    for said in ("list open orders", "list open orders", " "):
        toolbox.hear(said)
    assert [task for task, *_ in door.asked] == ["list open orders"]
    assert names(toolbox)[:2] == ["search_tools", OPEN]


def test_the_same_words_of_someone_else_take_away_what_is_not_theirs():
    door = WrittenOut()
    toolbox = Toolbox.begin(door, CASHIER)
    toolbox.hear("refund a payment")
    assert "billing__refunds__create_refund" in names(toolbox)
    again = Toolbox.resume(door, AGENT, toolbox.kept())
    again.hear("refund a payment")
    assert not any(name.startswith("billing") for name in names(again))


def test_half_a_character_ends_nothing():
    toolbox = begun()
    toolbox.hear("list open orders \ud800")
    assert OPEN in names(toolbox)


def test_the_same_tools_in_another_order_change_nothing_and_new_ones_come_last():
    listed, cancel, pay = "crm.orders.list_open_orders", "crm.orders.cancel_order", "billing.payments.get_payment"
    orders = iter([[listed, cancel], [pay, cancel, listed]])
    toolbox = begun(WrittenOut(selections=lambda task, context, **_: pick("x", CASHIER, require=next(orders))))
    toolbox.hear("one")
    before = toolbox.functions
    toolbox.hear("two")
    assert toolbox.functions[: len(before)] == before
    assert len(toolbox.functions) == len(before) + 1


def test_a_search_of_the_model_brings_tools_in_the_middle_of_a_turn():
    toolbox = begun()
    output = toolbox.answer("search_tools", '{"task": "cancel an order", "limit": 1}', "c1")
    assert (output.failed, output.call.call_id) == (False, "c1")
    assert CANCEL in output.text
    assert CANCEL in names(toolbox)


def test_a_call_goes_to_the_gate_with_its_selection_and_the_applications_conversation():
    door = WrittenOut()
    toolbox = begun(door, called="talk 7")
    toolbox.hear("list open orders")
    output = toolbox.answer(OPEN, {"customer_id": "c1"})
    assert output.text == "crm.orders.list_open_orders ran"
    more = {"conversation": "talk 7", "caller": "direct"}
    assert door.asked[-1] == ("crm.orders.list_open_orders", {"customer_id": "c1"}, "sel_1", more)


@pytest.mark.parametrize(
    "name", [CANCEL, "billing__refunds__create_refund", "crm.orders.list_open_orders", "", "x" * 99]
)
def test_a_name_that_was_not_loaded_goes_to_the_gate_as_it_was_written_and_without_a_selection(name):
    door = WrittenOut(verdict=UNKNOWN)
    output = begun(door).answer(name, {})
    assert output.failed
    assert output.text.startswith("unknown_or_denied: there is no such tool")
    assert door.asked == [(name, {}, None, {"conversation": None, "caller": "direct"})]


def test_the_audit_tells_what_was_meant_by_names_that_were_not_loaded_and_the_model_learns_nothing():
    names = ["nothing", "shop__refund_order", "shop.refund_order", "\ud800"]
    with shop.open_shop() as board:
        toolbox = Toolbox.begin(shop.door(board), CLERK)
        texts = {toolbox.answer(name, {}).text for name in names}

        async def told() -> list[Any]:
            return [event.body async for event in board._system.audit.events() if event.kind == "denial"]

        denials = board._run(told)
    assert len(texts) == 1
    assert [one["asked"] for one in denials] == [*names[:3], "?"]
    assert {one["principal"] for one in denials} == {CLERK.principal}


@pytest.mark.parametrize(("arguments", "judged"), [("{", "{"), (None, {}), ('"{\\"a\\": 1}"', {"a": 1}), ([], [])])
def test_arguments_reach_the_gate_as_they_are_meant(arguments, judged):
    door = WrittenOut()
    toolbox = begun(door)
    toolbox.hear("list open orders")
    toolbox.answer(OPEN, arguments)
    assert door.asked[-1][1] == judged


def test_what_the_gate_no_longer_takes_is_offered_no_more():
    door = WrittenOut()
    toolbox = begun(door)
    toolbox.hear("list open orders")
    door.verdict = Verdict(kind=VerdictKind.STALE_SCHEMA, message="it changed")
    assert toolbox.answer(OPEN, {}).text == "stale_schema: it changed"
    assert OPEN not in names(toolbox)


def test_what_is_dropped_is_offered_no_more():
    toolbox = begun()
    toolbox.hear("list open orders")
    toolbox.drop(["crm.orders.list_open_orders"])
    assert OPEN not in names(toolbox)


def test_a_selection_that_fails_leaves_everything_as_it_was():
    def failing(*_: Any, **__: Any) -> Any:
        raise StoreError("the disk is full")

    toolbox = begun(WrittenOut(selections=failing))
    with pytest.raises(StoreError):
        toolbox.hear("list open orders")
    assert (toolbox.heard, names(toolbox)) == (None, ["search_tools"])


@pytest.mark.parametrize("api", [Api.OPENAI, Api.CHAT, Api.ANTHROPIC, Api.GEMINI])
def test_a_tool_with_the_name_of_one_of_the_agents_own_is_not_offered(api):
    toolbox = begun(api=api, own=[OPEN])
    toolbox.hear("list open orders")
    assert OPEN not in names(toolbox)
    assert len(names(toolbox)) > 1


def test_searches_side_by_side_lose_nothing():
    toolbox = Toolbox.begin(WrittenOut(), CASHIER)
    tasks = ["list open orders", "cancel an order", "refund a payment", "add a note"] * 5
    with ThreadPoolExecutor(8) as pool:
        outputs = list(pool.map(lambda task: toolbox.answer("search_tools", {"task": task, "limit": 1}), tasks))
    found = set(names(toolbox))
    for output in outputs:
        for name in output.text.partition("now: ")[2].removesuffix(".").split(", "):
            assert not name or name in found
    assert len(names(toolbox)) == len(found)


def test_it_goes_on_from_what_was_kept():
    toolbox = begun(called="a", namespaces=["crm"])
    toolbox.hear("list open orders")
    again = Toolbox.resume(WrittenOut(), AGENT, toolbox.kept(), called="a")
    assert again.functions == toolbox.functions
    assert again.heard == toolbox.heard


def test_what_is_no_toolbox_is_refused():
    with pytest.raises(ValueError, match="no conversation"):
        Toolbox.resume(WrittenOut(), AGENT, {})


def test_what_a_rollout_takes_back_is_offered_no_more_and_the_applications_own_stand_in():
    production: list[str] = []
    toolbox = begun(leaving(production))
    toolbox.hear("list open orders")
    assert (OPEN in names(toolbox), toolbox.left({"crm.orders": ["own"]})) == (True, [])
    production.append("crm.orders")
    toolbox.hear("list the open orders again")
    assert OPEN not in names(toolbox)
    assert toolbox.left({"billing": ["other"], "crm.orders": ["own"]}) == ["own"]
    again = Toolbox.resume(WrittenOut(), AGENT, toolbox.kept())
    assert again.production == {"crm.orders"}
    production.clear()
    toolbox.answer("search_tools", {"task": "list open orders"})
    assert (OPEN in names(toolbox), toolbox.left({"crm.orders": ["own"]})) == (True, [])
