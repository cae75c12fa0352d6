"""The table of all rules at once, held to the reference that judges one tool."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import CatalogEntry, declare, with_row
from pegboard.core.context import RuntimeContext
from pegboard.core.lock import Lock
from pegboard.core.policy import (
    CHECKS,
    AccessRule,
    AccessTemplate,
    Policy,
    Reason,
    Switch,
    access_rule,
    decide,
    decide_tool,
)
from pegboard.core.revocations import NO_REVOCATIONS, Revocations
from pegboard.core.snapshot import Snapshot
from pegboard.policy.columns import COLUMNS
from pegboard.policy.table import BITS, RuleTable
from tests.core.test_policy import CALLER, FAULTS, RULE
from tests.strategies import STRONG, Deployment, callers, cases, deployments, lock_line, revocations

OPEN = AccessTemplate(
    required_scopes=frozenset(),
    required_roles=frozenset(),
    required_flags=frozenset(),
    tenants=frozenset({"*"}),
    environments=frozenset({"*"}),
    allowed_stages=frozenset({"*"}),
    minimum_clearance=0,
)
TOOLS = [
    declare(tool_id=f"{space}.{name}", namespace=space, source_server=space.split(".")[0], name=name)
    for space in ("crm", "crm.orders", "mail")
    for name in ("list", "send")
]
CATALOG = Snapshot.of(1, TOOLS)
POLICY = Policy(lock=Lock.of(map(lock_line, TOOLS)), templates={"open": OPEN})
TABLE = RuleTable.of(CATALOG, POLICY)


@cases(100, 10_000)
@given(deployments(), callers, revocations)
def test_every_tool_is_decided_as_the_reference_decides_it(deployment: Deployment, caller, halts):
    found = RuleTable.of(deployment.snapshot, deployment.policy).eligible(caller, halts)
    wanted = [decide_tool(entry, deployment.policy, caller, halts) for entry in deployment.snapshot.entries]
    assert [found.reasons(row) for row in range(len(wanted))] == [decision.reasons for decision in wanted]
    assert found.mask.tolist() == [decision.allowed for decision in wanted]
    assert found.bits.tolist() == [sum(BITS[reason] for reason in decision.reasons) for decision in wanted]
    assert found.rows.tolist() == [row for row, decision in enumerate(wanted) if decision.allowed]
    assert found.count == len(found.rows)
    removed = {reason: sum(reason in each.reasons for each in wanted) for reason in Reason}
    assert found.removed_by() == {reason: count for reason, count in removed.items() if count}


@given(deployments(), callers)
def test_every_distinct_rule_is_decided_as_the_reference_decides_it(deployment: Deployment, caller):
    table = RuleTable.of(deployment.snapshot, deployment.policy)
    wanted = [sum(BITS[reason] for reason in decide(rule, caller).reasons) for rule in table.rules]
    assert table.decide(caller).tolist() == wanted
    joined = [access_rule(entry, deployment.policy) for entry in deployment.snapshot.entries]
    assert [table.rules[place] for place in table.rule_of_row] == joined


@pytest.mark.parametrize(("rule", "caller", "reason"), FAULTS)
def test_each_fact_that_denies_alone_denies_here_too(rule: AccessRule, caller: RuntimeContext, reason: Reason):
    entry, policy = deployed(rule)
    found = RuleTable.of(Snapshot(number=1, entries=(entry,), digest=""), policy).eligible(caller, NO_REVOCATIONS)
    assert reason in found.reasons(0)
    assert found.reasons(0) == decide_tool(entry, policy, caller, NO_REVOCATIONS).reasons


@pytest.mark.parametrize("clearance", [2, 3, 2**70])
def test_a_caller_who_meets_every_fact_is_admitted(clearance: int):
    entry, policy = deployed(RULE)
    table = RuleTable.of(Snapshot.of(1, [entry]), policy)
    assert table.eligible(replace(CALLER, clearance=clearance), NO_REVOCATIONS).reasons(0) == ()


def deployed(rule: AccessRule) -> tuple[CatalogEntry, Policy]:
    """Return a tool and a policy under which it has this rule."""
    entry = replace(TOOLS[0], enabled=rule.enabled, source_server=rule.server)
    lines = [lock_line(entry)] if rule.locked else []
    return entry, Policy(lock=Lock.of(lines), templates={"open": rule.template})


def test_tools_that_differ_in_one_fact_only_are_not_taken_for_equal():
    """Each stands beside the first, which is admitted, and shares everything with it but this fact."""
    first, *others = [with_row(TOOLS[0], tool_id=f"crm.{number}") for number in range(7)]
    others[0] = with_row(others[0], enabled=False)
    others[4] = with_row(others[4], source_server="elsewhere")
    lines = [
        lock_line(first),
        lock_line(others[0]),
        lock_line(others[1], hash="sha256:" + "0" * 64),
        lock_line(others[3]),
        lock_line(others[4]),
        lock_line(others[5], access="missing"),
    ]
    policy = replace(POLICY, lock=Lock.of(lines), switches={others[3].tool_id: Switch(enabled=False)})
    found = RuleTable.of(Snapshot.of(1, [first, *others]), policy).eligible(STRONG, NO_REVOCATIONS)
    assert found.mask.tolist() == [True, False, False, False, False, False, False]
    assert found.removed_by()[Reason.UNLOCKED] == 3


def test_every_check_has_a_column_and_every_column_a_check():
    assert list(COLUMNS) == [reason for reason, _ in CHECKS]


def test_reasons_are_reported_in_the_order_of_the_checks():
    order = [reason for reason in Reason if reason not in {Reason.REVOKED, Reason.CEDAR}]
    assert order == [reason for reason, _ in CHECKS]


@given(
    st.data(), deployments(), st.lists(callers, min_size=1, max_size=3), st.lists(revocations, min_size=1, max_size=2)
)
def test_what_was_asked_before_changes_no_answer(data, deployment: Deployment, asking, halts):
    table = RuleTable.of(deployment.snapshot, deployment.policy)
    for _ in range(6):
        caller, halt = data.draw(st.sampled_from(asking)), data.draw(st.sampled_from(halts))
        fresh = RuleTable.of(deployment.snapshot, deployment.policy).eligible(caller, halt)
        assert table.eligible(caller, halt).bits.tolist() == fresh.bits.tolist()


def test_callers_with_the_same_rights_get_the_same_object():
    sam, dana = replace(STRONG, user="sam"), replace(STRONG, user="dana", scopes=STRONG.scopes | {"unheard of"})
    weak = replace(STRONG, servers=frozenset({"mail"}))
    first, other = TABLE.eligible(sam, NO_REVOCATIONS), TABLE.eligible(weak, NO_REVOCATIONS)
    assert first is TABLE.eligible(dana, NO_REVOCATIONS)
    assert other is TABLE.eligible(weak, NO_REVOCATIONS)
    assert first is not other


def test_a_halt_that_covers_no_tool_of_this_catalog_leaves_the_same_object():
    halts = Revocations(targets=frozenset({"server:elsewhere", "principal:nobody"}), as_of=5.0)
    assert TABLE.eligible(STRONG, halts) is TABLE.eligible(STRONG, NO_REVOCATIONS)


def test_a_halted_caller_and_a_halted_catalog_get_different_answers():
    everything = Revocations(targets=frozenset({"all"}))
    sam = Revocations(targets=frozenset({"principal:sam"}))
    assert TABLE.eligible(STRONG, everything).count == TABLE.eligible(STRONG, sam).count == 0
    assert TABLE.eligible(replace(STRONG, user="dana"), sam).count == len(TOOLS)


def test_old_answers_are_forgotten_and_recent_ones_kept():
    table = RuleTable.of(CATALOG, POLICY, kept=2)
    kept = table.eligible(STRONG, NO_REVOCATIONS)
    halts = [Revocations(targets=frozenset({tool.tool_id})) for tool in TOOLS]
    old = table.eligible(STRONG, halts[0])
    for halt in halts[1:]:
        assert table.eligible(STRONG, NO_REVOCATIONS) is kept
        table.eligible(STRONG, halt)
    again = table.eligible(STRONG, halts[0])
    assert again is not old
    assert again.bits.tolist() == old.bits.tolist()


@pytest.mark.parametrize("name", ["mask", "bits", "rows", "rule_bits", "rule_of_row", "revoked"])
def test_nobody_can_write_into_an_answer(name: str):
    found = TABLE.eligible(STRONG, Revocations(targets=frozenset({"crm.list"})))
    with pytest.raises(ValueError, match="read-only"):
        getattr(found, name)[...] = 0


@pytest.mark.parametrize(
    "field", ["scopes", "roles", "flags", "servers", "stage", "tenant", "environment", "clearance"]
)
@pytest.mark.parametrize("value", ["crm mail", ["crm"], 7.5, object(), {"crm": 1}, np.array([1, 2])])
def test_a_context_field_of_another_kind_admits_to_nothing(field: str, value: object):
    """Contexts refuse such values when they are made; the table does not rely on that."""
    broken = replace(STRONG)
    object.__setattr__(broken, field, value)
    found = TABLE.eligible(broken, NO_REVOCATIONS)
    wanted = [decide_tool(entry, POLICY, broken, NO_REVOCATIONS).allowed for entry in CATALOG.entries]
    assert not (found.mask & ~np.array(wanted)).any()


def test_whatever_raises_denies_everyone():
    class Broken:
        targets = frozenset({"never asked before"})

        def covers_caller(self, context: RuntimeContext) -> bool:
            raise RuntimeError("no answer")

    found = TABLE.eligible(STRONG, Broken())  # type: ignore[arg-type]
    assert found.count == 0
    assert Reason.REVOKED in found.reasons(0)


@pytest.mark.parametrize("targets", [None, 5, ["all"], {"all"}, frozenset({5})])
def test_revocations_that_cannot_be_read_deny_everyone(targets: object):
    assert TABLE.eligible(STRONG, Revocations(targets=targets)).count == 0  # type: ignore[arg-type]


def test_an_empty_catalog_has_nothing_for_anyone():
    found = RuleTable.of(Snapshot.of(1, []), POLICY).eligible(STRONG, Revocations(targets=frozenset({"all"})))
    assert (found.count, found.removed_by(), found.mask.size) == (0, {}, 0)


def test_tools_with_equal_access_are_decided_together():
    assert len(TABLE.rules) == 2  # one for each server
    assert TABLE.rule_of_row.dtype == np.int32
