"""Pass on what a tool's server asks while a call runs, to the client that made the call and to no other.

A question is passed on only where its server may ask it (`[servers.NAME]`), the client says that it answers such
things, and it is one that the protocol knows; what remains of it says first whose question it is, since a person or a
model must not take it for ours. Answers go back as they are: they are the client's word to that server, and open
nothing here (an approval has its own door, and another person).

Source: MCP 2025-11-25 and 2026-07-28, elicitation and sampling; DESIGN section 14.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    REQUEST_TIMEOUT,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
)
from pydantic import ValidationError

from pegboard.core.text import clean
from pegboard.gateway.passing import ORIGIN
from pegboard.service.inputs import Answer, Asked, Kind, RefusedInputError

__all__ = ["ANSWER_S", "NOT_IN_TIME", "Question", "answer_of", "asker", "kinds_of", "question_of"]

# How long a person may think. A server's place is taken meanwhile.
ANSWER_S = 300.0
NOT_IN_TIME = RefusedInputError(REQUEST_TIMEOUT, f"nobody answered within {ANSWER_S:g} s")

_SHOWN = frozenset({"title", "description"})

Question: TypeAlias = ElicitRequest | CreateMessageRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """How one kind is asked and answered."""

    request: type[ElicitRequest] | type[CreateMessageRequest]
    result: type[ElicitResult] | type[CreateMessageResult]
    labelled: Callable[[str, Mapping[str, Any]], dict[str, Any]]
    """Puts the server's name before what is asked. Raises `RefusedInputError` where it may not be asked at all."""


def kinds_of(capabilities: ClientCapabilities | None) -> frozenset[Kind]:
    """Return what a client says that it answers."""
    said = capabilities or ClientCapabilities()
    modes, answers = said.elicitation, set()
    # Before there were modes, a client that answered anything answered forms.
    if modes is not None and (modes.form is not None or modes.url is None):
        answers.add(Kind.FORM)
    if modes is not None and modes.url is not None:
        answers.add(Kind.URL)
    if said.sampling is not None:
        answers.add(Kind.SAMPLING)
    return frozenset(answers)


def question_of(asked: Asked) -> Question:
    """Return what a client is asked.

    Raises:
        RefusedInputError: It may not be asked so.
    """
    row = _ROWS[asked.kind]
    params = {**row.labelled(asked.server, asked.params), "_meta": {ORIGIN: {"server": asked.server}}}
    params.pop("task", None)  # what would come back is no answer but the number of a task
    try:
        question = row.request.model_validate({"method": asked.method, "params": params})
    except ValidationError:
        raise RefusedInputError(INVALID_PARAMS, "this cannot be asked: it is not as the protocol writes it") from None
    if isinstance(question.params, ElicitRequestFormParams):
        question.params.requested_schema = _seen(question.params.requested_schema)
    return question


def answer_of(kind: Kind, said: object) -> dict[str, Any]:
    """Return a client's answer as its server is to get it.

    Raises:
        RefusedInputError: It is an answer to something else.
    """
    row = _ROWS[kind]
    if not isinstance(said, row.result):
        raise RefusedInputError(INTERNAL_ERROR, "the client answered something else")
    return said.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"meta"})


def asker(ctx: ServerRequestContext[Any, Any]) -> Answer:
    """Ask a client of the handshake era, on the stream of its call."""

    async def answer(asked: Asked) -> Mapping[str, Any]:
        question, where = question_of(asked), ServerMessageMetadata(related_request_id=ctx.request_id)
        if isinstance(question.params, ElicitRequestURLParams) and question.params.elicitation_id is None:
            # Before 2026-07-28 it has to have one, and is known by it to nobody but this client.
            question.params.elicitation_id = f"{asked.server}-{ctx.request_id}"
        try:
            said = await ctx.session.send_request(question, _ROWS[asked.kind].result, ANSWER_S, where)
        except MCPError as error:
            raise RefusedInputError(error.code, "the client refuses it, or did not answer in time") from None
        except ValidationError:
            said = None
        return answer_of(asked.kind, said)

    return answer


def _form(server: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {**params, "message": f"The tool server {server!r} asks: {clean(str(params.get('message')))}"}


def _seen(part: Any) -> Any:
    """Clean what a form shows. What would be sent back stays, since another value would be a wrong one."""
    if isinstance(part, list):
        return [_seen(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {name: clean(one) if name in _SHOWN and isinstance(one, str) else _seen(one) for name, one in part.items()}


def _url(server: str, params: Mapping[str, Any]) -> dict[str, Any]:
    if not str(params.get("url")).startswith("https://"):
        raise RefusedInputError(INVALID_PARAMS, "only https addresses are passed on")
    return _form(server, params)


def _sampling(server: str, params: Mapping[str, Any]) -> dict[str, Any]:
    if params.get("tools") or params.get("toolChoice"):
        raise RefusedInputError(INVALID_PARAMS, "a model is passed no tools of a server's own")
    said = clean(str(params.get("systemPrompt") or ""))
    label = f"What follows is asked by the tool server {server!r}, and not by the user."
    # Of the conversation and of other servers nothing is given to a server.
    return {**params, "systemPrompt": f"{label}\n{said}".rstrip(), "includeContext": "none"}


_ROWS: Mapping[Kind, _Row] = {
    Kind.FORM: _Row(request=ElicitRequest, result=ElicitResult, labelled=_form),
    Kind.URL: _Row(request=ElicitRequest, result=ElicitResult, labelled=_url),
    Kind.SAMPLING: _Row(request=CreateMessageRequest, result=CreateMessageResult, labelled=_sampling),
}
