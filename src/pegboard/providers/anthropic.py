"""Anthropic's Messages API: tools, references to deferred ones, and changes of tools between two turns.

A reference names a tool that this request declares, deferred or not; a definition in a message (`inline` beta) needs
no declaration. Neither changes what was sent before. All results of one turn go into one user message.

Source: anthropic 2.15.0, `types` and `types.beta`; the pages on tool search and on changing tools.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pegboard.core.names import Json
from pegboard.providers.calls import Changes, ModelCall, Output, arguments_of
from pegboard.providers.wired import Wired

__all__ = ["BETAS", "append", "consistent", "function", "hosted_search", "mcp_toolset", "meta", "own_names", "read"]

# What a request that changes tools between turns has to name: changes at all, and definitions in messages.
BETAS = ("mid-conversation-tool-changes-2026-07-01", "inline-tools-2026-09-15")


def function(tool: Wired, *, deferred: bool = False) -> dict[str, Json]:
    """Return one tool of `tools`."""
    return {
        **meta(tool.name, tool.tool.description, tool.schema),
        **({"strict": True} if tool.strict else {}),
        **({"defer_loading": True} if deferred else {}),
    }


def meta(name: str, description: str, schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return one of our own functions."""
    return {"name": name, "description": description, "input_schema": schema}


def hosted_search(tools: Iterable[Wired]) -> list[dict[str, Json]]:
    """Return deferred tools and the provider's own search over them, which is not deferred itself."""
    search: dict[str, Json] = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    return [search, *(function(tool, deferred=True) for tool in tools)]


def mcp_toolset(server: str, tools: Iterable[Wired], loaded: Collection[str] = ()) -> dict[str, Json]:
    """Return the toolset of an MCP server that offers these tools and no others; *loaded* ids are not deferred.

    The listing is pinned: the provider does not ask the server, so nothing that it adds comes in by itself.
    """
    tools = tuple(tools)
    return {
        "type": "mcp_toolset",
        "mcp_server_name": server,
        "default_config": {"enabled": False, "defer_loading": True},
        "configs": {tool.name: {"enabled": True, "defer_loading": tool.tool_id not in loaded} for tool in tools},
        "tools": [meta(tool.name, tool.tool.description, tool.schema) for tool in tools],
    }


def consistent(choice: Any, ours: Sequence[str], own: Collection[str], deferred: Collection[str] = ()) -> Json:
    """Return the application's `tool_choice` so that it keeps a meaning: what is gone cannot be forced."""
    forced = choice.get("name") if isinstance(choice, Mapping) and choice.get("type") == "tool" else None
    return choice if forced is None or forced in own or forced in ours else {"type": "auto"}


def own_names(tools: Iterable[Any]) -> Iterator[str]:
    """Yield every name that an application's own tools take."""
    for tool in tools:
        if isinstance(tool, Mapping) and isinstance(name := tool.get("name"), str):
            yield name


def read(response: Any) -> Iterator[ModelCall]:
    """Yield the calls of a message, or of its content; the provider's own tools are none of ours."""
    blocks = response.get("content") if isinstance(response, Mapping) else response
    for block in blocks if isinstance(blocks, list | tuple) else ():
        if isinstance(block, Mapping) and block.get("type") == "tool_use":
            yield ModelCall(
                call_id=block.get("id"),
                name=str(block.get("name")),
                arguments=arguments_of(block.get("input")),
                caller=block.get("caller"),
            )


def append(
    outputs: Sequence[Output], changes: Changes, own: Collection[str] = (), results: Sequence[Json] = ()
) -> list[Json]:
    """Return the messages that follow: one of the user with every result, one of the system with what changed."""
    blocks: list[Json] = [*results, *map(_result, outputs)]
    messages: list[Json] = [{"role": "user", "content": blocks}] if blocks else []
    changed: list[Json] = [
        *(_change("tool_removal", {"type": "tool_reference", "name": name}) for name in changes.removed),
        *(_change("tool_addition", {"type": "tool_reference", "name": name}) for name in changes.restored),
        *(_change("tool_addition", {"type": "tool_definition", "definition": function(one)}) for one in changes.added),
    ]
    if changed:
        messages.append({"role": "system", "content": changed})
    return messages


def _result(output: Output) -> dict[str, Json]:
    result: dict[str, Json] = {"type": "tool_result", "tool_use_id": output.call.call_id}
    if output.found:
        # A result without any content is refused, so what found nothing says so in words.
        return {**result, "content": [{"type": "tool_reference", "tool_name": tool.name} for tool in output.found]}
    content: list[Json] = [{"type": "text", "text": output.text}]
    return {**result, "content": content, **({"is_error": True} if output.failed else {})}


def _change(kind: str, tool: Mapping[str, Json]) -> dict[str, Json]:
    return {"type": kind, "tool": tool}
