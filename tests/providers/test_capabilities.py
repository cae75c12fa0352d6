"""What an application has of its own in a conversation, and which model gets tools how."""

import json

import pytest

from pegboard.core.names import compact_json
from pegboard.providers.capabilities import CAPABILITIES, Api, Delivery, delivery_of
from pegboard.providers.conversation import Conversation
from pegboard.providers.turns import Called
from tests.providers.made import (
    CANCEL,
    EVERY,
    FIRST,
    MONEY,
    OPEN,
    OWN,
    REFUND,
    Answer,
    begun,
    name,
    response,
    searched,
    text_of,
)

# What the application has of its own.


@EVERY
def test_the_applications_own_tools_come_first_and_are_left_as_they_are(api, model, delivery):
    conversation = begun(api, model, delivery, own=OWN[api]).conversation
    assert conversation.request()["tools"][: len(OWN[api])] == OWN[api]
    assert conversation.read(response(api, ("c1", "say", {"text": "hello"}))) == ()


@EVERY
def test_a_tool_with_the_name_of_an_own_one_is_held_back_and_reported(api, model, delivery):
    own = json.loads(json.dumps(OWN[api]).replace("say", name(OPEN)))
    step = begun(api, model, delivery, own=own)
    assert [note.tool_id for note in step.report][:1] == [OPEN]
    assert OPEN not in step.conversation.loaded
    assert step.conversation.request()["tools"][: len(own)] == own


@pytest.mark.parametrize("api", OWN)
@pytest.mark.parametrize("taken", ["search_tools", "call_tool"])
def test_an_own_tool_may_not_have_the_name_of_one_of_ours(api, taken):
    with pytest.raises(ValueError, match="rename it"):
        Conversation.begin(api, own=json.loads(json.dumps(OWN[api]).replace("say", taken)), delivery=Delivery.CALL)


def test_there_is_one_search_of_the_apis_own():
    with pytest.raises(ValueError, match="tool_search"):
        Conversation.begin("openai", model="gpt-5.4", own=[{"type": "tool_search"}])


MINE = {
    "openai": {"type": "function_call_output", "call_id": "own", "output": "said"},
    "openai-chat": {"role": "tool", "tool_call_id": "own", "content": "said"},
    "openai-compatible": {"role": "tool", "tool_call_id": "own", "content": "said"},
    "anthropic": {"type": "tool_result", "tool_use_id": "own", "content": "said"},
    "gemini": {"functionResponse": {"name": "say", "response": {"output": "said"}}},
}


@EVERY
def test_parallel_calls_are_answered_in_order_and_together_with_the_applications_own(api, model, delivery):
    conversation = begun(api, model, delivery, own=OWN[api]).conversation
    calls = [("c1", name(OPEN), {"customer_id": "1"}), ("own", "say", {}), ("c2", name(CANCEL), {"order_id": "2"})]
    one, two = conversation.read(response(api, *calls))
    replies = [Called(proposed=one, answer=Answer()), Called(proposed=two, answer=Answer())]
    appended = conversation.answer(replies, results=[MINE[api]]).append
    said = text_of(appended)
    # OpenAI takes an item for each, the others one message for all; Chat Completions one message for each.
    assert len(appended) == (3 if api.startswith("openai") else 1)
    if api != "gemini":
        assert said.index('"own"') < said.index('"c1"') < said.index('"c2"')


# Which model gets tools how.


@pytest.mark.parametrize(
    ("api", "model", "delivery"),
    [
        ("openai", "gpt-5.4", "search"),
        ("openai", "openai/gpt-5.6-2026-11-01", "search"),
        ("openai", "gpt-5.4-nano", "list"),
        ("openai", "gpt-5-mini", "list"),
        ("openai", "gpt-35-turbo", "list"),
        ("openai", "", "list"),
        ("openai-chat", "gpt-5.6", "list"),
        ("openai-compatible", "gpt-oss-120b", "list"),
        ("anthropic", "claude-opus-4-8", "inline"),
        ("anthropic", "claude-opus-4-8-20260401", "inline"),
        ("anthropic", "us.anthropic.claude-fable-5-1-v1:0", "inline"),
        ("anthropic", "claude-haiku-5-5", "inline"),
        ("anthropic", "claude-sonnet-5", "reference"),
        ("anthropic", "claude-sonnet-5-20260201", "reference"),
        ("anthropic", "claude-opus-4-80", "reference"),
        ("gemini", "gemini-3-pro", "list"),
    ],
)
def test_the_capability_table_says_how_a_model_gets_tools(api, model, delivery):
    assert delivery_of(Api(api), model) == delivery


def test_every_row_of_the_capability_table_is_the_first_for_some_model_of_these():
    models = ["gpt-5.4-nano", "gpt-5.4", "", "claude-opus-5"]
    firsts = {next(r for r in CAPABILITIES if r.api is api and r.models.search(m))
              for api in Api if api is not Api.MCP for m in models}  # fmt: skip
    assert firsts == set(CAPABILITIES)


