"""Anthropic: what its SDK sends of two turns with a delta, and that every shape is one of its types.

Run by `make adapters` in an environment of its own.
"""

from typing import Any

import pytest

anthropic = pytest.importorskip(
    "anthropic", reason="the model APIs' SDKs are in an environment of their own: make adapters"
)

import httpx2
from anthropic.types.beta import (
    BetaMCPToolsetParam,
    BetaMessageParam,
    BetaToolUnionParam,
)

from pegboard.providers import anthropic as messages
from pegboard.providers.capabilities import Api, Delivery
from pegboard.providers.conversation import Conversation
from pegboard.providers.rendering import render
from pegboard.providers.turns import Called, Found
from tests.crm import CASHIER, pick
from tests.providers.made import EVERYTHING, FIRST, Answer
from tests.wire.sent import grows, members
from tests.wire.shapes import misfit

MONEY = pick("give the money of a payment back", CASHIER, limit=2)
REFUND = "billing__refunds__create_refund"


def message_of(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}
    return {"id": "m", "type": "message", "role": "assistant", "model": "x", "stop_reason": "tool_use",
            "content": [block], "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip


@pytest.mark.parametrize(
    ("delivery", "model"),
    [(Delivery.INLINE, "claude-opus-5-5"), (Delivery.REFERENCE, "claude-sonnet-5"), (Delivery.LIST, "claude-x")],
)
def test_two_turns_change_no_byte_of_the_first(delivery, model):
    bodies: list[bytes] = []
    answers = [message_of("search_tools", {"task": "refund"}), message_of(REFUND, {"payment_id": "p1"})] * 2

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(request.content)
        return httpx2.Response(200, json=answers.pop(0))

    client = anthropic.Anthropic(
        api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(answer)), max_retries=0
    )
    begun = Conversation.begin(
        "anthropic", model=model, selection=FIRST, deferred=EVERYTHING if delivery is Delivery.REFERENCE else None
    )
    conversation = begun.conversation
    assert conversation.loadout.delivery is delivery
    history: list[Any] = [{"role": "user", "content": "give Dana her money back"}]
    for _ in range(2):
        found = client.beta.messages.create(model=model, max_tokens=9, messages=history, **conversation.request())
        content = [block.model_dump(mode="json", exclude_unset=True) for block in found.content]
        (asked,) = conversation.read(content)
        if "task" in asked.__slots__:
            step = conversation.answer([Found(asked=asked, selection=MONEY)])
        else:
            assert (asked.tool_id, asked.arguments) == ("billing.refunds.create_refund", {"payment_id": "p1"})
            step = conversation.answer([Called(proposed=asked, answer=Answer())])
        for one in step.append:
            assert misfit(one, BetaMessageParam) is None
        conversation, history = step.conversation, [*history, {"role": "assistant", "content": content}, *step.append]
    client.beta.messages.create(model=model, max_tokens=9, messages=history, **conversation.request())
    first, second, third = map(members, bodies)
    assert grows(first["tools"], second["tools"])
    assert second["tools"] == third["tools"]
    assert (first["tools"] == second["tools"]) is (delivery is not Delivery.LIST)
    assert grows(first["messages"], second["messages"])
    assert grows(second["messages"], third["messages"])


@pytest.mark.parametrize("delivery", [Delivery.INLINE, Delivery.REFERENCE, Delivery.LIST, Delivery.CALL])
def test_every_tool_of_a_conversation_is_one_of_the_sdks(delivery):
    begun = Conversation.begin("anthropic", selection=FIRST, deferred=EVERYTHING, delivery=delivery).conversation
    for one in begun.request()["tools"]:
        assert misfit(one, BetaToolUnionParam) is None


def test_every_change_between_turns_is_one_of_the_sdks():
    begun = Conversation.begin("anthropic", model="claude-opus-5", selection=FIRST).conversation
    left = begun.load(pick("x", CASHIER, require=["billing.payments.get_payment"]))
    (message,) = left.append
    assert misfit(message, BetaMessageParam) is None


def test_every_rendered_tool_is_one_of_the_sdks():
    rendered = render(EVERYTHING, Api.ANTHROPIC)
    for one in (*rendered.payload["tools"], *messages.hosted_search(rendered.tools)):
        assert misfit(one, BetaToolUnionParam) is None
    assert misfit(messages.mcp_toolset("gateway", rendered.tools), BetaMCPToolsetParam) is None
