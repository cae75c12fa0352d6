"""Law 1: what is missing, unknown or broken is not eligible, and no switch turns the filter off.

Both forms of the decision are held to it: the reference for one tool and the table for a catalog.
"""

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.context import RuntimeContext
from pegboard.core.lock import Lock
from pegboard.core.policy import DIMENSIONS, AccessTemplate, Policy, Switch, decide_tool
from pegboard.core.revocations import NO_REVOCATIONS
from pegboard.policy.table import RuleTable
from tests.strategies import STRONG, Deployment, callers, cases, deployments, forced, revocations


def eligible(deployment: Deployment, caller: RuntimeContext, halts=NO_REVOCATIONS) -> set[str]:
    """Return the ids that are eligible; the two forms must agree."""
    entries = deployment.snapshot.entries
    found = RuleTable.of(deployment.snapshot, deployment.policy).eligible(caller, halts)
    reference = {e.tool_id for e in entries if decide_tool(e, deployment.policy, caller, halts).allowed}
    assert {entries[row].tool_id for row in found.rows} == reference
    return reference


@cases(50, 3_000)
@given(deployments(), callers, revocations)
def test_a_tool_without_its_own_lock_line_is_eligible_for_nobody(deployment: Deployment, caller, halts):
    lock = deployment.policy.lock
    for tool_id in eligible(deployment, caller, halts):
        entry = deployment.snapshot.get(tool_id)
        assert entry is not None
        assert lock.lines[tool_id].hash == entry.schema_hash


@given(deployments())
def test_with_an_empty_lock_the_strongest_caller_gets_nothing(deployment: Deployment):
    """Whatever the templates, dimensions and switches say: none of them grants."""
    bare = replace(deployment, policy=replace(deployment.policy, lock=Lock.of()))
    assert eligible(bare, STRONG) == set()


@given(deployments())
def test_a_caller_of_whom_nothing_is_known_gets_nothing(deployment: Deployment):
    assert eligible(deployment, RuntimeContext()) == set()


@given(deployments())
def test_a_caller_with_no_approved_server_gets_nothing(deployment: Deployment):
    assert eligible(deployment, replace(STRONG, servers=frozenset())) == set()


@cases(50, 3_000)
@given(deployments(), callers, st.sampled_from(["tenant", "environment", "stage", "clearance"]))
def test_a_missing_attribute_is_never_better_than_any_value_of_it(deployment: Deployment, caller, name: str):
    assert eligible(deployment, replace(caller, **{name: None})) <= eligible(deployment, caller)


@pytest.mark.parametrize("field", [field.name for field in fields(AccessTemplate)])
@cases(15, 1_000)
@given(deployment=deployments())
def test_a_used_dimension_that_a_template_does_not_state_denies(field: str, deployment: Deployment):
    silent = {name: replace(each, **{field: None}) for name, each in deployment.policy.templates.items()}
    policy = replace(deployment.policy, templates=silent, used=DIMENSIONS)
    assert eligible(replace(deployment, policy=policy), STRONG) == set()


@given(deployments())
def test_a_template_that_is_not_defined_lets_nobody_in(deployment: Deployment):
    assert eligible(replace(deployment, policy=replace(deployment.policy, templates={})), STRONG) == set()


@cases(50, 3_000)
@given(deployments(), callers, st.data())
def test_values_that_no_rule_knows_add_nothing(deployment: Deployment, caller: RuntimeContext, data: st.DataObject):
    strange = data.draw(st.text(min_size=1).filter(lambda text: "*" not in text).map("strange {}".format))
    wider = replace(
        caller,
        scopes=caller.scopes | {strange},
        roles=caller.roles | {strange},
        flags=caller.flags | {strange},
        servers=caller.servers | {strange},
    )
    assert eligible(deployment, wider) == eligible(deployment, caller)


@pytest.mark.parametrize("broken", [5, "crm.read", ["crm.read"], object()])
@pytest.mark.parametrize("field", [field.name for field in fields(AccessTemplate) if field.name != "minimum_clearance"])
@cases(8, 500)
@given(deployment=deployments())
def test_a_rule_that_breaks_when_asked_denies(broken: Any, field: str, deployment: Deployment):
    with pytest.raises(TypeError):
        AccessTemplate(**{field: broken})
    templates = {name: forced(each, **{field: broken}) for name, each in deployment.policy.templates.items()}
    policy = Policy(lock=deployment.policy.lock, templates=templates, switches={"crm.list": Switch(enabled=True)})
    for entry in deployment.snapshot.entries:
        assert not decide_tool(entry, policy, STRONG, NO_REVOCATIONS).allowed
