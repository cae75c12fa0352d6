"""Strands: a plugin that brings the tools into each request to the model and gates their calls.

    agent = Agent(model=model, plugins=[PegboardPlugin(board)])
    agent("which orders are open?", invocation_state={"context": sam})

Tools are never registered with the agent. A call of what it does not know goes to the conversation's toolbox: a tool of
ours is judged there, and anything else is unknown. The caller is what the invocation's state says.

Source: strands-agents 1.62.0, `middleware.stages` and `hooks.events`.
"""

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from strands import Agent
from strands.hooks import BeforeToolCallEvent
from strands.middleware import InvokeModelStage
from strands.middleware.stages import InvokeModelContext
from strands.plugins import Plugin
from strands.types.events import ToolResultEvent
from strands.types.tools import AgentTool, ToolGenerator, ToolSpec, ToolUse

from pegboard.integrations.door import Door, Identity, aside, stated
from pegboard.integrations.toolbox import Function, Toolbox
from pegboard.providers.capabilities import Api

__all__ = ["PegboardPlugin"]


def _given(state: dict[str, Any]) -> Any:
    return stated(state.get("context"))


class PegboardPlugin(Plugin):
    """Selects for each message of the user, offers what was selected, and answers every call that is not the agent's.

    One plugin serves many agents: each is a conversation of its own.
    """

    def __init__(
        self,
        door: Door,
        *,
        identity: Identity = _given,
        api: Api | str = Api.ANTHROPIC,
        namespaces: Iterable[str] = (),
        production: Mapping[str, Sequence[AgentTool]] | None = None,
    ) -> None:
        """Take a board, or another door.

        Args:
            door: What selects and calls.
            identity: Who asks, read from the invocation's state; unsaid, `context` there is the `RuntimeContext`.
            api: Which API the model speaks.
            namespaces: Of tools that the callers may use: the search's description names them.
            production: Your own tools by namespace, as you had them before: offered while a rollout leaves it to them.
        """
        super().__init__()
        self._door = door
        self._identity = identity
        self._api = Api(api)
        self._namespaces = tuple(namespaces)
        self._production = production or {}
        self._standing = [tool for tools in self._production.values() for tool in tools]
        self._toolboxes: MutableMapping[Any, Toolbox] = WeakKeyDictionary()

    @property
    def name(self) -> str:
        """Return the plugin's name."""
        return "pegboard"

    def init_agent(self, agent: Agent) -> None:
        """Join an agent."""
        for tool in self._standing:
            agent.tool_registry.register_tool(tool)
        agent.add_middleware(InvokeModelStage.Input, self._offered)
        agent.add_hook(self._routed, BeforeToolCallEvent)

    async def _offered(self, request: InvokeModelContext) -> InvokeModelContext:
        standing = {tool.tool_name for tool in self._standing}
        own = [spec["name"] for spec in request.tool_specs if spec["name"] not in standing]
        toolbox = self._toolbox(request.agent, request.invocation_state, own)
        await aside(toolbox.hear, _said(request.messages))
        offered = {*own, *(tool.tool_name for tool in toolbox.left(self._production))}
        specs = [spec for spec in request.tool_specs if spec["name"] in offered]
        return request.replace(tool_specs=[*specs, *map(_declared, toolbox.functions)])

    def _routed(self, event: BeforeToolCallEvent) -> None:
        tool = event.selected_tool
        if tool is None or tool in self._standing:
            toolbox = self._toolbox(event.agent, event.invocation_state)
            if tool is None or tool not in toolbox.left(self._production):
                event.selected_tool = _Tool(toolbox, event.tool_use["name"])

    def _toolbox(self, agent: Any, state: dict[str, Any], own: Iterable[str] = ()) -> Toolbox:
        context, toolbox = self._identity(state), self._toolboxes.get(agent)
        # What was loaded for someone else, or with other rights, is not handed on.
        if toolbox is None or toolbox.context != context:
            toolbox = self._toolboxes[agent] = Toolbox.begin(
                self._door, context, api=self._api, own=own, namespaces=self._namespaces
            )
        return toolbox


class _Tool(AgentTool):
    """Whatever the model called by a name that is not the agent's."""

    def __init__(self, toolbox: Toolbox, name: str) -> None:
        super().__init__()
        self._toolbox = toolbox
        self._name = name

    @property
    def tool_name(self) -> str:
        return self._name

    @property
    def tool_spec(self) -> ToolSpec:
        return {"name": self._name, "description": "", "inputSchema": {"json": {"type": "object"}}}

    @property
    def tool_type(self) -> str:
        return "pegboard"

    async def stream(self, tool_use: ToolUse, invocation_state: dict[str, Any], **_: Any) -> ToolGenerator:
        output = await aside(self._toolbox.answer, self._name, tool_use["input"], tool_use["toolUseId"])
        yield ToolResultEvent(
            {
                "toolUseId": tool_use["toolUseId"],
                "status": "error" if output.failed else "success",
                "content": [{"text": output.text}],
            }
        )


def _declared(one: Function) -> ToolSpec:
    return {"name": one.name, "description": one.description, "inputSchema": {"json": one.schema}}


def _said(messages: list[Any]) -> str:
    """Return what the user said last; results of tools stand in messages of the user too, without a text."""
    for message in reversed(messages):
        if message["role"] == "user":
            said = " ".join(block["text"] for block in message["content"] if "text" in block)
            if said:
                return said
    return ""
