"""The doors of the HTTP API: one row each, with who may pass, what it is asked and what it answers.

Routing, checking and the published description walk this table, so none of them can differ from another.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from pegboard.core.names import Json
from pegboard.gateway import agents, answers, asked, deciding, operators, releasing

__all__ = ["DOORS", "Door", "Role"]

Verb: TypeAlias = Callable[..., Awaitable[dict[str, Json]]]


class Role(StrEnum):
    """Whose credential opens a door; none opens another's."""

    AGENT = "agent"
    APPLICATION = "application"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One route. `said` is a GET's query, and any other method's body."""

    method: str
    path: str
    role: Role
    verb: Verb
    said: type[asked.Asked]
    answer: Mapping[str, Any] = field(repr=False)

    @property
    def name(self) -> str:
        """Name the operation, for the description."""
        return f"{self.verb.__module__.rpartition('.')[2]}_{self.verb.__name__}"

    @property
    def summary(self) -> str:
        """Say what it does, in the words of the verb."""
        return (self.verb.__doc__ or "").partition("\n")[0]


def _agents(method: str, path: str, verb: Verb, said: type[asked.Asked], answer: Mapping[str, Any]) -> Door:
    return Door(method=method, path=f"/v1/{path}", role=Role.AGENT, verb=verb, said=said, answer=answer)


def _operators(method: str, path: str, verb: Verb, said: type[asked.Asked], answer: Mapping[str, Any]) -> Door:
    return Door(method=method, path=f"/v1/operator/{path}", role=Role.OPERATOR, verb=verb, said=said, answer=answer)


DOORS: tuple[Door, ...] = (
    _agents("POST", "select", agents.select, asked.Select, answers.SELECT),
    _agents("POST", "describe", agents.describe, asked.Describe, answers.DESCRIBE),
    _agents("POST", "call", agents.call, asked.Call, answers.CALL),
    _agents("GET", "tools", agents.tools, asked.Listed, answers.TOOLS),
    Door(
        method="PUT",
        path="/v1/context",
        role=Role.APPLICATION,
        verb=agents.context,
        said=asked.Context,
        answer=answers.CONTEXT,
    ),
    _operators("GET", "versions", operators.versions, asked.Nothing, answers.VERSIONS),
    _operators("GET", "diff", operators.compare, asked.Compare, answers.DIFF),
    _operators("POST", "rollback", operators.rollback, asked.Rollback, answers.ROLLBACK),
    _operators("POST", "refresh", operators.refresh, asked.Refresh, answers.REFRESH),
    _operators("GET", "servers", operators.servers, asked.Nothing, answers.SERVERS),
    _operators("GET", "review", deciding.review, asked.Nothing, answers.REVIEW),
    _operators("GET", "review/show", deciding.show, asked.Named, answers.REVIEW_SHOW),
    _operators("POST", "review/approve", deciding.approve, asked.Approve, answers.REVIEW_APPROVE),
    _operators("POST", "review/reject", deciding.reject, asked.Reject, answers.REVIEW_REJECT),
    _operators("GET", "approvals", deciding.requests, asked.Requests, answers.APPROVALS),
    _operators("POST", "approvals/{approval_id}/grant", deciding.grant, asked.Nothing, answers.APPROVAL),
    _operators("POST", "approvals/{approval_id}/deny", deciding.deny, asked.Decide, answers.APPROVAL),
    _operators("GET", "halts", operators.halts, asked.Nothing, answers.HALTS),
    _operators("POST", "halt", operators.halt, asked.Halt, answers.HALT),
    _operators("POST", "resume", operators.resume, asked.Resume, answers.RESUME),
    _operators("GET", "rollout", releasing.rollout, asked.Nothing, answers.ROLLOUT),
    # Before the namespaces, of which one may have this name: what a path allows is said by the first that has it.
    _operators("GET", "rollout/history", releasing.history, asked.Nothing, answers.ROLLOUT_HISTORY),
    _operators("PUT", "rollout/{namespace}", releasing.change, asked.Release, answers.ROLLOUT_SET),
    _operators("GET", "shadow/report", releasing.report, asked.Reported, answers.SHADOW_REPORT),
    _operators("GET", "traces", operators.traces, asked.Traced, answers.TRACES),
    _operators("GET", "traces/{trace_id}", operators.trace, asked.Nothing, answers.TRACE),
    _operators("POST", "replay", operators.replay, asked.Replay, answers.REPLAY),
    _operators("GET", "audit", operators.audit, asked.Showing, answers.AUDIT),
)
