"""Meaning: what looks changed and is not, and what looks the same and is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.engine.meaning import constraints, same_meaning, steadied
from tests.crm import tool


def made(**schema):
    return tool("crm.x", "Read.", {"type": "object", **schema})


def member(**schema):
    return made(properties={"x": schema})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (made(required=["a", "b"]), made(required=["b", "a"])),
        (member(enum=["a", 1, None]), member(enum=[None, "a", 1])),
        (member(type=["string", "null"]), member(type=["null", "string"])),
        (made(dependentRequired={"a": ["b", "c"]}), made(dependentRequired={"a": ["c", "b"]})),
        (made(dependencies={"a": ["b", "c"]}), made(dependencies={"a": ["c", "b"]})),
        (member(default="summary,status,labels"), member(default="labels,summary,status")),
        (member(default=["read", "write"]), member(default=["write", "read"])),
        (made(anyOf=[{"required": ["a", "b"]}]), made(anyOf=[{"required": ["b", "a"]}])),
        (
            made(properties={"a": {"type": "string"}, "b": {}}),
            made(properties={"b": {}, "a": {"type": "string"}}),
        ),
    ],
)
def test_what_has_no_order_may_come_in_any(one, other):
    assert same_meaning(one, other)
    assert same_meaning(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (made(required=["a", "b"]), made(required=["a"])),
        (member(enum=["a", "b"]), member(enum=["a", "c"])),
        # A box or a range is in order.
        (member(default=[1, 2]), member(default=[2, 1])),
        (member(default="1,2"), member(default="2,1")),
        (member(default=["a", "a", "b"]), member(default=["a", "b", "b"])),
        (member(default="call this first"), member(default="first call this")),
        (member(default="delete, never keep"), member(default="keep, never delete")),
        (member(examples=["a", "b"]), member(examples=["b", "a"])),
        (made(prefixItems=[{"type": "string"}, {}]), made(prefixItems=[{}, {"type": "string"}])),
        # A property of that name is a schema, not a list of names.
        (member(const=["a", "b"]), member(const=["b", "a"])),
        (made(properties={"enum": {"const": ["a", "b"]}}), made(properties={"enum": {"const": ["b", "a"]}})),
        (tool("crm.x", "Read."), tool("crm.x", "Reads.")),
        (tool("crm.x", "Read.", title="A"), tool("crm.x", "Read.", title="B")),
        (tool("crm.x", "Read.", annotations={"readOnlyHint": True}), tool("crm.x", "Read.")),
        (tool("crm.x", "Read.", output_schema={"type": "object"}), tool("crm.x", "Read.")),
    ],
)
def test_everything_else_is_a_change(one, other):
    assert not same_meaning(one, other)


def test_a_steadied_tool_keeps_the_bytes_that_were_known_and_what_is_its_own():
    known = member(default="a,b")
    live = tool("crm.x", "Read.", {"type": "object", "properties": {"x": {"default": "b,a"}}}, mentions=("y",))
    found = steadied(live, known)
    assert (found.schema_hash, found.input_schema_json) == (known.schema_hash, known.input_schema_json)
    assert found.mentions == ("y",)
    assert steadied(live, None) is live
    assert steadied(live, member(default="a,c")) is live


def test_constraints_leave_out_what_refuses_no_value():
    described = member(type="string", description="Name", default="x", examples=["y"])
    assert constraints(described.input_schema) == constraints(member(type="string").input_schema)
    assert constraints(described.input_schema) != constraints(member(type="integer").input_schema)
    # A property may be called as a keyword is.
    assert constraints(made(properties={"title": {}}).input_schema) != constraints(made(properties={}).input_schema)


@given(st.permutations(["alpha", "beta", "gamma"]), st.permutations([1, "two", None]))
def test_any_order_of_names_and_values_means_the_same(names, values):
    one = made(required=["alpha", "beta", "gamma"], properties={"x": {"enum": [1, "two", None]}})
    assert same_meaning(one, made(required=names, properties={"x": {"enum": values}}))
