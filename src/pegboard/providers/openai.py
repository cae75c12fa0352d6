"""OpenAI's Responses API: tools, namespaces, the search that a client executes, and what its items say.

Tools that a search loads are never declared in `tools`: their definitions stand in the search's output, which is kept
in the history. They come in namespaces, since a call of a deferred function outside of one has to be replayed with a
namespace of the function's own name.

Source: openai 3.57.0, `types.responses`; the guides on function calling and tool search.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pegboard.core.names import Json
from pegboard.providers.calls import Changes, ModelCall, Output, arguments_of
from pegboard.providers.names import namespace_name
from pegboard.providers.searching import SEARCH_SCHEMA
from pegboard.providers.targets import Target
from pegboard.providers.wired import Wired

__all__ = [
    "TOOL_SEARCH",
    "allowed",
    "append",
    "client_search",
    "consistent",
    "function",
    "grouped",
    "hosted_search",
    "is_home",
    "meta",
    "own_names",
    "read",
]

TOOL_SEARCH = "tool_search"


def function(tool: Wired, *, deferred: bool = False) -> dict[str, Json]:
    """Return one tool of `tools`. `strict` is always said: unsaid, the API tries and falls back by itself."""
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.tool.description,
        "parameters": tool.schema,
        "strict": tool.strict,
        **({"defer_loading": True} if deferred else {}),
    }


def meta(name: str, description: str, schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return one of our own functions."""
    return {"type": "function", "name": name, "description": description, "parameters": schema, "strict": False}


def client_search(description: str) -> dict[str, Json]:
    """Return the search that the client executes; without a description the API refuses it."""
    return {"type": TOOL_SEARCH, "execution": "client", "description": description, "parameters": SEARCH_SCHEMA}


def hosted_search(tools: Iterable[Wired], own: Collection[str] = ()) -> list[dict[str, Json]]:
    """Return deferred tools and the provider's own search over them.

    The provider gets them all and shows the model what each is called: deferring hides nothing.
    """
    return [*grouped(tools, own), {"type": TOOL_SEARCH}]


def grouped(tools: Iterable[Wired], own: Collection[str] = ()) -> list[dict[str, Json]]:
    """Return deferred tools in the namespaces of their ids, in the order in which these first appear."""
    tools = tuple(tools)
    names = {tool.name for tool in tools} | set(own)
    found: dict[str, dict[str, Any]] = {}
    for tool in tools:
        home = _home(tool)
        declared = function(tool, deferred=True)
        # A namespace with the name of a function is one that the API makes up itself.
        if not home or home in names:
            found[f"function {tool.name}"] = declared
            continue
        described = f"Tools of {_namespace(tool)}."
        group = {"type": "namespace", "name": home, "description": described, "tools": []}
        found.setdefault(f"namespace {home}", group)["tools"].append(declared)
    return list(found.values())


def is_home(namespace: str | None, tool: Wired) -> bool:
    """Say whether a call of the tool may come with this namespace: none, its own, or the made up one."""
    return namespace in (None, "", tool.name, _home(tool))


def allowed(names: Iterable[str], mode: str = "auto") -> dict[str, Json]:
    """Return the `tool_choice` that narrows what may be called and leaves `tools`, and so the cache, as they are."""
    return {"type": "allowed_tools", "mode": mode, "tools": [_allowed(name) for name in names]}


def consistent(choice: Any, ours: Sequence[str], own: Collection[str], deferred: Collection[str] = ()) -> Json:
    """Return the application's `tool_choice` so that it keeps a meaning beside our tools.

    A list of allowed tools is widened by ours, which it cannot know. A function that is gone cannot be forced, nor one
    that is deferred: the API refuses both.
    """
    kind = choice.get("type") if isinstance(choice, Mapping) else None
    if kind == "allowed_tools":
        named = {tool.get("name", tool.get("type")) for tool in choice["tools"]}
        return {**choice, "tools": [*choice["tools"], *(_allowed(name) for name in ours if name not in named)]}
    forced = choice.get("name") if kind == "function" else None
    known = forced in own or (forced in ours and forced not in deferred)
    return choice if forced is None or known else "auto"


def own_names(tools: Iterable[Any]) -> Iterator[str]:
    """Yield every name that an application's own tools take, within its namespaces too; of the API's own, the kind."""
    for tool in tools:
        if isinstance(tool, Mapping):
            if isinstance(name := tool.get("name", tool.get("type")), str):
                yield name
            if isinstance(nested := tool.get("tools"), list | tuple):
                yield from own_names(nested)


def read(response: Any) -> Iterator[ModelCall]:
    """Yield the calls of a response, or of its output items."""
    items = response.get("output") if isinstance(response, Mapping) else response
    for item in items if isinstance(items, list | tuple) else ():
        kind = item.get("type") if isinstance(item, Mapping) else None
        if kind == "function_call":
            yield ModelCall(
                call_id=item.get("call_id"),
                name=str(item.get("name")),
                arguments=arguments_of(item.get("arguments")),
                namespace=item.get("namespace"),
                caller=item.get("caller"),
            )
        elif kind == "tool_search_call" and item.get("execution") == "client":
            arguments = arguments_of(item.get("arguments"))
            yield ModelCall(call_id=item.get("call_id"), name=TOOL_SEARCH, arguments=arguments, search=True)


def append(
    outputs: Sequence[Output], changes: Changes, own: Collection[str] = (), results: Sequence[Json] = ()
) -> list[Json]:
    """Return the input items that follow: the application's own *results*, an output for each call, what was added."""
    items: list[Json] = [*results]
    for output in outputs:
        items += _search_output(output, own) if output.call.search else [_call_output(output)]
    if changes.added:
        items.append({"type": "additional_tools", "role": "developer", "tools": grouped(changes.added, own)})
    return items


def _search_output(output: Output, own: Collection[str]) -> list[Json]:
    """An output has no room for words: what is to be said where nothing was found follows as a message."""
    found: dict[str, Json] = {
        "type": "tool_search_output",
        "call_id": output.call.call_id,
        "execution": "client",
        "status": "completed",
        "tools": grouped(output.found, own),
    }
    if output.found:
        return [found]
    content: list[Json] = [{"type": "input_text", "text": output.text}]
    return [found, {"type": "message", "role": "developer", "content": content}]


def _call_output(output: Output) -> dict[str, Json]:
    text = f"error: {output.text}" if output.failed else output.text
    said: dict[str, Json] = {"type": "function_call_output", "call_id": output.call.call_id, "output": text}
    return said if output.call.caller is None else {**said, "caller": output.call.caller}


def _namespace(tool: Wired) -> str:
    return tool.tool_id.rpartition(".")[0]


def _home(tool: Wired) -> str:
    namespace = _namespace(tool)
    return namespace and namespace_name(namespace, Target.OPENAI)


def _allowed(name: str) -> dict[str, Json]:
    return {"type": TOOL_SEARCH} if name == TOOL_SEARCH else {"type": "function", "name": name}
