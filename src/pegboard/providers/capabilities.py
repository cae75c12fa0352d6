"""Capabilities: which model APIs there are, what each can be asked, and how a model family gets more tools later.

All of them take tools in their first request. What they differ in is how tools join a conversation that has begun
without a change of what was sent before: prompt caches hold only so, and some models refuse a changed history.

Source: the vendors' SDKs and pages as of 2026-12; `docs/reference/provider-schemas.md` for the schemas.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from pegboard.providers.targets import Target

__all__ = [
    "APIS",
    "CAPABILITIES",
    "Api",
    "ApiFacts",
    "Capability",
    "DELIVERIES",
    "Delivery",
    "delivery_of",
]


class Api(StrEnum):
    """The model APIs that a selection is rendered for."""

    OPENAI = "openai"
    """The Responses API."""
    CHAT = "openai-chat"
    """Chat Completions of OpenAI."""
    COMPATIBLE = "openai-compatible"
    """Chat Completions of others: vLLM, Ollama, whatever serves open models."""
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    MCP = "mcp"


class Delivery(StrEnum):
    """How tools join a conversation."""

    SEARCH = "search"
    """The API has a search that the client executes; its output carries definitions that were never declared."""
    INLINE = "inline"
    """A definition stands in a message, where it becomes known."""
    REFERENCE = "reference"
    """All that may join is declared and deferred in the first request; a result refers to it by name."""
    LIST = "list"
    """The request's own list grows at its end."""
    CALL = "call"
    """The list never changes: definitions come as text, and one function calls them all by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiFacts:
    """What one API takes: the form of schemas, and how many tools. None: no limit is known."""

    target: Target
    tools_at_most: int | None = None


# 128: OpenAI answers 400 `array_above_max_length` beyond it. Gemini's own number is not published.
APIS: dict[Api, ApiFacts] = {
    Api.OPENAI: ApiFacts(target=Target.OPENAI, tools_at_most=128),
    Api.CHAT: ApiFacts(target=Target.OPENAI, tools_at_most=128),
    Api.COMPATIBLE: ApiFacts(target=Target.COMPATIBLE),
    Api.ANTHROPIC: ApiFacts(target=Target.ANTHROPIC),
    Api.GEMINI: ApiFacts(target=Target.GEMINI, tools_at_most=128),
    Api.MCP: ApiFacts(target=Target.MCP),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """How one model family gets tools that join later."""

    api: Api
    models: re.Pattern[str]
    delivery: Delivery


def _row(api: Api, models: str, delivery: Delivery) -> Capability:
    return Capability(api=api, models=re.compile(models), delivery=delivery)


# The first row that matches; the last of an API takes every model, so a name that nobody knows gets what all can do.
CAPABILITIES: tuple[Capability, ...] = (
    # The one model of its generation that answers 400 to `tool_search`.
    _row(Api.OPENAI, r"gpt-5\.4-nano", Delivery.LIST),
    _row(Api.OPENAI, r"gpt-(5\.([4-9]|[1-9]\d)|[6-9]|1\d)(?!\d)", Delivery.SEARCH),
    _row(Api.OPENAI, r"", Delivery.LIST),
    _row(Api.CHAT, r"", Delivery.LIST),
    _row(Api.COMPATIBLE, r"", Delivery.LIST),
    # Those that take `tool_addition` and definitions in messages (betas of 2026-07-01 and 2026-09-15).
    _row(
        Api.ANTHROPIC,
        r"claude-((fable|mythos)-5([-.][12])?|opus-(4[-.]8|5([-.]5)?)|(sonnet|haiku)-5[-.]5)(?![-.]?\d(?!\d{3}))",
        Delivery.INLINE,
    ),
    _row(Api.ANTHROPIC, r"", Delivery.REFERENCE),
    _row(Api.GEMINI, r"", Delivery.LIST),
)


# What may be asked for in place of what a model's row says.
DELIVERIES: dict[Api, frozenset[Delivery]] = {
    Api.OPENAI: frozenset({Delivery.SEARCH, Delivery.LIST, Delivery.CALL}),
    Api.CHAT: frozenset({Delivery.LIST, Delivery.CALL}),
    Api.COMPATIBLE: frozenset({Delivery.LIST, Delivery.CALL}),
    Api.ANTHROPIC: frozenset({Delivery.INLINE, Delivery.REFERENCE, Delivery.LIST, Delivery.CALL}),
    Api.GEMINI: frozenset({Delivery.LIST, Delivery.CALL}),
}


def delivery_of(api: Api, model: str = "", wanted: Delivery | None = None) -> Delivery:
    """Return how a model gets tools: as *wanted*, else by its name, with or without a cloud's words around it.

    Raises:
        ValueError: The API has no such way, or holds no conversations.
    """
    if api not in DELIVERIES:
        raise ValueError(f"no conversation is held over {api}: its list of tools does not change within one")
    if wanted is None:
        return next(row.delivery for row in CAPABILITIES if row.api is api and row.models.search(model))
    if wanted not in DELIVERIES[api]:
        raise ValueError(f"{api} has no delivery {wanted}; it has {', '.join(sorted(DELIVERIES[api]))}")
    return wanted
