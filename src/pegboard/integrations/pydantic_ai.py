"""Pydantic AI: a toolset whose tools are selected anew for each run and grow while it lasts.

    agent = Agent(model, toolsets=[PegboardToolset(board)], deps_type=RuntimeContext)
    await agent.run("which orders are open?", deps=sam)

Each run gets a toolbox of its own, so runs share nothing. A refusal is a failed result, which the model reads and which
costs it none of its retries; arguments are checked by the gate alone, against the schema that the tool declared.

Source: pydantic-ai 2.68.0, `toolsets.abstract`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic_ai import RunContext, ToolDefinition, ToolFailed
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from pegboard.integrations.door import Door, Identity, aside, stated
from pegboard.integrations.toolbox import Function, Toolbox
from pegboard.providers.capabilities import Api

__all__ = ["PegboardToolset"]

# The gate judges arguments, with the tool's own schema; a second judge could only be wrong.
_ANY = SchemaValidator(core_schema.any_schema())


class PegboardToolset(AbstractToolset[Any]):
    """The tools of one caller's run. Give it to `Agent(toolsets=[…])`, under a name of its own in durable runs."""

    def __init__(
        self,
        door: Door,
        *,
        identity: Identity = stated,
        api: Api | str = Api.CHAT,
        own: Iterable[str] = (),
        namespaces: Iterable[str] = (),
        production: Mapping[str, Sequence[FunctionToolset[Any]]] | None = None,
        id: str | None = None,  # noqa: A002 - the framework's own word
        toolbox: Toolbox | None = None,
    ) -> None:
        """Take a board, or another door.

        Args:
            door: What selects and calls.
            identity: Who asks, read from the run's `deps`; unsaid, these are the `RuntimeContext`.
            api: Which API the model speaks: `anthropic` for Claude, `gemini` for Gemini.
            own: The names of the agent's other tools: none of ours gets one of them.
            namespaces: Of tools that the callers may use: the search's description names them.
            production: Your own tools by namespace, as you had them before: offered while a rollout leaves it to them.
            id: The toolset's name in durable runs.
            toolbox: Of a run; the framework asks for it by `for_run`.
        """
        self._door = door
        self._identity = identity
        self._api = Api(api)
        self._own = tuple(own)
        self._namespaces = tuple(namespaces)
        self._production = production or {}
        self._id = id
        self._toolbox = toolbox

    @property
    def id(self) -> str | None:
        """Return the toolset's name."""
        return self._id

    async def for_run(self, ctx: RunContext[Any]) -> "PegboardToolset":
        """Return the toolset of one run."""
        toolbox = Toolbox.begin(
            self._door,
            self._identity(ctx.deps),
            api=self._api,
            own=self._own,
            called=ctx.conversation_id,
            namespaces=self._namespaces,
        )
        return PegboardToolset(
            self._door,
            identity=self._identity,
            api=self._api,
            production=self._production,
            id=self._id,
            toolbox=toolbox,
        )

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return what the model may call in this step."""
        if self._toolbox is None:
            return {}
        await aside(self._toolbox.hear, _said(ctx))
        left = [await toolset.get_tools(ctx) for toolset in self._toolbox.left(self._production)]
        ours = {one.name: self._tool(one, ctx.max_retries) for one in self._toolbox.functions}
        return {name: tool for found in (*left, ours) for name, tool in found.items()}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Judge and run a call of ours.

        Raises:
            ToolFailed: It was refused or failed; the model reads why.
        """
        if tool.toolset is not self:
            return await tool.toolset.call_tool(name, tool_args, ctx, tool)
        assert self._toolbox is not None
        output = await aside(self._toolbox.answer, name, tool_args, ctx.tool_call_id)
        if output.failed:
            raise ToolFailed(output.text)
        return output.text

    def _tool(self, one: Function, retries: int) -> ToolsetTool[Any]:
        declared = ToolDefinition(
            name=one.name,
            description=one.description,
            parameters_json_schema=one.schema,
            strict=one.strict,
        )
        return ToolsetTool(toolset=self, tool_def=declared, max_retries=retries, args_validator=_ANY)


def _said(ctx: RunContext[Any]) -> str:
    """Return what the user said last: in this run's prompt, or in the history where the run has none."""
    given = ctx.prompt
    if given is None:
        parts = [part for one in ctx.messages if isinstance(one, ModelRequest) for part in one.parts]
        given = next((part.content for part in reversed(parts) if isinstance(part, UserPromptPart)), "")
    return given if isinstance(given, str) else " ".join(part for part in given if isinstance(part, str))
