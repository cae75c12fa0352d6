"""Turns: what a response asks of us, and how its answers are said in each API's own form."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.names import compact_json
from pegboard.engine.selection import Outcome
from pegboard.engine.verdict import Caller, VerdictKind
from pegboard.providers.capabilities import Delivery
from pegboard.providers.conversation import Conversation
from pegboard.providers.turns import UNKNOWN, Called, CallProposed, Found, SearchAsked
from tests.crm import CASHIER, pick
from tests.providers.made import (
    CONVERSATIONS,
    EVERY,
    EVERYTHING,
    FIRST,
    MONEY,
    OPEN,
    OWN,
    REFUND,
    Answer,
    begun,
    called,
    name,
    response,
    search_response,
    searched,
    text_of,
)
from tests.strategies import cases

# What a response says.

ARGUMENTS = [
    ('{"customer_id": "1"}', {"customer_id": "1"}),
    ('"{\\"customer_id\\": \\"1\\"}"', {"customer_id": "1"}),
    ({"customer_id": "1"}, {"customer_id": "1"}),
    ("", {}),
    ("null", {}),
    (None, {}),
    ('{"customer_id": ', '{"customer_id": '),
    ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
    ("[1]", [1]),
    ("open orders", "open orders"),
]


@pytest.mark.parametrize(("given", "meant"), ARGUMENTS)
@pytest.mark.parametrize("api", OWN)
def test_what_arguments_are_wrapped_in_is_undone_and_nothing_else(api, given, meant):
    conversation = Conversation.begin(api, selection=FIRST).conversation
    call = response(api, ("c1", name(OPEN), given))
    if api.startswith("openai") and given is None:
        call = json.loads(compact_json(call).replace('"arguments":"null"', '"arguments":null'))
    (proposed,) = conversation.read(call)
    assert proposed.arguments == meant


def test_null_for_what_need_not_be_given_is_left_out_and_null_for_what_must_be_stays():
    conversation = begun("openai", "gpt-5.4", Delivery.SEARCH, selection=EVERYTHING).conversation
    proposed = called(conversation, REFUND, {"payment_id": None, "amount": None})
    assert proposed.arguments == {"payment_id": None}


@pytest.mark.parametrize(
    ("arguments", "task", "limit"),
    [
        ({"task": "a", "limit": 3}, "a", 3),
        ({"query": "a"}, "a", None),
        ({"task": "a", "limit": 9_999}, "a", 20),
        ({"task": "a", "limit": 0}, "a", None),
        ({"task": "a", "limit": True}, "a", None),
        ({"task": "a", "limit": "many"}, "a", None),
        ({"task": ["a"]}, "", None),
        ({}, "", None),
        ("a b", "a b", None),
        ({"task": "a\ud800"}, "a?", None),
    ],
)
def test_a_search_is_its_task_and_a_bounded_limit(arguments, task, limit):
    conversation = Conversation.begin("anthropic").conversation
    (asked,) = conversation.read(
        {"content": [{"type": "tool_use", "id": "s", "name": "search_tools", "input": arguments}]}
    )
    assert isinstance(asked, SearchAsked)
    assert (asked.task, asked.limit) == (task, limit)


@pytest.mark.parametrize(
    ("api", "extra", "caller"),
    [
        ("openai", {"caller": {"type": "direct"}}, Caller.DIRECT),
        ("openai", {"caller": {"type": "program", "caller_id": "p1"}}, Caller.PROGRAM),
        ("anthropic", {"caller": {"type": "code_execution_20260521", "tool_id": "t"}}, Caller.PROGRAM),
        ("anthropic", {}, Caller.DIRECT),
    ],
)
def test_a_call_of_a_program_is_told_from_one_of_the_model(api, extra, caller):
    conversation = Conversation.begin(api, selection=FIRST).conversation
    call = response(api, ("c1", name(OPEN), {"customer_id": "1"}))
    call["output" if api == "openai" else "content"][-1].update(extra)
    (proposed,) = conversation.read(call)
    assert proposed.caller is caller
    if api == "openai":
        (item,) = conversation.answer([Called(proposed=proposed, answer=Answer())]).append
        assert item["caller"] == extra["caller"]


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
NAMES = st.sampled_from(["search_tools", "call_tool", "tool_search", "nothing"])
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "arguments", "args", "task", "limit", "type"]), inner | NAMES, max_size=4
        )
    ),
    max_leaves=8,
)
KEYS = ("name", "id", "call_id", "arguments", "namespace", "caller", "input", "function", "functionCall")
ITEMS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["function_call", "tool_search_call", "tool_use", "function"])},
        optional={"execution": st.just("client"), **dict.fromkeys(KEYS, ANYTHING | NAMES)},
    )
    | ANYTHING,
    max_size=3,
)
AROUND = {
    "openai": lambda items: {"output": items},
    "openai-chat": lambda items: {"choices": [{"message": {"tool_calls": items}}]},
    "openai-compatible": lambda items: {"choices": [{"message": {"tool_calls": items}}]},
    "anthropic": lambda items: {"content": items},
    "gemini": lambda items: {"candidates": [{"content": {"parts": items}}]},
}


@given(ITEMS, st.sampled_from(CONVERSATIONS))
@cases(60, 2_000)
def test_no_response_however_odd_is_more_than_a_search_or_an_unknown_call(items, row):
    conversation = begun(*row).conversation
    found = conversation.read(AROUND[row[0]](items))
    for asked in found:
        assert isinstance(asked, SearchAsked) or asked.problem == UNKNOWN
    replies = [Called(proposed=one) for one in found if isinstance(one, CallProposed)]
    assert conversation.answer(replies).conversation.loaded == conversation.loaded


@pytest.mark.parametrize("response", [None, {}, [], "text", {"output": None}, {"output": ["x", {}]}, {"choices": []},
        {"choices": [{"message": {"tool_calls": ["x", {}]}}]},
                                      {"content": 3}, {"candidates": [{}]}, {"candidates": [None]}])  # fmt: skip
@pytest.mark.parametrize("api", OWN)
def test_a_response_without_calls_asks_for_nothing(api, response):
    assert Conversation.begin(api, selection=FIRST).conversation.read(response) == ()


# What is said back.

OUTCOMES = [
    (Answer(result={"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}), "one\ntwo", False),
    (Answer(result={"content": [], "structuredContent": {"n": 1}}), '{"n":1}', False),
    (Answer(result={"content": [{"type": "text", "text": "no"}], "isError": True}), "no", True),
    (Answer(result={"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}),
     "[image image/png, not shown]", False),
    (Answer(result=None, error={"code": -32602, "message": "bad"}), '{"code":-32602,"message":"bad"}', True),
    (Answer(VerdictKind.INVALID_ARGUMENTS, "/order_id: is not a text"),
     "invalid_arguments: /order_id: is not a text", True),
]  # fmt: skip
FORMS = {
    "openai": lambda text, failed: {
        "type": "function_call_output", "call_id": "c1", "output": f"error: {text}" if failed else text
    },
    "openai-chat": lambda text, failed: {
        "role": "tool", "tool_call_id": "c1", "content": f"error: {text}" if failed else text
    },
    "anthropic": lambda text, failed: {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": text}],
                     **({"is_error": True} if failed else {})}],
    },
    "gemini": lambda text, failed: {
        "role": "user",
        "parts": [{"functionResponse": {"id": "c1", "name": "crm__orders__list_open_orders",
                                        "response": {"error" if failed else "output": text}}}],
    },
}  # fmt: skip


@pytest.mark.parametrize(("answer", "text", "failed"), OUTCOMES)
@pytest.mark.parametrize("api", FORMS)
def test_a_result_or_refusal_is_said_in_the_apis_own_form(api, answer, text, failed):
    conversation = Conversation.begin(api, selection=FIRST).conversation
    proposed = called(conversation, OPEN, {"customer_id": "1"})
    assert isinstance(proposed, CallProposed)
    assert conversation.answer([Called(proposed=proposed, answer=answer)]).append == (FORMS[api](text, failed),)


def test_what_the_application_ran_itself_is_said_where_the_gate_only_judged():
    conversation = Conversation.begin("openai-chat", selection=FIRST).conversation
    proposed = called(conversation, OPEN, {"customer_id": "1"})
    reply = Called(proposed=proposed, answer=Answer(result=None), output={"open": 3})
    assert conversation.answer([reply]).append[0]["content"] == '{"open":3}'


def test_openais_search_output_carries_whole_definitions_in_their_namespaces():
    (item,) = searched(begun("openai", "gpt-5.4", Delivery.SEARCH).conversation, MONEY).append
    assert (item["type"], item["call_id"], item["execution"]) == ("tool_search_output", "s1", "client")
    assert [one["name"] for group in item["tools"] for one in group["tools"]] == [
        name(one.tool.tool_id) for one in MONEY.tools
    ]
    assert all(one["parameters"]["properties"] for group in item["tools"] for one in group["tools"])


def test_a_result_refers_to_what_was_deferred():
    (message,) = searched(begun("anthropic", "claude-sonnet-5", Delivery.REFERENCE).conversation, MONEY).append
    references = [{"type": "tool_reference", "tool_name": name(one.tool.tool_id)} for one in MONEY.tools]
    assert message["content"] == [{"type": "tool_result", "tool_use_id": "s1", "content": references}]


@EVERY
def test_a_search_that_finds_nothing_says_why(api, model, delivery):
    nothing = pick("paint the fence", CASHIER, limit=2)
    assert nothing.tools == ()
    step = searched(begun(api, model, delivery).conversation, nothing)
    assert nothing.message in text_of(step.append)


@pytest.mark.parametrize("outcome", ["selected", "weak", "namespace", "all_tools"])
@EVERY
def test_a_search_for_what_is_loaded_says_that_it_is(api, model, delivery, outcome):
    nothing_new = replace(FIRST, tools=(), outcome=Outcome(outcome))
    step = searched(begun(api, model, delivery).conversation, nothing_new)
    assert "loaded already" in text_of(step.append)


@EVERY
def test_two_searches_of_one_turn_load_a_tool_once(api, model, delivery):
    conversation = begun(api, model, delivery).conversation
    first, second = (conversation.read(search_response(conversation, one, "x"))[0] for one in ("s1", "s2"))
    step = conversation.answer([Found(asked=first, selection=MONEY), Found(asked=second, selection=MONEY)])
    assert len(set(step.conversation.loaded)) == len(step.conversation.loaded)
    assert text_of(step.append).count("Give money of a payment back") <= 1
