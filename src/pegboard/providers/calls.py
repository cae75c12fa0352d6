"""Calls and outputs: what a model's response asks for, and what is given back, in words that all APIs share.

Models and the layers above them wrap arguments in ways that nobody asked for: no text at all for no arguments, JSON
within JSON. That is undone here and nothing else: what is no JSON goes on as the text it is, and the gate refuses it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pegboard.core.names import Json, compact_json, parse_json
from pegboard.core.text import well_formed
from pegboard.engine.verdict import Caller, Verdict
from pegboard.providers.wired import Wired

__all__ = ["Changes", "ModelCall", "Output", "arguments_of", "refusal_text", "result_text"]

# How often JSON may be wrapped in JSON; one more than was ever seen.
_WRAPPED_AT_MOST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call in a response, as the API says it. `call_id` is None where the API gives none."""

    call_id: str | None
    name: str
    arguments: Json
    namespace: str | None = None
    search: bool = False
    """It is the API's own search, which the client executes."""
    caller: Mapping[str, Json] | None = None
    """Whatever the API says of who called, to be echoed; None where it says nothing."""

    @property
    def called_by(self) -> Caller:
        """Say who made the call: the model, or code that it wrote."""
        direct = not isinstance(self.caller, Mapping) or self.caller.get("type") == "direct"
        return Caller.DIRECT if direct else Caller.PROGRAM


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What one call came to. `found` holds what a search loaded that the output itself is to carry."""

    call: ModelCall
    text: str
    failed: bool = False
    found: tuple[Wired, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What comes and goes between two turns, apart from what a search's own output says."""

    added: tuple[Wired, ...] = ()
    restored: tuple[str, ...] = ()
    """Names of tools that are known to the API and may be called again."""
    removed: tuple[str, ...] = ()
    """Names of tools that may be called no longer."""


def arguments_of(raw: Any) -> Json:
    """Return the arguments that a model gave, out of what they were wrapped in."""
    for _ in range(_WRAPPED_AT_MOST):
        if not isinstance(raw, str):
            break
        try:
            raw = parse_json(raw) if raw.strip() else None
        except ValueError:
            break
    return {} if raw is None else raw


def refusal_text(verdict: Verdict) -> str:
    """Say a refusal to the model: which kind, and what helps. Unknown and denied tools are one text."""
    return f"{verdict.kind}: {verdict.message or 'nothing was run'}"


def result_text(result: Json) -> str:
    """Return what a tool gave as one text: an MCP result's structured content or its blocks, or any JSON."""
    if isinstance(result, str):
        return well_formed(result)
    if isinstance(result, Mapping):
        structured, blocks = result.get("structuredContent"), result.get("content")
        if structured is not None:
            return _json_text(structured)
        if isinstance(blocks, list | tuple):
            return well_formed("\n".join(map(_block_text, blocks)))
    return _json_text(result)


def _block_text(block: Any) -> str:
    if not isinstance(block, Mapping):
        return _json_text(block)
    if isinstance(block.get("text"), str):
        return str(block["text"])
    if isinstance(resource := block.get("resource"), Mapping) and isinstance(resource.get("text"), str):
        return str(resource["text"])
    # Bytes would fill the context as text and tell the model nothing.
    return f"[{block.get('type', 'content')} {block.get('mimeType', '')}".rstrip() + ", not shown]"


def _json_text(value: Json) -> str:
    try:
        return well_formed(compact_json(value))
    except (TypeError, ValueError):
        # The tool has run: losing its answer over a number that JSON has no word for would invite a repeat.
        return "[a result that is no JSON, not shown]"
