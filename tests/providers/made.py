"""Responses as each API sends them, and a few conversations, for the tests of this folder."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pegboard.core.names import compact_json
from pegboard.engine.selection import Selection
from pegboard.engine.verdict import Verdict, VerdictKind
from pegboard.providers.capabilities import Delivery
from pegboard.providers.conversation import Conversation, Step
from pegboard.providers.turns import Found, SearchAsked
from tests.crm import CASHIER, ENTRIES, pick

__all__ = [
    "CANCEL",
    "CONVERSATIONS",
    "EVERY",
    "EVERYTHING",
    "FIRST",
    "MONEY",
    "OPEN",
    "OWN",
    "REFUND",
    "Answer",
    "begun",
    "called",
    "name",
    "response",
    "search_response",
    "searched",
    "sent",
    "text_of",
]

Call = tuple[str, str, Any]

# Every way in which tools join a conversation, with a model that has it: (api, model, delivery).
CONVERSATIONS = [
    ("openai", "gpt-5.4", Delivery.SEARCH),
    ("openai", "gpt-5-mini", Delivery.LIST),
    ("openai", "gpt-5-mini", Delivery.CALL),
    ("openai-chat", "qwen3", Delivery.LIST),
    ("openai-chat", "qwen3", Delivery.CALL),
    ("openai-compatible", "qwen3", Delivery.LIST),
    ("anthropic", "claude-opus-5-5", Delivery.INLINE),
    ("anthropic", "claude-sonnet-5", Delivery.REFERENCE),
    ("anthropic", "claude-sonnet-5", Delivery.LIST),
    ("anthropic", "claude-sonnet-5", Delivery.CALL),
    ("gemini", "gemini-3-pro", Delivery.LIST),
    ("gemini", "gemini-3-pro", Delivery.CALL),
]

FIRST = pick("which orders of the customer are still open", CASHIER, limit=2)
EVERYTHING = pick("", CASHIER, require=[entry.tool_id for entry in ENTRIES])


class Answer:
    """What the service says of a call."""

    def __init__(self, kind: VerdictKind = VerdictKind.ALLOWED, message: str | None = None, **more: Any) -> None:
        self.verdict = Verdict(kind=kind, message=message)
        self.result = more.get("result", {"content": [{"type": "text", "text": "done"}]})
        self.error = more.get("error")


def begun(api: str, model: str, delivery: Delivery, selection: Selection | None = FIRST, **more: Any) -> Step:
    """Begin a conversation; one that refers to deferred tools has all of the CRM deferred."""
    deferred = EVERYTHING if delivery is Delivery.REFERENCE else None
    return Conversation.begin(api, model=model, selection=selection, deferred=deferred, delivery=delivery, **more)


def name(tool_id: str, delivery: Delivery = Delivery.LIST) -> str:
    """Return the name of a tool as the CRM's ids give it."""
    return tool_id if delivery is Delivery.CALL else tool_id.replace(".", "__")


def response(api: str, *calls: Call) -> dict[str, Any]:
    """Make a response with these calls: (call id, name, arguments)."""
    return _RESPONSES[api](calls)


def searched(conversation: Conversation, selection: Selection, task: str = "a task", call_id: str = "s1") -> Step:
    """Let the model search and be answered with a selection."""
    (asked,) = conversation.read(search_response(conversation, call_id, task))
    assert isinstance(asked, SearchAsked)
    return conversation.answer([Found(asked=asked, selection=selection)])


def sent(conversation: Conversation) -> list[str]:
    """Return a request's tools as they are sent, each by itself: ours of Gemini's single entry too."""
    tools: Any = conversation.request()["tools"]
    return [compact_json(one) for tool in tools for one in tool.get("functionDeclarations", [tool])]


def text_of(appended: Sequence[Any]) -> str:
    """Return what was appended as one text, to look for words in."""
    return compact_json(list(appended))


def search_response(conversation: Conversation, call_id: str, task: str) -> dict[str, Any]:
    """Make a response that searches, in the way that the conversation has."""
    api = str(conversation.loadout.api)
    if conversation.loadout.delivery is not Delivery.SEARCH:
        return response(api, (call_id, "search_tools", {"task": task}))
    call = {"type": "tool_search_call", "call_id": call_id, "execution": "client", "arguments": {"task": task}}
    return {"output": [{"type": "reasoning"}, call]}


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else compact_json(arguments)


def _openai(calls: Sequence[Call]) -> dict[str, Any]:
    items = ({"call_id": one, "name": name, "arguments": _text(given)} for one, name, given in calls)
    return {"output": [{"type": "message"}, *({"type": "function_call", **item} for item in items)]}


def _chat(calls: Sequence[Call]) -> dict[str, Any]:
    functions = (
        {"id": one, "type": "function", "function": {"name": name, "arguments": _text(given)}}
        for one, name, given in calls
    )
    return {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": list(functions)}}]}


def _anthropic(calls: Sequence[Call]) -> dict[str, Any]:
    blocks = ({"type": "tool_use", "id": one, "name": name, "input": given} for one, name, given in calls)
    return {"role": "assistant", "content": [{"type": "text", "text": "I will."}, *blocks]}


def _gemini(calls: Sequence[Call]) -> dict[str, Any]:
    parts = ({"functionCall": {"id": one, "name": name, "args": given}} for one, name, given in calls)
    return {"candidates": [{"content": {"role": "model", "parts": [{"text": "I will."}, *parts]}}]}


_RESPONSES: dict[str, Callable[[Sequence[Call]], dict[str, Any]]] = {
    "openai": _openai,
    "openai-chat": _chat,
    "openai-compatible": _chat,
    "anthropic": _anthropic,
    "gemini": _gemini,
}


EVERY = pytest.mark.parametrize(("api", "model", "delivery"), CONVERSATIONS, ids=lambda value: str(value))
OPEN, CANCEL = "crm.orders.list_open_orders", "crm.orders.cancel_order"
REFUND = "billing.refunds.create_refund"
MONEY = pick("give the money of a payment back", CASHIER, limit=2, loaded=[OPEN, CANCEL])
OWN = {
    "openai": [{"type": "function", "name": "say", "parameters": None, "strict": False}, {"type": "web_search"}],
    "openai-chat": [{"type": "function", "function": {"name": "say"}}],
    "openai-compatible": [{"type": "function", "function": {"name": "say"}}],
    "anthropic": [{"name": "say", "input_schema": {"type": "object"}}],
    "gemini": [{"functionDeclarations": [{"name": "say"}]}, {"googleSearch": {}}],
}


def called(conversation: Conversation, tool_id: str, arguments: Any, call_id: str = "c1") -> Any:
    """Let the model call a tool in the way that it was delivered."""
    api, delivery = str(conversation.loadout.api), conversation.loadout.delivery
    found = next((one for one in conversation.loadout.loaded if one.tool_id == tool_id), None)
    wire = found.name if found else name(tool_id)
    call = (call_id, wire, arguments)
    if delivery is Delivery.CALL and found not in conversation.loadout.declared:
        call = (call_id, "call_tool", {"name": wire, "arguments": arguments})
    (proposed,) = conversation.read(response(api, call))
    return proposed
