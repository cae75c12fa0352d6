"""Trust: what comes of a changed tool before any person has looked at it.

Under `review` it waits. Under `follow` it is locked by itself, on an operator's standing word (law 6), unless a row of
`_OBJECTIONS` holds it: never a new tool, a suspected rename, a finding or a raise. Under either it is revoked at once
where a row of `_SUSPICIONS` says that serving the locked content would mislead.

Source: DESIGN sections 4 and 9; SURFACE `trust`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import StrEnum

from pegboard.core.catalog import Proposal
from pegboard.core.lock import Lock, LockLine
from pegboard.engine.findings import Severity
from pegboard.engine.meaning import constraints
from pegboard.engine.pending import Pending
from pegboard.engine.proposals import proposed
from pegboard.engine.schemas import still_takes

__all__ = ["FOLLOW", "Trust", "followed_lines", "suspicion"]

FOLLOW = "follow"
"""Who approved a lock line that nobody looked at: the operator who configured `trust = "follow"`."""


class Trust(StrEnum):
    """What happens to changes of a server's locked tools: a person reviews them, or they are locked by themselves."""

    REVIEW = "review"
    FOLLOW = "follow"


# Standing orders: one row a reason for which a changed tool is not locked by itself.
_OBJECTIONS: tuple[Callable[[Pending], bool], ...] = (
    # It is new, or what changed in it cannot be told.
    lambda one: one.locked is None,
    lambda one: one.doubtful,
    lambda one: one.locked is not None and _more(proposed(one.live, ()), proposed(one.locked, ())),
)


def followed_lines(waiting: Iterable[Pending], lock: Lock) -> Iterator[LockLine]:
    """Yield the lines under which changed tools go on, each as the line before it but for its hash and server."""
    for one in waiting:
        if not any(objects(one) for objects in _OBJECTIONS):
            yield replace(lock.lines[one.live.tool_id], hash=one.live.schema_hash, server=one.live.source_server)


def _more(new: Proposal, old: Proposal) -> bool:
    """Say whether a tool could do more than before: what its declaration suggests has risen."""
    return any(
        (
            new.risk is not None and old.risk is not None and new.risk.rank > old.risk.rank,
            new.reach is not old.reach,
            not (new.flow or frozenset()) <= (old.flow or frozenset()),
        )
    )


# One row a reason for which a locked tool that changed is revoked at once: calls would fail, or worse.
_SUSPICIONS: tuple[tuple[str, Callable[[Pending], bool]], ...] = (
    ("what it lists now has a finding of high severity", lambda one: one.worst is Severity.HIGH),
    ("its live schema does not take what the locked one takes", lambda one: not _takes(one)),
)


def suspicion(one: Pending) -> str | None:
    """Say why a locked tool that changed must be revoked at once, None where it is served as it was locked."""
    if not one.changed:
        return None
    return next((reason for reason, suspects in _SUSPICIONS if suspects(one)), None)


def _takes(one: Pending) -> bool:
    """Say whether calls by the locked schema suit the live one. Where its content is not here, none is served."""
    if one.locked is None:
        return True
    if one.live.input_schema_json == one.locked.input_schema_json:
        return True
    new, old = one.live.input_schema, one.locked.input_schema
    return constraints(new) == constraints(old) or still_takes(new, old)
