"""The page walk: whole listings or none."""

from dataclasses import dataclass

import pytest

from pegboard.core.errors import MalformedPageError, PageLimitError
from pegboard.engine.listing import Walk, WalkLimits


@dataclass(frozen=True)
class Sent:
    tools: object
    next_cursor: object = None


def tools(first: int, count: int) -> list[dict[str, str]]:
    return [{"name": f"tool_{number}"} for number in range(first, first + count)]


def receive_all(walk: Walk, pages: list[Sent]) -> None:
    for page in pages:
        walk.receive(page)  # type: ignore[arg-type]


def test_three_pages_of_50_50_and_1_give_all_101():
    pages = {None: Sent(tools(0, 50), "b"), "b": Sent(tools(50, 50), "c"), "c": Sent(tools(100, 1))}
    walk = Walk("crm")
    asked = []
    while not walk.done:
        asked.append(walk.next_cursor())
        walk.receive(pages[asked[-1]])
    assert asked == [None, "b", "c"]
    assert list(walk.tools()) == tools(0, 101)


@pytest.mark.parametrize("cursors", [["a", "a"], ["a", "b", "a"]])
def test_a_cursor_that_repeats_ends_the_walk_without_tools(cursors):
    walk = Walk("crm")
    pages = [Sent(tools(0, 1), cursor) for cursor in cursors]
    with pytest.raises(PageLimitError, match="a cursor repeats"):
        receive_all(walk, pages)
    with pytest.raises(ValueError, match="part of a listing"):
        walk.tools()


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        (WalkLimits(pages=2), "more than 2 pages"),
        (WalkLimits(tools=5), "more than 5 tools"),
        (WalkLimits(size_bytes=100), "more than 100 bytes"),
    ],
)
def test_a_listing_past_a_bound_is_refused(limits, problem):
    walk = Walk("crm", limits)
    pages = [Sent(tools(page, 2), str(page)) for page in range(10)]
    with pytest.raises(PageLimitError) as error:
        receive_all(walk, pages)
    assert error.value == PageLimitError("crm", problem)


def test_a_listing_at_its_bounds_is_taken():
    walk = Walk("crm", WalkLimits(pages=2, tools=4))
    walk.receive(Sent(tools(0, 2), "b"))
    walk.receive(Sent(tools(2, 2)))
    assert len(walk.tools()) == 4


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (Sent(None), "its tools are null, not a list"),
        (Sent({"name": "x"}), "its tools are an object, not a list"),
        (Sent([], 7), "its next cursor is a number, not a text"),
    ],
)
def test_what_is_no_page_is_malformed(page, problem):
    with pytest.raises(MalformedPageError) as error:
        Walk("crm").receive(page)
    assert error.value == MalformedPageError("crm", problem)


def test_an_empty_cursor_ends_the_walk():
    walk = Walk("crm")
    walk.receive(Sent(tools(0, 1), ""))
    assert walk.done


def test_an_empty_listing_is_a_listing():
    walk = Walk("crm")
    walk.receive(Sent([]))
    assert walk.tools() == ()


def test_a_page_after_the_last_one_is_a_mistake_of_the_caller():
    walk = Walk("crm")
    walk.receive(Sent([]))
    with pytest.raises(ValueError, match="no page was asked for"):
        walk.receive(Sent([]))


def test_a_tool_that_is_no_json_is_left_to_intake():
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    walk = Walk("crm")
    walk.receive(Sent([{"name": "fine"}, {"name": "deep", "inputSchema": deep}, object()]))
    assert len(walk.tools()) == 3