def test_a_model_that_refers_to_tools_has_a_growing_list_where_nothing_was_deferred():
    assert Conversation.begin("anthropic", model="claude-sonnet-5").conversation.loadout.delivery is Delivery.LIST


@pytest.mark.parametrize(("api", "delivery"), [("mcp", None), ("gemini", Delivery.SEARCH), ("none", None)])
def test_what_an_api_has_not_got_is_refused(api, delivery):
    with pytest.raises(ValueError):
        Conversation.begin(api, delivery=delivery)


CHOICES = [
    ("openai", "auto", "auto"),
    ("openai", {"type": "function", "name": "say"}, {"type": "function", "name": "say"}),
    ("openai", {"type": "function", "name": name(OPEN)}, {"type": "function", "name": name(OPEN)}),
    ("openai", {"type": "function", "name": name(REFUND)}, "auto"),
    ("openai", {"type": "function", "name": "nothing"}, "auto"),
    ("openai-chat", {"type": "function", "function": {"name": name(REFUND)}},
     {"type": "function", "function": {"name": name(REFUND)}}),
    ("openai-chat", {"type": "function", "function": {"name": "nothing"}}, "auto"),
    ("anthropic", {"type": "tool", "name": "say"}, {"type": "tool", "name": "say"}),
    ("anthropic", {"type": "tool", "name": "nothing"}, {"type": "auto"}),
    ("anthropic", {"type": "any"}, {"type": "any"}),
    ("gemini", {"functionCallingConfig": {"mode": "AUTO"}}, {"functionCallingConfig": {"mode": "AUTO"}}),
]  # fmt: skip


@pytest.mark.parametrize(("api", "choice", "consistent"), CHOICES)
def test_a_choice_of_tools_is_left_alone_unless_it_means_nothing_any_more(api, choice, consistent):
    begun_with = Conversation.begin(api, model="gpt-5.4", selection=FIRST, own=OWN[api]).conversation
    assert searched(begun_with, MONEY).conversation.tool_choice(choice) == consistent


ALLOWED = {
    "openai": (
        {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "say"}]},
        lambda choice: [one.get("name", one["type"]) for one in choice["tools"]],
        "tool_search",
    ),
    "openai-chat": (
        {"type": "allowed_tools",
         "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "say"}}]}},
        lambda choice: [one["function"]["name"] for one in choice["allowed_tools"]["tools"]],
        "search_tools",
    ),
    "gemini": (
        {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["say"]}},
        lambda choice: choice["functionCallingConfig"]["allowedFunctionNames"],
        "search_tools",
    ),
}  # fmt: skip


@pytest.mark.parametrize("api", ALLOWED)
def test_a_list_of_allowed_tools_is_widened_by_ours_and_by_nothing_else(api):
    choice, names, search = ALLOWED[api]
    own = json.loads(json.dumps(OWN[api])) + json.loads(json.dumps(OWN[api]).replace("say", "never"))
    conversation = Conversation.begin(api, model="gpt-5.4", selection=FIRST, own=own).conversation
    assert names(conversation.tool_choice(choice)) == ["say", search, name(OPEN), name(CANCEL)]


@pytest.mark.parametrize("delivery", [Delivery.INLINE, Delivery.LIST, Delivery.CALL])
def test_a_result_refers_to_nothing_where_nothing_was_deferred(delivery):
    (result,) = searched(begun("anthropic", "claude-opus-5-5", delivery).conversation, MONEY).append[0]["content"]
    assert [block["type"] for block in result["content"]] == ["text"]


def test_a_name_that_is_gone_is_taken_out_of_geminis_list():
    choice = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["gone", "say"]}}
    conversation = Conversation.begin("gemini", selection=FIRST, own=OWN["gemini"]).conversation
    names = conversation.tool_choice(choice)["functionCallingConfig"]["allowedFunctionNames"]
    assert names == ["say", "search_tools", name(OPEN), name(CANCEL)]


@EVERY
def test_the_search_names_the_callers_namespaces_sorted_and_bounded(api, model, delivery):
    many = [f"n.{number:03}" for number in range(50)]
    conversation = begun(api, model, delivery, namespaces=many[::-1]).conversation
    said = compact_json(conversation.request())
    assert "n.000, n.001" in said
    assert "n.029 and 20 more" in said
    assert "n.030" not in said


@pytest.mark.parametrize("value", [{}, {"api": "openai"}, {"api": "none"}, {"api": 3}])
def test_what_is_no_conversation_is_refused(value):
    with pytest.raises(ValueError):
        Conversation.from_json(value)


def test_a_conversation_with_a_schema_that_its_api_cannot_take_is_refused():
    value = begun(Api.OPENAI, "", Delivery.LIST).conversation.to_json()
    value["declared"][0]["input_schema"] = {"type": "string"}
    with pytest.raises(ValueError, match="no form"):
        Conversation.from_json(value)
