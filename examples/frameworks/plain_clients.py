"""The clients of OpenAI, Anthropic and Gemini without a framework: one loop, and each client as it is.

    python examples/frameworks/plain_clients.py

A transport that plays the script stands in for the three services.
"""
# ruff: noqa: T201

import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx2
import openai
from google import genai
from google.genai.types import HttpOptions
from shop import CLERK, SCRIPT, TASK, door, open_shop

from pegboard.integrations.clients import Talk


def with_openai(transport: httpx2.MockTransport, talk: Talk) -> Iterator[None]:
    """Work on a talk with OpenAI's client."""
    http = httpx2.Client(transport=transport)
    client = openai.OpenAI(api_key="none", base_url="http://localhost/v1", http_client=http)
    while talk.open:
        talk.take(client.responses.create(**talk.request()))
        yield


def with_anthropic(transport: httpx2.MockTransport, talk: Talk) -> Iterator[None]:
    """Work on a talk with Anthropic's client; what the model's family has for it is asked for as betas."""
    client = anthropic.Anthropic(api_key="none", http_client=httpx2.Client(transport=transport))
    while talk.open:
        talk.take(client.beta.messages.create(max_tokens=1000, **talk.request()))
        yield


def with_gemini(transport: httpx2.MockTransport, talk: Talk) -> Iterator[None]:
    """Work on a talk with Google's client."""
    client = genai.Client(api_key="none", http_options=HttpOptions(client_args={"transport": transport}))
    while talk.open:
        talk.take(client.models.generate_content(**talk.request()))
        yield


def openai_answer(calls: list[tuple[str, str, Any]]) -> dict[str, Any]:
    """Return calls as OpenAI does; models from gpt-5.4 on search with the API's own search."""
    items = [
        {"type": "tool_search_call", "id": f"t{key}", "call_id": key, "execution": "client", "status": "completed",
         "arguments": arguments}
        if name == "search_tools" else
        {"type": "function_call", "id": f"f{key}", "call_id": key, "name": name, "arguments": json.dumps(arguments)}
        for key, name, arguments in calls
    ]  # fmt: skip
    head = {"id": "r", "object": "response", "created_at": 0, "model": "gpt-5.4", "tools": [], "tool_choice": "auto"}
    return {**head, "parallel_tool_calls": True, "output": items}


def anthropic_answer(calls: list[tuple[str, str, Any]]) -> dict[str, Any]:
    """Return calls as Anthropic does."""
    blocks = [{"type": "tool_use", "id": key, "name": name, "input": arguments} for key, name, arguments in calls]
    head = {"id": "m", "type": "message", "role": "assistant", "model": "claude-opus-5", "stop_reason": "tool_use"}
    return {**head, "usage": {"input_tokens": 1, "output_tokens": 1}, "content": blocks}


def gemini_answer(calls: list[tuple[str, str, Any]]) -> dict[str, Any]:
    """Return calls as Gemini does."""
    parts = [{"functionCall": {"id": key, "name": name, "args": arguments}} for key, name, arguments in calls]
    return {"candidates": [{"content": {"role": "model", "parts": parts or [{"text": "done"}]}}]}


CLIENTS: tuple[tuple[str, str, Callable[..., Iterator[None]], Callable[..., dict[str, Any]]], ...] = (
    ("openai", "gpt-5.4", with_openai, openai_answer),
    ("anthropic", "claude-opus-5", with_anthropic, anthropic_answer),
    ("gemini", "gemini-3-pro", with_gemini, gemini_answer),
)


def main() -> None:
    """Let the script call over each client, and print what it was answered."""
    for api, model, work, answer in CLIENTS:
        waiting = [
            answer([(f"{turn}-{name}", name, arguments) for name, arguments in calls])
            for turn, calls in enumerate((*SCRIPT, ()))
        ]
        transport = httpx2.MockTransport(lambda request, waiting=waiting: httpx2.Response(200, json=waiting.pop(0)))
        print(f"\n{api}")
        with open_shop() as board:
            talk = Talk.begin(door(board), CLERK, api, model=model, task=TASK)
            told = len(talk.history)
            for _ in work(transport, talk):
                for one in talk.history[told:]:
                    print(json.dumps(one)[:500])
                told = len(talk.history)


if __name__ == "__main__":
    main()
