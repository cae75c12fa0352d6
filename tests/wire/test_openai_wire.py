"""OpenAI: what its SDK sends of two turns with a delta, and that every shape is one of its types.

Run by `make adapters` in an environment of its own.
"""

import json
from typing import Any

import pytest

openai = pytest.importorskip("openai", reason="the model APIs' SDKs are in an environment of their own: make adapters")

import httpx2
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam
from openai.types.responses import ResponseInputItemParam, ToolParam
from openai.types.responses.tool_choice_allowed_param import ToolChoiceAllowedParam

from pegboard.providers import chat
from pegboard.providers import openai as responses
from pegboard.providers.capabilities import Api, Delivery
from pegboard.providers.conversation import Conversation
from pegboard.providers.rendering import render
from pegboard.providers.turns import Called, Found
from tests.crm import CASHIER, pick
from tests.providers.made import EVERYTHING, FIRST, Answer, response
from tests.wire.sent import grows, members
from tests.wire.shapes import misfit

MONEY = pick("give the money of a payment back", CASHIER, limit=2)
OWN = [{"type": "function", "name": "say", "description": "Say it.", "parameters": None, "strict": False}]
SEARCH = {"type": "tool_search_call", "id": "tsc_1", "call_id": "s1", "execution": "client", "status": "completed",
          "arguments": {"task": "refund"}}  # fmt: skip
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "namespace": "billing__refunds",
        "name": "billing__refunds__create_refund", "arguments": '{"payment_id":"p1","amount":null}'}  # fmt: skip


def fits(values: Any, hint: Any) -> None:
    for value in values:
        assert misfit(value, hint) is None


def sdk(answers: list[Any], bodies: list[bytes]) -> Any:
    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(request.content)
        return httpx2.Response(200, json=answers.pop(0))

    client = httpx2.Client(transport=httpx2.MockTransport(answer))
    return openai.OpenAI(api_key="none", base_url="http://localhost/v1", http_client=client)


def response_of(*items: Any) -> dict[str, Any]:
    return {"id": "r", "object": "response", "created_at": 0, "model": "gpt-5.4", "output": list(items),
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}  # fmt: skip


def test_two_turns_of_the_responses_api_change_no_byte_of_the_first():
    bodies: list[bytes] = []
    client = sdk([response_of(SEARCH), response_of(CALL), response_of()], bodies)
    conversation = Conversation.begin("openai", model="gpt-5.4", selection=FIRST, own=OWN).conversation
    history: list[Any] = [{"role": "user", "content": "give Dana her money back"}]
    for _ in range(2):
        found = client.responses.create(model="gpt-5.4", input=history, **conversation.request())
        output = [item.model_dump(mode="json", exclude_unset=True) for item in found.output]
        (asked,) = conversation.read(output)
        if "task" in asked.__slots__:
            step = conversation.answer([Found(asked=asked, selection=MONEY)])
        else:
            assert (asked.tool_id, asked.arguments) == ("billing.refunds.create_refund", {"payment_id": "p1"})
            step = conversation.answer([Called(proposed=asked, answer=Answer())])
        fits(step.append, ResponseInputItemParam)
        conversation, history = step.conversation, [*history, *output, *step.append]
    client.responses.create(model="gpt-5.4", input=history, **conversation.request())
    first, second, third = map(members, bodies)
    assert first["tools"] == second["tools"] == third["tools"]
    assert grows(first["input"], second["input"])
    assert grows(second["input"], third["input"])
    assert "create_refund" not in first["tools"]


def test_two_turns_of_chat_completions_only_append():
    bodies: list[bytes] = []
    completion = {"id": "c", "object": "chat.completion", "created": 0, "model": "m"}
    search = response("openai-chat", ("s1", "search_tools", {"task": "refund"}))["choices"][0]["message"]
    answers = [{**completion, "choices": [{"index": 0, "finish_reason": "tool_calls", "message": search}]}] * 2
    client = sdk(list(answers), bodies)
    conversation = Conversation.begin("openai-chat", selection=FIRST).conversation
    history: list[Any] = [{"role": "user", "content": "give Dana her money back"}]
    found = client.chat.completions.create(model="m", messages=history, **conversation.request())
    message = found.choices[0].message.model_dump(mode="json", exclude_none=True)
    (asked,) = conversation.read(found.model_dump(mode="json"))
    step = conversation.answer([Found(asked=asked, selection=MONEY)])
    fits(step.append, ChatCompletionMessageParam)
    history = [*history, message, *step.append]
    client.chat.completions.create(model="m", messages=history, **step.conversation.request())
    first, second = map(members, bodies)
    assert grows(first["tools"], second["tools"])
    assert grows(first["messages"], second["messages"])
    assert "create_refund" in second["tools"]


@pytest.mark.parametrize("delivery", [Delivery.SEARCH, Delivery.LIST, Delivery.CALL])
def test_every_tool_of_a_conversation_is_one_of_the_sdks(delivery):
    begun = Conversation.begin("openai", selection=EVERYTHING, own=OWN, delivery=delivery).conversation
    fits(begun.request()["tools"], ToolParam)


def test_every_rendered_tool_is_one_of_the_sdks():
    fits(render(EVERYTHING, Api.OPENAI).payload["tools"], ToolParam)
    fits(render(EVERYTHING, Api.CHAT).payload["tools"], ChatCompletionToolUnionParam)
    tools = render(EVERYTHING, Api.OPENAI).tools
    fits(responses.hosted_search(tools), ToolParam)
    assert misfit(responses.allowed(["a"]), ToolChoiceAllowedParam) is None
    begun = Conversation.begin("openai", model="gpt-5.4").conversation
    fits(begun.load(MONEY).append, ResponseInputItemParam)
    assert json.loads(json.dumps(chat.allowed(["a"])))["type"] == "allowed_tools"
