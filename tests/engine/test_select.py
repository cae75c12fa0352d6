"""Select: what is served, what is held back, and what is said instead."""

from dataclasses import replace

import pytest

from pegboard.core.catalog import Risk
from pegboard.core.policy import Switch
from pegboard.core.revocations import Revocations
from pegboard.engine.abstain import fall_back
from pegboard.engine.asking import Case, NamespaceNote, SelectionSettings
from pegboard.engine.fallback import Action, Cause, FallbackRow
from pegboard.engine.selection import Outcome, Why
from tests.crm import AGENT, CASHIER, ENTRIES, ask, ids, line, lock, pick, policy, tool, view

NOBODY = replace(AGENT, scopes=frozenset(), servers=frozenset())


def test_a_task_gets_the_few_tools_that_fit_it_complete_and_in_rank_order():
    selection = pick("list the open orders of customer 7", limit=2)
    assert (selection.outcome, selection.cause) == (Outcome.SELECTED, None)
    best = selection.tools[0]
    assert (best.tool.tool_id, best.rank, best.why) == ("crm.orders.list_open_orders", 1, Why.RANKED)
    assert best.tool.input_schema == ENTRIES[0].input_schema
    assert len(selection.tools) <= 2


def test_two_people_with_different_scopes_get_two_different_answers():
    task = "give the customer the money of payment pi_3 back"
    assert "billing.refunds.create_refund" in ids(pick(task, CASHIER))
    assert not {one for one in ids(pick(task, AGENT)) if one.startswith("billing")}


def test_an_exactly_named_tool_comes_before_every_ranked_one():
    selection = pick("find a customer, list orders, and then cancel_order", limit=1)
    assert ids(selection) == ["crm.orders.cancel_order"]
    assert selection.tools[0].why is Why.EXACT


def test_the_word_for_word_name_of_a_denied_tool_finds_nothing():
    assert "people.payroll.list_payroll" not in ids(pick("list_payroll people.payroll.list_payroll `list_payroll`"))


def test_nothing_that_fits_is_said_and_never_answered_with_every_tool():
    selection = pick("what is the weather in Lisbon")
    assert (selection.outcome, selection.cause, selection.tools) == (Outcome.NO_TOOL, Cause.NONE_FITS, ())


@pytest.mark.parametrize(
    "task", ["", "   ", "!!! ??? …", "the and of", "\N{SNOWMAN}" * 50, "\x00\x07", "x" * 1_000_000]
)
def test_a_task_that_says_nothing_gets_no_ranked_tool(task):
    assert pick(task).outcome is Outcome.NO_TOOL


def test_a_caller_without_rights_gets_no_tool_whatever_is_asked():
    assert pick("list the open orders", NOBODY).outcome is Outcome.NO_TOOL


def test_the_caller_may_be_told_to_answer_by_itself():
    assert "Answer without a tool" in pick("what is the weather", answer_without_tool=True).message


def test_pinned_tools_are_loaded_without_ranking_and_only_where_eligible():
    staff = replace(AGENT, scopes=frozenset({"crm", "staff"}), servers=frozenset({"crm", "people"}))
    assert ids(pick("what is the weather", staff)) == ["people.directory.stop_everything"]
    assert ids(pick("what is the weather", AGENT)) == []


def test_a_tool_may_be_pinned_for_a_stage_by_the_configuration():
    rules = policy(switches={"crm.orders.cancel_order": Switch(pinned=("resolution",))})
    over = view(rules=rules)
    assert ids(pick("what is the weather", replace(AGENT, stage="resolution"), over)) == ["crm.orders.cancel_order"]
    assert ids(pick("what is the weather", replace(AGENT, stage="reply"), over)) == []


def test_required_tools_come_first_and_what_is_not_to_be_had_is_named_without_a_reason():
    wanted = ("crm.orders.cancel_order", "people.payroll.list_payroll", "no.such.tool")
    selection = pick("find a customer", require=wanted)
    assert (ids(selection)[0], selection.tools[0].why) == ("crm.orders.cancel_order", Why.REQUIRED)
    assert selection.missing == ("people.payroll.list_payroll", "no.such.tool")


