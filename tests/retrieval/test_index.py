"""The index as a whole: sub-tasks, clauses, few tools, odd input, and what its version covers."""

import numpy as np
import pytest

from pegboard.retrieval.index import Eligible, Index
from pegboard.retrieval.query import analyse
from tests.retrieval.made import CHANNELS, asked, first, ids, index_of, only, tool, visible

OFFICE = [
    tool("billing.create_refund", "Give money of a payment back to the customer."),
    tool("billing.get_payment", "Read one payment."),
    tool("mail.send_message", "Send an email to someone."),
    tool("calendar.book_room", "Book a meeting room."),
    *[tool(f"warehouse.move_stock_{number}", "Move stock between shelves.") for number in range(12)],
]


def test_each_sub_task_is_covered_before_the_rest_is_filled():
    snapshot, index = index_of(OFFICE)
    found = first(snapshot, index, "move stock between shelves", "book a meeting room", "email someone", k=3)
    assert found == ["warehouse.move_stock_0", "calendar.book_room", "mail.send_message"]


def test_clauses_bring_the_second_wish_up():
    snapshot, index = index_of(OFFICE)
    task = "move the stock between the shelves of the stock shelf, and then book a room"
    assert "calendar.book_room" in first(snapshot, index, task, k=13)


def test_the_best_tool_of_each_clause_is_among_the_first_eight():
    stock = [tool(f"stock.stock_shelf_{letter}", "Move the stock of a shelf.") for letter in "abcdefghij"]
    # So many orders fit their clause alike that none of them stands out.
    orders = [tool(f"orders.order_{number}", "Read an order of a customer.") for number in range(20)]
    snapshot, index = index_of([*stock, *orders])
    found = first(snapshot, index, "Move the stock of the shelf, stock shelf. Show me an order", k=12)
    assert found[7].startswith("orders.")
    assert len(found) == len(set(found)) == 12


def test_channels_that_no_recipe_names_are_weighed_alike():
    snapshot, index = index_of(OFFICE, ["other", "another"])
    assert len(first(snapshot, index, "refund the payment", channels=["other", "another"])) == 8


@pytest.mark.parametrize("count", [0, 1, 2, 9, 10])
@pytest.mark.parametrize("channels", [(), CHANNELS])
def test_any_number_of_eligible_tools_ranks(count, channels):
    snapshot, index = index_of(OFFICE, channels)
    some = {entry.tool_id for entry in snapshot.entries[:count]}
    ranking = index.rank(asked(["refund the payment of a customer", ""], channels), only(snapshot, some), 8)
    assert {*ids(snapshot, ranking)} <= some
    assert len(ranking.rows) == (min(8, count) if channels else len({*ids(snapshot, ranking)}))
    assert ranking.eligible == count


# An eighth of the rows or fewer have postings of their own, more are walked under a mask.
@pytest.mark.parametrize("every", [1, 3, 7, 8, 40])
@pytest.mark.parametrize("channels", [(), CHANNELS])
def test_some_of_many_tools_rank_as_an_index_of_them_alone(every, channels):
    verbs, things = ("get", "list", "create", "delete"), ("order", "refund", "customer", "invoice", "payment")
    catalog = [
        tool(f"{thing}s.{verb}_{thing}_{number}", f"{verb} the {thing} " * (number % 4), properties={thing: verb})
        for verb in verbs
        for thing in things
        for number in range(12)
    ]
    snapshot, index = index_of(catalog, channels)
    some = {entry.tool_id for entry in snapshot.entries[::every]}
    alone, index_alone = index_of([entry for entry in catalog if entry.tool_id in some], channels)
    for texts in (["create a refund for the customer, and then list the orders"], ["get payment", "weather"]):
        query = asked(texts, channels)
        twice = [visible(snapshot, index, query, only(snapshot, some)) for _ in range(2)]
        assert twice == [visible(alone, index_alone, query, only(alone))] * 2


@pytest.mark.parametrize("task", ["", "?!", "the of and", "🙂", "天気", "ＲＥＦＵＮＤ", "réfund", "a" * 1_000_000])
def test_odd_tasks_rank_without_failing(task):
    snapshot, index = index_of(OFFICE)
    assert index.rank(analyse([task]), only(snapshot), 8).eligible == len(OFFICE)


