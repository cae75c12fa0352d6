"""A chain shows what was changed, left out or cut off at its beginning, and where it may go on."""

import pytest

from pegboard.core.chain import PRUNED, START, Walk, chained


def chain(*bodies, kind="halt"):
    """Chain events of these bodies, one a second."""
    events, last = [], START
    for number, body in enumerate(bodies, 1):
        name = PRUNED if "through" in body else kind
        last = chained(last, number, float(number), name, body)
        events.append((number, float(number), name, body, last))
    return events


def walked(events):
    walk = Walk()
    for event in events:
        walk.follow(*event)
    return walk


WHOLE = chain({"n": 1}, {"n": 2}, {"n": 3}, {"n": 4})
LAST_GONE = WHOLE[1][4]


def test_a_chain_without_events_is_whole():
    found = walked([])
    assert (found.broken, found.events, found.pruned, found.last) == ((), 0, 0, START)


def test_a_whole_chain_is_followed_to_its_last_hash():
    found = walked(WHOLE)
    assert (found.broken, found.events, found.pruned, found.last) == ((), 4, 0, WHOLE[-1][4])


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("part", range(5))
def test_a_change_of_any_part_of_any_event_is_found(place, part):
    changed = list(WHOLE)
    event = list(changed[place])
    event[part] = {0: 9, 1: 0.5, 2: "resume", 3: {"n": 9}, 4: "feed"}[part]
    changed[place] = tuple(event)
    assert place + 1 in walked(changed).broken or 9 in walked(changed).broken


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_event_that_is_left_out_is_found_at_the_next(place):
    assert walked([*WHOLE[:place], *WHOLE[place + 1 :]]).broken == (place + 2,)


@pytest.mark.parametrize(
    ("said", "broken"),
    [
        ({"through": 2, "hash": LAST_GONE}, ()),
        ({"through": 2, "hash": "feed"}, (3,)),
        ({"through": 1, "hash": LAST_GONE}, (3,)),
        ({"through": "2", "hash": LAST_GONE}, (3,)),
        ({"through": 2, "hash": None}, (3,)),
        ({"n": 5}, (3,)),
    ],
)
def test_a_beginning_that_is_gone_is_known_by_the_event_that_says_so(said, broken):
    found = walked(chain({"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}, said)[2:])
    assert (found.broken, found.events, found.pruned) == (broken, 3, 2)


def test_only_an_event_of_its_own_kind_says_that_a_beginning_is_gone():
    number, at, _, body, _ = chain({"n": 1}, {"n": 2}, {"n": 3}, {"through": 2, "hash": LAST_GONE})[3]
    forged = (number, at, "halt", body, chained(WHOLE[2][4], number, at, "halt", body))
    assert walked([WHOLE[2], forged]).broken == (3,)
