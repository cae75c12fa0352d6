"""Law 3: taking a right away never adds a tool; halting and disabling never add one either."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.context import RuntimeContext
from pegboard.core.policy import Switch
from pegboard.core.revocations import NO_REVOCATIONS, Revocations
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
