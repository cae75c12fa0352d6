"""Queries: bounded, recorded without loss, and the same order of texts for terms and for vectors."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.retrieval.query import (
    MAX_CHARACTERS,
    MAX_CLAUSES,
    MAX_NAMES,
    MAX_TASKS,
    MAX_TERMS,
    Query,
    analyse,
    read,
)
from tests.retrieval.made import asked


@pytest.mark.parametrize(
    ("task", "clauses"),
    [
        ("Refund the payment. Then mail the customer.", [["refund", "payment"], ["mail", "custom"]]),
        ("refund the payment and then mail the customer", [["refund", "payment"], ["mail", "custom"]]),
        ("refund the payment; also mail the customer", [["refund", "payment"], ["mail", "custom"]]),
        ("upgrade to v1.2 of the plan", []),
        ("refund the payment, please. Thanks!", []),
        ("refund payment. refund payment.", []),
        ("", []),
    ],
)
def test_a_task_is_split_where_one_wish_ends_and_another_begins(task, clauses):
    assert [list(clause) for clause in analyse([task]).clauses[0]] == clauses


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("please run search_graph and then trace_path", ("search_graph", "trace_path")),
        ("use `search` on it please now", ("search",)),
        ("call crm.orders.cancel_order, getOrder and ns/name.", ("crm.orders.cancel_order", "getOrder", "ns/name")),
        ("cancel order", ("cancel order",)),
        ("cancel the last order of Dana", ()),
    ],
)
def test_what_may_name_a_tool_is_kept_in_order(task, names):
    assert analyse([task]).names == names


@pytest.mark.parametrize("task", ["", " ", "?!", "the of and", "🙂🚀", "\x00\u200b"])
def test_a_task_without_words_asks_for_nothing_but_a_name(task):
    query = analyse([task])
    assert query.parts == ((),)
    assert query.clauses == ((),)


def test_characters_that_no_reader_sees_do_not_split_a_word():
    assert analyse(["pay\u200bment"]).parts == (("payment",),)


def test_no_task_asks_for_nothing():
    assert not analyse([]).asks
    assert not analyse([""]).asks
    assert analyse(["list orders"]).asks


def test_a_task_of_a_megabyte_is_cut_and_ranks_as_its_beginning():
    task = "refund the payment_id. Then mail `x_y` to Dana, and " * 20_000
    query = analyse([task])
    assert query == analyse([task[:MAX_CHARACTERS]])
    assert len(query.parts[0]) == MAX_TERMS
    assert len(query.clauses[0]) <= MAX_CLAUSES


def test_sub_tasks_and_names_are_bounded():
    query = analyse([f"`tool_{number}`" for number in range(200)])
    assert len(query.parts) == len(query.clauses) == MAX_TASKS
    assert len(query.names) <= MAX_NAMES


@given(st.lists(st.text(), max_size=4))
def test_a_query_survives_its_recording(tasks):
    query = asked(tasks, ["static"])
    assert Query.from_json(json.loads(json.dumps(query.to_json()))) == query


@given(st.lists(st.text(), max_size=4))
def test_there_is_one_vector_for_the_whole_and_for_each_clause(tasks):
    query = asked(tasks, ["static"])
    assert len(query.vectors["static"]) == len(read(tasks).texts) == sum(end - start for start, end in query.texts)
    assert [end - start for start, end in query.texts] == [1 + len(clauses) for clauses in query.clauses]


@pytest.mark.parametrize("value", [{}, {"parts": 1}, {"parts": [], "clauses": [], "names": [], "vectors": {"a": [1]}}])
def test_what_is_no_recorded_query_is_refused(value):
    with pytest.raises(ValueError, match="not a recorded query"):
        Query.from_json(value)
