"""Calls, facts and standings for the gate's tests: everything is as it should be until a test changes one part."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pegboard.core.catalog import CatalogEntry, Flow, Risk
from pegboard.core.names import digest
from pegboard.core.revocations import NO_REVOCATIONS
from pegboard.core.snapshot import Snapshot
from pegboard.engine.facts import GateFacts
from pegboard.engine.ledger import Approval, ApprovalState, Ended, Line, Past, Standing
from pegboard.engine.limits import EMPTY_STANDING
from pegboard.engine.verdict import ProposedCall
from tests.crm import AGENT, ENTRIES, lock, policy

__all__ = ["CANCEL", "GOOD", "NOW", "ORDERS", "SELECTED", "approval", "call", "facts", "past", "standing"]

NOW = 1_010.0
ORDERS, CANCEL, *_ = ENTRIES
SELECTED = {"list_open": (ORDERS.tool_id, ORDERS.schema_hash), "cancel": (CANCEL.tool_id, CANCEL.schema_hash)}
GOOD = {"customer_id": "c-1"}


def facts(entries: Iterable[CatalogEntry] = ENTRIES, **changes: Any) -> GateFacts:
    """Say what a call is judged on."""
    found = tuple(entries)
    return GateFacts(
        **{
            "context": AGENT,
            "snapshot": Snapshot.of(1, found),
            "policy": policy(lock(found)),
            "revocations": replace(NO_REVOCATIONS, as_of=1_000.0),
            "now": NOW,
            "selected": SELECTED,
            **changes,
        }
    )


def call(name: str = "list_open", arguments: Any = GOOD, **more: Any) -> ProposedCall:
    """Propose a call; unsaid, of a read."""
    return ProposedCall(tool=name, arguments=arguments, selection_id="sel_1", **more)


def standing(**changes: Any) -> Standing:
    """Say what the ledger knows; unsaid, nothing."""
    return replace(EMPTY_STANDING, **changes)


def past(entry: CatalogEntry = CANCEL, arguments: Any = None, ended: Ended | None = Ended.DONE, **more: Any) -> Past:
    """Remember a call of a tool."""
    line = Line(
        call_id=more.pop("call_id", "call_0"),
        trace_id="tr_0",
        identity=AGENT.identity,
        principal=AGENT.principal,
        at=1_000.0,
        tool_id=entry.tool_id,
        schema_hash=entry.schema_hash,
        arguments=digest({"order_id": "7"} if arguments is None else arguments),
        risk=Risk.WRITE,
        flow=frozenset(more.pop("flow", frozenset[Flow]())),
        key=more.pop("key", None),
    )
    return Past(line=line, ended=ended, **more)


def approval(*reasons: str, entry: CatalogEntry = CANCEL, arguments: Any = None, **more: Any) -> Approval:
    """Grant a call of a tool for these reasons."""
    made = Approval(
        approval_id="ap_1",
        identity=AGENT.identity,
        principal=AGENT.principal,
        principals=AGENT.principals,
        tool_id=entry.tool_id,
        schema_hash=entry.schema_hash,
        arguments=digest({"order_id": "7"} if arguments is None else arguments),
        shown={},
        reasons=reasons,
        asked_at=900.0,
        expires_at=2_000.0,
        state=ApprovalState.GRANTED,
        by="dana",
        decided_at=950.0,
    )
    return replace(made, **more)
