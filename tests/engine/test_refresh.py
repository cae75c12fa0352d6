"""The refresh machine: pages in, a candidate out, and nothing where the walk went wrong."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from pegboard.core.errors import MalformedPageError, PageLimitError
from pegboard.core.lock import Lock
from pegboard.engine.findings import NO_INCUMBENTS
from pegboard.engine.intake import take_in
from pegboard.engine.listing import WalkLimits
from pegboard.engine.refresh import GONE, Refresh, Standing
from pegboard.engine.trust import Trust
from tests.crm import line
from tests.servers import tool


@dataclass(frozen=True)
class Page:
    tools: Any
    next_cursor: Any = None


def entry(raw):
    return take_in(raw, server="crm", namespace="crm")


def locked(*raws):
    return Lock.of(line(entry(raw), server="crm") for raw in raws)


def finished(listed, lock=None, before=(), suspended=(), trust=Trust.REVIEW, walk=None):
    refresh = walk or Refresh("crm", "crm")
    if walk is None:
        refresh.receive(Page(listed))
    known = {(one.tool_id, one.schema_hash, "crm"): one for one in map(entry, before)}
    standing = Standing(
        lock=lock or Lock.of(),
        listed=tuple(map(entry, before)),
        incumbents=NO_INCUMBENTS,
        suspended=suspended,
        trust=trust,
    )
    return refresh.finish(standing, lambda *key: known.get(key))


GET = tool("get_order", description="Read an order by its number.")
PAY = tool("pay", description="Pay an invoice.")
STEPS = ["fetched", "validated", "cleaned", "compared", "found", "decided"]


def test_all_pages_are_one_candidate_and_every_step_is_counted():
    refresh = Refresh("crm", "crm")
    for number, count in enumerate((50, 50, 1)):
        assert not refresh.done
        refresh.receive(Page([tool(f"t{number}_{n}") for n in range(count)], f"p{number}" if number < 2 else None))
    found = finished((), walk=refresh)
    assert (len(found.entries), len(found.added), len(found.waiting)) == (101, 101, 101)
    assert [step.name for step in found.steps] == STEPS
    counts = {step.name: step.counts for step in found.steps}
    assert (counts["fetched"]["pages"], counts["fetched"]["tools"]) == (3, 101)
    assert (counts["validated"]["taken"], counts["compared"]["new"], counts["decided"]["held"]) == (101, 101, 101)


@pytest.mark.parametrize(
    ("pages", "error"),
    [
        ([Page([], "a"), Page([], "a")], PageLimitError),
        ([Page("no list")], MalformedPageError),
        ([Page([tool("a"), tool("b"), tool("c")])], PageLimitError),
    ],
)
def test_a_walk_that_breaks_a_bound_leaves_no_candidate(pages, error):
    refresh = Refresh("crm", "crm", WalkLimits(tools=2))
    for page in pages[:-1]:
        refresh.receive(page)
    with pytest.raises(error):
        refresh.receive(pages[-1])
    with pytest.raises(ValueError, match="not done"):
        refresh.taken()


def test_a_broken_tool_is_refused_by_name_and_hides_no_other():
    found = finished([GET, tool("odd", inputSchema={"type": "int"})])
    assert [one.name for one in found.entries] == ["get_order"]
    assert [name for name, _ in found.refused] == ["odd"]


def test_an_unchanged_listing_is_no_change():
    found = finished([PAY, GET], locked(GET, PAY), before=[GET, PAY])
    assert (found.added, found.changed, found.removed, found.waiting, found.revoked) == ((), (), (), (), {})


def test_an_equal_meaning_is_no_change_of_the_locked_and_none_of_the_held():
    def listing(*words):
        schema = {"type": "object", "properties": {"f": {"default": ",".join(words), "enum": list(words)}}}
        return [tool("get_order", inputSchema=schema), tool("new", inputSchema=schema)]

    before = listing("a", "b", "c")
    found = finished(listing("c", "a", "b"), locked(before[0]), before=before)
    assert (found.changed, [one.live.name for one in found.waiting]) == ((), ["new"])
    assert {step.name: step.counts for step in found.steps}["cleaned"] == {"unseen": 0, "steadied": 2}
    assert [one.schema_hash for one in found.entries] == [entry(raw).schema_hash for raw in before]


def test_a_new_and_a_changed_tool_wait_and_under_follow_only_the_new_one_does():
    changed = {**GET, "description": "Read one order by its number."}
    held = finished([changed, PAY], locked(GET), before=[GET])
    assert [one.live.name for one in held.waiting] == ["get_order", "pay"]
    assert held.followed == ()
    followed = finished([changed, PAY], locked(GET), before=[GET], trust=Trust.FOLLOW)
    assert [one.live.name for one in followed.waiting] == ["pay"]
    assert [one.hash for one in followed.followed] == [entry(changed).schema_hash]


def test_a_locked_tool_that_is_gone_or_broken_is_revoked_with_its_reason_and_an_unlocked_one_is_not():
    broken = {**PAY, "inputSchema": {"type": "int"}}
    found = finished([broken], locked(GET, PAY), before=[GET, PAY, tool("never_locked")])
    assert set(found.revoked) == {"crm.get_order", "crm.pay"}
    assert found.revoked["crm.get_order"] == GONE
    assert "its input schema cannot be used" in found.revoked["crm.pay"]
    assert found.removed == ("crm.get_order", "crm.pay", "crm.never_locked")


def test_a_suspect_is_revoked_and_under_follow_a_change_of_its_schema_is_not_one():
    narrower = {**GET, "inputSchema": {"type": "object", "required": ["id"]}}
    assert set(finished([narrower], locked(GET), before=[GET]).revoked) == {"crm.get_order"}
    assert finished([narrower], locked(GET), before=[GET], trust=Trust.FOLLOW).revoked == {}


@pytest.mark.parametrize(
    ("listed", "lock", "lifted"),
    [
        ([GET], locked(GET), ("crm.get_order",)),
        ([{**GET, "description": "Another."}], locked(GET), ()),
        ([], locked(GET), ()),
        # Nothing is granted without a line, so there is nothing to revoke.
        ([], Lock.of(), ("crm.get_order",)),
    ],
)
def test_what_was_revoked_is_lifted_when_it_is_again_what_the_lock_names(listed, lock, lifted):
    assert finished(listed, lock, suspended=["crm.get_order"]).lifted == lifted


@pytest.mark.parametrize(
    ("locked_count", "gone", "alarmed"),
    [(9, 5, True), (10, 5, False), (4, 4, False), (5, 5, True), (100, 51, True), (100, 50, False)],
)
def test_more_than_half_and_at_least_five_gone_raise_an_alarm(locked_count, gone, alarmed):
    tools = [tool(f"t{number}") for number in range(locked_count)]
    extra = [tool(f"u{number}") for number in range(200)]
    found = finished([*tools[gone:], *extra], locked(*tools), before=[*tools, *extra])
    assert (found.alarm is not None) == alarmed
    assert len(found.revoked) == gone


def test_a_line_that_names_no_server_is_compared_with_what_this_server_had_alone():
    # A newcomer that lists another server's tool id: that line says nothing about the newcomer's tool.
    lock = Lock.of([replace(line(entry(GET)), server=None)])
    found = finished([{**GET, "inputSchema": {"type": "object", "required": ["x"]}}], lock)
    assert found.revoked == {}
    assert [one.live.name for one in found.waiting] == ["get_order"]


def test_a_meta_that_steers_is_found_though_it_is_kept_nowhere():
    found = finished([tool("get", _meta={"acme/alwaysLoad": True}), tool("put", _meta={"acme/owner": "team-a"})])
    assert [(one.tool, one.rule) for one in found.findings if one.rule == "steering-meta"] == [
        ("crm.get", "steering-meta")
    ]
