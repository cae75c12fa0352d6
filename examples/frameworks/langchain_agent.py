"""An agent of LangChain, or a graph of LangGraph that has one, with Pegboard as its middleware.

python examples/frameworks/langchain_agent.py
"""
# ruff: noqa: T201

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from shop import CLERK, SCRIPT, TASK, door, open_shop

from pegboard import RuntimeContext
from pegboard.integrations.langchain import PegboardMiddleware


class Scripted(GenericFakeChatModel):
    """The framework's fake model; it prints which tools it is given."""

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> "Scripted":
        """Take the tools of one request."""
        print("offered:", [tool["function"]["name"] for tool in tools])
        return self


def main() -> None:
    """Let the script call, and print what it was answered."""
    turns = [
        AIMessage(
            content="",
            tool_calls=[{"name": name, "args": arguments, "id": f"{turn}-{name}"} for name, arguments in calls],
        )
        for turn, calls in enumerate(SCRIPT)
    ]
    model = Scripted(messages=iter([*turns, AIMessage("done")]))
    with open_shop() as board:
        agent = create_agent(model, middleware=[PegboardMiddleware(door(board))], context_schema=RuntimeContext)
        found = agent.invoke({"messages": [("user", TASK)]}, context=CLERK)
    for message in found["messages"]:
        if isinstance(message, ToolMessage):
            print(f"{message.name} -> {message.status}: {message.text}")
    print(found["messages"][-1].text)


if __name__ == "__main__":
    main()