def test_a_step_that_only_names_its_tools_needs_no_task():
    selection = pick((), require=("crm.orders.cancel_order",))
    assert (selection.outcome, ids(selection)) == (Outcome.SELECTED, ["crm.orders.cancel_order"])


def test_pinned_and_required_tools_survive_an_index_outage():
    staff = replace(AGENT, scopes=frozenset({"crm", "staff"}), servers=frozenset({"crm", "people"}))
    selection = pick("cancel it", staff, view(index=False), require=("crm.orders.cancel_order",))
    assert (selection.outcome, selection.cause) == (Outcome.PAUSED, Cause.INDEX_DOWN)
    assert ids(selection) == ["people.directory.stop_everything", "crm.orders.cancel_order"]


def test_without_an_index_the_safe_set_is_served_as_far_as_it_is_eligible():
    settings = SelectionSettings(safe_set=("people.payroll.list_payroll", "crm.customers.find_customer"))
    selection = pick("cancel it", AGENT, view(index=False), settings)
    assert (selection.outcome, ids(selection)) == (Outcome.SAFE_SET, ["crm.customers.find_customer"])


@pytest.mark.parametrize(
    ("environment", "outcome"),
    [("development", Outcome.ALL_TOOLS), ("staging", Outcome.PAUSED), ("production", Outcome.PAUSED)],
)
def test_every_tool_is_loaded_only_in_development_and_only_over_reads(environment, outcome):
    reads = [entry for entry in ENTRIES if entry.source_server == "crm" and entry.name != "cancel_order"]
    settings = SelectionSettings(limit=1, fallback=(FallbackRow(cause=Cause.INDEX_DOWN, do=Action.ALL_TOOLS),))
    context = replace(AGENT, environment=environment)
    assert pick("x", context, view(reads, index=False), settings).outcome is outcome
    assert len(pick("x", replace(AGENT, environment="development"), view(reads, index=False), settings).tools) == 2
    with_a_write = view([*reads, ENTRIES[1]], index=False)
    assert pick("x", context, with_a_write, settings).outcome is Outcome.PAUSED


def test_the_limit_is_kept_and_zero_ranks_nothing():
    for limit in range(4):
        assert len(pick("order customer", limit=limit).tools) <= limit


def test_a_tool_over_the_budget_is_passed_over_and_named():
    huge = tool("crm.orders.list_open_invoices", "List open orders and invoices. " * 200)
    over = view([*ENTRIES, huge], policy(lock([*ENTRIES, huge])))
    selection = pick("list open orders", AGENT, over, budget_tokens=400)
    assert "crm.orders.list_open_orders" in ids(selection)
    assert selection.over_budget == ("crm.orders.list_open_invoices",)
    assert sum(one.tokens for one in selection.tools) <= 400


def test_what_is_loaded_already_is_not_sent_again_and_what_was_lost_is_withdrawn():
    loaded = ("crm.orders.list_open_orders", "people.payroll.list_payroll")
    selection = pick("list the open orders", loaded=loaded)
    assert "crm.orders.list_open_orders" not in ids(selection)
    assert selection.withdraw == ("people.payroll.list_payroll",)


@pytest.mark.parametrize(
    "target", ["crm.orders.cancel_order", "namespace:crm", "namespace:crm.orders", "server:crm", "principal:sam", "all"]
)
def test_a_halt_holds_for_the_next_selection(target):
    assert "crm.orders.cancel_order" in ids(pick("cancel_order"))
    halted = Revocations(targets=frozenset({target}))
    assert "crm.orders.cancel_order" not in ids(pick("cancel_order", revocations=halted))


