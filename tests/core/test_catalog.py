"""Entries: what is hashed, what is addressed, and that a stored row cannot be changed unseen."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pegboard.core.catalog import CatalogEntry, Proposal, Risk, declare, from_row, to_row, with_row
from pegboard.core.names import canonical_json, parse_json
from tests.strategies import declarations, entries, proposals, schemas, texts

PARTS: dict[str, Any] = {"tool_id": "crm.list", "namespace": "crm", "source_server": "crm", "name": "list"}


@given(entries)
def test_a_row_reads_back_as_the_entry_it_came_from(entry: CatalogEntry):
    stored = parse_json(canonical_json(to_row(entry)))
    assert isinstance(stored, dict)
    assert from_row(stored) == entry


@given(entries, st.data())
def test_a_changed_row_has_another_address(entry: CatalogEntry, data: st.DataObject):
    row = to_row(entry)
    name = data.draw(st.sampled_from(["tool_id", "source_server", "schema_hash", "description", "input_schema_json"]))
    value = data.draw(st.text(max_size=5))
    assume(row.get(name) != value)
    changed = from_row({**row, name: value})
    assert (changed.row == entry.row) == (changed == entry)


@pytest.mark.parametrize(
    "row",
    [
        {},
        {**to_row(declare(**PARTS)), "access": "crm-admin"},
        {**to_row(declare(**PARTS)), "row": "sha256:00"},
        {**to_row(declare(**PARTS)), "proposal": 5},
        {**to_row(declare(**PARTS)), "proposal": {"access": "x"}},
        {**to_row(declare(**PARTS)), "proposal": {"access": None, "risk": "none", "reach": None, "flow": None}},
        {**to_row(declare(**PARTS)), "examples": 5},
    ],
)
def test_a_row_that_was_never_written_is_refused(row: dict[str, Any]):
    with pytest.raises(ValueError):
        from_row(row)


LOCAL: dict[str, st.SearchStrategy[Any]] = {
    "summary": st.none() | texts,
    "examples": st.lists(texts, max_size=2).map(tuple),
    "keywords": st.lists(texts, max_size=2).map(tuple),
    "mentions": st.lists(texts, max_size=2).map(tuple),
    "enabled": st.booleans(),
    "pinned": st.lists(texts, max_size=2).map(tuple),
    "proposal": proposals,
}
DECLARED: dict[str, st.SearchStrategy[Any]] = {
    "name": texts,
    "title": st.none() | texts,
    "description": texts,
    "input_schema": st.none() | schemas,
    "output_schema": st.none() | schemas,
    "annotations": schemas,
}


@pytest.mark.parametrize("field", LOCAL)
@given(parts=declarations, data=st.data())
def test_curation_changes_the_version_and_never_the_schema_hash(field: str, parts, data):
    before, after = declare(**parts), declare(**{**parts, field: data.draw(LOCAL[field])})
    assert after.schema_hash == before.schema_hash
    assert (after.row == before.row) == (after == before)
    assert with_row(before, **{field: getattr(after, field)}) == after


@pytest.mark.parametrize("field", DECLARED)
@given(parts=declarations, data=st.data())
def test_every_declared_field_is_in_the_schema_hash(field: str, parts, data):
    before, after = declare(**parts), declare(**{**parts, field: data.draw(DECLARED[field])})
    same = all(
        _content(getattr(before, name)) == _content(getattr(after, name)) for name in (field, "undeclared_schema")
    )
    assert (after.schema_hash == before.schema_hash) == same


def _content(value: Any) -> Any:
    return canonical_json(value)


@given(parts=declarations, schema=schemas)
def test_the_order_of_a_schemas_keys_is_not_in_the_schema_hash(parts, schema):
    one = declare(**{**parts, "input_schema": schema})
    two = declare(**{**parts, "input_schema": dict(reversed(schema.items()))})
    assert one.schema_hash == two.schema_hash


def test_no_input_schema_is_not_the_same_as_an_empty_object_schema():
    silent, spoken = declare(**PARTS), declare(**PARTS, input_schema={"type": "object"})
    assert silent.input_schema == spoken.input_schema == {"type": "object"}
    assert (silent.undeclared_schema, spoken.undeclared_schema) == (True, False)
    assert silent.schema_hash != spoken.schema_hash


def test_a_schema_keeps_its_key_order_and_cannot_be_changed_through_an_entry():
    schema: dict[str, Any] = {"type": "object", "properties": {"b": {}, "a": {}}}
    entry = declare(**PARTS, input_schema=schema)
    schema["properties"]["c"] = {}
    entry.input_schema["type"] = "string"
    assert entry.input_schema_json == '{"type":"object","properties":{"b":{},"a":{}}}'


@pytest.mark.parametrize("field", ["description", "schema_hash", "input_schema_json", "name", "annotations_json"])
def test_what_a_server_declares_cannot_be_changed_under_its_old_hash(field: str):
    with pytest.raises(ValueError, match=f"'{field}' is declared by the server"):
        with_row(declare(**PARTS), **{field: "x"})


@pytest.mark.parametrize(
    "part",
    [
        {"description": "\ud800"},
        {"input_schema": {"maximum": float("nan")}},
        {"annotations": {"x": float("inf")}},
        {"output_schema": {"\udfff": 1}},
        {"tool_id": "\ud800"},
        {"summary": "\ud800"},
    ],
)
def test_a_part_that_is_no_json_is_a_value_error(part: dict[str, Any]):
    with pytest.raises(ValueError):
        declare(**{**PARTS, **part})


def test_risks_are_ordered_by_the_care_they_need():
    assert sorted(Risk, key=lambda risk: risk.rank) == [Risk.READ, Risk.WRITE, Risk.DESTRUCTIVE]


def test_an_entry_that_proposes_nothing_has_an_empty_proposal():
    assert declare(**PARTS).proposal == Proposal()
    assert "proposal" not in to_row(declare(**PARTS))
