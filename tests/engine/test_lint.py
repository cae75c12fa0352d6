"""Lint: what is hard to tell apart or to trust is named with its reason, and a good catalog has nothing."""

import pytest

from pegboard.core.catalog import declare, with_row
from pegboard.engine.lint import CHECKS, lint
from tests.crm import ENTRIES, schema, tool

LONG = "Return every shipment of one customer with carrier, weight, date and the address it went to."


def found(*entries) -> list[tuple[str, str]]:
    return [(one.tool, one.check) for one in lint(entries)]


def undeclared():
    return declare(
        tool_id="crm.find",
        namespace="crm",
        source_server="crm",
        name="find",
        description="Find a customer by name or mail.",
    )


@pytest.mark.parametrize(
    ("entries", "problems"),
    [
        ([tool("crm.find_orders", "")], [("crm.find_orders", "weak-description")]),
        ([tool("crm.find_orders", "Find the orders.")], [("crm.find_orders", "weak-description")]),
        ([tool("crm.find_orders", "Look up shipped goods.")], [("crm.find_orders", "weak-description")]),
        ([with_row(tool("crm.find_orders", ""), summary="Look up the goods of a customer.")], []),
        ([with_row(tool("crm.find_orders", "Look up goods."), keywords=("shipped",))], []),
        ([undeclared()], [("crm.find", "undeclared-schema")]),
        (
            [
                tool("crm.findOrders", "Look up the goods of a customer."),
                tool("erp.find_orders", "Count what is in store."),
            ],
            [("crm.findOrders", "colliding-name"), ("erp.find_orders", "colliding-name")],
        ),
        (
            [tool("crm.a", LONG, schema(customer="x")), tool("crm.b", LONG, schema(customer="x"))],
            [("crm.a", "near-duplicate"), ("crm.b", "near-duplicate")],
        ),
        ([tool("crm.a", LONG), tool("crm.b", f"{LONG} Deliveries abroad are left out of it.")], []),
        ([tool("crm.a", "Five words of one text."), tool("crm.b", "Five words of one text.")], []),
        ([tool("crm.a", "Look up goods. <!-- all of them -->")], [("crm.a", "hidden-markup")]),
        ([tool("crm.a", "Look up goods, see https://example.com.")], []),
        ([], []),
    ],
)
def test_a_problem_is_named_and_nothing_else(entries, problems):
    assert found(*entries) == problems


def test_tools_that_differ_are_not_alike():
    assert [one for one in lint(ENTRIES) if one.check != "weak-description"] == []


def test_others_are_named_and_counted():
    same = [tool(f"crm{n}.find", "Look up the goods of a customer.") for n in range(3)]
    assert lint(same)[1].problem == "its name passes for that of 'crm0.find' and 1 more"


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_takes_an_empty_catalog(check):
    assert list(check(())) == []
