"""What the tests of the ledgers share: a question, and a ledger whose methods are called one after another."""

from dataclasses import replace
from functools import partial
from typing import Any

import anyio

from pegboard.engine.ledger import Approval, ApprovalState, Ended, Past, Question, Standing
from pegboard.service.ports import Forgotten
from tests.adapters.store_cases import APPROVAL, LINE, Store

QUESTION = Question(
    identity=LINE.identity,
    conversation=None,
    tool_id=LINE.tool_id,
    schema_hash=LINE.schema_hash,
    arguments=LINE.arguments,
    key=None,
    now=20.0,
    repeat_window_s=15.0,
    limit_windows_s=(),
    flow_window_s=15.0,
)


class Asked:
    """A ledger's methods called one after another, each to its end."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def sequence(self, identity: str = LINE.identity) -> int:
        return self.standing(identity=identity).sequence

    def standing(self, **changes: Any) -> Standing:
        return anyio.run(self.store.ledger.standing, replace(QUESTION, **changes))

    def open(self, call_id: str, *, after: int | None = None, **changes: Any) -> bool:
        line = replace(LINE, call_id=call_id, **changes)
        judged_by = self.sequence(line.identity) if after is None else after
        return anyio.run(partial(self.store.ledger.open, line, b"{}", after=judged_by))

    def close(self, call_id: str, ended: Ended, at: float = 12.0, result: bytes | None = None) -> None:
        anyio.run(self.store.ledger.close, call_id, at, ended, result)

    def call(self, call_id: str) -> Past | None:
        return anyio.run(self.store.ledger.call, call_id)

    def ask(self, approval_id: str = "apr_1", **changes: Any) -> Approval:
        return anyio.run(self.store.ledger.ask, replace(APPROVAL, approval_id=approval_id, **changes))

    def decide(self, approval_id: str, state: ApprovalState, at: float = 8.0) -> Approval | None:
        return anyio.run(partial(self.store.ledger.decide, approval_id, state, by="dana", at=at))

    def unknown(self, limit: int = 9) -> list[str]:
        return [past.line.call_id for past in anyio.run(self.store.ledger.unknown, limit)]

    def settle(self, call_id: str, ended: Ended, at: float = 15.0) -> Past | None:
        return anyio.run(self.store.ledger.settle, call_id, at, ended)

    def forget(self, before: float, *, apply: bool = True) -> Forgotten:
        return anyio.run(partial(self.store.ledger.forget, before, apply=apply))

    def approval(self, approval_id: str) -> Approval | None:
        return anyio.run(self.store.ledger.approval, approval_id)
