"""Proposals for new tools: "not clearly a read" is never a read; parameters, descriptions and hints only raise.

The large check is against the labels of tau2, where they are at hand.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import CatalogEntry, Flow, Proposal, Reach, Risk
from pegboard.engine.intake import take_in_line
from pegboard.engine.proposal_parameters import KINDS, RAISING, parameters
from pegboard.engine.proposals import ProposeRule, proposed, suggested
from tests.crm import schema, tool
from tests.strategies import json_values

TAU2 = Path(__file__).parents[2] / ".." / "shared" / "data" / "tau2" / "tools.jsonl"
READ, WRITE, DESTRUCTIVE = Risk
BOUNDED, OPEN = Reach
PRIVATE, UNTRUSTED, OUT = Flow


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
        ("status_of_order", Risk.DESTRUCTIVE, Reach.OPEN),
        ("reserve_room", Risk.WRITE, Reach.BOUNDED),
        ("call_tool", Risk.DESTRUCTIVE, Reach.OPEN),
        ("get_call_transcript", Risk.READ, Reach.BOUNDED),
        ("export_orders", Risk.WRITE, Reach.BOUNDED),
        ("manage_orders", Risk.DESTRUCTIVE, Reach.BOUNDED),
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
    assert proposed(entry, []) == Proposal(access=None, risk=READ, reach=BOUNDED, flow=frozenset({PRIVATE}))


def test_a_tool_of_open_reach_is_never_proposed_as_a_read():
    entry = tool("crm.run_query", "x")
    assert proposed(entry, [rule("*", risk=Risk.READ, reach=Reach.OPEN)]).risk is Risk.WRITE


@pytest.mark.parametrize(
    ("input_schema", "expected"),
    [
        (schema(sql="x"), (DESTRUCTIVE, OPEN)),
        (schema(sqlQuery="x"), (DESTRUCTIVE, OPEN)),
        (schema(shell_command="x"), (DESTRUCTIVE, OPEN)),
        (schema(q="A SQL statement to run"), (DESTRUCTIVE, OPEN)),
        (schema(url="x", method="x"), (DESTRUCTIVE, OPEN)),
        (schema(tool_name="x", arguments="x"), (DESTRUCTIVE, OPEN)),
        ({"properties": {"body": schema(script="x")}}, (DESTRUCTIVE, OPEN)),
        (schema(dry_run="x"), (WRITE, BOUNDED)),
        (schema(output_path="x"), (WRITE, BOUNDED)),
        ({"properties": {"action": {"enum": ["list", "delete"]}}}, (DESTRUCTIVE, BOUNDED)),
        ({"properties": {"action": {"anyOf": [{"const": "list"}, {"const": "create"}]}}}, (WRITE, BOUNDED)),
        ({"properties": {"operation": {"oneOf": [{"enum": ["run"]}]}}}, (DESTRUCTIVE, BOUNDED)),
        (schema(query="x", url="x", path="x", code="x"), (READ, BOUNDED)),
        (schema(language="Such as SQL or Python"), (READ, BOUNDED)),
        (schema(auth_method="x", endpoint="x"), (READ, BOUNDED)),
        (schema(tool="x"), (READ, BOUNDED)),
        ({"properties": {"last_action": {"enum": ["delete"]}}}, (READ, BOUNDED)),
        ({"properties": {"action": {"enum": ["list", "merge_train_removed", ""]}}}, (READ, BOUNDED)),
        (
            {"properties": {"q": {"type": "string", "enum": ["run SQL"], "description": "SQL statements"}}},
            (READ, BOUNDED),
        ),
        ({"properties": [], "anyOf": 7}, (READ, BOUNDED)),
    ],
)
def test_parameters_raise_what_a_name_says(input_schema, expected):
    found = suggested(tool("crm.get_orders", "x", input_schema))
    assert (found.risk, found.reach) == expected


@pytest.mark.parametrize("needed", [needed for needed, _, _ in RAISING])
def test_one_parameter_less_raises_nothing(needed):
    names = {kind: min(KINDS[kind]) for kind in needed}
    for left_out in needed if len(needed) > 1 else ():
        rest = {name: "x" for kind, name in names.items() if kind != left_out}
        assert suggested(tool("crm.get_orders", "x", schema(**rest))).risk is READ


@pytest.mark.parametrize(
    ("description", "risk"),
    [
        ("Deletes the orders of a day.", DESTRUCTIVE),
        ("Publishes the orders.", WRITE),
        ("Update the orders.", WRITE),
        ("Executes the get_orders operation.", READ),
        ("Orders of a day; deletes nothing.", READ),
        ("", READ),
    ],
)
def test_a_description_that_begins_with_a_change_raises(description, risk):
    assert suggested(tool("crm.get_orders", description)).risk is risk


@given(json_values, st.text(), st.dictionaries(st.sampled_from(["readOnlyHint", "destructiveHint"]), st.booleans()))
def test_nothing_a_server_adds_lowers_what_the_name_says(given_schema, description, hints):
    bare = suggested(tool("crm.update_order", "x"))
    more = {"properties": {"action": given_schema, "x": given_schema}}
    full = suggested(tool("crm.update_order", "x", more, annotations=hints))
    assert full.risk.rank >= bare.risk.rank
    assert (full.reach, bare.reach) != (BOUNDED, OPEN)


@given(json_values)
def test_any_schema_has_parameters_or_none(value):
    assert parameters(value).kinds <= set(KINDS)
    assert parameters({"properties": value}).kinds <= set(KINDS)


@pytest.mark.parametrize(
    ("tool_id", "input_schema", "hints", "flow"),
    [
        ("crm.get_customer", schema(), {}, {PRIVATE}),
        ("crm.get_frobs", schema(), {}, {PRIVATE}),
        ("weather.get", schema(), {}, set()),
        ("travel.search_hotels", schema(), {}, set()),
        ("travel.search_user_hotels", schema(), {}, {PRIVATE}),
        ("mail.search", schema(), {}, {PRIVATE, UNTRUSTED}),
        ("crm.read_comments", schema(), {}, {PRIVATE, UNTRUSTED}),
        ("web.get_page", schema(url="x"), {}, {UNTRUSTED, OUT}),
        ("crm.get_frobs", schema(), {"openWorldHint": True}, {PRIVATE, UNTRUSTED}),
        ("crm.get_frobs", schema(), {"openWorldHint": "yes"}, {PRIVATE}),
        ("crm.read_comments", schema(), {"openWorldHint": False}, {PRIVATE, UNTRUSTED}),
        ("mail.send_mail", schema(), {}, {OUT}),
        ("mail.delete_mail", schema(), {}, set()),
        ("crm.update_order", schema(), {}, set()),
        ("crm.create_event", schema(attendees="x"), {}, {OUT}),
        ("crm.update_hook", schema(callback_url="x"), {}, {OUT}),
        ("crm.frobnicate", schema(), {}, {PRIVATE, UNTRUSTED, OUT}),
        ("weather.get", schema(sql="x"), {}, {PRIVATE, UNTRUSTED, OUT}),
    ],
)
def test_labels_of_flow_follow_from_words_parameters_and_hints(tool_id, input_schema, hints, flow):
    assert proposed(tool(tool_id, "x", input_schema, annotations=hints), []).flow == flow


def test_a_rules_own_labels_stand_even_where_they_are_none():
    entry = tool("mail.send_mail", "x", proposal=Proposal(flow=frozenset({PRIVATE})))
    assert proposed(entry, []).flow == {PRIVATE}
    assert proposed(entry, [rule("*", flow=frozenset())]).flow == frozenset()


@pytest.mark.skipif(not TAU2.is_file(), reason="the labelled tools of tau2 are not at hand")
def test_of_labelled_tools_no_change_is_proposed_as_a_read_and_every_read_is():
    rows = [json.loads(line) for line in TAU2.read_text().splitlines()]
    entries = {row["tool_id"]: take_in_line(row) for row in rows}
    read = {name for name, one in entries.items() if isinstance(one, CatalogEntry) and proposed(one, ()).risk is READ}
    assert read == {row["tool_id"] for row in rows if row["tool_type"] == "READ"}
