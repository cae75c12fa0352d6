"""The second layer: default deny, forbid wins, whatever errs denies; log-only policies change nothing."""

import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import Flow, Reach, Risk
from pegboard.core.context import RuntimeContext
from pegboard.core.errors import ConfigError
from pegboard.core.layer import Ruling
from pegboard.core.policy import Reason, decide_tool
from pegboard.core.revocations import NO_REVOCATIONS
from pegboard.core.snapshot import Snapshot
from pegboard.engine.records import policy_of, policy_record
from pegboard.gateway.listing import at_any_stage
from pegboard.policy.cedar import NO_PRINCIPAL, UNREADABLE_ARGUMENTS, Cedar
from pegboard.policy.layers import check_policies, layer_of
from pegboard.policy.table import RuleTable
from tests.crm import AGENT, CASHIER, ENTRIES, line, lock, policy
from tests.policy.made import BY_ID, CALLS, CONSIDERS, EVERYTHING, SAM, calls, considers, made, refund
from tests.strategies import callers, cases, deployments

CANCEL, REFUND = "crm.orders.cancel_order", "billing.refunds.create_refund"
BILLING = {tool for tool in BY_ID if tool.startswith("billing.")}


@pytest.mark.parametrize("text", ["", "// nothing yet\n", f"permit(principal, {CALLS}, resource);"])
def test_with_a_file_nothing_is_permitted_that_no_policy_permits(text: str):
    assert considers(made(text)) == set()
    assert not calls(made(f"permit(principal, {CONSIDERS}, resource);"), {"payment_id": "p"}).allowed


# What a policy can ask of the tool, of the caller and of the work; all of SAM and of the refund is as it should be.
CONDITIONS = (
    ('resource == Pegboard::Tool::"billing.refunds.create_refund"', {REFUND}),
    ('resource in Pegboard::Namespace::"billing"', BILLING),
    ('resource in Pegboard::Namespace::"bill"', set()),
    ('resource in Pegboard::Server::"billing"', BILLING),
    ('resource.id like "*_refund"', {REFUND}),
    ('resource.namespace == "billing.refunds"', {REFUND}),
    ('resource.server == "billing"', BILLING),
    ('resource.access == "money"', BILLING),
    ('resource.risk == "read" && resource.server == "billing"', {"billing.payments.get_payment"}),
    ('resource.reach == "open"', set()),
    ('resource.flow.contains("sends_out")', set()),
    ('principal == Pegboard::User::"sam"', set(BY_ID)),
    ('principal == Pegboard::Workload::"sam"', set()),
    ('principal in Pegboard::Role::"support"', set(BY_ID)),
    ('principal in Pegboard::Role::"boss"', set()),
    ('principal in Pegboard::Org::"acme"', set(BY_ID)),
    ('principal in Pegboard::Org::"globex"', set()),
    ('principal.scopes.containsAll(["crm", "money"])', set(BY_ID)),
    ('principal.servers.contains("people")', set()),
    ('principal has user && principal.user == "sam"', set(BY_ID)),
    ('principal has tenant && principal.tenant == "acme"', set(BY_ID)),
    ("principal has workload", set()),
    ("principal has clearance", set()),
    ('principal.delegation.contains("sam")', set()),
    ("principal.approved_namespaces.isEmpty()", set(BY_ID)),
    ('context has stage && context.stage == "reply_draft"', set(BY_ID)),
    ('context has environment && context.environment == "staging"', set()),
    ('context.flags.contains("beta")', set(BY_ID)),
)


@pytest.mark.parametrize(("condition", "tools"), CONDITIONS)
def test_a_policy_can_ask_who_what_and_on_which_facts(condition: str, tools: set[str]):
    assert considers(made(f"permit(principal, {CONSIDERS}, resource) when {{ {condition} }};")) == tools
    forbidding = made(EVERYTHING, f"forbid(principal, {CONSIDERS}, resource) when {{ {condition} }};")
    assert considers(forbidding) == set(BY_ID) - tools


def test_the_lock_says_what_a_tool_is():
    asks = 'resource.risk == "write" && resource.reach == "open" && resource.flow.contains("sends_out")'
    layer = made(f"permit(principal, {CONSIDERS}, resource) when {{ {asks} }};")
    said = {"risk": Risk.WRITE, "reach": Reach.OPEN, "flow": frozenset({Flow.SENDS_OUT})}
    assert considers(layer, **said) == set(BY_ID)
    others = {"risk": Risk.DESTRUCTIVE, "reach": Reach.BOUNDED, "flow": frozenset[Flow]()}
    for part, other in others.items():
        assert considers(layer, **{**said, part: other}) == set()


