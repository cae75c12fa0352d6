"""Names of tools that a caller may not see, in bytes that reach it."""

import json

import pytest

from pegboard.core.catalog import declare
from pegboard.core.mentions import redact
from pegboard.core.text import clean
from pegboard.engine.intake import take_in_listing
from pegboard.engine.rendering import served_tool
from pegboard.engine.schemas import Validators, check_arguments
from tests.crm import line, lock, pick, policy, view

HIDDEN = "admin_delete"
SAID = f"call {HIDDEN} first"
OBJECT = {"type": "object"}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#", **OBJECT}
DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#", **OBJECT}


def listed(schema):
    """Take in a tool of this schema beside a hidden one, and return the first."""
    tools = [{"name": "get_x", "inputSchema": schema}, {"name": HIDDEN, "inputSchema": OBJECT}]
    entries, _ = take_in_listing("s", "s", tools)
    return next(entry for entry in entries if entry.name == "get_x")


# Keywords that the schema's own dialect does not know (so any value is valid), or whose value is free text.
@pytest.mark.parametrize(
    "schema",
    [
        {**OBJECT, "properties": {"a": {"additionalItems": SAID}}},
        {**OBJECT, "properties": {"a": {"additionalItems": [SAID]}}},
        {**OBJECT, "properties": {"a": {"id": SAID}}},
        {**OBJECT, "properties": {"a": {"format": SAID}}},
        {**OBJECT, "properties": {"a": {"contentMediaType": SAID}}},
        {**OBJECT, "properties": {"a": {"contentEncoding": SAID}}},
        {**DRAFT_7, "properties": {"a": {"prefixItems": SAID}}},
        {**DRAFT_7, "$defs": SAID},
        {**DRAFT_7, "$defs": {"x": SAID}},
        {**DRAFT_7, "unevaluatedProperties": SAID},
        {**DRAFT_7, "contentSchema": SAID},
        {**DRAFT_7, "dependentRequired": {"a": [SAID]}},
        {**DRAFT_7, "$anchor": SAID},
        {**DRAFT_7, "$vocabulary": SAID},
        {**DRAFT_7, "properties": {"a": {"$dynamicRef": f"#{SAID}"}}},
        {**DRAFT_4, "if": SAID},
        {**DRAFT_4, "contains": SAID},
    ],
    ids=lambda schema: json.dumps(schema)[-60:],
)
def test_no_text_in_a_keyword_that_its_dialect_does_not_know_tells_a_hidden_name(schema):
    assert HIDDEN not in json.dumps(served_tool(listed(schema), ()).input_schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": [f"first\n{HIDDEN}"]},
        {"enum": [f"first\t{HIDDEN}"]},
        {"const": f"first\n{HIDDEN}"},
        {"const": {"a": f'"\n{HIDDEN}'}},
    ],
)
def test_a_refusal_tells_no_hidden_name_that_json_escapes_touch(schema):
    entry = listed({**OBJECT, "properties": {"a": schema}})
    problem = check_arguments(Validators().of(entry), {"a": 1})
    # As engine/gate.py `_valid` makes the message.
    assert HIDDEN not in redact(clean(problem.message), entry.mentions)


@pytest.mark.parametrize("pad", [44, 46, 48, 50])
def test_a_refusal_tells_no_part_of_a_hidden_name_that_was_cut_off(pad):
    entry = listed({**OBJECT, "properties": {"a": {"const": "z" * pad + f" {HIDDEN}"}}})
    problem = check_arguments(Validators().of(entry), {"a": 1})
    assert "admin_" not in redact(clean(problem.message), entry.mentions)


def test_a_hidden_namesake_of_the_same_server_changes_no_served_byte():
    # Catalog files give ids verbatim, so one server may own two tools of one name.
    def made(tool_id, name, **more):
        namespace = tool_id.partition(".")[0]
        return declare(
            tool_id=tool_id, namespace=namespace, source_server="crm", name=name, input_schema=OBJECT, **more
        )

    mine, hidden = made("p.get_user", "get_user"), made("z.get_user", "get_user")
    telling = made("m.call", "call", description="Use get_user first.", mentions=("get_user",))

    def selected(*entries):
        lines = [line(one, access="staff" if one is hidden else "sales") for one in entries]
        return pick("call get_user", over=view(entries, policy(lock(entries).granting(lines)))).to_json()

    assert selected(mine, telling) == selected(mine, telling, hidden)
