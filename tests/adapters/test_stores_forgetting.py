"""What every ledger forgets and what it never does, and how a person settles a call that nobody knew of."""

from collections.abc import Iterator

import pytest

from pegboard.core.catalog import Flow
from pegboard.engine.ledger import ApprovalState, Ended
from pegboard.service.ports import Forgotten
from tests.adapters.ledger_cases import Asked
from tests.adapters.store_cases import OPEN


@pytest.fixture(params=OPEN)
def ledger(request: pytest.FixtureRequest) -> Iterator[Asked]:
    with OPEN[request.param]() as opened:
        yield Asked(opened)


def test_a_call_of_unknown_outcome_is_settled_once_and_no_other_is(ledger: Asked) -> None:
    for name, ended in (("lost", Ended.OUTCOME_UNKNOWN), ("done", Ended.DONE), ("open", None)):
        ledger.open(name, arguments=name)
        if ended is not None:
            ledger.close(name, ended)
    assert (ledger.unknown(), ledger.unknown(1)) == (["open", "lost"], ["open"])
    before = ledger.sequence()
    settled = ledger.settle("lost", Ended.DONE)
    assert settled == ledger.call("lost")
    assert (settled.ended, settled.closed_at) == (Ended.DONE, 15.0)
    assert ledger.sequence() == before + 1
    assert [ledger.settle(name, Ended.NOT_SENT) for name in ("lost", "done", "nothing")] == [None, None, None]
    assert ledger.settle("open", Ended.DONE) is not None
    assert ledger.unknown() == []


def test_what_a_person_says_was_not_done_leaves_its_key_and_its_approval_free(ledger: Asked) -> None:
    ledger.ask()
    ledger.decide("apr_1", ApprovalState.GRANTED)
    assert ledger.open("lost", key="k", approval_id="apr_1")
    ledger.close("lost", Ended.OUTCOME_UNKNOWN)
    ledger.settle("lost", Ended.NOT_SENT)
    assert ledger.standing(key="k").recorded is None
    assert ledger.approval("apr_1").state is ApprovalState.GRANTED
    assert ledger.open("again", key="k", approval_id="apr_1")


KNOWN = {"old": {}, "keyed": {"key": "k"}, "unsent": {"ended": Ended.NOT_SENT}}
STAYS = {
    "new": {"at": 20.0},
    "lost": {"ended": Ended.OUTCOME_UNKNOWN},
    "open": {"ended": None},
    "first": {"conversation": "c", "flow": frozenset({Flow.READS_PRIVATE})},
}
LATER = {
    "twin": STAYS["first"],
    "later": STAYS["first"] | {"at": 11.0},
    "elsewhere": {"flow": frozenset({Flow.READS_PRIVATE})},
}


def test_what_is_old_goes_and_what_a_law_needs_stays(ledger: Asked) -> None:
    for name, said in (KNOWN | STAYS | LATER).items():
        fields = {"at": 10.0, "arguments": name, **said}
        ended = fields.pop("ended", Ended.DONE)
        ledger.open(name, **fields)
        if ended is not None:
            ledger.close(name, ended)
    ledger.ask("asked", expires_at=15.0)
    ledger.ask("alive", arguments="alive", expires_at=21.0)
    found = Forgotten(lines=6, approvals=1, unknown=2, labels=1)
    assert ledger.forget(20.0, apply=False) == found
    assert ledger.call("old") is not None
    assert ledger.forget(20.0) == found
    assert [name for name in KNOWN | STAYS | LATER if ledger.call(name)] == list(STAYS)
    assert [ledger.approval(name) is not None for name in ("asked", "alive")] == [False, True]
    assert ledger.forget(20.0) == Forgotten(unknown=2, labels=1)


def test_an_approval_goes_with_the_call_that_used_it_and_not_before(ledger: Asked) -> None:
    for name, ended in (("done", Ended.DONE), ("lost", Ended.OUTCOME_UNKNOWN)):
        ledger.ask(name, arguments=name, expires_at=15.0)
        ledger.decide(name, ApprovalState.GRANTED)
        ledger.open(name, arguments=name, approval_id=name)
        ledger.close(name, ended)
    assert ledger.forget(20.0) == Forgotten(lines=1, approvals=1, unknown=1)
    assert [ledger.approval(name) is not None for name in ("done", "lost")] == [False, True]


def test_a_sequence_outlives_the_lines_that_it_counted(ledger: Asked) -> None:
    ledger.open("old")
    ledger.close("old", Ended.DONE)
    ledger.forget(20.0)
    assert (ledger.call("old"), ledger.sequence()) == (None, 2)
    assert not ledger.open("new", after=0)
