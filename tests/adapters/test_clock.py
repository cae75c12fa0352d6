"""The clock gives what its port says; nothing else of it can be tested without waiting."""

import re

from pegboard.adapters.clock import SystemClock


def test_times_are_numbers_that_do_not_go_back() -> None:
    clock = SystemClock()
    assert clock.now() > 1_700_000_000
    assert clock.ticks() <= clock.ticks()


def test_ids_have_their_prefix_and_are_never_the_same() -> None:
    ids = {SystemClock().new_id("sel") for _ in range(1000)}
    assert len(ids) == 1000
    assert all(re.fullmatch("sel_[0-9a-f]{32}", found) for found in ids)
