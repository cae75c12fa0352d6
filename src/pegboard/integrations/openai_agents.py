"""The OpenAI Agents SDK: an agent whose tools are selected for what the user says, and grow while a run lasts.

    agent = PegboardAgent(name="clerk", door=board)
    await Runner.run(agent, "which orders are open?", context=sam, run_config=run_config())

Each run has a toolbox of its own, kept by the run's context wrapper. A call of a tool that was never offered ends a run
by default; with `run_config` the model reads that there is no such tool, and goes on.

Source: openai-agents 0.24.0, `agent.AgentBase.get_all_tools` and `run_config.RunConfig.tool_not_found_behavior`.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from agents import Agent, FunctionTool, RunConfig, RunContextWrapper, Tool
from agents.tool_context import ToolContext

from pegboard.integrations.door import Door, Identity, aside, stated
from pegboard.integrations.toolbox import Function, Toolbox
from pegboard.providers.capabilities import Api

__all__ = ["PegboardAgent", "run_config"]


@dataclass
class PegboardAgent(Agent[Any]):
    """An agent with the tools of whoever it runs for, beside its own.

    `door` selects and calls, and is needed. `identity` reads who asks from the run's context; unsaid, that context is
    the `RuntimeContext`. `api` is what the model speaks, `namespaces` are of tools that the callers may use, and
    `production` holds your own tools by namespace, as you had them before: offered while a rollout leaves it to them.
    """

    door: Door | None = field(default=None, kw_only=True)
    identity: Identity = field(default=stated, kw_only=True)
    api: Api | str = field(default=Api.OPENAI, kw_only=True)
    namespaces: tuple[str, ...] = field(default=(), kw_only=True)
    production: Mapping[str, Sequence[Tool]] = field(default_factory=dict, kw_only=True)
    # Copies of an agent, which the SDK makes for a run, share it.
    toolboxes: MutableMapping[RunContextWrapper[Any], Toolbox] = field(
        default_factory=WeakKeyDictionary, kw_only=True, repr=False
    )

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Tool]:
        """Return the agent's own tools, and what the model may call of ours in this turn."""
        own = await super().get_all_tools(run_context)
        toolbox = self.toolboxes.get(run_context)
        if toolbox is None:
            toolbox = self.toolboxes[run_context] = self._begun(run_context, [tool.name for tool in own])
        await aside(toolbox.hear, _said(run_context.turn_input))
        return [*own, *toolbox.left(self.production), *(_tool(toolbox, one) for one in toolbox.functions)]

    def _begun(self, run_context: RunContextWrapper[Any], own: list[str]) -> Toolbox:
        if self.door is None:
            raise ValueError(f"agent {self.name!r} has no door: pass door=board")
        context = self.identity(run_context.context)
        return Toolbox.begin(self.door, context, api=self.api, own=own, namespaces=self.namespaces)


def run_config(**settings: Any) -> RunConfig:
    """Return the configuration of a run in which a tool that is not there is an answer and no end."""
    return RunConfig(**{"tool_not_found_behavior": "return_error_to_model", **settings})


def _tool(toolbox: Toolbox, one: Function) -> Tool:
    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        output = await aside(toolbox.answer, one.name, arguments, context.tool_call_id)
        return f"error: {output.text}" if output.failed else output.text

    return FunctionTool(
        name=one.name,
        description=one.description,
        params_json_schema=one.schema,
        on_invoke_tool=invoke,
        strict_json_schema=one.strict,
    )


def _said(items: list[Any]) -> str:
    """Return what the user said last."""
    said = next((one for one in reversed(items) if isinstance(one, dict) and one.get("role") == "user"), {})
    content = said.get("content", "")
    if isinstance(content, str):
        return content
    return " ".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
