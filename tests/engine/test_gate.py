"""The gate: what may run, and that nobody learns from a refusal what they may not know."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import Flow, Reach, Risk
from pegboard.core.lock import Lock
from pegboard.core.policy import Switch, decide_tool
from pegboard.core.revocations import Revocations
from pegboard.core.snapshot import Snapshot
from pegboard.engine import gate
from pegboard.engine.approvals import ApprovalRules, ArgumentRule
from pegboard.engine.facts import CallDecision, GateFacts
from pegboard.engine.flow import FlowAction, FlowRow
from pegboard.engine.gate import STEPS, judge
from pegboard.engine.judged import Judged
from pegboard.engine.ledger import Ended
from pegboard.engine.limits import EMPTY_STANDING, Limits
from pegboard.engine.verdict import Cause, ProposedCall, Verdict, VerdictKind
from tests.crm import AGENT, ENTRIES, line, lock, policy, schema, tool
from tests.engine.made import CANCEL, GOOD, ORDERS, approval, call, facts, past, standing
from tests.strategies import NAMES, NAMESPACES, callers, deployments, revocations

PAYROLL = next(entry for entry in ENTRIES if entry.name == "list_payroll")
CHANGED = tool(ORDERS.tool_id, "List them all.", schema("customer_id", customer_id="Customer number"))
NARROWED = tool(ORDERS.tool_id, ORDERS.description, schema("customer", customer="Customer number"))
SERVED_CHANGED = (CHANGED, *ENTRIES[1:])
SERVED_NARROWED = (NARROWED, *ENTRIES[1:])
FORMER = {ORDERS.schema_hash: ORDERS}
DESTRUCTIVE = policy(lock().granting([line(ORDERS, risk=Risk.DESTRUCTIVE)]))
OPEN = policy(lock().granting([line(ORDERS, risk=Risk.WRITE, reach=Reach.OPEN)]))
SENDS = policy(lock().granting([line(CANCEL, flow=frozenset({Flow.SENDS_OUT}))]))
NOTHING_ASKS = ApprovalRules(risk=frozenset(), reach=frozenset())
WHEN_SEVEN = ApprovalRules(when=(ArgumentRule(tools=("crm.*",), arguments={"order_id": ("7", "8")}),))
CANCEL_7 = call("cancel", {"order_id": "7"})
BOTH = standing(touched={Flow.READS_PRIVATE: "call_1", Flow.INGESTS_UNTRUSTED: "call_2"})
DENY_FLOW = ApprovalRules(flow=(FlowRow(do=FlowAction.DENY),))


def says(allowed: object):
    return lambda *_: allowed


# Each: the call, the facts that differ, what the ledger says, the verdict. Deleting any step changes some row (below).
ROWS: tuple[tuple[ProposedCall, dict[str, Any], Any, str], ...] = (
    (call(), {}, EMPTY_STANDING, "allowed"),
    (call(ORDERS.tool_id), {}, EMPTY_STANDING, "allowed"),
    (call("crm.orders/list_open_orders"), {}, EMPTY_STANDING, "allowed"),
    (call(ORDERS.tool_id), {"selected": None, "listed": {ORDERS.tool_id}}, EMPTY_STANDING, "allowed"),
    (call("crm.orders/list_open_orders"), {"selected": {}, "listed": {ORDERS.tool_id}}, EMPTY_STANDING, "allowed"),
    (call(), {"now": 1_031.0}, EMPTY_STANDING, "unavailable"),
    (call(), {"now": 969.0}, EMPTY_STANDING, "unavailable"),
    (call(), {"now": float("nan")}, EMPTY_STANDING, "unavailable"),
    (call("nothing"), {"now": 1_031.0}, EMPTY_STANDING, "unavailable"),
    (call(), {"now": 1_031.0, "revocations_max_age_s": 60.0}, EMPTY_STANDING, "allowed"),
    (call(), {"selected": None}, EMPTY_STANDING, "unknown_or_denied"),
    (call("list_open_orders"), {}, EMPTY_STANDING, "unknown_or_denied"),
    (call("nothing/at_all"), {}, EMPTY_STANDING, "unknown_or_denied"),
    (call("billing.payments.get_payment"), {}, EMPTY_STANDING, "unknown_or_denied"),
    (call(), {"entries": ENTRIES[1:]}, EMPTY_STANDING, "unknown_or_denied"),
    (call(), {"policy": policy(Lock.of())}, EMPTY_STANDING, "unknown_or_denied"),
    (
        call(),
        {"policy": policy(lock(), {ORDERS.tool_id: Switch(enabled=False)})},
        EMPTY_STANDING,
        "unknown_or_denied",
    ),
    (call(), {"context": replace(AGENT, scopes=frozenset())}, EMPTY_STANDING, "unknown_or_denied"),
    (
        call(),
        {"revocations": Revocations(targets=frozenset({"all"}), as_of=1_000.0)},
        EMPTY_STANDING,
        "unknown_or_denied",
    ),
    (call(PAYROLL.tool_id), {"listed": {entry.tool_id for entry in ENTRIES}}, EMPTY_STANDING, "unknown_or_denied"),
    (call(), {"entries": SERVED_CHANGED}, EMPTY_STANDING, "stale_schema"),
    (call(), {"entries": SERVED_CHANGED, "former": FORMER}, EMPTY_STANDING, "allowed"),
    (call(), {"entries": SERVED_NARROWED, "former": FORMER}, EMPTY_STANDING, "stale_schema"),
    (call(), {"entries": SERVED_CHANGED, "former": {ORDERS.schema_hash: CANCEL}}, EMPTY_STANDING, "stale_schema"),
    (
        call(ORDERS.tool_id),
        {"entries": SERVED_CHANGED, "selected": {}, "listed": {ORDERS.tool_id}},
        EMPTY_STANDING,
        "allowed",
    ),
    (call(arguments={}), {}, EMPTY_STANDING, "invalid_arguments"),
    (call(arguments=None), {}, EMPTY_STANDING, "invalid_arguments"),
    (call(arguments={"customer_id": 7}), {}, EMPTY_STANDING, "invalid_arguments"),
    (call(key=""), {}, EMPTY_STANDING, "invalid_arguments"),
    (call(key="k" * 257), {}, EMPTY_STANDING, "invalid_arguments"),
    (call(conversation="\ud800"), {}, EMPTY_STANDING, "invalid_arguments"),
    (call(approval="\ud800"), {}, EMPTY_STANDING, "invalid_arguments"),
    (call(), {"call_policy": says(CallDecision(allowed=True))}, EMPTY_STANDING, "allowed"),
    (call(), {"call_policy": says(CallDecision(allowed=False, reasons=("p1",)))}, EMPTY_STANDING, "denied"),
    (call(), {"call_policy": says(True)}, EMPTY_STANDING, "denied"),
    (call(), {"call_policy": says(CallDecision(allowed=1))}, EMPTY_STANDING, "denied"),  # type: ignore[arg-type]
    (call(), {"call_policy": lambda *_: 1 / 0}, EMPTY_STANDING, "denied"),
    (call(), {}, None, "unavailable"),
    (call(), {"limits": Limits(reads_without_ledger=True)}, None, "allowed"),
    (call(key="k"), {"limits": Limits(reads_without_ledger=True)}, None, "unavailable"),
    (CANCEL_7, {"limits": Limits(reads_without_ledger=True)}, None, "unavailable"),
    (
        call(),
        {
            "limits": Limits(reads_without_ledger=True),
            "policy": policy(lock().granting([line(ORDERS, flow=frozenset({Flow.SENDS_OUT}))])),
        },
        None,
        "unavailable",
    ),
    (CANCEL_7, {"policy": SENDS}, EMPTY_STANDING, "allowed"),
    (CANCEL_7, {"policy": SENDS}, BOTH, "approval_required"),
    (CANCEL_7, {}, BOTH, "allowed"),
    (CANCEL_7, {"policy": SENDS}, replace(BOTH, granted=(approval("flow"),)), "allowed"),
    (CANCEL_7, {"policy": SENDS}, replace(BOTH, granted=(approval("risk"),)), "approval_required"),
    (CANCEL_7, {"policy": SENDS, "approvals": DENY_FLOW}, BOTH, "denied"),
    (CANCEL_7, {"policy": SENDS, "approvals": DENY_FLOW}, replace(BOTH, granted=(approval("flow"),)), "denied"),
    (
        CANCEL_7,
        {"policy": SENDS, "approvals": ApprovalRules(flow=(FlowRow(do=FlowAction.ALLOW),))},
        BOTH,
        "allowed",
    ),
    (
        replace(CANCEL_7, key="k"),
        {"policy": SENDS, "approvals": DENY_FLOW},
        replace(BOTH, recorded=past(key="k")),
        "allowed",
    ),
    (CANCEL_7, {}, standing(like=past()), "confirm_repeat"),
    (CANCEL_7, {}, standing(like=past(), granted=(approval("repeat"),)), "allowed"),
    (call(), {}, standing(like=past(ORDERS, GOOD)), "allowed"),
    (replace(CANCEL_7, key="k"), {}, standing(like=past()), "allowed"),
    (replace(CANCEL_7, key="k"), {}, standing(recorded=past(key="k")), "allowed"),
    (replace(CANCEL_7, key="k"), {}, standing(recorded=past(key="k", ended=None)), "outcome_unknown"),
    (
        replace(CANCEL_7, key="k"),
        {},
        standing(recorded=past(key="k", ended=Ended.OUTCOME_UNKNOWN)),
        "outcome_unknown",
    ),
    (replace(CANCEL_7, key="k"), {}, standing(recorded=past(arguments={}, key="k")), "invalid_arguments"),
    (replace(CANCEL_7, key="k"), {}, standing(recorded=past(ORDERS, key="k")), "invalid_arguments"),
    (call(), {"limits": Limits(calls_per_minute=2)}, standing(calls=(1, 9)), "allowed"),
    (call(), {"limits": Limits(calls_per_minute=2)}, standing(calls=(2, 2)), "limit_exceeded"),
    (call(), {"limits": Limits(calls_per_day=2)}, standing(calls=(0, 2)), "limit_exceeded"),
    (call(), {"limits": Limits(spend_per_day=1.0), "costs": {ORDERS.tool_id: 0.5}}, standing(), "allowed"),
    (
        call(),
        {"limits": Limits(spend_per_day=1.0), "costs": {ORDERS.tool_id: 0.5}},
        standing(spent=(0.0, 0.6)),
        "limit_exceeded",
    ),
    (
        call(),
        {"policy": DESTRUCTIVE, "limits": Limits(calls_per_minute=0)},
        EMPTY_STANDING,
        "limit_exceeded",
    ),
    (call(), {"policy": DESTRUCTIVE}, EMPTY_STANDING, "approval_required"),
    (
        call(),
        {"policy": DESTRUCTIVE},
        standing(granted=(approval("risk", entry=ORDERS, arguments=GOOD),)),
        "allowed",
    ),
    (call(), {"policy": DESTRUCTIVE, "approvals": NOTHING_ASKS}, EMPTY_STANDING, "allowed"),
    (call(), {"policy": OPEN}, EMPTY_STANDING, "approval_required"),
    (call(), {"policy": OPEN, "approvals": NOTHING_ASKS}, EMPTY_STANDING, "allowed"),
    (call(), {"approvals": ApprovalRules(risk=frozenset(Risk))}, EMPTY_STANDING, "approval_required"),
    (CANCEL_7, {"approvals": WHEN_SEVEN}, EMPTY_STANDING, "approval_required"),
    (call("cancel", {"order_id": "9"}), {"approvals": WHEN_SEVEN}, EMPTY_STANDING, "allowed"),
)


def judged(proposed: ProposedCall, changes: dict[str, Any], ledger: Any = EMPTY_STANDING) -> Verdict:
    return judge(proposed, facts(**changes), ledger)


@pytest.mark.parametrize(("proposed", "changes", "ledger", "kind"), ROWS)
def test_each_step_gives_its_verdict(proposed, changes, ledger, kind):
    verdict = judged(proposed, changes, ledger)
    assert verdict.kind == kind
    assert verdict.allowed is (kind == "allowed" and verdict.recorded is None)


@pytest.mark.parametrize("step", range(len(STEPS)), ids=[name for name, _ in STEPS])
def test_deleting_a_step_changes_a_verdict_and_opens_nothing_that_is_unresolved(step, monkeypatch):
    for part in ("FIRST", "LATER"):
        monkeypatch.setattr(gate, part, tuple(row for row in getattr(gate, part) if row != STEPS[step]))
    kinds = [judged(proposed, changes, ledger).kind for proposed, changes, ledger, _ in ROWS]
    assert kinds != [kind for *_, kind in ROWS]
    if STEPS[step][0] in {"known", "ledger", "allowed"}:
        assert not [verdict for *row, _ in ROWS if (verdict := judged(*row)).allowed]


def test_every_verdict_has_a_row():
    assert {kind for *_, kind in ROWS} == set(VerdictKind)


@pytest.mark.parametrize("part", ["FIRST", "LATER"])
def test_a_step_that_raises_allows_nothing(part, monkeypatch):
    monkeypatch.setattr(gate, part, (("broken", lambda _: 1 / 0), *getattr(gate, part)))
    verdict = judged(call(), {})
    assert verdict.kind == "unavailable"
    assert verdict.internal is not None
    assert verdict.internal.cause is Cause.FAILED


@pytest.mark.parametrize("part", ["entry", "record", "asks"])
def test_a_row_that_reads_what_no_earlier_one_has_found_raises(part):
    with pytest.raises(LookupError):
        getattr(Judged(call=call(), facts=facts()), part)


UNKNOWN: tuple[tuple[ProposedCall, dict[str, Any], Cause], ...] = (
    (call(), {"selected": None}, Cause.NO_SELECTION),
    (call(), {"selected": {}}, Cause.NOT_SELECTED),
    (call(), {"entries": ENTRIES[1:]}, Cause.NOT_IN_CATALOG),
    (call(), {"policy": policy(Lock.of())}, Cause.DENIED),
    (call(), {"context": replace(AGENT, scopes=frozenset())}, Cause.DENIED),
    (call(), {"revocations": Revocations(targets=frozenset({"principal:sam"}), as_of=1_000.0)}, Cause.DENIED),
    (call(arguments={}), {"policy": policy(Lock.of())}, Cause.DENIED),
    (call(key=""), {"policy": policy(Lock.of())}, Cause.DENIED),
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


def test_a_policy_over_arguments_is_given_what_is_sent_and_its_rules_are_for_operators_alone():
    seen = []

    def rules(entry, context, arguments):
        seen.append((entry.tool_id, context.user, arguments))
        return CallDecision(allowed=False, reasons=("no-refunds-at-night",))

    verdict = judged(replace(CANCEL_7, key="k1"), {"call_policy": rules, "key_arguments": {CANCEL.tool_id: "key"}})
    assert seen == [(CANCEL.tool_id, "sam", {"order_id": "7", "key": "k1"})]
    assert verdict.internal is not None
    assert verdict.internal.reasons == ("no-refunds-at-night",)
    assert "night" not in str(verdict.to_json())


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


def test_an_empty_call_is_refused_with_what_is_missing():
    assert judged(call(arguments={}), {}).to_json() == {
        "verdict": "invalid_arguments",
        "tool_id": ORDERS.tool_id,
        "message": 'the arguments: the required property "customer_id" is missing',
        "path": "",
        "constraint": "required",
        "recorded": False,
    }


TOLD = tool(
    ORDERS.tool_id,
    ORDERS.description,
    {"type": "object", "properties": {"next": {"enum": ["cancel_order"]}}},
    mentions=("cancel_order",),
)
OF_TOLD = {"entries": (TOLD,), "selected": {"a": (TOLD.tool_id, TOLD.schema_hash)}}


def test_a_refusal_names_no_sibling_from_the_original_schema():
    assert judged(call("a", {"next": 7}), OF_TOLD).message == "/next: is not one of the allowed values"


def test_the_gate_asks_the_original_schema_and_not_the_served_text():
    assert judged(call("a", {"next": "cancel_order"}), OF_TOLD).allowed


ids = st.builds("{}.{}".format, st.sampled_from(NAMESPACES), st.sampled_from(NAMES))


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
    told = [judge(proposed, facts, EMPTY_STANDING).to_json() for facts in (now, without)]
    assert told[0] == told[1]
