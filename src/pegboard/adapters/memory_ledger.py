"""The ledger in dictionaries: for tests, notebooks and a board made from a list of tools.

The same contract as the ledger on disk, checks included; nothing outlives the process.
"""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace

from pegboard.adapters.store_errors import no_call, refused
from pegboard.core.catalog import Flow
from pegboard.engine.ledger import Approval, ApprovalState, Ended, Line, Past, Question, Standing
from pegboard.service.ports import Forgotten

__all__ = ["MemoryLedger"]


class MemoryLedger:
    """`Ledger` in memory. Safe from several threads."""

    def __init__(self) -> None:
        # INVARIANT: no method awaits while it holds the guard, so a method is one step for every other.
        self._guard = threading.Lock()
        self._calls: dict[str, Past] = {}
        self._sequences: dict[str, int] = {}
        self._approvals: dict[str, Approval] = {}

    async def standing(self, question: Question) -> Standing:
        """Say what is on record of one caller, as of one moment."""
        with self._guard:
            mine = [past for past in self._calls.values() if past.line.identity == question.identity]
            return Standing(
                sequence=self._sequences.get(question.identity, 0),
                recorded=self._keyed(question.identity, question.key),
                like=_like(question, mine),
                calls=tuple(len(_since(mine, question.now - window_s)) for window_s in question.limit_windows_s),
                spent=tuple(
                    sum(past.line.cost for past in _since(mine, question.now - window_s))
                    for window_s in question.limit_windows_s
                ),
                touched=_touched(question, mine),
                granted=self._granted(question),
            )

    async def open(self, line: Line, record: bytes, *, after: int) -> bool:
        """Write a line before its call is dispatched, and mark the approval that it names as used by it."""
        del record  # nothing here reads it back
        with self._guard:
            if self._sequences.get(line.identity, 0) != after or self._keyed(line.identity, line.key):
                return False
            approval = self._approvals.get(line.approval_id) if line.approval_id is not None else None
            if line.approval_id is not None and (approval is None or not approval.allows(line)):
                return False
            if line.call_id in self._calls:
                raise refused(f"there is a call {line.call_id!r} already")
            if approval is not None:
                used = replace(approval, state=ApprovalState.USED, used_by=line.call_id)
                self._approvals[approval.approval_id] = used
            self._calls[line.call_id] = Past(line=line)
            self._moved(line.identity)
            return True

    async def close(self, call_id: str, at: float, ended: Ended, result: bytes | None = None) -> None:
        """Write how the call ended; the same again changes nothing."""
        with self._guard:
            past = self._calls.get(call_id)
            if past is None:
                raise no_call(call_id)
            if past.ended not in (None, ended):
                raise refused(f"the call {call_id!r} ended as '{past.ended}' and cannot end as '{ended}'")
            if past.ended is None:
                self._closed(past, at, ended, result)

    async def call(self, call_id: str) -> Past | None:
        """Return one line, None where there is none."""
        with self._guard:
            return self._calls.get(call_id)

    async def ask(self, approval: Approval) -> Approval:
        """Put a request on record, or return the one that already `answers` it: asked, granted or denied."""
        with self._guard:
            for found in reversed(self._approvals.values()):
                if found.answers(approval):
                    return found
            if approval.approval_id in self._approvals:
                raise refused(f"there is an approval {approval.approval_id!r} already")
            self._approvals[approval.approval_id] = approval
            return approval

    async def approval(self, approval_id: str) -> Approval | None:
        """Return one request, None where there is none."""
        with self._guard:
            return self._approvals.get(approval_id)

    async def approvals(
        self, limit: int, *, state: ApprovalState | None = None, identity: str | None = None
    ) -> tuple[Approval, ...]:
        """Return the newest requests, newest first; of one caller where its identity is given."""
        with self._guard:
            newest = reversed(self._approvals.values())
            found = [one for one in newest if state in (None, one.state) and identity in (None, one.identity)]
        return tuple(found[: max(0, limit)])

    async def decide(self, approval_id: str, state: ApprovalState, *, by: str, at: float) -> Approval | None:
        """Grant or deny an open request, once; None where it is not there, or no longer open at *at*."""
        with self._guard:
            found = self._approvals.get(approval_id)
            if found is None or found.state is not ApprovalState.ASKED or not found.alive(at):
                return None
            decided = replace(found, state=state, by=by, decided_at=at)
            self._approvals[approval_id] = decided
            self._moved(found.identity)
            return decided

    async def unknown(self, limit: int) -> tuple[Past, ...]:
        """Return the newest lines of which nobody knows how they ended, newest first."""
        with self._guard:
            found = [past for past in reversed(self._calls.values()) if past.unknown]
        return tuple(found[: max(0, limit)])

    async def settle(self, call_id: str, at: float, ended: Ended) -> Past | None:
        """Close a line of unknown outcome as a person says; None where it is not there, or its outcome is known."""
        with self._guard:
            past = self._calls.get(call_id)
            return None if past is None or not past.unknown else self._closed(past, at, ended, None)

    async def forget(self, before: float, *, apply: bool) -> Forgotten:
        """Remove what is older than a time and no law needs; without *apply* only count it."""
        with self._guard:
            old = {name for name, past in self._calls.items() if past.line.at < before}
            unknown = {name for name in old if self._calls[name].unknown}
            labels = (old & _first_labels(self._calls.values())) - unknown
            gone = old - unknown - labels
            expired = [name for name, one in self._approvals.items() if _over(one, before, gone)]
            if apply:
                self._calls = {name: past for name, past in self._calls.items() if name not in gone}
                self._approvals = {name: one for name, one in self._approvals.items() if name not in expired}
            return Forgotten(lines=len(gone), approvals=len(expired), unknown=len(unknown), labels=len(labels))

    def _closed(self, past: Past, at: float, ended: Ended, result: bytes | None) -> Past:
        closed = replace(past, ended=ended, closed_at=at, result=result)
        self._calls[past.line.call_id] = closed
        if ended is Ended.NOT_SENT:
            self._give_back(past.line)
        self._moved(past.line.identity)
        return closed

    def _moved(self, identity: str) -> None:
        self._sequences[identity] = self._sequences.get(identity, 0) + 1

    def _keyed(self, identity: str, key: str | None) -> Past | None:
        """Return the call that holds the key: one that was not sent leaves it free."""
        for past in self._calls.values() if key is not None else ():
            if (past.line.identity, past.line.key) == (identity, key) and past.may_have_run:
                return past
        return None

    def _granted(self, question: Question) -> tuple[Approval, ...]:
        newest_first = reversed(self._approvals.values())
        return tuple(found for found in newest_first if found.good_for(question.binding, question.now))

    def _give_back(self, line: Line) -> None:
        """Let the approval that a call had used be used by another."""
        used = self._approvals.get(line.approval_id or "")
        if used is not None:
            self._approvals[used.approval_id] = replace(used, state=ApprovalState.GRANTED, used_by=None)


