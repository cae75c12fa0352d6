"""Lock records: a chain of changes is the lock that the last of them was made of."""

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.lock import Lock
from pegboard.core.names import canonical_json
from pegboard.engine.lock_records import follows, lock_of, lock_record
from tests.strategies import locks


@given(st.lists(locks, min_size=1, max_size=5))
def test_a_chain_of_records_is_the_last_lock(states: list[Lock]):
    records = [lock_record(states[0])]
    records += [lock_record(new, old, 2) for old, new in pairwise(states)]
    kept = [json.loads(canonical_json(record)) for record in records]
    assert lock_of(kept) == states[-1]
    assert [follows(record) for record in kept] == [None, *(old.digest for old in states[:-1])]


@given(locks, locks)
def test_a_record_holds_no_line_that_stands(old: Lock, new: Lock):
    lines = lock_record(new, old)["lines"]
    assert not {line.text for line in old}.intersection(lines)
