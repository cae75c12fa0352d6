"""Proposals for new tools: "not clearly a read" is never a read, and hints only raise."""

import pytest

from pegboard.core.catalog import Proposal, Reach, Risk
from pegboard.engine.proposals import ProposeRule, proposed, suggested
from tests.crm import tool


@pytest.mark.parametrize(
    ("name", "risk", "reach"),
    [
        ("list_orders", Risk.READ, Reach.BOUNDED),
        ("getUser", Risk.READ, Reach.BOUNDED),
        ("search-docs", Risk.READ, Reach.BOUNDED),
        ("create_order", Risk.WRITE, Reach.BOUNDED),
        ("get_or_create_order", Risk.WRITE, Reach.BOUNDED),
        ("delete_order", Risk.DESTRUCTIVE, Reach.BOUNDED),
        ("list_and_purge", Risk.DESTRUCTIVE, Reach.BOUNDED),
        ("read_query", Risk.DESTRUCTIVE, Reach.OPEN),
        ("runShellCommand", Risk.DESTRUCTIVE, Reach.OPEN),
        ("read_neo4j_cypher", Risk.DESTRUCTIVE, Reach.OPEN),
        ("write_query", Risk.DESTRUCTIVE, Reach.OPEN),
        ("query", Risk.DESTRUCTIVE, Reach.OPEN),
        ("duckdb_query", Risk.DESTRUCTIVE, Reach.OPEN),
        ("batch_get", Risk.DESTRUCTIVE, Reach.OPEN),
        ("get_and_run", Risk.DESTRUCTIVE, Reach.OPEN),
        ("get_and_merge", Risk.DESTRUCTIVE, Reach.BOUNDED),
        ("preview_refund", Risk.READ, Reach.BOUNDED),
        ("create_refund", Risk.DESTRUCTIVE, Reach.BOUNDED),
        ("refund_payment", Risk.DESTRUCTIVE, Reach.BOUNDED),
        ("apply_discount_code", Risk.WRITE, Reach.BOUNDED),
        ("get_status_code", Risk.READ, Reach.BOUNDED),
        ("get_query_history", Risk.READ, Reach.BOUNDED),
        ("get_pull_request", Risk.READ, Reach.BOUNDED),
        ("list_delete", Risk.DESTRUCTIVE, Reach.BOUNDED),
        ("search_and_replace", Risk.WRITE, Reach.BOUNDED),
        ("hold_order", Risk.WRITE, Reach.BOUNDED),
        ("release_order", Risk.WRITE, Reach.BOUNDED),
        ("capture_payment", Risk.WRITE, Reach.BOUNDED),
        ("email_invoice", Risk.WRITE, Reach.BOUNDED),
        ("notify_customer", Risk.WRITE, Reach.BOUNDED),
        ("order_status", Risk.READ, Reach.BOUNDED),
        ("order_status_update", Risk.WRITE, Reach.BOUNDED),
        ("frobnicate", Risk.DESTRUCTIVE, Reach.OPEN),
        ("取得", Risk.DESTRUCTIVE, Reach.OPEN),
    ],
)
def test_the_words_of_a_name_suggest_risk_and_reach(name, risk, reach):
    assert suggested(tool(f"crm.{name}", "x")) == Proposal(risk=risk, reach=reach)


@pytest.mark.parametrize(
    ("name", "hints", "risk"),
    [
        ("list_orders", {"readOnlyHint": True}, Risk.READ),
        ("list_orders", {"readOnlyHint": False}, Risk.WRITE),
        ("list_orders", {"destructiveHint": True}, Risk.DESTRUCTIVE),
        ("send_mail", {"readOnlyHint": True}, Risk.WRITE),
        ("delete_order", {"readOnlyHint": True, "destructiveHint": False}, Risk.DESTRUCTIVE),
        ("list_orders", {"readOnlyHint": "no", "destructiveHint": 1}, Risk.READ),
    ],
)
def test_hints_raise_a_risk_and_never_lower_it(name, hints, risk):
    assert suggested(tool(f"crm.{name}", "x", annotations=hints)).risk is risk


def rule(glob, **says):
    return ProposeRule(match=(glob,), proposal=Proposal(**says))


def test_the_most_restrictive_rule_that_matches_speaks():
    rules = [
        rule("*", access="reader", risk=Risk.READ),
        rule("*refund*", access="cashier", risk=Risk.DESTRUCTIVE),
        rule("get_*", access="clerk", risk=Risk.WRITE),
    ]
    assert proposed(tool("crm.get_refund", "x"), rules).access == "cashier"
    assert proposed(tool("crm.get_order", "x"), rules).access == "clerk"
    assert proposed(tool("crm.list", "x"), rules).access == "reader"


def test_without_a_rule_a_catalog_files_own_word_proposes_and_no_access_is_invented():
    entry = tool("crm.frobnicate", "x", proposal=Proposal(risk=Risk.READ))
    assert proposed(entry, []) == Proposal(access=None, risk=Risk.READ, reach=Reach.BOUNDED, flow=frozenset())


def test_a_tool_of_open_reach_is_never_proposed_as_a_read():
    entry = tool("crm.run_query", "x")
    assert proposed(entry, [rule("*", risk=Risk.READ, reach=Reach.OPEN)]).risk is Risk.WRITE
