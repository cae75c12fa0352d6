"""An agent of Google's Agent Development Kit with Pegboard as a toolset.

python examples/frameworks/google_adk_agent.py
"""
# ruff: noqa: T201

import asyncio
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai.types import Content, Part
from shop import CLERK, SCRIPT, TASK, door, open_shop

from pegboard import RuntimeContext
from pegboard.integrations.google_adk import PegboardToolset, unknown_tool

# In a real program: what is known of a user whose token was verified.
CALLERS = {"sam": CLERK}


def who(given: ReadonlyContext) -> RuntimeContext:
    """Say who asks: the user whom the application gave the runner, and nothing that a session's state says."""
    return CALLERS[given.user_id]


class Scripted(BaseLlm):
    """Stand in for a model: call what the script says next."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer one request."""
        tools = llm_request.config.tools or []
        print("offered:", [one.name for tool in tools for one in tool.function_declarations])
        turn = sum(content.role == "model" for content in llm_request.contents)
        calls = SCRIPT[turn] if turn < len(SCRIPT) else ()
        parts = [Part.from_function_call(name=name, args=arguments) for name, arguments in calls]
        yield LlmResponse(content=Content(role="model", parts=parts or [Part(text="done")]))


async def main() -> None:
    """Let the script call, and print what it was answered."""
    with open_shop() as board:
        toolset = PegboardToolset(door(board), identity=who)
        agent = LlmAgent(
            name="clerk", model=Scripted(model="scripted"), tools=[toolset], on_tool_error_callback=unknown_tool
        )
        runner = InMemoryRunner(agent=agent, app_name="shop")
        session = await runner.session_service.create_session(app_name="shop", user_id="sam")
        said = Content(role="user", parts=[Part(text=TASK)])
        async for event in runner.run_async(user_id="sam", session_id=session.id, new_message=said):
            for part in event.content.parts if event.content else ():
                if part.function_response:
                    print(f"{part.function_response.name} -> {part.function_response.response}")
                elif part.text:
                    print(part.text)


if __name__ == "__main__":
    asyncio.run(main())
