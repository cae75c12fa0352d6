"""Whose turn it is: bursts cost two refreshes, no change is lost, and noise is listened to less and less."""

from hypothesis import given
from hypothesis import strategies as st

from pegboard.service.turns import FIRST_GAP_S, LONGEST_GAP_S, Turn

POLL_S = 300.0


class Day:
    """Plays a server's day on a turn: a refresh takes two seconds, and begins as soon as it is due."""

    def __init__(self) -> None:
        self.now, self.turn = 0.0, Turn()
        self.begun: list[float] = []
        self._ends_at: float | None = None

    def until(self, then: float) -> None:
        while True:
            at = self._ends_at if self._ends_at is not None else self.turn.due_at
            if at is None or max(at, self.now) > then:
                break
            self.now = max(at, self.now)
            if self._ends_at is None:
                self.begun.append(self.now)
                self.turn, self._ends_at = self.turn.begin(), self.now + 2.0
            else:
                self.turn, self._ends_at = self.turn.end(self.now, next_in_s=POLL_S), None
        self.now = then

    def hear(self, at: float) -> None:
        self.until(at)
        self.turn = self.turn.hear(at)


def test_it_begins_with_a_refresh_and_goes_on_by_age():
    day = Day()
    day.until(1_000)
    assert day.begun == [0.0, 302.0, 604.0, 906.0]


def test_a_notice_in_silence_is_followed_at_once():
    day = Day()
    day.hear(100)
    day.until(110)
    assert day.begun == [0.0, 100.0]


def test_two_hundred_notices_during_one_refresh_are_one_more_refresh():
    day = Day()
    for number in range(200):
        day.hear(0.5 + number / 200)
    day.until(250)
    assert day.begun == [0.0, 2.0 + FIRST_GAP_S]


def test_an_operator_waits_for_no_gap_but_for_a_refresh_that_runs():
    day = Day()
    day.until(1)
    day.turn = day.turn.ask(1)
    day.until(2.5)
    assert day.begun == [0.0]
    day.until(10)
    day.turn = day.turn.ask(10)
    day.until(10)
    assert day.begun == [0.0, 3.0, 10.0]


def test_a_server_that_always_says_it_changed_is_refreshed_less_and_less_often():
    day = Day()
    for tenth in range(36_000):
        day.hear(tenth / 10)
    gaps = [later - earlier for earlier, later in zip(day.begun, day.begun[1:], strict=False)]
    assert gaps == sorted(gaps)
    assert gaps[-1] >= LONGEST_GAP_S
    assert len(day.begun) < 70


def test_after_a_quiet_time_a_noisy_server_is_heard_at_once_again():
    day = Day()
    for second in range(600):
        day.hear(second)
    day.until(600 + 5 * LONGEST_GAP_S)
    day.hear(2_000)
    day.until(2_000)
    assert day.begun[-1] == 2_000


def test_what_is_never_due_by_itself_waits_for_a_notice():
    turn = Turn().begin().end(2.0, next_in_s=None)
    assert turn.due_at is None
    assert turn.hear(50.0).due_at == 50.0


@given(st.lists(st.floats(0, 2_000), min_size=1, max_size=60).map(sorted))
def test_a_refresh_begins_after_the_last_change_within_the_longest_gap_and_two_never_run_at_once(heard: list[float]):
    day = Day()
    for at in heard:
        day.hear(at)
    day.until(heard[-1] + 2 + LONGEST_GAP_S)
    assert day.begun[-1] >= heard[-1]
    assert all(later - earlier >= 2.0 for earlier, later in zip(day.begun, day.begun[1:], strict=False))
    assert len(day.begun) <= len(heard) * 2 + 9
