"""Policies as they are written: each names its action and has an id; what could not work is refused, each by a rule."""

import pytest

from pegboard.policy.cedar_check import check
from pegboard.policy.cedar_model import uids_of
from pegboard.policy.cedar_monotone import lost_rights
from pegboard.policy.cedar_policies import may_be_for, policies_of
from tests.crm import ENTRIES
from tests.policy.made import BY_ID, CALLS, CONSIDERS, EVERYTHING, made, refund

# A policy and how its problem begins.
BROKEN = (
    ("permit(principal, action, resource)", "it cannot be read"),
    ("permit(principal, action, resource);", "it names no action"),
    ('permit(principal, action == Pegboard::Action::"list", resource);', "it names no action"),
    ('permit(principal, action == Action::"call", resource);', "it names no action"),
    ("permit(principal, action in [], resource);", "it names no action"),
    (f"permit(principal == ?principal, {CALLS}, resource);", "it is a template"),
    (f'@id("two words") permit(principal, {CALLS}, resource);', "its @id is not one word"),
    (f'@id("a") permit(principal, {CALLS}, resource);' * 2, "another policy has the same id"),
    (f'@log_only("no") permit(principal, {CALLS}, resource);', "write @log_only without a value"),
    (f"permit(principal, {CONSIDERS}, resource) when {{ context.input has x }};", "it is for `consider` and looks"),
    (f"permit(principal, {CONSIDERS}, resource) when {{ context has input }};", "it is for `consider` and looks"),
    (f"permit(principal, {CONSIDERS}, resource) when {{ context == {{}} }};", "it is for `consider` and looks"),
    (f'permit(principal, {CALLS}, resource) when {{ principal.scope.contains("x") }};', "attribute `scope`"),
    (f'permit(principal, {CALLS}, resource) when {{ context.stage == "x" }};', "unable to guarantee safety"),
    (f'permit(principal, {CALLS}, resource) when {{ resource.risk.contains("x") }};', "unexpected type"),
    (f'permit(principal, {CALLS}, resource == Tool::"x");', "unrecognized entity type"),
    (f'permit(principal in Pegboard::Team::"x", {CALLS}, resource);', "unrecognized entity type"),
)


@pytest.mark.parametrize(("text", "problem"), BROKEN)
def test_what_could_not_work_is_told(text: str, problem: str):
    _, problems = policies_of({"a.cedar": text})
    assert problems
    assert problems[0].problem.startswith(problem)
    assert problems[0].file == "a.cedar"


def test_every_problem_of_every_file_is_told_at_once():
    _, problems = policies_of({"b": BROKEN[0][0], "a": BROKEN[1][0] + BROKEN[6][0]})
    assert [(one.file, one.policy) for one in problems] == [("b", None), ("a", "a#1"), ("a", "two words")]


def test_a_policy_is_named_by_its_id_or_by_its_place():
    policies, problems = policies_of({"b.cedar": EVERYTHING, "a.cedar": f'@id("x") {EVERYTHING}'})
    assert not problems
    assert [policy.id for policy in policies] == ["x", "a.cedar#2", "b.cedar#1", "b.cedar#2"]


def test_policies_stand_in_the_order_of_their_file_and_a_files_name_may_be_any():
    policies, problems = policies_of({"my rules.cedar": EVERYTHING * 6})
    assert not problems
    assert [policy.id for policy in policies] == [f"my rules.cedar#{number}" for number in range(1, 13)]


def test_one_policy_may_be_for_both_actions():
    both = 'permit(principal, action in [Pegboard::Action::"consider", Pegboard::Action::"call"], resource);'
    assert made(both).policies[0].actions == {"consider", "call"}


