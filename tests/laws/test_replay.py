"""Law 8: a trace that kept its ranking input replays to the same selection, byte for byte."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.names import canonical_json
from pegboard.core.revocations import NO_REVOCATIONS, Revocations
from pegboard.engine.asking import SelectionSettings
from pegboard.engine.comparing import replay
from pegboard.engine.lock_records import lock_of, lock_record
from pegboard.engine.records import policy_of, policy_record, settings_of, settings_record
from pegboard.engine.trace import Grade, Record, Trace, Versions, trace_of
from tests.crm import AGENT, CASHIER, ENTRIES, ask, pick, policy, tool, view
from tests.strategies import cases

PACKAGES = {"numpy": "2"}
WORDS = [
    "order",
    "customer",
    "payment",
    "refund",
    "list",
    "open",
    "cancel",
    "payroll",
    "find",
    "money",
    "`cancel_order`",
    "find_customer",
    "and",
    "then",
]
tasks = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=1, max_size=3)
SETTINGS = SelectionSettings(limit=3, safe_set=("crm.customers.find_customer",))


def recorded(texts, context, where, record=Record.TERMS, revocations=NO_REVOCATIONS, **more):
    """Select, and put the selection through the form that a store keeps."""
    selection = pick(texts, context, where, SETTINGS, revocations, **more)
    index = None if where.index is None else where.index.version
    versions = Versions(
        catalog=where.snapshot.version, policy=where.policy.version, lock="", index=index, settings="", revocations="",
        packages=PACKAGES,
    )  # fmt: skip
    trace = trace_of(
        selection,
        ask(*texts, **more),
        where,
        record=record,
        tasks=texts,
        versions=versions,
        context=context,
        revocations=revocations,
        at=1.5,
        timings={},
    )
    return Trace.from_json(json.loads(canonical_json(trace.to_json())))


@given(tasks, st.sampled_from([AGENT, CASHIER]), st.booleans(), st.sampled_from([None, 1, 2]), st.randoms())
@cases(60, 10_000)
def test_a_trace_replays_on_its_own_versions_byte_for_byte(texts, context, index, limit, shuffle: random.Random):
    halted = Revocations(targets=frozenset({"crm.customers.find_customer"} if limit == 2 else ()))
    trace = recorded(texts, context, view(index=index), revocations=halted, limit=limit)
    entries = list(ENTRIES)
    shuffle.shuffle(entries)
    lock = lock_of([json.loads(canonical_json(lock_record(policy().lock)))])
    again = view(entries, policy_of(json.loads(canonical_json(policy_record(policy()))), lock), index=index)
    settings = settings_of(json.loads(canonical_json(settings_record(SETTINGS))))
    found = replay(trace, again, halted, settings, PACKAGES)
    assert (found.grade, found.equal, found.diff) == (Grade.REPLAYABLE, True, ())


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (view([*ENTRIES, tool("crm.orders.list_open_returns", "List the open orders that come back.")]), "view"),
        (view([entry for entry in ENTRIES if entry.name != "list_open_orders"]), "tools"),
        (view(index=False), "index"),
        (view(index=False), "outcome"),
        (view(index=False), "cause"),
    ],
)
def test_a_replay_on_another_catalog_says_what_differs(other, what):
    trace = recorded(["list open orders"], AGENT, view())
    found = replay(trace, other, NO_REVOCATIONS, SETTINGS, PACKAGES)
    assert not found.equal
    assert what in {one.what for one in found.diff}


def test_a_replay_with_other_packages_says_so():
    trace = recorded(["list open orders"], AGENT, view())
    found = replay(trace, view(), NO_REVOCATIONS, SETTINGS, {"numpy": "3"})
    assert [(one.what, one.was, one.now) for one in found.diff] == [("packages.numpy", "2", "3")]


def test_a_trace_that_kept_digests_alone_is_verified_and_says_so():
    trace = recorded(["list open orders"], AGENT, view(), Record.DIGEST)
    assert b"order" not in canonical_json({**trace.to_json(), "tools": []})
    found = replay(trace, view(), NO_REVOCATIONS, SETTINGS, PACKAGES)
    assert (found.grade, found.equal) == (Grade.VERIFIABLE, True)
    changed = view([tool("crm.orders.list_open_orders", "Now something else.")])
    assert not replay(trace, changed, NO_REVOCATIONS, SETTINGS, PACKAGES).equal


@pytest.mark.parametrize(("record", "kept"), [(Record.TASK, True), (Record.TERMS, False), (Record.DIGEST, False)])
def test_the_words_of_a_task_are_kept_only_where_configured(record, kept):
    trace = recorded(["listing the open orders"], AGENT, view(), record)
    assert (b"listing" in canonical_json(trace.to_json())) is kept
