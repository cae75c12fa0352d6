"""Law 8 over the whole ranking: the same input gives the same bytes.

Whatever the order in which tools came, what was indexed before, how many threads multiply, how strings
hash, or how often the question was asked.
"""

import hashlib
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.retrieval.query import Query
from tests.retrieval.made import CHANNELS, asked, catalogs, index_of, only, tasks, tool, visible
from tests.strategies import cases

WORDS = ["order", "refund", "customer", "invoice", "weather", "list", "create", "delete", "mail", "payment"]


@given(catalogs, tasks, st.randoms())
@cases(100, 5_000)
def test_the_order_in_which_tools_came_changes_no_byte(catalog, texts, random):
    shuffled = [*catalog]
    random.shuffle(shuffled)
    query = asked(texts, CHANNELS)
    one, index_one = index_of(catalog, CHANNELS)
    two, index_two = index_of(shuffled, CHANNELS)

    assert index_one.version == index_two.version
    assert visible(one, index_one, query, only(one)) == visible(two, index_two, query, only(two))


@given(catalogs, catalogs, tasks)
@cases(100, 5_000)
def test_an_index_built_upon_another_equals_one_built_from_nothing(catalog, earlier, texts):
    query = asked(texts, CHANNELS)
    _, old = index_of(earlier, CHANNELS)
    snapshot, upon = index_of(catalog, CHANNELS, previous=old)
    _, fresh = index_of(catalog, CHANNELS)

    assert upon.version == fresh.version
    assert visible(snapshot, upon, query, only(snapshot)) == visible(snapshot, fresh, query, only(snapshot))


@given(catalogs, tasks)
@cases(60, 2_000)
def test_a_recorded_query_ranks_as_the_query_did(catalog, texts):
    snapshot, index = index_of(catalog, CHANNELS)
    query = asked(texts, CHANNELS)
    again = Query.from_json(json.loads(json.dumps(query.to_json())))

    assert again == query
    assert visible(snapshot, index, again, only(snapshot)) == visible(snapshot, index, query, only(snapshot))


@pytest.mark.parametrize(("seed", "threads"), [("0", "1"), ("1", "2"), ("4242", "4")])
def test_hash_seeds_and_thread_counts_change_no_byte(seed, threads):
    environment = {**os.environ, "PYTHONHASHSEED": seed, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
    program = f"from {__name__} import large_digest; print(large_digest())"
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)

    assert run.stdout.strip() == large_digest()


def large_digest() -> str:
    """Rank a few hundred tools, enough for products to be split among threads, and digest what comes out."""
    pairs = [(one, two, number) for one in WORDS for two in WORDS for number in range(5)]
    catalog = [
        tool(f"{one}.{two}_{number}", f"{two} the {one}s of {WORDS[number]} {'again ' * number}", properties={one: two})
        for one, two, number in pairs
    ]
    snapshot, index = index_of(catalog, CHANNELS)
    texts = ["create a refund for the customer, and then mail the invoice", "list orders", "weather"]
    found = [visible(snapshot, index, asked(texts, channels), only(snapshot), k=400) for channels in ((), CHANNELS)]
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()
