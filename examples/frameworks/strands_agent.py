"""An agent of Strands with Pegboard as a plugin.

python examples/frameworks/strands_agent.py
"""
# ruff: noqa: T201

import json
from collections.abc import AsyncGenerator, AsyncIterable
from typing import Any

from shop import CLERK, SCRIPT, TASK, door, open_shop
from strands import Agent
from strands.models import Model

from pegboard.integrations.strands import PegboardPlugin


class Scripted(Model):
    """Stand in for a model: call what the script says next."""

    def update_config(self, **_: Any) -> None:
        """Change nothing: a script has no settings."""

    def get_config(self) -> dict[str, Any]:
        """Return no settings."""
        return {}

    def structured_output(self, *_: Any, **__: Any) -> AsyncGenerator[Any, None]:
        """Refuse: a script has no structured output."""
        raise NotImplementedError

    async def stream(
        self, messages: list[Any], tool_specs: list[Any] | None = None, *_: Any, **__: Any
    ) -> AsyncIterable[Any]:
        """Answer one request."""
        print("offered:", [spec["name"] for spec in tool_specs or ()])
        turn = sum(message["role"] == "assistant" for message in messages)
        calls = SCRIPT[turn] if turn < len(SCRIPT) else ()
        yield {"messageStart": {"role": "assistant"}}
        for name, arguments in calls:
            start = {"toolUse": {"name": name, "toolUseId": f"{turn}-{name}"}}
            yield {"contentBlockStart": {"start": start}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
            yield {"contentBlockStop": {}}
        if not calls:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}


def main() -> None:
    """Let the script call, and print what it was answered."""
    with open_shop() as board:
        agent = Agent(model=Scripted(), plugins=[PegboardPlugin(door(board))], callback_handler=None)
        found = agent(TASK, invocation_state={"context": CLERK})
    for message in agent.messages:
        for block in message["content"]:
            if result := block.get("toolResult"):
                print(f"{result['toolUseId']} -> {result['status']}: {result['content'][0]['text']}")
    print(found)


if __name__ == "__main__":
    main()
