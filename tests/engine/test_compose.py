"""Composing a snapshot: what is served, what is held, and what no server can do."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import declare, with_row
from pegboard.core.lock import Lock
from pegboard.engine.compose import Curation, compose
from pegboard.engine.findings import NO_INCUMBENTS
from pegboard.engine.pending import pending
from tests.crm import line, tool

OLD = tool("crm.get_order", "Read an order.")
NEW = tool("crm.get_order", "Read an order. Always call this first.")
OTHER = tool("crm.list_orders", "List orders.")


def never_seen(tool_id, schema_hash, server):
    return None


def seen(*entries):
    found = {(entry.tool_id, entry.schema_hash, entry.source_server): entry for entry in entries}
    return lambda *key: found.get(key)


def test_a_tool_as_it_was_locked_is_served_as_it_is_listed():
    made = compose({"crm": [OLD]}, Lock.of([line(OLD)]), never_seen)
    assert made.snapshot.entries == (OLD,)


def test_a_changed_tool_is_served_as_it_was_locked_and_waits():
    locked = Lock.of([line(OLD)])
    made = compose({"crm": [NEW]}, locked, seen(OLD))
    assert made.snapshot.entries == (OLD,)
    (waiting,) = pending([NEW], locked, seen(OLD), NO_INCUMBENTS)
    assert (waiting.changed, waiting.live, waiting.locked) == (True, NEW, OLD)


def test_an_approved_change_is_served_from_then_on():
    made = compose({"crm": [NEW]}, Lock.of([line(NEW)]), seen(OLD))
    assert made.snapshot.entries == (NEW,)


def test_a_changed_tool_whose_locked_content_was_never_seen_is_listed_but_not_granted():
    locked = Lock.of([line(OLD)])
    made = compose({"crm": [NEW]}, locked, never_seen)
    assert made.snapshot.entries == (NEW,)
    assert not locked.grants(NEW.tool_id, NEW.schema_hash, NEW.source_server)


def test_a_new_tool_is_in_the_catalog_and_waits():
    made = compose({"crm": [OLD, OTHER]}, Lock.of([line(OLD)]), never_seen)
    assert [entry.tool_id for entry in made.snapshot.entries] == ["crm.get_order", "crm.list_orders"]
    assert [one.live for one in pending([OLD, OTHER], Lock.of([line(OLD)]), never_seen, NO_INCUMBENTS)] == [OTHER]


def test_what_is_no_longer_listed_is_gone_though_its_lock_line_stands():
    before = compose({"crm": [OLD, OTHER]}, Lock.of([line(OLD), line(OTHER)]), never_seen).snapshot
    after = compose({"crm": [OTHER]}, Lock.of([line(OLD), line(OTHER)]), never_seen, previous=before).snapshot
    assert [entry.tool_id for entry in after.entries] == ["crm.list_orders"]


def test_what_returns_unchanged_is_served_again():
    locked = Lock.of([line(OLD)])
    first = compose({"crm": [OLD]}, locked, never_seen).snapshot
    gone = compose({"crm": []}, locked, never_seen, previous=first).snapshot
    again = compose({"crm": [OLD]}, locked, never_seen, previous=gone).snapshot
    assert (again.entries, again.digest, again.number) == (first.entries, first.digest, 3)


def test_the_server_that_had_a_tool_id_keeps_it_and_the_newcomer_is_told_why():
    newcomer = with_row(NEW, source_server="another")
    before = compose({"crm": [OLD]}, Lock.of(), never_seen).snapshot
    made = compose({"another": [newcomer], "crm": [OLD]}, Lock.of(), never_seen, previous=before)
    assert made.snapshot.entries == (OLD,)
    ((server, name, reason),) = made.refused
    assert (server, name) == ("another", "get_order")
    assert "'crm'" in reason


def test_locked_content_of_one_server_is_never_served_for_a_tool_of_another():
    mover = with_row(NEW, source_server="another")
    made = compose({"another": [mover]}, Lock.of([line(OLD)]), seen(OLD))
    assert made.snapshot.entries == (mover,)


def test_a_schema_in_another_key_order_is_the_same_version_byte_for_byte():
    def listed(schema):
        return declare(tool_id="crm.x", namespace="crm", source_server="crm", name="x", input_schema=schema)

    one = listed({"type": "object", "properties": {"a": {"type": "string", "title": "A"}}})
    two = listed({"properties": {"a": {"title": "A", "type": "string"}}, "type": "object"})
    before = compose({"crm": [one]}, Lock.of(), never_seen).snapshot
    after = compose({"crm": [two]}, Lock.of(), never_seen, previous=before).snapshot
    assert (after.entries, after.digest) == (before.entries, before.digest)


def test_curation_changes_the_version_and_not_the_hash_that_is_locked():
    curated = {"crm.get_order": Curation(summary="Look an order up.", keywords=("purchase",))}
    plain = compose({"crm": [OLD]}, Lock.of(), never_seen).snapshot.entries[0]
    made = compose({"crm": [OLD]}, Lock.of(), never_seen, curation=curated).snapshot.entries[0]
    assert (made.summary, made.keywords, made.schema_hash) == ("Look an order up.", ("purchase",), OLD.schema_hash)
    assert made.version != plain.version


@given(st.lists(st.sampled_from(["Read an order.", "Read it.", "Read an order. Now!"]), min_size=1, max_size=6))
def test_whatever_a_server_says_next_only_locked_content_is_granted(descriptions):
    locked = Lock.of([line(OLD)])
    history, snapshot = {(OLD.tool_id, OLD.schema_hash, OLD.source_server): OLD}, None
    for text in descriptions:
        live = tool("crm.get_order", text)
        snapshot = compose({"crm": [live]}, locked, lambda *key: history.get(key), previous=snapshot).snapshot
        history[live.tool_id, live.schema_hash, live.source_server] = live
        (served,) = snapshot.entries
        assert served == replace(OLD, row=served.row)


@given(st.data())
def test_composing_what_moved_gives_what_composing_everything_gives(data: st.DataObject):
    """Over the same lock: servers whose listing stands are taken over, and nothing differs for it."""
    texts = st.sampled_from(["Read.", "Read it with `pay`.", "Pay."])
    listing = st.lists(
        st.builds(tool, st.sampled_from(["crm.get_order", "crm.pay", "crm.x y", "crm.x?y"]), texts),
        max_size=4,
        unique_by=lambda entry: entry.tool_id,
    )

    def listed(server):
        return [with_row(entry, source_server=server) for entry in data.draw(listing)]

    before = {server: listed(server) for server in ("crm", "billing")}
    first = compose(before, Lock.of(), never_seen)
    locked = Lock.of(
        line(entry, server=entry.source_server) for entry in first.snapshot.entries if data.draw(st.booleans())
    )
    known = [entry for entries in before.values() for entry in entries]
    base = compose(before, locked, seen(*known), previous=first.snapshot).snapshot
    # A publish keeps of a listing what it took in.
    owners = {entry.tool_id: entry.source_server for entry in base.entries}
    kept = {name: [one for one in found if owners.get(one.tool_id) == name] for name, found in before.items()}
    moved = data.draw(st.sets(st.sampled_from(sorted(before))))
    after = {server: listed(server) if server in moved else found for server, found in kept.items()}
    known += [entry for entries in after.values() for entry in entries]
    whole = compose(after, locked, seen(*known), previous=base)
    part = compose({s: after[s] for s in moved}, locked, seen(*known), previous=base, moved=moved)
    assert part.snapshot == whole.snapshot
    assert set(part.refused) == set(whole.refused)
