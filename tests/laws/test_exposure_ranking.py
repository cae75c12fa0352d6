"""Law 2 over the whole ranking: what a caller may not see moves nothing that it is given.

Order, scores, their parts, the evidence of confidence and its verdict are compared byte for byte, with and
without dense channels, above and below the ten eligible tools from which deviations are used.
"""

from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.catalog import CatalogEntry
from tests.retrieval.made import CHANNELS, asked, catalogs, index_of, only, tasks, visible
from tests.strategies import cases

channels = st.sampled_from([(), CHANNELS[:1], CHANNELS[1:], CHANNELS])


@given(catalogs, tasks, channels, st.data())
@cases(150, 5_000)
def test_a_ranking_equals_that_of_an_index_of_the_eligible_tools_alone(catalog, texts, using, data):
    seen = _some(data, catalog)
    whole, index = index_of(catalog, using)
    alone, index_alone = index_of([entry for entry in catalog if entry.tool_id in seen], using)
    query = asked(texts, using)

    assert visible(whole, index, query, only(whole, seen)) == visible(alone, index_alone, query, only(alone))


@given(catalogs, catalogs, tasks, channels, st.data())
@cases(100, 5_000)
def test_no_hidden_tool_that_comes_goes_or_changes_moves_a_byte(catalog, others, texts, using, data):
    seen = _some(data, catalog)
    fixed = [entry for entry in catalog if entry.tool_id in seen]
    hidden = [entry for entry in others if entry.tool_id not in seen]
    query = asked(texts, using)
    before, index_before = index_of(catalog, using)
    after, index_after = index_of([*fixed, *hidden], using, previous=index_before)

    assert visible(before, index_before, query, only(before, seen)) == visible(
        after, index_after, query, only(after, seen)
    )


@given(catalogs, tasks, st.data())
@cases(60, 2_000)
def test_a_ranking_holds_eligible_tools_alone_even_when_others_are_named(catalog, texts, data):
    seen = _some(data, catalog)
    snapshot, index = index_of(catalog)
    named = " ".join(f"`{entry.name}` {entry.tool_id}" for entry in catalog)

    found = visible(snapshot, index, asked([*texts, named]), only(snapshot, seen), k=100)

    assert {*found["ids"], *found["exact"]} <= seen


def _some(data: st.DataObject, catalog: list[CatalogEntry]) -> set[str]:
    # Most of the catalog, so that there are often ten or more.
    flags = data.draw(st.lists(st.sampled_from([True, True, True, False]), min_size=24, max_size=24))
    return {entry.tool_id for entry, kept in zip(catalog, flags, strict=False) if kept}
