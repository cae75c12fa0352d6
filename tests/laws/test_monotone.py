"""Law 3: taking a right away never adds a tool; halting and disabling never add one either.

Cedar only takes away, and where `policy check` reports no policy it keeps to the same.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.context import RuntimeContext
from pegboard.core.policy import Switch, decide_tool
from pegboard.core.revocations import NO_REVOCATIONS, Revocations
from pegboard.policy.cedar import Cedar
from pegboard.policy.cedar_monotone import lost_rights
from pegboard.policy.table import RuleTable
from tests.strategies import Deployment, callers, cases, deployments, revocations

RIGHTS = ("scopes", "roles", "servers", "flags")


@pytest.mark.parametrize("kind", RIGHTS)
@cases(30, 3_000)
@given(deployments(), callers, revocations, st.data())
def test_taking_rights_away_never_adds_a_tool(kind: str, deployment: Deployment, caller: RuntimeContext, halts, data):
    table = RuleTable.of(deployment.snapshot, deployment.policy)
    held = sorted(getattr(caller, kind))
    fewer = replace(caller, **{kind: data.draw(st.frozensets(st.sampled_from(held)) if held else st.just(frozenset()))})
    assert not (table.eligible(fewer, halts).mask & ~table.eligible(caller, halts).mask).any()


@given(deployments(), callers, st.integers(-5, 5))
def test_a_lower_clearance_never_adds_a_tool(deployment: Deployment, caller: RuntimeContext, lower: int):
    table = RuleTable.of(deployment.snapshot, deployment.policy)
    high = replace(caller, clearance=5)
    low = replace(caller, clearance=lower)
    assert not (table.eligible(low, NO_REVOCATIONS).mask & ~table.eligible(high, NO_REVOCATIONS).mask).any()


@given(deployments(), callers, revocations, revocations)
def test_halting_more_never_adds_a_tool(deployment: Deployment, caller: RuntimeContext, halts, more):
    table = RuleTable.of(deployment.snapshot, deployment.policy)
    both = Revocations(targets=halts.targets | more.targets)
    assert not (table.eligible(caller, both).mask & ~table.eligible(caller, halts).mask).any()


@given(deployments(), callers, st.data())
def test_locking_less_and_disabling_never_add_a_tool(deployment: Deployment, caller: RuntimeContext, data):
    before = RuleTable.of(deployment.snapshot, deployment.policy).eligible(caller, NO_REVOCATIONS)
    ids = [entry.tool_id for entry in deployment.snapshot.entries]
    chosen = data.draw(st.frozensets(st.sampled_from(ids)))
    off = {**deployment.policy.switches, **{tool: Switch(enabled=False) for tool in chosen}}
    for policy in (
        replace(deployment.policy, lock=deployment.policy.lock.without(chosen)),
        replace(deployment.policy, switches=off),
    ):
        after = RuleTable.of(deployment.snapshot, policy).eligible(caller, NO_REVOCATIONS)
        assert not (after.mask & ~before.mask).any()
        assert not {ids[row] for row in after.rows} & chosen


# Conditions over rights, most of them monotone; policies are made of them by the property below.
RIGHTS_ASKED = (
    'principal in Pegboard::Role::"admin"',
    'principal in [Pegboard::Role::"admin", Pegboard::Role::"support"]',
    'principal.scopes.contains("crm.read")',
    'principal.scopes.containsAll(["crm.read", "crm.admin"])',
    '["crm.read"].containsAll(principal.scopes)',
    "principal.scopes.isEmpty()",
    "principal.servers.contains(resource.server)",
    'context.flags.contains("beta")',
    'resource.server == "crm"',
)
conditions = st.recursive(
    st.sampled_from(RIGHTS_ASKED),
    lambda inner: st.one_of(
        st.builds("!({})".format, inner),
        st.builds("({} && {})".format, inner, inner),
        st.builds("({} || {})".format, inner, inner),
        st.builds("(if {} then {} else {})".format, inner, inner, inner),
    ),
    max_leaves=3,
)
policies = st.lists(
    st.builds(
        '{}(principal, action == Pegboard::Action::"consider", resource) {} {{ {} }};'.format,
        st.sampled_from(["permit", "permit", "forbid"]),
        st.sampled_from(["when", "unless"]),
        conditions,
    ),
    max_size=3,
)


@cases(25, 3_000)
@given(deployments(), callers, revocations, policies)
def test_cedar_only_takes_away_and_agrees_with_the_reference(deployment: Deployment, caller, halts, texts):
    """What Cedar leaves is part of what the attributes let through, whatever the policies say."""
    ruled = replace(deployment.policy, layer=Cedar.of({"drawn.cedar": "\n".join(texts)}))
    attributes = RuleTable.of(deployment.snapshot, deployment.policy).eligible(caller, halts)
    both = RuleTable.of(deployment.snapshot, ruled).eligible(caller, halts)
    assert not (both.mask & ~attributes.mask).any()
    for row, entry in enumerate(deployment.snapshot.entries):
        assert both.reasons(row) == decide_tool(entry, ruled, caller, halts).reasons


@pytest.mark.parametrize("kind", RIGHTS)
@cases(25, 3_000)
@given(deployments(), callers, policies, st.data())
def test_where_no_policy_is_reported_taking_rights_away_never_adds_a_tool(kind, deployment, caller, texts, data):
    layer = Cedar.of({"drawn.cedar": "\n".join(texts)})
    if any(map(lost_rights, layer.policies)):
        return
    table = RuleTable.of(deployment.snapshot, replace(deployment.policy, layer=layer))
    held = sorted(getattr(caller, kind))
    fewer = replace(caller, **{kind: data.draw(st.frozensets(st.sampled_from(held)) if held else st.just(frozenset()))})
    less, more = table.eligible(fewer, NO_REVOCATIONS).mask, table.eligible(caller, NO_REVOCATIONS).mask
    assert not (less & ~more).any()