def test_a_mention_of_a_denied_sibling_is_not_served():
    locked = lock(entry for entry in ENTRIES if entry.name != "list_open_orders")
    told = pick("cancel_order", over=view(rules=policy(locked))).tools[0].tool.description
    assert "list_open_orders" not in told
    assert "another tool" in told
    assert "list_open_orders" in pick("cancel_order").tools[0].tool.description


ADVERTISED = SelectionSettings(
    namespaces={
        "billing": NamespaceNote(advertise="Refunds and payments. Ask the payments team."),
        "people": NamespaceNote(),
    }
)


def test_a_capability_that_is_advertised_and_not_held_says_whom_to_ask_and_names_no_tool():
    selection = pick("refund the buyer", AGENT, settings=ADVERTISED)
    assert (selection.outcome, ids(selection)) == (Outcome.DENIED_CAPABILITY, [])
    assert "Ask the payments team." in selection.message
    assert "create_refund" not in selection.message


def test_what_is_not_advertised_is_not_mentioned_and_what_is_held_is_not_denied():
    assert pick("show the payroll", AGENT, settings=ADVERTISED).outcome is Outcome.NO_TOOL
    held = pick("what is the weather", CASHIER, settings=ADVERTISED)
    assert held.outcome is Outcome.NO_TOOL


def fallen_back(do, risk=None, **settings):
    """Force one action for every cause that a ranking can have."""
    rows = tuple(FallbackRow(cause=cause, risk=risk, do=do) for cause in (Cause.WEAK, Cause.AMBIGUOUS, Cause.NONE_FITS))
    return SelectionSettings(fallback=rows, **settings)


def test_weak_serves_reads_alone():
    risks = {entry.tool_id: Risk.READ if entry.name.startswith(("list", "find")) else Risk.WRITE for entry in ENTRIES}
    over = view(rules=policy(lock().granting(line(e, risk=risks[e.tool_id]) for e in ENTRIES)))
    selection = pick("weather of the order", AGENT, over, fallen_back(Action.WEAK))
    if selection.outcome is Outcome.WEAK:
        assert {risks[one] for one in ids(selection)} == {Risk.READ}


def test_a_question_between_namespaces_says_what_each_is_described_as():
    over = view([*ENTRIES, *(tool(f"crm.{area}.find_note", "Find a note.") for area in ("calls", "letters"))])
    notes = {"crm.calls": NamespaceNote(description="what was said by telephone")}
    settings = fallen_back(Action.CLARIFY, namespaces=notes)
    case = Case(ask=ask("note"), view=over, context=AGENT, settings=settings, seen=over.see(AGENT, Revocations()))
    answer = fall_back(case, Cause.AMBIGUOUS, over.index.rank(case.ask.query, case.seen.eligible, 2))
    assert answer.outcome is Outcome.CLARIFY
    assert "(crm.calls (what was said by telephone), crm.letters)" in answer.message


def test_a_namespace_is_loaded_only_where_both_sides_approve_of_it():
    approved = {"crm.orders": NamespaceNote(approved=True)}
    settings = fallen_back(Action.NAMESPACE, namespaces=approved)
    both = replace(AGENT, approved_namespaces=frozenset({"crm.orders"}))
    task = "weather for an order"
    for context, allowed in ((both, settings), (AGENT, settings), (both, fallen_back(Action.NAMESPACE))):
        selection = pick(task, context, settings=allowed)
        if selection.outcome is Outcome.NAMESPACE:
            assert context is both
            assert allowed is settings
            assert {one.rpartition(".")[0] for one in ids(selection)} == {"crm.orders"}


def test_the_answer_has_the_shape_that_others_read():
    answer = pick("list the open orders", limit=1).to_json()
    assert {
        "selection_id",
        "trace_id",
        "outcome",
        "cause",
        "view",
        "confidence",
        "message",
        "tools",
        "tokens",
    } <= answer.keys()
    assert {"tool_id", "alias", "rank", "score", "why", "schema_hash", "description", "input_schema"} <= answer[
        "tools"
    ][0].keys()
    assert "operator" not in answer
    assert answer["tokens"]["definitions"] > 0