ROLE, ORG = 'principal in Pegboard::Role::"a"', 'principal in Pegboard::Org::"a"'
SCOPE = 'principal.scopes.contains("a")'
# A condition, and the rights by whose loss it may come to hold, and may cease to hold.
WAYS = (
    (SCOPE, (), ("scopes",)),
    (f"!{SCOPE}", ("scopes",), ()),
    (f"!(!{SCOPE})", (), ("scopes",)),
    (f"{SCOPE} && {ROLE}", (), ("roles", "scopes")),
    (f"{SCOPE} || !({ROLE})", ("roles",), ("scopes",)),
    (f"if {SCOPE} then {ROLE} else true", ("scopes",), ("roles", "scopes")),
    (f"if true then !({ROLE}) else {SCOPE}", ("roles",), ("scopes",)),
    ('principal.scopes.containsAll(["a"])', (), ("scopes",)),
    ('["a"].containsAll(principal.scopes)', ("scopes",), ()),
    ('["a"].containsAny(principal.scopes)', (), ("scopes",)),
    ("principal.servers.containsAny(principal.scopes)", ("scopes", "servers"), ("scopes", "servers")),
    ("principal.scopes.isEmpty()", ("scopes",), ()),
    ('principal.scopes == ["a"]', ("scopes",), ("scopes",)),
    ("principal.servers.contains(resource.server)", (), ("servers",)),
    ('principal.approved_namespaces.contains("a")', (), ("approved namespaces",)),
    ("principal has clearance", (), ("clearance",)),
    ("principal has clearance && principal.clearance >= 2", (), ("clearance",)),
    ("principal has clearance && principal.clearance > 2", (), ("clearance",)),
    ("principal has clearance && 2 < principal.clearance", (), ("clearance",)),
    ("principal has clearance && principal.clearance < 2", ("clearance",), ("clearance",)),
    ("principal has clearance && 2 <= principal.clearance", (), ("clearance",)),
    ("principal has clearance && principal.clearance + 1 > 2", ("clearance",), ("clearance",)),
    ('context.flags.contains("a")', (), ("flags",)),
    (f"(if {SCOPE} then 1 else 2) > 1", ("scopes",), ("scopes",)),
    (ROLE, (), ("roles",)),
    ('principal in [Pegboard::Role::"a", Pegboard::Role::"b"]', (), ("roles",)),
    ('principal is Pegboard::User in Pegboard::Role::"a"', (), ("roles",)),
    (
        'principal in (if resource.risk == "read" then Pegboard::Role::"a" else Pegboard::Role::"b")',
        ("roles",),
        ("roles",),
    ),
    (ORG, (), ()),
    ('principal == Pegboard::User::"a"', (), ()),
    ('resource.risk == "read"', (), ()),
)


@pytest.mark.parametrize(("condition", "rises", "falls"), WAYS)
def test_a_policy_that_may_give_more_for_fewer_rights_is_known(condition: str, rises: tuple, falls: tuple):
    def lost(effect: str, clause: str) -> tuple[str, ...]:
        (policy,) = made(f"{effect}(principal, {CONSIDERS}, resource) {clause} {{ {condition} }};").policies
        return lost_rights(policy)

    assert lost("permit", "when") == lost("forbid", "unless") == rises
    assert lost("permit", "unless") == lost("forbid", "when") == falls


@pytest.mark.parametrize(("effect", "rights"), [("permit", ()), ("forbid", ("roles",))])
def test_a_scope_that_names_a_role_asks_for_it(effect: str, rights: tuple[str, ...]):
    (policy,) = made(f'{effect}(principal in Pegboard::Role::"a", {CONSIDERS}, resource);').policies
    assert lost_rights(policy) == rights


def test_a_policy_over_arguments_is_checked_against_every_tool_that_it_may_be_for():
    amount = refund(amount={"type": "integer"})
    text = f'@id("big") forbid(principal, {CALLS}, resource in Pegboard::Namespace::"billing") when {{ X }};'

    def problems(condition: str) -> list[str]:
        return [one.problem for one in check({"a": text.replace("X", condition)}, [*ENTRIES, amount]).problems]

    assert problems("context.input has amount && context.input.amount == context.input.amount") == []
    (unguarded,) = problems('context.input.month == "x"')
    assert unguarded.startswith("for billing.payments.get_payment and 3 more tools: attribute `input.month`")
    (mistyped,) = problems("context.input has amount && context.input.amount > 5")
    assert mistyped == "for billing.refunds.create_refund: unexpected type: expected Long but saw String"


def test_what_is_named_and_not_in_the_catalog_is_noted():
    named = ('resource == Pegboard::Tool::"crm.orders.cancel"', 'resource in Pegboard::Namespace::"crm"')
    text = "".join(f"permit(principal, {CONSIDERS}, {scope});" for scope in named)
    report = check({"a": text}, ENTRIES)
    assert [(one.policy, one.problem) for one in report.notes] == [
        ("a#1", 'there is no Pegboard::Tool::"crm.orders.cancel" in the catalog')
    ]
    assert report.problems == ()


def test_a_scope_takes_a_tool_by_itself_and_by_what_it_is_in():
    tool = uids_of(BY_ID["billing.refunds.create_refund"])
    taken = {
        scope: may_be_for(made(f"permit(principal, {CALLS}, {scope});").policies[0].node.resource, tool)
        for scope in (
            "resource",
            'resource == Pegboard::Tool::"billing.refunds.create_refund"',
            'resource in Pegboard::Namespace::"billing"',
            'resource in Pegboard::Server::"billing"',
            'resource in Pegboard::Server::"crm"',
            'resource == Pegboard::Tool::"crm.orders.cancel_order"',
        )
    }
    assert list(taken.values()) == [True, True, True, True, False, False]
