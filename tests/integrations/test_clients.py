"""Talks over plain clients: what goes into each request, and what a response leads to.

Responses are plain data here; the example, with the clients themselves, runs in the environment of `make adapters`.
"""

import asyncio
from typing import Any

import pytest

from pegboard.engine.verdict import Verdict, VerdictKind
from pegboard.integrations.clients import Talk
from pegboard.providers.capabilities import Api, Delivery
from pegboard.providers.turns import UNKNOWN
from tests.crm import AGENT
from tests.integrations.desk import WrittenOut, leaving, runs
from tests.providers.made import response

OPEN = "crm__orders__list_open_orders"
SAID = "list open orders"
HISTORY = {
    "openai": "input",
    "openai-chat": "messages",
    "openai-compatible": "messages",
    "anthropic": "messages",
    "gemini": "contents",
}
APIS = pytest.mark.parametrize("api", HISTORY)


def begun(api: str, door: Any = None, **more: Any) -> Talk:
    return Talk.begin(door or WrittenOut(), AGENT, api, model="a model", task=SAID, **more)


def heard(api: str, *calls: Any) -> Any:
    """Return a response as the API's client would; without calls one that ends the talk."""
    found = response(api, *calls)
    return {"choices": [{"message": {"role": "assistant", **found}}]} if "tool_calls" in found else found


def test_every_api_that_holds_conversations_has_a_client():
    assert set(HISTORY) == set(Api) - {Api.MCP}


@APIS
def test_a_request_holds_the_model_what_was_said_and_the_tools(api):
    talk = begun(api)
    request = talk.request()
    assert talk.open
    assert set(request) == {"model", HISTORY[api], "config" if api == "gemini" else "tools"}
    assert SAID in str(request[HISTORY[api]])
    assert OPEN in str(request)


@APIS
def test_a_call_is_judged_run_and_answered_and_the_history_only_grows(api):
    door = WrittenOut()
    talk = begun(api, door, called="talk 7")
    before = talk.request()[HISTORY[api]]
    talk.take(heard(api, ("c1", OPEN, {"customer_id": "1"})))
    after = talk.request()[HISTORY[api]]
    more = {"conversation": "talk 7", "caller": "direct"}
    assert door.asked[-1] == ("crm.orders.list_open_orders", {"customer_id": "1"}, "sel_1", more)
    assert after[: len(before)] == before
    assert len(after) > len(before) + 1
    assert "crm.orders.list_open_orders ran" in str(after[-1])


@APIS
def test_a_refusal_is_what_the_model_reads(api):
    door = WrittenOut(verdict=Verdict(kind=VerdictKind.DENIED, message="not here"))
    talk = begun(api, door)
    talk.take(heard(api, ("c1", OPEN, {})))
    assert "denied: not here" in str(talk.history[-1])
    door.verdict = UNKNOWN
    talk.take(heard(api, ("c2", "billing__refunds__create_refund", {})))
    assert "no such tool" in str(talk.history[-1])


@APIS
def test_a_response_that_calls_nothing_ends_the_talk_until_the_user_goes_on(api):
    talk = begun(api)
    talk.take(heard(api))
    assert not talk.open
    talk.say("cancel an order")
    assert talk.open
    assert "cancel an order" in str(talk.request()[HISTORY[api]])


@APIS
def test_results_of_the_applications_own_tools_keep_the_talk_open(api):
    talk = begun(api)
    own = {"role": "tool", "tool_call_id": "c1", "content": "its own"}
    talk.take(heard(api), results=[own])
    assert talk.open
    assert "its own" in str(talk.history)


def test_a_search_brings_tools_and_awaited_it_is_the_same():
    talks = [begun("openai-chat"), begun("openai-chat")]
    found = heard("openai-chat", ("c1", "search_tools", {"task": "cancel an order", "limit": 1}))
    talks[0].take(found)
    asyncio.run(talks[1].taken(found))
    assert talks[0].request() == talks[1].request()
    assert "cancel_order" in str(talks[0].request()["tools"])


def test_how_tools_join_may_be_said():
    assert begun("openai", delivery=Delivery.CALL).conversation.loadout.delivery is Delivery.CALL


def test_the_example_does_what_an_adapter_has_to_do(capsys):
    for name in ("anthropic", "google.genai", "openai"):
        pytest.importorskip(name, reason="the clients are in an environment of their own: make adapters")
    runs("plain_clients.py")
    parts = capsys.readouterr().out.strip().split("\n\n")
    assert [part.splitlines()[0] for part in parts] == ["openai", "anthropic", "gemini"]
    for text in parts:
        for shown in (
            "invalid_arguments",
            "a tent, shipped on Monday",
            "a desk is reserved for Friday",
            "no such tool",
        ):
            assert shown in text


def test_where_a_rollout_leaves_a_namespace_to_them_the_applications_own_tools_are_there():
    own = {"type": "function", "function": {"name": "find_order"}}
    for production, wanted in (["crm.orders"], [own]), ([], []):
        talk = begun("openai-chat", leaving(production), production={"crm.orders": [own]})
        assert list(talk.conversation.own) == wanted
        assert (OPEN in str(talk.request())) is not bool(wanted)
