"""An agent of LlamaIndex with Pegboard as the retriever of its tools.

python examples/frameworks/llama_index_agent.py
"""
# ruff: noqa: T201

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from shop import CLERK, SCRIPT, TASK, door, open_shop

from pegboard.integrations.llama_index import PegboardRetriever


def model(messages: Sequence[ChatMessage], **given: Any) -> ChatMessage:
    """Stand in for a model: call what the script says next."""
    print("offered:", [tool.metadata.name for tool in given.get("tools") or ()])
    turn = sum(message.role == "assistant" for message in messages)
    if turn == len(SCRIPT):
        return ChatMessage("done", role="assistant")
    calls = [
        ToolCallBlock(tool_call_id=f"{turn}-{name}", tool_name=name, tool_kwargs=arguments)
        for name, arguments in SCRIPT[turn]
    ]
    return ChatMessage(role="assistant", blocks=calls)


async def main() -> None:
    """Let the script call, and print what it was answered."""
    with open_shop() as board:
        # One agent for one caller's conversation: it is nothing but settings.
        agent = FunctionAgent(
            tool_retriever=PegboardRetriever(door(board), CLERK),
            llm=MockFunctionCallingLLM(response_generator=model),
        )
        running = agent.run(TASK)
        async for event in running.stream_events():
            if isinstance(event, ToolCallResult):
                print(
                    f"{event.tool_name} -> {'error' if event.tool_output.is_error else 'success'}: {event.tool_output}"
                )
        print(await running)


if __name__ == "__main__":
    asyncio.run(main())