def test_a_workload_is_the_principal_where_no_user_is_known():
    layer = made(f'permit(principal == Pegboard::Workload::"bot", {CONSIDERS}, resource);')
    assert considers(layer, replace(SAM, user=None, workload="bot")) == set(BY_ID)
    assert considers(layer, replace(SAM, workload="bot")) == set()


def test_a_caller_of_whom_neither_user_nor_workload_is_known_gets_nothing():
    nobody = replace(SAM, user=None)
    assert considers(made(EVERYTHING), nobody) == set()
    assert calls(made(EVERYTHING), {}, context=nobody) == Ruling(False, (NO_PRINCIPAL,))


def test_a_clearance_beyond_cedars_numbers_is_not_there():
    high = made(f"permit(principal, {CONSIDERS}, resource) when {{ principal has clearance }};")
    assert considers(high, replace(SAM, clearance=2**63 - 1)) == set(BY_ID)
    assert considers(high, replace(SAM, clearance=2**63)) == set()


@pytest.mark.parametrize("effect", ["permit", "forbid"])
def test_a_policy_that_errs_denies(effect: str):
    """Cedar itself skips a forbid that errs: an overflow, for example, which no type-check finds."""
    overflow = f"{effect}(principal, {CALLS}, resource) when {{ context.input.n + 9223372036854775807 > 0 }};"
    entry = refund(n={"type": "integer"})
    assert calls(made(EVERYTHING), {"n": 1}, entry).allowed
    ruling = calls(made(EVERYTHING, f'@id("sum") {overflow}'), {"n": 1}, entry)
    assert not ruling.allowed
    assert "sum" in ruling.rules


def test_the_rules_are_the_ids_that_decided():
    layer = made(
        f'@id("all") permit(principal, {CALLS}, resource);',
        f'@id("big") forbid(principal, {CALLS}, resource) when {{ context.input.amount == "9" }};',
        f'forbid(principal, {CALLS}, resource) when {{ context.input.amount == "9" }};',
    )
    assert calls(layer, {"payment_id": "p", "amount": "1"}) == Ruling(True, ("all",))
    assert calls(layer, {"payment_id": "p", "amount": "9"}) == Ruling(False, ("big", "crm.cedar#3"))


WATCH = f'@id("watch") @log_only forbid(principal, {CONSIDERS}, resource in Pegboard::Namespace::"billing");'
OPEN = f'@id("open") @log_only permit(principal, {CONSIDERS}, resource in Pegboard::Namespace::"billing");'


def test_a_log_only_policy_changes_nothing_and_is_noted():
    layer = made(EVERYTHING, WATCH)
    assert considers(layer) == set(BY_ID)
    (ruling,) = layer.consider([(BY_ID[REFUND], line(BY_ID[REFUND]))], SAM)
    assert ruling == Ruling(True, ("crm.cedar#1",), ("watch",))
    only = made(OPEN)
    assert considers(only) == set()
    (ruling,) = only.consider([(BY_ID[REFUND], line(BY_ID[REFUND]))], SAM)
    assert ruling == Ruling(False, (), ("open",))


def test_a_log_only_policy_that_agrees_is_not_noted():
    layer = made(EVERYTHING, OPEN)
    assert {ruling.noted for ruling in layer.consider([(one, line(one)) for one in ENTRIES], SAM)} == {()}


def test_a_log_only_policy_over_arguments_changes_nothing_and_is_noted():
    guarded = "context.input has amount && context.input.amount > 5"
    watch = f'@id("big") @log_only forbid(principal, {CALLS}, resource) when {{ {guarded} }};'
    layer = made(EVERYTHING, watch)
    entry = refund(amount={"type": "integer"})
    assert calls(layer, {"amount": 5}, entry) == Ruling(True, ("crm.cedar#2",))
    assert calls(layer, {"amount": 6}, entry) == Ruling(True, ("crm.cedar#2",), ("big",))
    assert calls(layer, {"amount": None}, entry) == Ruling(True, ("crm.cedar#2",), ("big",))


