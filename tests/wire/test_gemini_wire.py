"""Gemini: what its SDK sends of two turns with a delta, and that every shape is one of its types.

Run by `make adapters` in an environment of its own.
"""

from dataclasses import replace
from typing import Any

import pytest

genai = pytest.importorskip(
    "google.genai", reason="the model APIs' SDKs are in an environment of their own: make adapters"
)

import httpx2
from google.genai import types

from pegboard.providers import gemini
from pegboard.providers.capabilities import Api, Delivery
from pegboard.providers.conversation import Conversation
from pegboard.providers.rendering import render
from pegboard.providers.schemas import compile_schema
from pegboard.providers.targets import Target
from pegboard.providers.turns import Called, Found
from tests.crm import CASHIER, pick
from tests.providers.made import EVERYTHING, FIRST, Answer, response
from tests.wire.sent import grows, members

MONEY = pick("give the money of a payment back", CASHIER, limit=2)
REFUND = "billing__refunds__create_refund"


def declared(body: dict[str, str]) -> str:
    """Return the declarations of the one entry, as they were sent."""
    return members(body["tools"][1:-1].encode())["functionDeclarations"]


def test_two_turns_only_append():
    bodies: list[bytes] = []
    answers = [
        response("gemini", ("s1", "search_tools", {"task": "refund"})),
        response("gemini", ("c1", REFUND, {"payment_id": "p1"})),
        {"candidates": []},
    ]

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(request.content)
        return httpx2.Response(200, json=answers.pop(0))

    transport = {"transport": httpx2.MockTransport(answer)}
    client = genai.Client(api_key="none", http_options=types.HttpOptions(client_args=transport))
    conversation = Conversation.begin("gemini", selection=FIRST).conversation
    history: list[Any] = [{"role": "user", "parts": [{"text": "give Dana her money back"}]}]
    for _ in range(2):
        found = client.models.generate_content(model="gemini-3-pro", contents=history, config=conversation.request())
        content = found.candidates[0].content.model_dump(mode="json", by_alias=True, exclude_none=True)
        (asked,) = conversation.read(content)
        if "task" in asked.__slots__:
            step = conversation.answer([Found(asked=asked, selection=MONEY)])
        else:
            assert (asked.tool_id, asked.arguments) == ("billing.refunds.create_refund", {"payment_id": "p1"})
            step = conversation.answer([Called(proposed=asked, answer=Answer())])
        for one in step.append:
            types.Content.model_validate(one)
        conversation, history = step.conversation, [*history, content, *step.append]
    client.models.generate_content(model="gemini-3-pro", contents=history, config=conversation.request())
    first, second, third = map(members, bodies)
    assert grows(declared(first), declared(second))
    assert declared(second) == declared(third)
    assert grows(first["contents"], second["contents"])
    assert grows(second["contents"], third["contents"])
    assert "create_refund" in declared(second)


@pytest.mark.parametrize("delivery", [Delivery.LIST, Delivery.CALL])
def test_every_tool_of_a_conversation_is_one_of_the_sdks(delivery):
    begun = Conversation.begin("gemini", selection=EVERYTHING, own=[{"googleSearch": {}}], delivery=delivery)
    for one in begun.conversation.request()["tools"]:
        types.Tool.model_validate(one)


@pytest.mark.parametrize("target", [Target.GEMINI, Target.GEMINI_PARAMETERS])
def test_a_tool_without_arguments_is_one_of_the_sdks_in_both_forms(target):
    (wired, *_) = render(EVERYTHING, Api.GEMINI).tools
    nothing = replace(wired, compiled=compile_schema({"type": "object", "properties": {}}, target))
    found = types.FunctionDeclaration.model_validate(gemini.function(nothing))
    assert found.parameters is None
    assert (found.parameters_json_schema is None) is (target is Target.GEMINI_PARAMETERS)


def test_every_rendered_tool_is_one_of_the_sdks():
    for one in render(EVERYTHING, Api.GEMINI).payload["tools"]:
        types.Tool.model_validate(one)
    types.ToolConfig.model_validate(gemini.allowed(["a"]))