def test_full_width_and_accented_forms_find_the_tool():
    snapshot, index = index_of(OFFICE)
    for task in ("ＲＥＦＵＮＤ", "réfund", "REFUNDS"):
        assert first(snapshot, index, task, k=1) == ["billing.create_refund"]


def test_tools_without_description_with_a_very_long_one_and_with_equal_texts_rank():
    same = [tool(f"same.tool_{letter}", "Equal text.", name="tool") for letter in "abc"]
    snapshot, index = index_of([tool("a.bare"), tool("b.long", "word " * 13_000), *same])
    assert first(snapshot, index, "equal text") == ["same.tool_a", "same.tool_b", "same.tool_c"]
    assert first(snapshot, index, "bare") == ["a.bare"]


def test_more_than_the_head_can_be_asked_for_in_falling_scores():
    snapshot, index = index_of([tool(f"a.order_{number}", "order " * (number % 7)) for number in range(400)])
    ranking = index.rank(analyse(["order"]), only(snapshot), 400)
    assert len({*ranking.rows.tolist()}) == 400
    assert list(ranking.scores) == sorted(ranking.scores, reverse=True)


def test_no_rows_are_asked_for_and_none_come():
    snapshot, index = index_of(OFFICE)
    assert len(index.rank(analyse(["order"]), only(snapshot), 0).rows) == 0


def test_the_version_covers_documents_vectors_and_models():
    entries = index_of(OFFICE)[0].entries
    zeros = np.zeros((len(entries), 4), dtype=np.int8)
    built = [
        Index.build(entries),
        Index.build(entries[1:]),
        Index.build(entries, {"static": zeros}),
        Index.build(entries, {"static": zeros}, models={"static": "m@1"}),
        Index.build(entries, {"static": zeros}, models={"static": "m@2"}),
        Index.build([*entries[:-1], tool("warehouse.move_stock_9", "Another text.")]),
    ]
    assert len({index.version for index in built}) == len(built)


@pytest.mark.parametrize(
    ("matrix", "problem"),
    [
        (np.zeros((1, 4), dtype=np.int8), "has 1 vectors for 16 tools"),
        (np.zeros((16, 4), dtype=np.float32), "must be a matrix of int8"),
        (np.zeros(16, dtype=np.int8), "must be a matrix of int8"),
        (np.zeros((16, 1_041), dtype=np.int8), "1041 dimensions"),
    ],
)
def test_vectors_that_cannot_be_compared_exactly_are_refused(matrix, problem):
    with pytest.raises(ValueError, match=problem):
        Index.build(index_of(OFFICE)[0].entries, {"static": matrix})


def test_a_query_whose_vectors_have_another_length_is_ranked_by_its_terms():
    snapshot, index = index_of(OFFICE, ["static"])
    plain = index.rank(analyse(["refund the payment"]), only(snapshot), 8)
    other = index.rank(analyse(["refund the payment"], {"static": (b"\x01" * 3,)}), only(snapshot), 8)
    assert ids(snapshot, other) == ids(snapshot, plain)


@pytest.mark.parametrize("task", ["", "?!", "🙂"])
def test_a_task_without_a_word_is_ranked_by_no_vector(task):
    snapshot, index = index_of(OFFICE, CHANNELS)
    assert len(index.rank(asked([task], CHANNELS), only(snapshot), 8).rows) == 0
    both = index.rank(asked([task, "book a room"], CHANNELS), only(snapshot), 8)
    assert ids(snapshot, both) == ids(snapshot, index.rank(asked(["book a room"], CHANNELS), only(snapshot), 8))


def test_callers_in_turn_get_what_each_gets_alone():
    snapshot, index = index_of(OFFICE, CHANNELS)
    query = asked(["refund the payment"], CHANNELS)
    some = only(snapshot, {entry.tool_id for entry in snapshot.entries[::2]})
    alone = [index.rank(query, one, 8).scores for one in (only(snapshot), some)]
    in_turn = [index.rank(query, one, 8).scores for one in (only(snapshot), some) * 3]
    assert in_turn == alone * 3


def test_equal_sets_have_one_key():
    mask = np.array([True, False, True])
    assert Eligible.of_mask(mask).key == Eligible.of_mask(mask.copy()).key != Eligible.of_mask(~mask).key