def _over(approval: Approval, before: float, gone: set[str]) -> bool:
    """Say whether an approval goes: it was used by a call that does, or by none and has expired."""
    return approval.expires_at < before if approval.used_by is None else approval.used_by in gone


def _first_labels(calls: Iterable[Past]) -> set[str]:
    """Return the calls by which conversations that an application named were first surely touched by each label set."""
    first: dict[tuple[str, str, frozenset[Flow]], Past] = {}
    for past in calls:
        # One of unknown outcome may be settled as not sent; whatever touched the conversation after it still did.
        if past.line.conversation is not None and past.line.flow and past.may_have_run and not past.unknown:
            key = (past.line.identity, past.line.conversation, past.line.flow)
            first[key] = min(first.get(key, past), past, key=lambda one: one.line.at)
    return {past.line.call_id for past in first.values()}


def _since(mine: Iterable[Past], since: float) -> list[Past]:
    return [past for past in mine if past.line.at > since]


def _like(question: Question, mine: Iterable[Past]) -> Past | None:
    since = question.now - question.repeat_window_s
    alike = [
        past
        for past in mine
        if (past.line.tool_id, past.line.arguments) == (question.tool_id, question.arguments)
        and past.may_have_run
        and (past.unknown or past.line.at > since)
    ]
    # Of one time, the one written last is the newest.
    return max(reversed(alike), key=lambda past: past.line.at, default=None)


def _touched(question: Question, mine: list[Past]) -> Mapping[Flow, str]:
    if question.conversation is None:
        reach = _since(mine, question.now - question.flow_window_s)
    else:
        reach = [past for past in mine if past.line.conversation == question.conversation]
    touched: dict[Flow, str] = {}
    for past in sorted(reach, key=lambda past: past.line.at):
        for label in past.line.flow if past.may_have_run else ():
            touched.setdefault(label, past.line.call_id)
    return touched
