"""An agent of the OpenAI Agents SDK with Pegboard's tools.

python examples/frameworks/openai_agents_agent.py
"""
# ruff: noqa: T201

import asyncio
from typing import Any

from agents import Runner, ToolCallOutputItem
from agents.testing import ScriptedModel, assistant_message, function_call
from shop import CLERK, SCRIPT, TASK, door, open_shop

from pegboard.integrations.openai_agents import PegboardAgent, run_config


async def main() -> None:
    """Let the script call, and print what it was answered."""
    turns: list[Any] = [
        [function_call(name, arguments, call_id=f"{turn}-{name}") for name, arguments in calls]
        for turn, calls in enumerate(SCRIPT)
    ]
    model = ScriptedModel([*turns, [assistant_message("done")]])
    with open_shop() as board:
        agent = PegboardAgent(name="clerk", model=model, door=door(board))
        found = await Runner.run(agent, TASK, context=CLERK, run_config=run_config(tracing_disabled=True))
    for call in model.calls:
        print("offered:", [tool.name for tool in call.tools])
    for item in found.new_items:
        if isinstance(item, ToolCallOutputItem):
            print(f"{item.raw_item['call_id']} -> {item.output}")
    print(found.final_output)


if __name__ == "__main__":
    asyncio.run(main())
