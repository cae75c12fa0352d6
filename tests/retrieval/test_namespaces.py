"""Namespaces: which of them a task names, and what that is worth in a ranking."""

import pytest

from pegboard.retrieval.namespaces import GENERIC, Namespaces
from pegboard.retrieval.tokens import terms
from tests.retrieval.made import CHANNELS, ids, index_of, only, tool, visible
from tests.retrieval.made import asked as asked_for

SHOP = [
    tool("google-maps.find", "Find."),
    tool("stripe-mcp-server.find", "Find."),
    tool("mcp-tools.find", "Find."),
    tool("GitLab.find", "Find."),
]


@pytest.mark.parametrize(
    ("task", "named"),
    [
        ("refund it in Stripe", {"stripe-mcp-server"}),
        ("put it on Google Maps and into GitLab", {"google-maps", "GitLab"}),
        ("ask Google", set()),
        ("which mcp tools are there", set()),
        ("", set()),
    ],
)
def test_a_namespace_is_named_by_every_word_that_is_its_own(task, named):
    found = Namespaces.of(SHOP)
    numbers = {int(code): entry.namespace for code, entry in zip(found.codes, SHOP, strict=True)}
    assert {numbers[code] for code in found.named(terms(task)).tolist()} == named


@pytest.mark.parametrize("word", sorted(GENERIC))
def test_a_word_that_says_what_a_namespace_is_need_not_be_asked_for(word):
    found = Namespaces.of([tool(f"stripe-{word}.find", "Find."), tool(f"{word}.find", "Find.")])
    assert found.named(["stripe"]).tolist() == [0]
    assert found.named([word]).tolist() == []


def test_a_tool_of_a_named_namespace_is_lifted_and_no_other():
    catalog = [tool(f"{name}.send_card", "Send a gift card.") for name in ("stripe", "shop", "bank")]
    snapshot, index = index_of([*catalog, *(tool(f"office.book_{letter}", "Book a room.") for letter in "abcdefghij")])
    ranking = index.rank(asked_for(["send a gift card in Stripe"]), only(snapshot), 3)
    # Alone in its namespace, a tool is its own neighbour: a fifth of its score, or nothing below the mean.
    parts = zip(ids(snapshot, ranking), ranking.scores, ranking.parts["namespace"], strict=True)
    lifted = {tool_id: round(part - 0.2 * max(0.0, score - part), 6) for tool_id, score, part in parts}
    assert lifted == {"stripe.send_card": 0.5, "bank.send_card": 0.0, "shop.send_card": 0.0}


def test_a_hidden_tool_of_the_named_namespace_changes_nothing():
    seen = [tool(f"shop.pay_{letter}", "Pay the customer.") for letter in "abcdefghijkl"]
    hidden = [tool(f"stripe.pay_{letter}", "Pay the customer.") for letter in "abc"]
    query = asked_for(["pay the customer in Stripe"], CHANNELS)
    alone, without = index_of(seen, CHANNELS)
    whole, index = index_of([*seen, *hidden], CHANNELS)
    some = {entry.tool_id for entry in seen}
    assert visible(whole, index, query, only(whole, some)) == visible(alone, without, query, only(alone))
