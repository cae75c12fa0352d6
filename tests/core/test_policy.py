"""The reference decision: every fact denies on its own, with its reason, and none can be left out unseen."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core import policy as policy_module
from pegboard.core.catalog import CatalogEntry, declare
from pegboard.core.context import RuntimeContext
from pegboard.core.lock import Lock
from pegboard.core.policy import (
    CHECKS,
    DIMENSIONS,
    AccessRule,
    AccessTemplate,
    Policy,
    Reason,
    Switch,
    access_rule,
    decide,
    decide_tool,
    pinned_stages,
)
from pegboard.core.revocations import NO_REVOCATIONS, Revocations
from tests.strategies import Deployment, callers, contexts, deployments, forced, lock_line, revocations, templates

TEMPLATE = AccessTemplate(
    required_scopes=frozenset({"crm.read"}),
    required_roles=frozenset({"support"}),
    required_flags=frozenset({"beta"}),
    tenants=frozenset({"acme"}),
    environments=frozenset({"production"}),
    allowed_stages=frozenset({"investigation"}),
    minimum_clearance=2,
)
RULE = AccessRule(enabled=True, locked=True, server="crm", template=TEMPLATE)
CALLER = RuntimeContext(
    tenant="acme",
    environment="production",
    stage="investigation",
    scopes=frozenset({"crm.read", "crm.more"}),
    roles=frozenset({"support"}),
    flags=frozenset({"beta"}),
    servers=frozenset({"crm"}),
    clearance=2,
)
NONE: frozenset[str] = frozenset()

# What is wrong with the tool's side, and what with the caller's: one fact each.
RULE_FAULTS: list[tuple[dict[str, Any], Reason]] = [
    ({"enabled": False}, Reason.DISABLED),
    ({"enabled": "yes"}, Reason.DISABLED),
    ({"enabled": 1}, Reason.DISABLED),
    ({"locked": False}, Reason.UNLOCKED),
    ({"server": "crm-admin"}, Reason.SERVER),
    ({"server": "cr"}, Reason.SERVER),
]
TEMPLATE_FAULTS: list[tuple[dict[str, Any], Reason]] = [
    ({"required_scopes": frozenset({"crm.read", "crm.admin"})}, Reason.SCOPE),
    ({"required_scopes": frozenset({"*"})}, Reason.SCOPE),
    ({"required_roles": frozenset({"admin"})}, Reason.ROLE),
    ({"required_flags": frozenset({"beta", "gamma"})}, Reason.FLAG),
    ({"tenants": frozenset({"globex"})}, Reason.TENANT),
    ({"tenants": NONE}, Reason.TENANT),
    ({"environments": frozenset({"staging"})}, Reason.ENVIRONMENT),
    ({"allowed_stages": frozenset({"investigation "})}, Reason.STAGE),
    ({"minimum_clearance": 3}, Reason.CLEARANCE),
    ({"required_scopes": None}, Reason.SCOPE),
    ({"required_roles": None}, Reason.ROLE),
    ({"required_flags": None}, Reason.FLAG),
    ({"tenants": None}, Reason.TENANT),
    ({"environments": None}, Reason.ENVIRONMENT),
    ({"allowed_stages": None}, Reason.STAGE),
    ({"minimum_clearance": None}, Reason.CLEARANCE),
    # A rule that breaks while it is asked.
    ({"required_scopes": 5}, Reason.SCOPE),
    ({"tenants": 5}, Reason.TENANT),
    ({"tenants": "acme"}, Reason.TENANT),
    ({"environments": ["production"]}, Reason.ENVIRONMENT),
    ({"allowed_stages": "investigation, resolution"}, Reason.STAGE),
    ({"minimum_clearance": "2"}, Reason.CLEARANCE),
]
CALLER_FAULTS: list[tuple[dict[str, Any], Reason]] = [
    ({"servers": NONE}, Reason.SERVER),
    ({"servers": frozenset({"*", "crm-admin"})}, Reason.SERVER),
    ({"scopes": NONE}, Reason.SCOPE),
    ({"scopes": frozenset({"*", "crm", "CRM.READ"})}, Reason.SCOPE),
    ({"roles": frozenset({"*"})}, Reason.ROLE),
    ({"flags": NONE}, Reason.FLAG),
    ({"tenant": None}, Reason.TENANT),
    ({"tenant": "*"}, Reason.TENANT),
    ({"environment": None}, Reason.ENVIRONMENT),
    ({"environment": ""}, Reason.ENVIRONMENT),
    ({"stage": "*"}, Reason.STAGE),
    ({"stage": "investigatio"}, Reason.STAGE),
    ({"clearance": None}, Reason.CLEARANCE),
    ({"clearance": 1}, Reason.CLEARANCE),
]
FAULTS = [
    *((replace(RULE, **change), CALLER, reason) for change, reason in RULE_FAULTS),
    *((replace(RULE, template=forced(TEMPLATE, **change)), CALLER, reason) for change, reason in TEMPLATE_FAULTS),
    *((RULE, replace(CALLER, **change), reason) for change, reason in CALLER_FAULTS),
    *(
        (
            replace(RULE, template=replace(TEMPLATE, **{listed: frozenset({"*"})})),
            replace(CALLER, **{said: value}),
            reason,
        )
        for listed, said, reason in (
            ("tenants", "tenant", Reason.TENANT),
            ("environments", "environment", Reason.ENVIRONMENT),
            ("allowed_stages", "stage", Reason.STAGE),
        )
        for value in (None, "")
    ),
]


def test_a_caller_who_meets_every_fact_is_admitted():
    assert decide(RULE, CALLER).reasons == ()
    assert decide(RULE, CALLER).allowed


@pytest.mark.parametrize(("rule", "caller", "reason"), FAULTS)
def test_one_failing_fact_denies_with_its_reason(rule: AccessRule, caller: RuntimeContext, reason: Reason):
    assert decide(rule, caller).reasons == (reason,)
    assert not decide(rule, caller).allowed


@pytest.mark.parametrize("place", range(len(CHECKS)), ids=[str(reason) for reason, _ in CHECKS])
def test_no_check_can_be_taken_out_unseen(place: int, monkeypatch: pytest.MonkeyPatch):
    """Each row is the only one that denies some case above; without it that case would be admitted."""
    reason, _ = CHECKS[place]
    monkeypatch.setattr(policy_module, "CHECKS", CHECKS[:place] + CHECKS[place + 1 :])
    denied_by_it = [(rule, caller) for rule, caller, why in FAULTS if why is reason]
    assert denied_by_it
    assert all(decide(rule, caller).allowed for rule, caller in denied_by_it)


def test_every_reason_of_the_attribute_table_has_one_check_and_every_dimension_is_asked():
    assert [reason for reason, _ in CHECKS] == [
        reason for reason in Reason if reason not in {Reason.REVOKED, Reason.CEDAR}
    ]
    assert {reason for _, _, reason in FAULTS} == {reason for reason, _ in CHECKS}
    assert {reason for reason, _ in CHECKS} >= DIMENSIONS


@pytest.mark.parametrize("answer", [None, 1, "true", [True], NotImplemented])
def test_a_check_that_answers_anything_but_true_denies(answer: object, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(policy_module, "CHECKS", ((Reason.ROLE, lambda rule, context: answer),))
    assert decide(RULE, CALLER).reasons == (Reason.ROLE,)


def test_a_check_that_raises_denies(monkeypatch: pytest.MonkeyPatch):
    def broken(rule: AccessRule, context: RuntimeContext) -> bool:
        raise KeyError("unheard of")

    monkeypatch.setattr(policy_module, "CHECKS", ((Reason.ROLE, broken),))
    assert decide(RULE, CALLER).reasons == (Reason.ROLE,)


@pytest.mark.parametrize("dimension", sorted(DIMENSIONS))
def test_a_dimension_that_is_not_used_is_not_asked(dimension: Reason):
    unused = replace(RULE, template=AccessTemplate(), used=DIMENSIONS - {dimension})
    assert decide(unused, RuntimeContext(servers=CALLER.servers)).reasons == tuple(
        reason for reason in Reason if reason in DIMENSIONS and reason is not dimension
    )


@given(templates, contexts)
def test_the_star_is_a_template_s_word_and_never_a_caller_s(template: AccessTemplate, caller: RuntimeContext):
    """A caller whose stage, tenant or environment is "*" gets what a caller with an unknown one gets."""
    stars = replace(caller, stage="*", tenant="*", environment="*")
    unknown = replace(caller, stage="never heard", tenant="never heard", environment="never heard")
    rule = replace(RULE, template=template)
    assert decide(rule, stars) == decide(rule, unknown)


ENTRY = declare(tool_id="crm.list", namespace="crm.orders", source_server="crm", name="list")
LOCKED = Policy(lock=Lock.of([lock_line(ENTRY, "crm-read")]), templates={"crm-read": TEMPLATE})


@pytest.mark.parametrize(
    ("policy", "reasons"),
    [
        (LOCKED, ()),
        (replace(LOCKED, lock=Lock.of()), (Reason.UNLOCKED,)),
        (replace(LOCKED, lock=Lock.of([lock_line(ENTRY, "crm-read", hash="sha256:" + "0" * 64)])), (Reason.UNLOCKED,)),
        (replace(LOCKED, lock=Lock.of([lock_line(ENTRY, "crm-read", tool="crm.lis")])), (Reason.UNLOCKED,)),
        (replace(LOCKED, templates={}), (Reason.UNLOCKED,)),
        (replace(LOCKED, switches={"crm.list": Switch(enabled=False)}), (Reason.DISABLED,)),
        (replace(LOCKED, switches={"crm.list": Switch()}), ()),
        (replace(LOCKED, switches={"crm.other": Switch(enabled=False)}), ()),
    ],
)
def test_a_tool_is_let_in_by_its_own_lock_line_alone(policy: Policy, reasons: tuple[Reason, ...]):
    """With no dimension used, nothing stands between a caller and an unlocked tool but the lock."""
    bare = replace(policy, used=frozenset())
    assert decide_tool(ENTRY, bare, CALLER, NO_REVOCATIONS).reasons == reasons


def test_a_template_that_does_not_exist_denies_in_every_used_dimension_too():
    reasons = decide_tool(ENTRY, replace(LOCKED, templates={}), CALLER, NO_REVOCATIONS).reasons
    assert set(reasons) == {Reason.UNLOCKED, *DIMENSIONS}


def test_the_operators_switch_turns_a_disabled_tool_on():
    entry = declare(tool_id="crm.list", namespace="crm", source_server="crm", name="list", enabled=False)
    on = replace(LOCKED, switches={"crm.list": Switch(enabled=True)})
    assert decide_tool(entry, LOCKED, CALLER, NO_REVOCATIONS).reasons == (Reason.DISABLED,)
    assert decide_tool(entry, on, CALLER, NO_REVOCATIONS).allowed


@pytest.mark.parametrize(
    ("pinned", "switch", "left"),
    [((), None, False), (("*",), None, False), ((), ("*",), True), (("*",), (), False), (("*",), ("reply",), False)],
)
def test_halting_all_leaves_what_the_configuration_pins_always_and_not_what_a_catalog_does(pinned, switch, left: bool):
    entry = declare(tool_id="crm.list", namespace="crm", source_server="crm", name="list", pinned=pinned)
    policy = replace(LOCKED, switches={} if switch is None else {"crm.list": Switch(pinned=switch)})
    everything = Revocations(targets=frozenset({"all"}))
    assert decide_tool(entry, policy, CALLER, everything).allowed is left
    assert pinned_stages(entry, policy) == (pinned if switch is None else switch)


@given(deployments(), callers, revocations)
def test_revocation_adds_its_reason_and_takes_none_away(deployment: Deployment, caller: RuntimeContext, halts):
    for entry in deployment.snapshot.entries:
        without = decide_tool(entry, deployment.policy, caller, NO_REVOCATIONS).reasons
        found = decide_tool(entry, deployment.policy, caller, halts).reasons
        assert set(found) - {Reason.REVOKED} == set(without)
        assert list(found) == [reason for reason in Reason if reason in found]


def test_every_part_of_a_policy_is_in_its_version():
    versions = {
        policy.version
        for policy in (
            LOCKED,
            replace(LOCKED, lock=Lock.of()),
            replace(LOCKED, templates={"crm-read": replace(TEMPLATE, minimum_clearance=1)}),
            replace(LOCKED, templates={"crm-read": replace(TEMPLATE, minimum_clearance=None)}),
            replace(LOCKED, used=frozenset({Reason.SCOPE})),
            replace(LOCKED, switches={"crm.list": Switch(enabled=True)}),
            replace(LOCKED, switches={"crm.list": Switch(pinned=())}),
        )
    }
    assert len(versions) == 7
    assert replace(LOCKED, templates=dict(LOCKED.templates)).version == LOCKED.version


@given(st.data(), deployments())
def test_equal_rules_are_equal_values_whatever_tool_they_came_from(data, deployment: Deployment):
    found: list[CatalogEntry] = list(deployment.snapshot.entries)
    rules = [access_rule(entry, deployment.policy) for entry in found]
    assert len(set(rules)) <= len(found)
    assert all(rule.used == deployment.policy.used for rule in rules)
