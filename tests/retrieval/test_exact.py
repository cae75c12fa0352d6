"""Exact names: field case 7 and its kind. What a task names comes first, among the eligible alone."""

import pytest

from pegboard.retrieval.exact import MAX_NAMESAKES
from tests.retrieval.made import asked, first, ids, index_of, only, tool

CODE = [
    tool("graph.search_graph", "Search."),
    tool("graph.trace_path", "Trace."),
    tool("graph.get_code_snippet", "Read."),
    *[tool(f"graph.search_{number}", "search graph trace path get code snippet " * 5) for number in range(8)],
]


def test_every_exactly_named_tool_comes_before_ranked_ones():
    snapshot, index = index_of(CODE)
    found = first(snapshot, index, "search_graph trace_path get_code_snippet", k=5)
    assert found[:3] == ["graph.search_graph", "graph.trace_path", "graph.get_code_snippet"]
    assert len(found) == 5


@pytest.mark.parametrize(
    "task",
    [
        "graph.trace_path",
        "graph/trace_path",
        "please run TRACE_PATH on it, it is urgent",
        "what does `trace_path` do to the search of graphs?",
        "trace_path",
    ],
)
def test_a_tool_is_named_by_id_by_namespace_or_by_name(task):
    snapshot, index = index_of(CODE)
    assert first(snapshot, index, task)[0] == "graph.trace_path"


def test_a_short_task_may_be_a_name_with_blanks():
    snapshot, index = index_of([tool("kick.Get Channel Clips"), *CODE])
    assert first(snapshot, index, "get channel clips")[0] == "kick.Get Channel Clips"


def test_a_plain_word_names_no_tool_unless_it_is_quoted():
    snapshot, index = index_of([tool("a.search", "Other things."), *CODE])
    ranking = index.rank(asked(["search the graph for a path and a snippet"]), only(snapshot), 5)
    assert ranking.exact == ()
    quoted = index.rank(asked(["`search` the graph for a path and a snippet"]), only(snapshot), 5)
    assert ids(snapshot, quoted)[0] == "a.search"


def test_an_id_wins_over_a_namesake():
    snapshot, index = index_of([tool("a.b_c"), tool("x.y", name="a.b_c")])
    assert [snapshot.entries[row].tool_id for row in index.rank(asked(["a.b_c"]), only(snapshot), 5).exact] == ["a.b_c"]


def test_namesakes_of_several_tenants_resolve_among_the_eligible_alone():
    snapshot, index = index_of([tool("a.get_inventory"), tool("b.get_inventory")])
    ranking = index.rank(asked(["get_inventory"]), only(snapshot, {"b.get_inventory"}), 5)
    assert ids(snapshot, ranking) == ["b.get_inventory"]


def test_a_name_that_very_many_tools_share_names_none():
    snapshot, index = index_of([tool(f"s{number}.run_query") for number in range(MAX_NAMESAKES + 1)])
    assert index.rank(asked(["run_query"]), only(snapshot), 5).exact == ()


def test_more_names_than_asked_for_are_cut():
    snapshot, index = index_of(CODE)
    assert len(first(snapshot, index, "search_graph trace_path get_code_snippet", k=2)) == 2
