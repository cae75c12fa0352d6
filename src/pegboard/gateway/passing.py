"""What a call came to, as MCP says it: the server's own answer untouched, or what the gate says instead.

An answer of a tool's server is passed on with everything in it, and labelled with where it came from. A refusal is a
result with `isError`, so that a model can repair the call; only a tool that is unknown, or may not be used, is an error
of the protocol, and the two are one error, byte for byte (law 2).

Source: MCP 2026-07-28, tools, "Error handling"; DESIGN sections 8 and 12.
"""

from collections.abc import Mapping
from typing import Any

from mcp import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS

from pegboard.core.names import Json, compact_json
from pegboard.engine.verdict import VerdictKind
from pegboard.service.answering import CallAnswer

__all__ = ["ORIGIN", "TRACE", "VERDICT", "passed", "refusal", "told", "unknown_tool"]

# Keys of `_meta`, in the reverse-DNS form that MCP asks of everyone but itself.
ORIGIN = "io.pegboard/origin"
TRACE = "io.pegboard/trace"
VERDICT = "io.pegboard/verdict"

_UNKNOWN = "unknown tool: call one by its name in the list, or with the selection of the search that named it"
_ASKS = "the tool's server asks for more input, which is not passed on from here; nothing more was sent"
# Codes below are of this hop's own envelope; from a tool's server they would tell a client that we misread its request.
_OUR_HOP = range(-32_100, -32_019)
_ENVELOPE = frozenset({-32_700, -32_600, -32_601})


def unknown_tool() -> MCPError:
    """Return the one error for every tool that this caller cannot call."""
    return MCPError(INVALID_PARAMS, _UNKNOWN)


def passed(answer: CallAnswer, server: str | None, schema: Mapping[str, Json] | None = None) -> dict[str, Any]:
    """Return the `CallToolResult` of an answer.

    Args:
        answer: What the gate answered.
        server: Which server owns the tool, where the caller may know it.
        schema: The input schema that the caller is shown of the tool, to repair the arguments by.

    Raises:
        MCPError: The tool is unknown or denied, or its server answered with an error of the protocol.
    """
    verdict = answer.verdict
    if verdict.kind is VerdictKind.UNKNOWN_OR_DENIED:
        raise unknown_tool()
    meta: dict[str, Json] = {TRACE: answer.trace_id}
    if server is not None and verdict.tool_id is not None:
        meta[ORIGIN] = {"server": server, "tool": verdict.tool_id}
    if answer.error is not None:
        raise MCPError(_code(answer.error.get("code")), str(answer.error.get("message")), data={"_meta": meta})
    if answer.result is not None:
        return _labelled(answer.result, meta)
    if verdict.kind is VerdictKind.ALLOWED:
        return told({"message": verdict.message or "done"}, meta, error=not answer.succeeded)
    return refusal(answer, meta, schema if verdict.kind is VerdictKind.INVALID_ARGUMENTS else None)


def refusal(answer: CallAnswer, meta: Mapping[str, Json], schema: Mapping[str, Json] | None) -> dict[str, Any]:
    """Return what the gate says, in words for a model and as a verdict for a program."""
    said = {name: value for name, value in answer.verdict.to_json().items() if value is not None}
    said.pop("recorded", None)
    if answer.approval_id is not None:
        said["approval_id"] = answer.approval_id
    if schema is not None:
        said["input_schema"] = schema
    return told(said, {**meta, VERDICT: str(answer.verdict.kind)}, error=True)


def told(said: Mapping[str, Json], meta: Mapping[str, Json] | None = None, *, error: bool = False) -> dict[str, Any]:
    """Return a result of our own: structured, and the same as text for clients that read no other."""
    found: dict[str, Any] = {
        "content": [{"type": "text", "text": compact_json(dict(said))}],
        "structuredContent": dict(said),
        "isError": error,
    }
    return {**found, "_meta": dict(meta)} if meta else found


def _labelled(result: Mapping[str, Json], meta: Mapping[str, Json]) -> dict[str, Any]:
    if result.get("resultType") == "input_required":
        return told({"message": _ASKS}, meta, error=True)
    own = result.get("_meta")
    # What a server says of itself in its envelope is about the hop between it and us.
    kept = {key: value for key, value in own.items() if not _is_mcp(key)} if isinstance(own, Mapping) else {}
    found = {key: value for key, value in result.items() if key != "resultType"}
    if not isinstance(found.get("content"), list):
        found["content"] = []
    return {**found, "_meta": {**kept, **meta}}


def _is_mcp(key: str) -> bool:
    return key.partition("/")[0] == "io.modelcontextprotocol"


def _code(code: Any) -> int:
    if not isinstance(code, int) or isinstance(code, bool) or code in _OUR_HOP or code in _ENVELOPE:
        return INTERNAL_ERROR
    return code
