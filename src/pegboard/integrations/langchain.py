"""LangChain and LangGraph: a middleware of `create_agent` that brings the tools and gates their calls.

    agent = create_agent(model, middleware=[PegboardMiddleware(board)], context_schema=RuntimeContext)
    agent.invoke({"messages": [("user", "which orders are open?")]}, context=sam)

The agent's own tools stay as they are. Ours are not registered with it: what is loaded stands in a private part of the
graph's state, which its checkpointer keeps. Searches are answered in the model's node, one after another, since the
calls of one turn run side by side and could not share what a search brings. The context of the run says who asks.

Source: langchain 1.5.2, `agents.middleware.types` and `agents.factory`.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
    ToolCallRequest,
)
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.types import Command

from pegboard.core.context import RuntimeContext
from pegboard.core.names import Json
from pegboard.integrations.door import Door, Identity, aside, stated
from pegboard.integrations.toolbox import Function, Toolbox
from pegboard.providers.calls import Output
from pegboard.providers.capabilities import Api
from pegboard.providers.searching import SEARCH

__all__ = ["PegboardMiddleware", "PegboardState"]

_DROPPED = "pegboard_dropped"


def _given(runtime: Any) -> RuntimeContext:
    return stated(runtime.context)


class PegboardState(AgentState[Any]):
    """The graph's state with what the conversation has loaded; callers of the graph neither give nor see it."""

    # What it is derived from is Any where the framework is not installed.
    pegboard: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]  # type: ignore[valid-type, unused-ignore]


class PegboardMiddleware(AgentMiddleware[PegboardState, Any, Any]):
    """Selects for each message of the user, offers what was selected, answers searches, and gates every call."""

    state_schema = PegboardState

    def __init__(
        self,
        door: Door,
        *,
        identity: Identity = _given,
        api: Api | str = Api.CHAT,
        namespaces: Iterable[str] = (),
        production: Mapping[str, Sequence[BaseTool]] | None = None,
    ) -> None:
        """Take a board, or another door.

        Args:
            door: What selects and calls.
            identity: Who asks, read from the run's `Runtime`; unsaid, its context is the `RuntimeContext`. Behind a
                LangGraph server say it: there the context comes from the server's clients.
            api: Which API the model speaks: `anthropic` for Claude, `gemini` for Gemini.
            namespaces: Of tools that the callers may use: the search's description names them.
            production: Your own tools by namespace, as you had them before: offered while a rollout leaves it to them.
        """
        super().__init__()
        self._production = production or {}
        # The framework registers these, so that it runs them.
        self.tools = [tool for tools in self._production.values() for tool in tools]
        self._door = door
        self._identity = identity
        self._api = Api(api)
        self._namespaces = tuple(namespaces)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ExtendedModelResponse[Any]:
        """Give the model its tools, and answer what it searches for."""
        toolbox = self._heard(request)
        return _searched(toolbox, handler(self._offered(request, toolbox)))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ExtendedModelResponse[Any]:
        """Do the same, awaited."""
        toolbox = await aside(self._heard, request)
        return await aside(_searched, toolbox, await handler(self._offered(request, toolbox)))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Judge and run a call of ours; the agent's own tools are left to it."""
        return self._called(request) if self._is_ours(request) else handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Do the same, awaited."""
        return await aside(self._called, request) if self._is_ours(request) else await handler(request)

    def _heard(self, request: ModelRequest[Any]) -> Toolbox:
        own = [name for tool in request.tools if tool not in self.tools and (name := _name(tool)) is not None]
        toolbox = self._toolbox(request.state, request.runtime, own)
        toolbox.drop(_dropped(request.messages))
        said = next((one for one in reversed(request.messages) if isinstance(one, HumanMessage)), None)
        if said is not None:
            toolbox.hear(str(said.text))
        return toolbox

    def _offered(self, request: ModelRequest[Any], toolbox: Toolbox) -> ModelRequest[Any]:
        left = toolbox.left(self._production)
        own = [tool for tool in request.tools if tool not in self.tools or tool in left]
        return request.override(tools=[*own, *map(_declared, toolbox.functions)])

    def _is_ours(self, request: ToolCallRequest) -> bool:
        if request.tool is None or request.tool not in self.tools:
            return request.tool is None
        return request.tool not in self._toolbox(request.state, request.runtime).left(self._production)

    def _called(self, request: ToolCallRequest) -> ToolMessage:
        toolbox, call = self._toolbox(request.state, request.runtime), request.tool_call
        before = toolbox.conversation.loaded
        output = toolbox.answer(call["name"], call["args"], call["id"])
        # Calls of one turn run side by side, so what the gate no longer takes is only noted here.
        gone: list[Json] = [tool for tool in before if tool not in toolbox.conversation.loaded]
        return _message(output, {_DROPPED: gone} if gone else None)

    def _toolbox(self, state: Any, runtime: Any, own: Iterable[str] = ()) -> Toolbox:
        context = self._identity(runtime)
        called = get_config().get("configurable", {}).get("thread_id")
        if kept := state.get("pegboard"):
            return Toolbox.resume(self._door, context, kept, called=called)
        return Toolbox.begin(self._door, context, api=self._api, own=own, called=called, namespaces=self._namespaces)


def _searched(toolbox: Toolbox, response: ModelResponse[Any]) -> ExtendedModelResponse[Any]:
    answers = [
        _message(toolbox.answer(call["name"], call["args"], call["id"]))
        for message in response.result
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call["name"] == SEARCH
    ]
    found = ModelResponse(result=[*response.result, *answers], structured_response=response.structured_response)
    return ExtendedModelResponse(model_response=found, command=Command(update={"pegboard": toolbox.kept()}))


def _message(output: Output, artifact: Json = None) -> ToolMessage:
    return ToolMessage(
        content=output.text,
        name=output.call.name,
        tool_call_id=output.call.call_id or "",
        status="error" if output.failed else "success",
        artifact=artifact,
    )


def _dropped(messages: Iterable[AnyMessage]) -> Iterator[str]:
    """Yield what the gate refused to take in the last turn."""
    for message in reversed(list(messages)):
        if not isinstance(message, ToolMessage):
            return
        if isinstance(message.artifact, dict):
            yield from message.artifact.get(_DROPPED, ())


def _declared(function: Function) -> dict[str, Any]:
    """Return a function in the form that every chat model of LangChain takes."""
    declared = {"name": function.name, "description": function.description, "parameters": function.schema}
    return {"type": "function", "function": {**declared, "strict": True} if function.strict else declared}


def _name(tool: Any) -> str | None:
    """Return the name of one of the agent's own tools; a provider's own have none that a function could take."""
    if not isinstance(tool, dict):
        return str(tool.name)
    named = tool.get("function", tool).get("name")
    return named if isinstance(named, str) else None
