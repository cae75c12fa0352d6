"""The gate: what may run, and that nobody learns from a refusal what they may not know."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import CatalogEntry, Reach, Risk
from pegboard.core.lock import Lock
from pegboard.core.policy import Switch, decide_tool
from pegboard.core.revocations import NO_REVOCATIONS, Revocations
from pegboard.core.snapshot import Snapshot
from pegboard.engine import gate
from pegboard.engine.gate import STEPS, Cause, GateFacts, ProposedCall, Verdict, judge
from tests.crm import AGENT, ENTRIES, line, lock, policy, schema, tool
from tests.strategies import NAMES, NAMESPACES, callers, cases, deployments, json_values, revocations

ORDERS, CANCEL, *_ = ENTRIES
PAYROLL = next(entry for entry in ENTRIES if entry.name == "list_payroll")
SELECTED = {"list_open": (ORDERS.tool_id, ORDERS.schema_hash), "cancel": (CANCEL.tool_id, CANCEL.schema_hash)}
GOOD = {"customer_id": "c-1"}


def facts(entries: tuple[CatalogEntry, ...] = ENTRIES, **changes: Any) -> GateFacts:
    return GateFacts(
        **{
            "context": AGENT,
            "snapshot": Snapshot.of(1, entries),
            "policy": policy(lock(entries)),
            "revocations": replace(NO_REVOCATIONS, as_of=1_000.0),
            "now": 1_010.0,
            "selected": SELECTED,
            **changes,
        }
    )


def call(name: str = "list_open", arguments: Any = GOOD) -> ProposedCall:
    return ProposedCall(tool=name, arguments=arguments, selection_id="sel_1")


CHANGED = tool(ORDERS.tool_id, "List them all.", schema("customer_id", customer_id="Customer number"))
NARROWED = tool(ORDERS.tool_id, ORDERS.description, schema("customer", customer="Customer number"))
SERVED_CHANGED = (CHANGED, *ENTRIES[1:])
SERVED_NARROWED = (NARROWED, *ENTRIES[1:])
FORMER = {ORDERS.schema_hash: ORDERS}
DESTRUCTIVE = policy(lock().granting([line(ORDERS, risk=Risk.DESTRUCTIVE)]))
OPEN = policy(lock().granting([line(ORDERS, risk=Risk.WRITE, reach=Reach.OPEN)]))

# Each: the call, the facts that differ, the verdict. Deleting any step changes some row (below).
ROWS: tuple[tuple[ProposedCall, dict[str, Any], str], ...] = (
    (call(), {}, "allowed"),
    (call(ORDERS.tool_id), {}, "allowed"),
    (call("crm.orders/list_open_orders"), {}, "allowed"),
    (call(ORDERS.tool_id), {"selected": None, "listed": {ORDERS.tool_id}}, "allowed"),
    (call("crm.orders/list_open_orders"), {"selected": {}, "listed": {ORDERS.tool_id}}, "allowed"),
    (call(), {"now": 1_031.0}, "unavailable"),
    (call(), {"now": 969.0}, "unavailable"),
    (call(), {"now": float("nan")}, "unavailable"),
    (call("nothing"), {"now": 1_031.0}, "unavailable"),
    (call(), {"now": 1_031.0, "revocations_max_age_s": 60.0}, "allowed"),
    (call(), {"selected": None}, "unknown_or_denied"),
    (call("list_open_orders"), {}, "unknown_or_denied"),
    (call("nothing/at_all"), {}, "unknown_or_denied"),
    (call("billing.payments.get_payment"), {}, "unknown_or_denied"),
    (call(), {"entries": ENTRIES[1:]}, "unknown_or_denied"),
    (call(), {"policy": policy(Lock.of())}, "unknown_or_denied"),
    (call(), {"policy": policy(lock(), {ORDERS.tool_id: Switch(enabled=False)})}, "unknown_or_denied"),
    (call(), {"context": replace(AGENT, scopes=frozenset())}, "unknown_or_denied"),
    (call(), {"revocations": Revocations(targets=frozenset({"all"}), as_of=1_000.0)}, "unknown_or_denied"),
    (call(PAYROLL.tool_id), {"listed": {entry.tool_id for entry in ENTRIES}}, "unknown_or_denied"),
    (call(), {"entries": SERVED_CHANGED}, "stale_schema"),
    (call(), {"entries": SERVED_CHANGED, "former": FORMER}, "allowed"),
    (call(), {"entries": SERVED_NARROWED, "former": FORMER}, "stale_schema"),
    (call(), {"entries": SERVED_CHANGED, "former": {ORDERS.schema_hash: CANCEL}}, "stale_schema"),
    (call(ORDERS.tool_id), {"entries": SERVED_CHANGED, "selected": {}, "listed": {ORDERS.tool_id}}, "allowed"),
    (call(arguments={}), {}, "invalid_arguments"),
    (call(arguments=None), {}, "invalid_arguments"),
    (call(arguments={"customer_id": 7}), {}, "invalid_arguments"),
    (call(), {"policy": DESTRUCTIVE}, "approval_required"),
    (call(), {"policy": DESTRUCTIVE, "ask_before": frozenset()}, "allowed"),
    (call(), {"policy": OPEN}, "approval_required"),
    (call(), {"policy": OPEN, "ask_before_reach": frozenset()}, "allowed"),
    (call(), {"ask_before": frozenset({"read", "write"})}, "approval_required"),
)


def judged(proposed: ProposedCall, changes: dict[str, Any]) -> Verdict:
    return judge(proposed, facts(**changes))


@pytest.mark.parametrize(("proposed", "changes", "kind"), ROWS)
def test_each_step_gives_its_verdict(proposed, changes, kind):
    verdict = judged(proposed, changes)
    assert verdict.kind == kind
    assert verdict.allowed is (kind == "allowed")


@pytest.mark.parametrize("step", range(len(STEPS)), ids=[name for name, _ in STEPS])
def test_deleting_a_step_changes_a_verdict_and_opens_nothing_that_is_unresolved(step, monkeypatch):
    monkeypatch.setattr(gate, "STEPS", STEPS[:step] + STEPS[step + 1 :])
    kinds = [judged(proposed, changes).kind for proposed, changes, _ in ROWS]
    assert kinds != [kind for _, _, kind in ROWS]
    if STEPS[step][0] in {"known", "allowed"}:
        assert "allowed" not in kinds


def test_a_step_that_raises_allows_nothing(monkeypatch):
    monkeypatch.setattr(gate, "STEPS", (("broken", lambda _: 1 / 0), *STEPS))
    verdict = judged(call(), {})
    assert verdict.kind == "unavailable"
    assert verdict.internal is not None
    assert verdict.internal.cause is Cause.FAILED


UNKNOWN: tuple[tuple[ProposedCall, dict[str, Any], Cause], ...] = (
    (call(), {"selected": None}, Cause.NO_SELECTION),
    (call(), {"selected": {}}, Cause.NOT_SELECTED),
    (call(), {"entries": ENTRIES[1:]}, Cause.NOT_IN_CATALOG),
    (call(), {"policy": policy(Lock.of())}, Cause.DENIED),
    (call(), {"context": replace(AGENT, scopes=frozenset())}, Cause.DENIED),
    (call(), {"revocations": Revocations(targets=frozenset({"principal:sam"}), as_of=1_000.0)}, Cause.DENIED),
    (call(arguments={}), {"policy": policy(Lock.of())}, Cause.DENIED),
)


@pytest.mark.parametrize(("proposed", "changes", "cause"), UNKNOWN)
def test_whatever_makes_a_tool_unknown_the_caller_reads_the_same(proposed, changes, cause):
    verdict = judged(proposed, changes)
    assert verdict.to_json() == judged(call("no.such_tool"), {}).to_json()
    assert verdict.tool_id is None
    assert verdict.internal is not None
    assert verdict.internal.cause is cause


def test_operators_learn_the_reasons_of_a_denial():
    verdict = judged(call(), {"context": replace(AGENT, scopes=frozenset(), servers=frozenset())})
    assert verdict.internal is not None
    assert verdict.internal.reasons == ("server", "scopes")
    assert verdict.internal.tool_id == ORDERS.tool_id


def test_two_tenants_tools_of_one_name_are_told_apart_by_id_alone():
    ours, theirs = (tool(f"{tenant}.stock.getinventory", "Read the stock.") for tenant in ("crm", "globex"))
    both = {"getinventory": (ours.tool_id, ours.schema_hash)}
    changes = {"entries": (ours, theirs), "selected": both}
    assert judged(call("getinventory", {}), changes).tool_id == ours.tool_id
    assert judged(call(ours.tool_id, {}), changes).allowed
    assert judged(call("crm.stock/getinventory", {}), changes).tool_id == ours.tool_id
    for name in (theirs.tool_id, "globex.stock/getinventory", "stock/getinventory"):
        assert judged(call(name, {}), changes).kind == "unknown_or_denied"
    # Even where it is listed for everyone, the other tenant's is not eligible for this caller.
    assert judged(call(theirs.tool_id, {}), {**changes, "listed": {theirs.tool_id}}).kind == "unknown_or_denied"
    assert judged(call("getinventory", {}), {**changes, "selected": {}}).kind == "unknown_or_denied"


def test_a_name_that_means_two_eligible_tools_means_none():
    one, two = tool("crm.a.find", "One."), tool("crm.b.find", "Two.")
    two = replace(two, namespace="crm.a")
    changes = {"entries": (one, two), "listed": {one.tool_id, two.tool_id}, "selected": None}
    verdict = judged(call("crm.a/find", {}), changes)
    assert verdict.kind == "unknown_or_denied"
    assert verdict.internal is not None
    assert verdict.internal.cause is Cause.AMBIGUOUS


def test_thirty_empty_calls_are_refused_before_dispatch_with_what_is_missing():
    verdicts = {judged(call(arguments={}), {}) for _ in range(30)}
    (verdict,) = verdicts
    assert verdict.to_json() == {
        "verdict": "invalid_arguments",
        "tool_id": ORDERS.tool_id,
        "message": 'the arguments: the required property "customer_id" is missing',
        "path": "",
        "constraint": "required",
    }


def test_a_refusal_names_no_sibling_from_the_original_schema():
    told = tool(
        ORDERS.tool_id,
        ORDERS.description,
        {"type": "object", "properties": {"next": {"enum": ["cancel_order", "none"]}}},
        mentions=("cancel_order",),
    )
    changes = {"entries": (told,), "selected": {"a": (told.tool_id, told.schema_hash)}}
    assert judged(call("a", {"next": 7}), changes).message == "/next: is not one of the allowed values"


def test_the_gate_asks_the_original_schema_and_not_the_served_text():
    told = tool(
        ORDERS.tool_id,
        ORDERS.description,
        {"type": "object", "properties": {"next": {"enum": ["cancel_order"]}}},
        mentions=("cancel_order",),
    )
    changes = {"entries": (told,), "selected": {"a": (told.tool_id, told.schema_hash)}}
    assert judged(call("a", {"next": "cancel_order"}), changes).allowed


ids = st.builds("{}.{}".format, st.sampled_from(NAMESPACES), st.sampled_from(NAMES))


@cases(100, 20_000)
@given(
    deployments(),
    callers,
    revocations,
    st.one_of(
        ids, st.sampled_from(NAMES), st.builds("{}/{}".format, st.sampled_from(NAMESPACES), st.sampled_from(NAMES))
    ),
    st.just({}) | json_values,
    st.booleans(),
    st.floats(0, 60),
)
def test_the_gate_never_allows_what_policy_denies(over, context, revoked, name, arguments, chosen, age):
    entries = over.snapshot.entries
    selected = {f"alias{row}": (entry.tool_id, entry.schema_hash) for row, entry in enumerate(entries)}
    names = [name, *selected] if chosen else [name, *(entry.tool_id for entry in entries)]
    given_facts = GateFacts(
        context=context,
        snapshot=over.snapshot,
        policy=over.policy,
        revocations=revoked,
        now=revoked.as_of + age,
        selected=selected if chosen else None,
        listed=() if chosen else {entry.tool_id for entry in entries},
        ask_before=frozenset(),
        ask_before_reach=frozenset(),
    )
    for proposed in names:
        verdict = judge(ProposedCall(tool=proposed, arguments=arguments), given_facts)
        if not verdict.allowed:
            continue
        entry = over.snapshot.get(verdict.tool_id or "")
        assert entry is not None
        assert decide_tool(entry, over.policy, context, revoked).allowed
        assert age <= 30
        assert isinstance(arguments, dict)


@given(deployments(), callers, revocations, ids)
def test_what_is_denied_reads_like_what_does_not_exist(over, context, revoked, name):
    everything = {entry.tool_id for entry in over.snapshot.entries}
    now = GateFacts(
        context=context,
        snapshot=over.snapshot,
        policy=over.policy,
        revocations=revoked,
        now=revoked.as_of,
        listed=everything,
    )
    entry = over.snapshot.get(name)
    if entry is not None and decide_tool(entry, over.policy, context, revoked).allowed:
        return
    without = replace(now, snapshot=Snapshot.of(2, [one for one in over.snapshot.entries if one.tool_id != name]))
    proposed = ProposedCall(tool=name, arguments={})
    assert judge(proposed, now).to_json() == judge(proposed, without).to_json()
