"""Chat Completions: functions in a list, calls in a message, a message of role `tool` for each result.

The servers that speak it (vLLM, Ollama, LiteLLM, …) often do not hold a model to a schema, whatever `strict` says: the
gate does.

Source: openai 3.57.0, `types.chat`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pegboard.core.names import Json
from pegboard.providers.calls import Changes, ModelCall, Output, arguments_of
from pegboard.providers.wired import Wired

__all__ = ["allowed", "append", "consistent", "function", "meta", "own_names", "read"]


def function(tool: Wired) -> dict[str, Json]:
    """Return one tool of `tools`. `strict` is only said where it holds: some servers do not know the word."""
    declared = _function(tool.name, tool.tool.description, tool.schema)
    return {"type": "function", "function": {**declared, "strict": True} if tool.strict else declared}


def meta(name: str, description: str, schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return one of our own functions."""
    return {"type": "function", "function": _function(name, description, schema)}


def allowed(names: Iterable[str], mode: str = "auto") -> dict[str, Json]:
    """Return the `tool_choice` that narrows what may be called; of OpenAI's own servers alone."""
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": list(map(_allowed, names))}}


def consistent(choice: Any, ours: Sequence[str], own: Collection[str], deferred: Collection[str] = ()) -> Json:
    """Return the application's `tool_choice` so that it keeps a meaning beside our tools: a list is widened by them."""
    kind = choice.get("type") if isinstance(choice, Mapping) else None
    if kind == "allowed_tools":
        part = choice["allowed_tools"]
        named = {tool.get("function", {}).get("name") for tool in part["tools"]}
        tools = [*part["tools"], *(_allowed(name) for name in ours if name not in named)]
        return {**choice, "allowed_tools": {**part, "tools": tools}}
    forced = choice["function"].get("name") if kind == "function" else None
    return choice if forced is None or forced in own or forced in ours else "auto"


def own_names(tools: Iterable[Any]) -> Iterator[str]:
    """Yield every name that an application's own tools take."""
    for tool in tools:
        nested = tool.get(tool.get("type")) if isinstance(tool, Mapping) else None
        if isinstance(nested, Mapping) and isinstance(name := nested.get("name"), str):
            yield name


def read(response: Any) -> Iterator[ModelCall]:
    """Yield the calls of a response's first choice, or of a message."""
    message: Any = response
    if isinstance(response, Mapping) and isinstance(choices := response.get("choices"), list | tuple):
        message = choices[0].get("message") if choices and isinstance(choices[0], Mapping) else None
    calls = message.get("tool_calls") if isinstance(message, Mapping) else None
    for call in calls if isinstance(calls, list | tuple) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            arguments = arguments_of(function.get("arguments"))
            yield ModelCall(call_id=call.get("id"), name=str(function.get("name")), arguments=arguments)


def append(
    outputs: Sequence[Output], changes: Changes, own: Collection[str] = (), results: Sequence[Json] = ()
) -> list[Json]:
    """Return the messages that follow: the application's own *results*, and one for each call."""
    return [*results, *map(_message, outputs)]


def _message(output: Output) -> dict[str, Json]:
    text = f"error: {output.text}" if output.failed else output.text
    return {"role": "tool", "tool_call_id": output.call.call_id, "content": text}


def _function(name: str, description: str, schema: Mapping[str, Json]) -> dict[str, Json]:
    return {"name": name, "description": description, "parameters": schema}


def _allowed(name: str) -> dict[str, Json]:
    return {"type": "function", "function": {"name": name}}
