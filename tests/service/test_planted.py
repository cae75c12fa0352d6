"""Canaries are planted in every text of what is hidden, in decoys beside it, and nowhere else."""

from pegboard.core.lock import Lock
from pegboard.service.canaries import found_in, planted
from tests.crm import ENTRIES, lock


def test_what_is_planted_stands_in_every_text_of_a_tool_and_nothing_visible_is_touched():
    (first, second, *rest) = ENTRIES
    made = planted(ENTRIES, Lock.of(), {first.tool_id}, {second.tool_id})
    by_id = {entry.tool_id: entry for entry in made.entries}
    assert [by_id[entry.tool_id] for entry in (second, *rest)] == [second, *rest]
    changed = by_id[first.tool_id]
    texts = [changed.name, changed.title, changed.description, changed.input_schema_json, changed.summary]
    assert all(found_in([text]) for text in [*texts, *changed.examples[-1:], *changed.keywords[-1:]])
    (decoy,) = (entry for entry in made.entries if entry.tool_id not in {one.tool_id for one in ENTRIES})
    assert all(found_in([text]) for text in (decoy.tool_id, decoy.namespace, decoy.source_server, decoy.description))


def test_what_was_granted_to_others_is_granted_with_its_canaries():
    granted = lock(ENTRIES)
    made = planted(ENTRIES, granted, {ENTRIES[0].tool_id}, ())
    assert all(made.lock.grants(one.tool_id, one.schema_hash, one.source_server) for one in made.entries)
