"""Turns: what a model's response asks of us, what it was answered with, and how that is said to the model.

A refusal is said in words that help; of a tool that is unknown, denied or was never loaded they are the same words.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from pegboard.core.names import Json, compact_json
from pegboard.engine.judged import unknown
from pegboard.engine.selection import Outcome, Selection, mcp_tool
from pegboard.engine.verdict import Caller, Cause, Internal, Verdict, VerdictKind
from pegboard.providers.calls import ModelCall, Output, arguments_of, refusal_text, result_text
from pegboard.providers.capabilities import Delivery
from pegboard.providers.loadout import Joined
from pegboard.providers.searching import CALL
from pegboard.providers.wired import Wired

__all__ = ["UNKNOWN", "Answered", "CallProposed", "Called", "Found", "Reply", "SearchAsked", "called", "found", "meant"]

# What the gate says of a tool that is not there; one text, wherever it is found out.
UNKNOWN = unknown(Internal(cause=Cause.NOT_SELECTED))


class Answered(Protocol):
    """What the service says of a call: its `CallAnswer` is one."""

    @property
    def verdict(self) -> Verdict:
        """Return the gate's verdict."""

    @property
    def result(self) -> Mapping[str, Json] | None:
        """Return the server's answer, None where nothing was sent or came back."""

    @property
    def error(self) -> Mapping[str, Json] | None:
        """Return the protocol error that the server answered with, None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAsked:
    """The model asks for tools. Only the task's text is the model's; who asks is for the application to say."""

    call: ModelCall
    task: str
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallProposed:
    """The model asks to run a tool: give tool, arguments, selection and caller to the gate.

    `problem` says that the name is none of this conversation's tools; it is the answer where no gate is asked. The gate
    would put the attempt on record.
    """

    call: ModelCall
    tool: str
    """The tool's id; of what is not loaded, the name as the model wrote it, its namespace before it."""
    arguments: Json
    caller: Caller
    tool_id: str | None = None
    selection_id: str | None = None
    problem: Verdict | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A search, answered with a selection."""

    asked: SearchAsked
    selection: Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A call, answered by the gate; None where none was asked. `output`: an application's own run."""

    proposed: CallProposed
    answer: Answered | None = None
    output: Json = None


Reply: TypeAlias = Found | Called

_LOADED_ALREADY = "What fits is loaded already; call it."
# Outcomes whose message tells of tools; where all of those are loaded, the message would mislead.
_SERVED = frozenset({Outcome.SELECTED, Outcome.WEAK, Outcome.NAMESPACE, Outcome.ALL_TOOLS})


def found(delivery: Delivery, reply: Found, joined: Joined) -> Output:
    """Return what a search came to, in the way that tools are delivered."""
    tools = (*joined.new, *joined.again)
    text = _TEXTS[delivery](reply.selection, tools)
    return Output(call=reply.asked.call, text=text, found=tools if delivery in _CARRIED else ())


def called(reply: Called) -> Output:
    """Return what a call came to: the tool's result, the application's own, or why there is none."""
    call = reply.proposed.call
    verdict = reply.answer.verdict if reply.answer else reply.proposed.problem or UNKNOWN
    if verdict.kind is not VerdictKind.ALLOWED:
        return Output(call=call, text=refusal_text(verdict), failed=True)
    answer = reply.answer
    if answer is not None and answer.error is not None:
        return Output(call=call, text=result_text(answer.error), failed=True)
    result: Json = reply.output if answer is None or answer.result is None else answer.result
    failed = isinstance(result, Mapping) and bool(result.get("isError"))
    return Output(call=call, text=result_text(result), failed=failed)


def meant(call: ModelCall) -> tuple[str, Json]:
    """Return which tool a call means, and with what, where one function calls them all."""
    given: Any = call.arguments
    if call.name != CALL or not isinstance(given, Mapping):
        return call.name, call.arguments
    name = given.get("name")
    return name if isinstance(name, str) else "", arguments_of(given.get("arguments"))


def _nothing(selection: Selection) -> str:
    return _LOADED_ALREADY if selection.outcome in _SERVED else selection.message


def _names(selection: Selection, tools: tuple[Wired, ...]) -> str:
    if not tools:
        return _nothing(selection)
    return f"{selection.message} They can be called now: {', '.join(tool.name for tool in tools)}."


def _definitions(selection: Selection, tools: tuple[Wired, ...]) -> str:
    if not tools:
        return _nothing(selection)
    described: list[Json] = [mcp_tool(tool.tool, tool.name) for tool in tools]
    return compact_json({"message": f"{selection.message} Call them with {CALL}.", "tools": described})


# The output itself carries definitions or references; words are needed only where it has none.
_CARRIED = frozenset({Delivery.SEARCH, Delivery.REFERENCE})
# One row a delivery: what the model reads of a search.
_TEXTS: dict[Delivery, Callable[[Selection, tuple[Wired, ...]], str]] = {
    Delivery.SEARCH: _names,
    Delivery.REFERENCE: _names,
    Delivery.INLINE: _names,
    Delivery.LIST: _names,
    Delivery.CALL: _definitions,
}
