"""Send an allowed call to the server that owns its tool: once, or not at all.

Source: DESIGN section 8, step 9; law 10.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pegboard.core.catalog import Flow, Risk
from pegboard.core.errors import (
    OutcomeUnknownError,
    PegboardError,
    RefusedByServerError,
    UnreachableServerError,
    UpstreamError,
)
from pegboard.engine.gate import conclude
from pegboard.engine.judged import Judged, unavailable
from pegboard.engine.ledger import Ended, Standing
from pegboard.engine.verdict import Cause, Internal, Verdict, VerdictKind
from pegboard.service.acting import NoCredentialError, acting_for
from pegboard.service.answering import CallAnswer
from pegboard.service.inputs import Asked, RefusedInputError, answered_by, who_answers
from pegboard.service.judging import Judging
from pegboard.service.ports import ToolServers

__all__ = ["Dispatcher", "Permit"]

_UNREACHED = "the tool's server could not be reached; nothing was run; try again later"
_NO_CREDENTIAL = "there is no credential for the tool's server that this call could be made with; nothing was run"
# JSON-RPC 2.0 leaves this code to whoever answers.
_STOPPED = RefusedInputError(-32_000, "this call may not go on")
_UNKNOWN_OUTCOME = "the call was sent and no answer came; it may have run; look before it is tried again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """An allowed call, and what it was judged by; without a call id it stands in no ledger."""

    judged: Judged
    standing: Standing | None
    call_id: str | None
    all_listed: bool


class Dispatcher:
    """Sends calls."""

    def __init__(self, judging: Judging, servers: ToolServers) -> None:
        self._judging = judging
        self._servers = servers

    async def send(self, answer: CallAnswer, permit: Permit) -> tuple[CallAnswer, Judged, Ended]:
        """Send an allowed call once.

        Returns:
            The answer, the call as it was judged last, and how it ended.
        """
        judged, server_name = permit.judged, permit.judged.entry.source_server
        context, result = judged.facts.context, None
        try:
            with acting_for(context):
                async with self._servers.connect(server_name, context.identity) as server:
                    verdict, judged = await self._judged_again(permit)
                    if not verdict.allowed:
                        return replace(answer, verdict=verdict), judged, Ended.NOT_SENT
                    if _recorded(judged) != _recorded(permit.judged):
                        raise UnreachableServerError(server_name, "by now the call means what its record does not say")
                    # Its content may have changed meanwhile; the arguments were judged by the one served now.
                    with self._answered_while_allowed(permit):
                        result = await server.call_tool(judged.entry.name, judged.arguments)
        except OutcomeUnknownError as error:
            unknown = _failed(answer, VerdictKind.OUTCOME_UNKNOWN, _UNKNOWN_OUTCOME, error)
            return unknown, judged, Ended.OUTCOME_UNKNOWN
        except RefusedByServerError as error:
            return replace(answer, error={"code": error.code, "message": error.message}), judged, Ended.ERROR
        except UpstreamError as error:
            # A session that breaks while it is closed takes no answer back.
            if result is None:
                message = _NO_CREDENTIAL if isinstance(error, NoCredentialError) else _UNREACHED
                return _failed(answer, VerdictKind.UNAVAILABLE, message, error), judged, Ended.NOT_SENT
        ended = Ended.ERROR if (result or {}).get("isError") else Ended.DONE
        return replace(answer, result=result), judged, ended

    @contextmanager
    def _answered_while_allowed(self, permit: Permit) -> Iterator[None]:
        """Pass answers on to the server only while the call may still run: a person may think for minutes (law 4)."""
        answering = who_answers()
        if answering is None:
            yield
            return

        async def answer(asked: Asked) -> Mapping[str, Any]:
            found = await answering.answer(asked)
            verdict, _ = await self._judged_again(permit)
            if not verdict.allowed:
                raise _STOPPED
            return found

        with answered_by(replace(answering, answer=answer)):
            yield

    async def _judged_again(self, permit: Permit) -> tuple[Verdict, Judged]:
        """Judge a call once more when its server is there.

        Reaching a server may take half a minute: a halt, and a lock line that asks for more care, hold for whatever is
        not sent yet (law 4). Of the ledger, what it said before this call's own line was written.
        """
        judged = permit.judged
        try:
            again = await self._judging.examined(judged.call, judged.facts.context, all_listed=permit.all_listed)
        except PegboardError as error:
            return unavailable(Internal(cause=Cause.FAILED, tool_id=judged.line.tool, error=str(error))), judged
        return (again, judged) if isinstance(again, Verdict) else (conclude(again, permit.standing), again)


def _recorded(judged: Judged) -> tuple[str, str, Risk, frozenset[Flow]]:
    """Return what the ledger's line holds of a tool, and the session of its server: a name may mean another by now."""
    return judged.line.tool, judged.entry.source_server, judged.line.risk, judged.line.flow


def _failed(answer: CallAnswer, kind: VerdictKind, message: str, error: UpstreamError) -> CallAnswer:
    internal = Internal(cause=Cause.FAILED, tool_id=answer.verdict.tool_id, error=str(error))
    return replace(answer, verdict=replace(answer.verdict, kind=kind, message=message, internal=internal))