def test_what_was_left_out_of_the_arguments_denies_where_a_policy_would_have_looked():
    guarded = "context.input has amount && context.input.amount > 5"
    layer = made(EVERYTHING, f'@id("big") forbid(principal, {CALLS}, resource) when {{ {guarded} }};')
    entry = refund(amount={"type": "integer"}, note={})
    assert calls(layer, {"amount": 5, "note": None}, entry).allowed
    assert calls(layer, {}, entry).allowed
    for value in (None, "5", 2**63, [5]):
        assert calls(layer, {"amount": value}, entry) == Ruling(False, (UNREADABLE_ARGUMENTS, "big"))
    undeclared = refund(note={"type": "string"})
    assert not calls(layer, {"amount": 5}, undeclared).allowed


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        ('resource in Pegboard::Namespace::"crm"', True),
        ('resource == Pegboard::Tool::"billing.refunds.refund"', False),
        ('resource in Pegboard::Server::"billing"', False),
        ('resource is Pegboard::Tool in Pegboard::Namespace::"billing"', False),
        ('resource is Pegboard::Tool in Pegboard::Namespace::"crm"', True),
        ("resource is Pegboard::Tool", False),
    ],
)
def test_a_policy_for_other_tools_does_not_mind_what_was_left_out(scope: str, allowed: bool):
    guarded = "context.input has amount && context.input.amount > 5"
    layer = made(EVERYTHING, f"forbid(principal, {CALLS}, {scope}) when {{ {guarded} }};")
    assert calls(layer, {"amount": None}, refund(amount={"type": "integer"})).allowed is allowed


@pytest.mark.parametrize(("role", "allowed"), [("support", False), ("boss", True)])
def test_a_policy_for_other_callers_does_not_mind_what_was_left_out(role: str, allowed: bool):
    guarded = "context.input has amount && context.input.amount > 5"
    scope = f'principal in Pegboard::Role::"{role}"'
    layer = made(EVERYTHING, f"forbid({scope}, {CALLS}, resource) when {{ {guarded} }};")
    assert calls(layer, {"amount": None}, refund(amount={"type": "integer"})).allowed is allowed


@pytest.mark.parametrize(
    "whole", ['context.input == {"n": 1}', '{"n": 1} == context.input', "[context].contains(context)"]
)
def test_a_policy_that_looks_at_all_arguments_minds_every_one_that_was_left_out(whole: str):
    layer = made(f"permit(principal, {CALLS}, resource) when {{ {whole} }};")
    entry = refund(n={"type": "integer"})
    assert calls(layer, {"n": 1}, entry).allowed
    assert not calls(layer, {"n": 1, "force": True}, entry).allowed


def test_the_table_asks_the_layer_of_what_the_attributes_let_through_and_agrees_with_the_reference():
    layer = made(EVERYTHING, f'@id("no") forbid(principal, {CONSIDERS}, resource == Pegboard::Tool::"{CANCEL}");')
    rules = replace(policy(lock()), layer=layer)
    snapshot = Snapshot.of(1, ENTRIES)
    found = RuleTable.of(snapshot, rules).eligible(AGENT, NO_REVOCATIONS)
    for row, entry in enumerate(snapshot.entries):
        assert decide_tool(entry, rules, AGENT, NO_REVOCATIONS).reasons == found.reasons(row)
    assert found.removed_by()[Reason.CEDAR] == 1
    assert decide_tool(BY_ID[CANCEL], rules, AGENT, NO_REVOCATIONS).rules == ("no",)


KEYED = st.lists(
    st.builds(
        "{}(principal, {}, resource) when {{ {} }};".format,
        st.sampled_from(["permit", "permit", "forbid"]),
        st.just(CONSIDERS),
        st.sampled_from(
            [
                *(condition for condition, _ in CONDITIONS),
                'resource.id like "crm.orders*"',
                'resource == Pegboard::Tool::"crm.orders.list"',
                'resource in Pegboard::Namespace::"crm.orders"',
                'resource in Pegboard::Server::"crm-admin"',
                'principal == Pegboard::User::"dana"',
                'principal in Pegboard::Role::"admin"',
                'principal in Pegboard::Org::"globex"',
                'principal.scopes.contains("crm.read")',
                "principal has clearance && principal.clearance > 1",
                'context has stage && context.stage == "resolution"',
                "principal is Pegboard::Workload",
            ]
        ),
    ),
    min_size=1,
    max_size=4,
)


@cases(30, 5_000)
@given(deployments(), st.lists(callers, min_size=2, max_size=4), KEYED)
def test_what_is_remembered_of_one_caller_and_tool_is_true_of_the_next(deployment, asking, texts):
    """One table, asked for several callers in turn, says of every tool what the reference says of that tool alone."""
    rules = replace(deployment.policy, layer=made(*texts))
    table = RuleTable.of(deployment.snapshot, rules)
    for caller in [*asking, *asking]:
        found = table.eligible(caller, NO_REVOCATIONS)
        for row, entry in enumerate(deployment.snapshot.entries):
            assert found.reasons(row) == decide_tool(entry, rules, caller, NO_REVOCATIONS).reasons


