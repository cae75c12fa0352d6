"""Snapshots are the same whatever the order they were built in, and differ when any entry does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import declare
from pegboard.core.errors import DuplicateToolError
from pegboard.core.snapshot import Diff, Snapshot, diff, snapshot_digest
from tests.strategies import declarations, entries, snapshots


@given(st.lists(entries, max_size=6, unique_by=lambda entry: entry.tool_id), st.randoms(use_true_random=False))
def test_the_order_of_entries_changes_nothing(found, dice):
    shuffled = dice.sample(found, len(found))
    assert Snapshot.of(3, shuffled) == Snapshot.of(3, found)


@given(snapshots)
def test_rows_are_in_the_order_of_tool_ids_and_each_is_found(snapshot: Snapshot):
    ids = [entry.tool_id for entry in snapshot.entries]
    assert ids == sorted(ids)
    assert [snapshot.position(tool_id) for tool_id in ids] == list(range(len(ids)))
    assert [snapshot.get(tool_id) for tool_id in ids] == list(snapshot.entries)


@given(snapshots, st.text(max_size=8))
def test_a_tool_that_is_not_there_has_no_position(snapshot: Snapshot, tool_id: str):
    assert (snapshot.get(tool_id) is None) == (tool_id not in {entry.tool_id for entry in snapshot.entries})


@given(snapshots, snapshots)
def test_digests_are_equal_exactly_where_the_entries_are(one: Snapshot, two: Snapshot):
    assert (one.digest == two.digest) == (one.entries == two.entries)
    assert snapshot_digest(one.entries) == one.digest


@given(snapshots, snapshots)
def test_a_diff_is_what_a_reader_would_find_by_hand(one: Snapshot, two: Snapshot):
    before = {entry.tool_id: entry for entry in one.entries}
    after = {entry.tool_id: entry for entry in two.entries}
    found = diff(one, two)
    assert set(found.added) == after.keys() - before.keys()
    assert set(found.removed) == before.keys() - after.keys()
    assert {tool for tool, _ in found.changed} == {t for t in before.keys() & after.keys() if before[t] != after[t]}
    assert all(fields for _, fields in found.changed)
    assert bool(found) == (one.entries != two.entries)
    for part in (found.added, [tool for tool, _ in found.changed], found.removed):
        assert list(part) == sorted(part)


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"description": "Deletes orders."}, ("description",)),
        ({"input_schema": {"type": "object", "properties": {}}}, ("input_schema",)),
        ({"output_schema": {"type": "object"}}, ("output_schema",)),
        ({"annotations": {"readOnlyHint": True}, "title": "T"}, ("annotations", "title")),
        ({"input_schema": None}, ("undeclared_schema",)),
        ({"summary": "s", "enabled": False, "pinned": ("*",)}, ("enabled", "pinned", "summary")),
    ],
)
def test_a_diff_names_the_fields_as_the_design_does(change: dict[str, Any], fields: tuple[str, ...]):
    parts: dict[str, Any] = {"tool_id": "crm.list", "namespace": "crm", "source_server": "crm", "name": "list"}
    old = declare(**parts, input_schema={"type": "object"})
    new = declare(**{**parts, "input_schema": {"type": "object"}, **change})
    found = diff(Snapshot.of(1, [old]), Snapshot.of(2, [new]))
    assert found == Diff(added=(), changed=(("crm.list", fields),), removed=())
    assert found.to_json() == {
        "added": [],
        "changed": [{"tool_id": "crm.list", "fields": list(fields)}],
        "removed": [],
    }


@given(declarations, st.sampled_from(["crm", "mail"]))
def test_two_claims_to_one_tool_id_are_refused(parts, server: str):
    one, two = declare(**{**parts, "source_server": "a"}), declare(**{**parts, "source_server": server})
    with pytest.raises(DuplicateToolError) as refused:
        Snapshot.of(1, [one, two])
    assert refused.value == DuplicateToolError(one.tool_id, ("a", server))


@given(snapshots)
def test_a_version_is_its_number_and_the_first_digits_of_its_digest(snapshot: Snapshot):
    number, _, digits = snapshot.version.partition("-")
    assert (int(number), len(digits)) == (snapshot.number, 12)
    assert snapshot.digest.startswith(digits)
