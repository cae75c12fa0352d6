"""LlamaIndex: a retriever of tools for `FunctionAgent`, which asks it before each request to the model.

    agent = FunctionAgent(tool_retriever=PegboardRetriever(board, sam), llm=llm)
    await agent.run("which orders are open?")

The framework tells a retriever the user's words and nothing of the run, so the caller is closed over: one retriever for
one caller's conversation, never one for all.

Source: llama-index-core 0.14.25, `agent.workflow.base_agent` and `objects.base`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llama_index.core.objects import ObjectRetriever
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import AsyncBaseTool, ToolMetadata, ToolOutput

from pegboard.core.context import RuntimeContext
from pegboard.integrations.door import Door, aside
from pegboard.integrations.toolbox import Function, Toolbox
from pegboard.providers.calls import Output
from pegboard.providers.capabilities import Api

__all__ = ["PegboardRetriever"]

# To run a call the framework asks for "the tools for" the name that the model wrote, which nobody has said.
_NAME = re.compile(r"[\w-]+__[\w-]+")


class PegboardRetriever(ObjectRetriever[AsyncBaseTool]):
    """What one caller's model may call, as tools whose calls go through the gate."""

    def __init__(
        self,
        door: Door,
        context: RuntimeContext,
        *,
        api: Api | str = Api.CHAT,
        own: Iterable[str] = (),
        called: str | None = None,
        namespaces: Iterable[str] = (),
        production: Mapping[str, Sequence[AsyncBaseTool]] | None = None,
    ) -> None:
        """Take a board, or another door, and who asks.

        Args:
            door: What selects and calls.
            context: The trusted facts about the caller.
            api: Which API the model speaks: `anthropic` for Claude, `gemini` for Gemini.
            own: The names of the agent's other tools: none of ours gets one of them.
            called: The application's own name of the conversation.
            namespaces: Of tools that the caller may use: the search's description names them.
            production: Your own tools by namespace, as you had them before: offered while a rollout leaves it to them.
        """
        # Not the framework's own: there is no node, and no store of nodes, in which a tool could be kept too long.
        self._production = production or {}
        self._toolbox = Toolbox.begin(door, context, api=api, own=own, called=called, namespaces=tuple(namespaces))

    def retrieve(self, str_or_query_bundle: str | QueryBundle) -> list[AsyncBaseTool]:
        """Return what the model may call."""
        said = str_or_query_bundle if isinstance(str_or_query_bundle, str) else str_or_query_bundle.query_str
        if not _NAME.fullmatch(said) and all(one.metadata.get_name() != said for one in self._tools()):
            self._toolbox.hear(said)
        return self._tools()

    def _tools(self) -> list[AsyncBaseTool]:
        ours = (_Tool(self._toolbox, one) for one in self._toolbox.functions)
        return [*self._toolbox.left(self._production), *ours]

    async def aretrieve(self, str_or_query_bundle: str | QueryBundle) -> list[AsyncBaseTool]:
        """Do the same, awaited."""
        return await aside(self.retrieve, str_or_query_bundle)


@dataclass
class _Metadata(ToolMetadata):
    """What the framework asks of a tool, with its schema whole: the framework's own keeps five keywords of it."""

    schema: dict[str, Any] = field(default_factory=dict)

    def get_parameters_dict(self) -> dict[str, Any]:
        """Return the schema."""
        return self.schema

    def to_openai_tool(self, skip_length_check: bool = False) -> dict[str, Any]:
        """Return the tool whatever the length of its description: one long text must not end the run."""
        declared: dict[str, Any] = super().to_openai_tool(skip_length_check=True)
        return declared


class _Tool(AsyncBaseTool):
    """One function of a toolbox."""

    def __init__(self, toolbox: Toolbox, one: Function) -> None:
        self._toolbox = toolbox
        self._metadata = _Metadata(name=one.name, description=one.description, fn_schema=None, schema=one.schema)

    @property
    def metadata(self) -> ToolMetadata:
        return self._metadata

    # The slash: a tool may have a parameter that is called `self`.
    def call(self, /, **arguments: Any) -> ToolOutput:  # type: ignore[override, unused-ignore]
        return _output(self._toolbox.answer(self._metadata.get_name(), arguments), arguments)

    async def acall(self, /, **arguments: Any) -> ToolOutput:  # type: ignore[override, unused-ignore]
        return _output(await aside(self._toolbox.answer, self._metadata.get_name(), arguments), arguments)


def _output(output: Output, arguments: dict[str, Any]) -> ToolOutput:
    return ToolOutput(
        content=output.text,
        tool_name=output.call.name,
        raw_input=arguments,
        raw_output=output.text,
        is_error=output.failed,
    )
