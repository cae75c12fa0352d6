"""One ranking for two: what is cut from a longer ranking is, byte for byte, what the index gives by itself."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.revocations import Revocations
from pegboard.engine.asking import Ask, SelectionSettings
from pegboard.engine.select import select
from pegboard.engine.view import Seen
from pegboard.service.ranked import ranked
from tests.crm import AGENT, ENTRIES, view
from tests.retrieval.made import CHANNELS, asked, catalogs, ids, index_of, only, sentences, visible
from tests.strategies import cases

channels = st.sampled_from([(), CHANNELS[:1], CHANNELS])
named = st.one_of(sentences, sentences.map(lambda text: f"{text} `order_list` and crm.refund_create"))
depths = st.integers(1, 30)


@given(catalogs, named, channels, depths, st.integers(0, 40))
@cases(60, 5_000)
def test_the_first_ranks_are_the_same_however_many_are_asked_for(catalog, text, using, depth, k):
    snapshot, index = index_of(catalog, using)
    whole = replace(view(catalog), index=index)
    query, eligible = asked([text], using), only(snapshot)
    once, ranking = ranked(whole, Seen(None, eligible, ""), query, depth)
    assert ids(snapshot, ranking) == ids(snapshot, index.rank(query, eligible, depth))
    assert visible(snapshot, once.index, query, eligible, k) == visible(snapshot, index, query, eligible, k)


def test_tools_that_are_named_exactly_are_cut_too():
    snapshot, index = index_of(ENTRIES)
    query = asked([" ".join(f"`{entry.tool_id}`" for entry in ENTRIES[:3])])
    eligible = only(snapshot)
    once, ranking = ranked(replace(view(), index=index), Seen(None, eligible, ""), query, 20)
    assert len(ranking.exact) == 3
    assert visible(snapshot, once.index, query, eligible, 2) == visible(snapshot, index, query, eligible, 2)


def test_what_was_not_asked_is_ranked_by_the_index():
    snapshot, index = index_of(ENTRIES)
    whole, eligible = replace(view(), index=index), only(snapshot)
    same, other, fewer = asked(["cancel the order"]), asked(["refund"]), only(snapshot, {ENTRIES[0].tool_id})
    once, _ = ranked(whole, Seen(None, eligible, ""), same, 2)
    for query, seen, k in ((other, eligible, 2), (same, fewer, 2), (same, eligible, 3)):
        assert visible(snapshot, once.index, query, seen, k) == visible(snapshot, index, query, seen, k)


def test_a_selection_of_such_a_view_is_the_same_and_the_index_ranks_once():
    whole, none, settings = view(), Revocations.at(0.0, ()), SelectionSettings(limit=2)
    ask = Ask(query=asked(["cancel the order of a customer"]))
    once, ranking = ranked(whole, whole.see(AGENT, none), ask.query, 20)
    made = [select(ask, one, AGENT, none, settings, selection_id="s", trace_id="t").to_json() for one in (whole, once)]
    assert made[0] == made[1]
    assert made[0]["tools"]
    assert len(ranking.rows) > 2
    assert once.index.rank(ask.query, whole.see(AGENT, none).eligible, 2).rows.base is ranking.rows


def test_a_view_without_an_index_has_no_ranking():
    bare = view(index=False)
    assert ranked(bare, Seen(None, only(bare.snapshot), ""), asked(["order"]), 20) == (bare, None)