@pytest.mark.parametrize(
    ("condition", "other"),
    [
        ('context has stage && context.stage == "reply_draft"', {"stage": "done"}),
        ('context has stage && context.stage == "reply_draft"', {"stage": None}),
        ('context.flags.contains("beta")', {"flags": frozenset()}),
        ('principal in Pegboard::Role::"support"', {"roles": frozenset({"boss"})}),
        ('principal.scopes.contains("money")', {"scopes": frozenset({"crm"})}),
        ('principal == Pegboard::User::"sam"', {"user": "dana"}),
        ("principal is Pegboard::User", {"user": None, "workload": "sam"}),
        ("!(principal has workload)", {"workload": "bot"}),
    ],
)
def test_callers_that_a_policy_tells_apart_are_of_two_kinds(condition: str, other: dict[str, object]):
    layer = made(f"permit(principal, {CONSIDERS}, resource) when {{ {condition} }};")
    assert layer.caller_key(SAM) != layer.caller_key(replace(SAM, **other))


def test_the_list_of_a_gateway_is_asked_of_the_policies_too():
    layer = made(EVERYTHING)
    assert at_any_stage(replace(policy(lock()), layer=layer)).layer is layer


def test_what_the_policies_cannot_tell_apart_is_asked_once():
    layer = made(f'permit(principal, {CONSIDERS}, resource in Pegboard::Namespace::"crm");')
    table = RuleTable.of(Snapshot.of(1, ENTRIES), replace(policy(lock()), layer=layer))
    assert table.considered is not None
    assert len(table.considered.kinds) == 2
    assert layer.caller_key(AGENT) == layer.caller_key(CASHIER)


class Failing(Cedar):
    """A layer whose engine fails."""

    def consider(self, tools, context):
        raise RuntimeError("the engine is gone")


class Mumbling(Cedar):
    """A layer that answers too little."""

    def consider(self, tools, context):
        return []


@pytest.mark.parametrize("kind", [Failing, Mumbling])
def test_a_layer_that_fails_denies(kind: type[Cedar]):
    rules = replace(policy(lock()), layer=kind.of({"a.cedar": EVERYTHING}))
    table = RuleTable.of(Snapshot.of(1, ENTRIES), rules)
    assert table.eligible(CASHIER, NO_REVOCATIONS).count == 0
    assert not any(decide_tool(entry, rules, CASHIER, NO_REVOCATIONS).allowed for entry in ENTRIES)


def test_policies_are_part_of_the_policys_version_and_of_its_record():
    plain = policy(lock())
    rules = replace(plain, layer=made(EVERYTHING))
    assert rules.version != plain.version
    assert rules.version != replace(plain, layer=made(EVERYTHING, "// a word")).version
    again = policy_of(policy_record(rules), rules.lock)
    assert again.version == rules.version
    assert again.layer is not None
    assert again.layer.texts == {"crm.cedar": EVERYTHING}
    assert policy_of(policy_record(plain), plain.lock).layer is None


@pytest.mark.parametrize(
    ("condition", "people"),
    [
        ('principal == Pegboard::User::"sam"', True),
        ('principal in Pegboard::Role::"support"', False),
        ('principal has user && principal.user == "sam"', True),
        ('principal.delegation.contains("sam")', True),
        ("principal is Pegboard::User", False),
    ],
)
def test_policies_that_ask_who_somebody_is_are_known(condition: str, people: bool):
    assert made(f"permit(principal, {CONSIDERS}, resource) when {{ {condition} }};").names_people is people


def test_a_policy_that_cannot_be_used_is_an_error_that_names_it():
    with pytest.raises(ConfigError) as error:
        made(EVERYTHING, '@id("open") permit(principal, action, resource);', "permit(principal, action, resource);")
    assert error.value == ConfigError(
        'it names no action: write action == Pegboard::Action::"consider", "call", or action in a list of both',
        "crm.cedar: open",
        "`pegboard policy check` tells all that is wrong (and 1 more)",
    )


def test_an_unknown_caller_of_no_role_is_no_member_of_any():
    layer = made(f'permit(principal in Pegboard::Role::"support", {CONSIDERS}, resource);')
    assert considers(layer, RuntimeContext(user="sam")) == set()


def test_without_the_engine_policies_are_an_error_and_no_policies_are_none(monkeypatch: pytest.MonkeyPatch):
    for module in ("pegboard.policy.cedar", "pegboard.policy.cedar_check"):
        monkeypatch.setitem(sys.modules, module, None)
    assert layer_of({}) is None
    missing = ConfigError("Cedar's engine is not installed", "crm.cedar", "pip install 'pegboard[cedar]'")
    for ask in (lambda: layer_of({"crm.cedar": EVERYTHING}), lambda: check_policies({"crm.cedar": EVERYTHING}, [])):
        with pytest.raises(ConfigError) as error:
            ask()
        assert error.value == missing
