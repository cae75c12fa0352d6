"""Gemini: function declarations, calls and responses as parts of a content.

It has no search and no deferral: what the model may call is what the request declares, and `allowedFunctionNames`
narrows that without a change of the declarations.

Source: google-genai 3.6.1, `types`, in the spelling of the REST API.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pegboard.core.names import Json
from pegboard.providers.calls import Changes, ModelCall, Output, arguments_of
from pegboard.providers.targets import Target
from pegboard.providers.wired import Wired

__all__ = ["allowed", "append", "consistent", "function", "meta", "own_names", "read"]


def function(tool: Wired) -> dict[str, Json]:
    """Return one declaration; the Live API takes its schema under another name.

    There a schema without properties is refused, so that of a tool without arguments is left out. Here it is sent: a
    forced call (`ANY`) is refused where a declaration has no schema at all.
    """
    declared: dict[str, Json] = {"name": tool.name, "description": tool.tool.description}
    if tool.compiled.target is not Target.GEMINI_PARAMETERS:
        return {**declared, "parametersJsonSchema": tool.schema}
    return {**declared, "parameters": tool.schema} if tool.schema.get("properties") else declared


def meta(name: str, description: str, schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return one of our own functions."""
    return {"name": name, "description": description, "parametersJsonSchema": schema}


def allowed(names: Iterable[str], mode: str = "VALIDATED") -> dict[str, Json]:
    """Return the `toolConfig` that narrows what may be called and leaves the declarations as they are."""
    return {"functionCallingConfig": {"mode": mode, "allowedFunctionNames": list(names)}}


def consistent(choice: Any, ours: Sequence[str], own: Collection[str], deferred: Collection[str] = ()) -> Json:
    """Return the application's `toolConfig` so that its list of allowed functions does not shut ours out."""
    calling = choice.get("functionCallingConfig") if isinstance(choice, Mapping) else None
    if not isinstance(calling, Mapping) or not calling.get("allowedFunctionNames"):
        return choice  # type: ignore[no-any-return]
    names = [name for name in calling["allowedFunctionNames"] if name in own or name in ours]
    return {
        **choice,
        "functionCallingConfig": {**calling, "allowedFunctionNames": list(dict.fromkeys([*names, *ours]))},
    }


def own_names(tools: Iterable[Any]) -> Iterator[str]:
    """Yield every name that an application's own declarations take."""
    for tool in tools:
        if not isinstance(tool, Mapping):
            continue
        for declared in _either(tool, "functionDeclarations", "function_declarations") or ():
            if isinstance(declared, Mapping) and isinstance(name := declared.get("name"), str):
                yield name


def read(response: Any) -> Iterator[ModelCall]:
    """Yield the calls of a response's first candidate, or of a content."""
    content: Any = response
    if isinstance(response, Mapping) and isinstance(candidates := response.get("candidates"), list | tuple):
        content = candidates[0].get("content") if candidates and isinstance(candidates[0], Mapping) else None
    parts = content.get("parts") if isinstance(content, Mapping) else None
    for part in parts if isinstance(parts, list | tuple) else ():
        call = _either(part, "functionCall", "function_call") if isinstance(part, Mapping) else None
        if isinstance(call, Mapping):
            arguments = arguments_of(call.get("args"))
            yield ModelCall(call_id=call.get("id"), name=str(call.get("name")), arguments=arguments)


def append(
    outputs: Sequence[Output], changes: Changes, own: Collection[str] = (), results: Sequence[Json] = ()
) -> list[Json]:
    """Return the content that follows, with the application's own *results* and a response for each call."""
    parts: list[Json] = [*results, *map(_response, outputs)]
    return [{"role": "user", "parts": parts}] if parts else []


def _response(output: Output) -> dict[str, Json]:
    response: dict[str, Json] = {"name": output.call.name, "response": {_KEY[output.failed]: output.text}}
    # A model that numbers its calls wants the number back; one that does not is answered in order.
    return {"functionResponse": response if output.call.call_id is None else {"id": output.call.call_id, **response}}


_KEY = {False: "output", True: "error"}


def _either(value: Mapping[str, Any], one: str, other: str) -> Any:
    """The REST API writes camel case, the SDK's own dump snake case."""
    return value.get(one, value.get(other))
