"""What a server may ask of its callers while their calls run, and what it is answered.

By default nothing, and it is told so at once. What is configured goes to whoever made the call, if it answers such
things at all: in the handshake era as a request that the server sends, in the present one as a result that asks and a
call that goes on with the answers. The time that an answer takes is not counted as the server's.

Source: MCP 2025-11-25, elicitation and sampling; MCP 2026-07-28, multi-round-trip requests.
"""

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any

import anyio
from mcp.shared.dispatcher import as_request_id
from mcp.types import METHOD_NOT_FOUND
from mcp_types import CLIENT_CAPABILITIES_META_KEY

from pegboard.adapters.mcp_messages import answer_for
from pegboard.adapters.mcp_wire import Attempt
from pegboard.service.inputs import Asked, Kind, RefusedInputError, kind_of, who_answers

__all__ = ["Inputs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What one server may ask."""

    server: str
    kinds: frozenset[Kind] = frozenset()

    def declared(self, method: str, params: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Return a request's parameters with what is declared in them: for a session, or for one call."""
        if method == "initialize" and params is not None:
            return {**params, "capabilities": {**params.get("capabilities", {}), **_capabilities(self.kinds)}}
        meta, answering = (params or {}).get("_meta"), who_answers()
        if answering is None or not isinstance(meta, Mapping) or CLIENT_CAPABILITIES_META_KEY not in meta:
            return params
        # In the present era each request says it for itself, so a server asks only what its caller answers.
        said = {**meta[CLIENT_CAPABILITIES_META_KEY], **_capabilities(self.kinds & answering.kinds)}
        return {**(params or {}), "_meta": {**meta, CLIENT_CAPABILITIES_META_KEY: said}}

    def takes(self, message: Mapping[str, Any]) -> bool:
        """Say whether a message is a question that may be passed on."""
        return as_request_id(message.get("id")) is not None and self._kind(message) is not None

    async def reply(self, message: Mapping[str, Any], attempt: Attempt) -> dict[str, Any] | None:
        """Answer a message that arrives while a call of this task runs; None where it asks nothing."""
        if not self.takes(message):
            return answer_for(message)
        envelope = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            with _not_waiting(attempt):
                return {**envelope, "result": await self._answer(message)}
        except RefusedInputError as refusal:
            return {**envelope, "error": {"code": refusal.code, "message": refusal.message}}

    async def responses(self, result: Mapping[str, Any]) -> dict[str, Any] | None:
        """Answer what a result asks, by its keys; None where any of it is not answered, so that the call ends there."""
        requests = result.get("inputRequests") or {}
        try:
            return {key: await self._answer(request) for key, request in requests.items()}
        except (RefusedInputError, AttributeError):
            return None

    def _kind(self, request: Mapping[str, Any]) -> Kind | None:
        kind = kind_of(request.get("method"), request.get("params"))
        return kind if kind in self.kinds else None

    async def _answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        kind, answering = self._kind(request), who_answers()
        if kind is None or answering is None or kind not in answering.kinds:
            raise RefusedInputError(METHOD_NOT_FOUND, "whoever made this call does not answer such a thing")
        asked = Asked(server=self.server, kind=kind, method=request["method"], params=request["params"])
        return dict(await answering.answer(asked))


def _capabilities(kinds: Set[Kind]) -> dict[str, Any]:
    modes: dict[str, Any] = {str(kind): {} for kind in sorted(kinds) if kind is not Kind.SAMPLING}
    elicitation = {"elicitation": modes} if modes else {}
    return {**elicitation, "sampling": {}} if Kind.SAMPLING in kinds else elicitation


@contextmanager
def _not_waiting(attempt: Attempt) -> Iterator[None]:
    """Stop the clock of a request for the time of the body."""
    scope = attempt.wait
    left_s = inf if scope is None else scope.deadline - anyio.current_time()
    if scope is not None:
        scope.deadline = inf
    try:
        yield
    finally:
        if scope is not None:
            scope.deadline = anyio.current_time() + left_s
