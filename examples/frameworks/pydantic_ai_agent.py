"""An agent of Pydantic AI with Pegboard as a toolset.

python examples/frameworks/pydantic_ai_agent.py
"""
# ruff: noqa: T201

import asyncio

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from shop import CLERK, SCRIPT, TASK, door, open_shop

from pegboard import RuntimeContext
from pegboard.integrations.pydantic_ai import PegboardToolset


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Stand in for a model: call what the script says next."""
    print("offered:", [tool.name for tool in info.function_tools])
    turn = sum(isinstance(message, ModelResponse) for message in messages)
    if turn == len(SCRIPT):
        return ModelResponse(parts=[TextPart("done")])
    return ModelResponse(parts=[ToolCallPart(name, arguments) for name, arguments in SCRIPT[turn]])


async def main() -> None:
    """Let the script call, and print what it was answered."""
    with open_shop() as board:
        agent = Agent(FunctionModel(model), toolsets=[PegboardToolset(door(board))], deps_type=RuntimeContext)
        found = await agent.run(TASK, deps=CLERK)
    for message in found.all_messages():
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                print(f"{part.tool_name} -> {part.outcome}: {part.content}")
    print(found.output)


if __name__ == "__main__":
    asyncio.run(main())
