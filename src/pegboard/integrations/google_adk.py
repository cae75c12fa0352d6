"""Google's Agent Development Kit: a toolset whose tools are selected for what the user says and grow in a session.

    agent = LlmAgent(name="clerk", model="gemini-3-pro", tools=[PegboardToolset(board, identity=who)])

The kit keeps a toolset's answer for a whole invocation; ours changes with each search, so that is switched off. Who
asks is for `identity` to say, from the kit's context: take the user from it, which the application gave the runner, and
nothing from the session's state, which tools and models write. A call of a tool that was never offered ends a run of
the kit; with `unknown_tool` the model reads that there is none, and goes on.

Source: google-adk 2.13.0, `tools.base_toolset` and `tools.base_tool`.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.tool_context import ToolContext
from google.genai.types import FunctionDeclaration

from pegboard.integrations.door import Door, Identity, aside
from pegboard.integrations.toolbox import Function, Toolbox
from pegboard.providers.calls import refusal_text
from pegboard.providers.capabilities import Api
from pegboard.providers.turns import UNKNOWN

__all__ = ["PegboardToolset", "unknown_tool"]

# Of how many sessions what is loaded is remembered; a forgotten one is selected for anew.
_REMEMBERED = 1000


class PegboardToolset(BaseToolset):
    """The tools of each session's caller. Give it to an agent's `tools`, beside others."""

    def __init__(
        self,
        door: Door,
        *,
        identity: Identity,
        api: Api | str = Api.GEMINI,
        own: Iterable[str] = (),
        namespaces: Iterable[str] = (),
        production: Mapping[str, Sequence[BaseTool]] | None = None,
    ) -> None:
        """Take a board, or another door, and say who asks.

        Args:
            door: What selects and calls.
            identity: Who asks, read from the kit's `ReadonlyContext`.
            api: Which API the model speaks.
            own: The names of the agent's other tools: none of ours gets one of them.
            namespaces: Of tools that the callers may use: the search's description names them.
            production: Your own tools by namespace, as you had them before: offered while a rollout leaves it to them.
        """
        super().__init__()
        self._use_invocation_cache = False
        self._door = door
        self._identity = identity
        self._api = Api(api)
        self._own = tuple(own)
        self._namespaces = tuple(namespaces)
        self._production = production or {}
        self._toolboxes: OrderedDict[tuple[str, ...], Toolbox] = OrderedDict()

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Return what the model may call; without a context there is no caller, and nothing."""
        if readonly_context is None:
            return []
        toolbox = self._toolbox(readonly_context)
        await aside(toolbox.hear, _said(readonly_context))
        return [*toolbox.left(self._production), *(_Tool(toolbox, one) for one in toolbox.functions)]

    def _toolbox(self, given: ReadonlyContext) -> Toolbox:
        context, session = self._identity(given), given.session
        key = (session.app_name, session.user_id, session.id)
        toolbox = self._toolboxes.pop(key, None)
        # What was loaded for someone else, or with other rights, is not handed on.
        if toolbox is None or toolbox.context != context:
            toolbox = Toolbox.begin(
                self._door,
                context,
                api=self._api,
                own=self._own,
                called="/".join(key),
                namespaces=self._namespaces,
            )
        self._toolboxes[key] = toolbox
        if len(self._toolboxes) > _REMEMBERED:
            self._toolboxes.popitem(last=False)
        return toolbox


def unknown_tool(
    tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, error: Exception
) -> dict[str, Any] | None:
    """Answer a call of a tool that was never offered, which ends a run otherwise: an `on_tool_error_callback`."""
    # The kit puts a bare tool in the place of one that it does not find.
    return {"error": refusal_text(UNKNOWN)} if type(tool) is BaseTool else None


class _Tool(BaseTool):
    """One function of a toolbox."""

    def __init__(self, toolbox: Toolbox, one: Function) -> None:
        super().__init__(name=one.name, description=one.description)
        self._toolbox = toolbox
        self._function = one

    def _get_declaration(self) -> FunctionDeclaration:
        one = self._function
        return FunctionDeclaration(name=one.name, description=one.description, parameters_json_schema=one.schema)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> dict[str, Any]:
        output = await aside(self._toolbox.answer, self.name, args, tool_context.function_call_id)
        return {"error" if output.failed else "output": output.text}


def _said(given: ReadonlyContext) -> str:
    """Return what the user said to begin this invocation."""
    content = given.user_content
    return " ".join(part.text for part in (content.parts if content else None) or () if part.text)
