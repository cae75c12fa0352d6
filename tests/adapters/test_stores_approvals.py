"""What every ledger does with approvals: one contract, run against each of them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import anyio
import pytest

from pegboard.core.errors import StoreError
from pegboard.engine.ledger import ApprovalState, Ended
from tests.adapters.ledger_cases import Asked
from tests.adapters.store_cases import APPROVAL, OPEN


@pytest.fixture(params=OPEN)
def ledger(request: pytest.FixtureRequest) -> Iterator[Asked]:
    with OPEN[request.param]() as opened:
        yield Asked(opened)


def test_a_request_comes_back_as_it_was_asked(ledger: Asked) -> None:
    assert ledger.ask() == APPROVAL == ledger.approval("apr_1")
    assert ledger.approval("apr_2") is None
    assert ledger.sequence() == 0


def test_a_request_with_this_id_is_put_on_record_once(ledger: Asked) -> None:
    ledger.ask()
    with pytest.raises(StoreError):
        ledger.ask(arguments="sha256:others")


@pytest.mark.parametrize("state", [None, ApprovalState.GRANTED, ApprovalState.DENIED])
def test_who_asks_again_gets_the_request_that_stands(ledger: Asked, state: ApprovalState | None) -> None:
    first = ledger.ask()
    if state is not None:
        first = ledger.decide("apr_1", state) or first
    assert ledger.ask("apr_2", reasons=("flow", "risk"), asked_at=9.0, expires_at=90.0, shown="else") == first
    assert ledger.approval("apr_2") is None


@pytest.mark.parametrize(
    "change",
    [
        {"identity": "sha256:kim"},
        {"tool_id": "mail.list"},
        {"schema_hash": "sha256:other"},
        {"arguments": "sha256:others"},
        {"reasons": ("risk",)},
        {"reasons": ("risk", "flow", "repeat")},
        {"asked_at": 50.0, "expires_at": 90.0},
    ],
)
def test_another_request_is_one_of_its_own(ledger: Asked, change: dict[str, Any]) -> None:
    ledger.ask()
    assert ledger.ask("apr_2", **change).approval_id == "apr_2"


def test_a_request_whose_approval_was_used_is_asked_anew(ledger: Asked) -> None:
    ledger.ask()
    ledger.decide("apr_1", ApprovalState.GRANTED)
    assert ledger.open("one", approval_id="apr_1")
    assert ledger.ask("apr_2").approval_id == "apr_2"


def test_a_request_is_decided_once(ledger: Asked) -> None:
    ledger.ask()
    granted = replace(APPROVAL, state=ApprovalState.GRANTED, by="dana", decided_at=8.0)
    assert ledger.decide("apr_1", ApprovalState.GRANTED) == granted
    assert ledger.decide("apr_1", ApprovalState.DENIED) is None
    assert ledger.approval("apr_1") == granted
    assert ledger.sequence() == 1


@pytest.mark.parametrize("at", [4.0, 50.0, 60.0])
def test_a_request_is_decided_only_while_it_stands(ledger: Asked, at: float) -> None:
    ledger.ask()
    assert ledger.decide("apr_1", ApprovalState.GRANTED, at=at) is None
    assert ledger.decide("apr_2", ApprovalState.GRANTED) is None
    assert ledger.approval("apr_1") == APPROVAL
    assert ledger.sequence() == 0


def test_what_is_granted_for_a_call_is_told_newest_first(ledger: Asked) -> None:
    for number, change in enumerate(
        [{"reasons": ("risk",)}, {"reasons": ("flow",)}, {"reasons": ("limit",)}, {"arguments": "sha256:others"}]
    ):
        ledger.ask(f"apr_{number}", **change)
    ledger.ask("short", expires_at=20.0, reasons=("short",))
    ledger.ask("early", asked_at=20.5, reasons=("early",))
    for name in ("apr_1", "apr_0", "apr_3", "short"):
        ledger.decide(name, ApprovalState.GRANTED)
    ledger.decide("early", ApprovalState.GRANTED, at=21.0)
    assert [found.approval_id for found in ledger.standing().granted] == ["apr_1", "apr_0"]
    assert ledger.open("one", approval_id="apr_1")
    assert [found.approval_id for found in ledger.standing().granted] == ["apr_0"]


def test_a_call_uses_up_the_approval_that_it_names(ledger: Asked) -> None:
    ledger.ask()
    ledger.decide("apr_1", ApprovalState.GRANTED)
    assert ledger.open("one", approval_id="apr_1")
    assert not ledger.open("two", approval_id="apr_1")
    used = ledger.approval("apr_1")
    assert used is not None
    assert (used.state, used.used_by, used.by) == (ApprovalState.USED, "one", "dana")


@pytest.mark.parametrize(
    "change",
    [
        {"approval_id": "apr_2"},
        {"identity": "sha256:kim"},
        {"tool_id": "mail.list"},
        {"schema_hash": "sha256:other"},
        {"arguments": "sha256:others"},
        {"at": 50.0},
        {"at": 4.0},
    ],
)
def test_an_approval_of_anything_else_opens_no_line(ledger: Asked, change: dict[str, Any]) -> None:
    ledger.ask()
    ledger.decide("apr_1", ApprovalState.GRANTED)
    assert not ledger.open("one", **{"approval_id": "apr_1", **change})
    assert ledger.call("one") is None
    assert ledger.approval("apr_1") == replace(APPROVAL, state=ApprovalState.GRANTED, by="dana", decided_at=8.0)


@pytest.mark.parametrize("state", [None, ApprovalState.DENIED])
def test_an_approval_that_nobody_granted_opens_no_line(ledger: Asked, state: ApprovalState | None) -> None:
    ledger.ask()
    if state is not None:
        ledger.decide("apr_1", state)
    assert not ledger.open("one", approval_id="apr_1")


def test_a_call_that_was_not_sent_gives_its_approval_back(ledger: Asked) -> None:
    ledger.ask()
    granted = ledger.decide("apr_1", ApprovalState.GRANTED)
    ledger.open("one", approval_id="apr_1")
    ledger.close("one", Ended.NOT_SENT)
    assert ledger.approval("apr_1") == granted
    assert ledger.open("two", approval_id="apr_1")
    ledger.close("one", Ended.NOT_SENT)
    assert not ledger.open("three", approval_id="apr_1")


@pytest.mark.parametrize("ended", [Ended.DONE, Ended.ERROR, Ended.OUTCOME_UNKNOWN])
def test_a_call_that_may_have_run_keeps_its_approval(ledger: Asked, ended: Ended) -> None:
    ledger.ask()
    ledger.decide("apr_1", ApprovalState.GRANTED)
    ledger.open("one", approval_id="apr_1")
    ledger.close("one", ended)
    assert not ledger.open("two", approval_id="apr_1")


def test_the_newest_requests_come_first(ledger: Asked) -> None:
    for number in range(3):
        ledger.ask(f"apr_{number}", arguments=f"sha256:{number}")
    ledger.decide("apr_1", ApprovalState.DENIED)

    async def names(limit: int, state: ApprovalState | None = None) -> list[str]:
        return [found.approval_id for found in await ledger.store.ledger.approvals(limit, state=state)]

    assert anyio.run(names, 9) == ["apr_2", "apr_1", "apr_0"]
    assert anyio.run(names, 1) == ["apr_2"]
    assert anyio.run(names, -1) == []
    assert anyio.run(names, 9, ApprovalState.ASKED) == ["apr_2", "apr_0"]
    assert anyio.run(names, 9, ApprovalState.USED) == []


def test_one_callers_requests_are_told_apart_from_all_others(ledger: Asked) -> None:
    for number, identity in enumerate(("sam", "eve", "sam")):
        ledger.ask(f"apr_{number}", arguments=f"sha256:{number}", identity=identity)
    ledger.decide("apr_2", ApprovalState.DENIED)

    async def names(state: ApprovalState | None, identity: str) -> list[str]:
        found = await ledger.store.ledger.approvals(9, state=state, identity=identity)
        return [one.approval_id for one in found]

    assert anyio.run(names, None, "sam") == ["apr_2", "apr_0"]
    assert anyio.run(names, ApprovalState.ASKED, "sam") == ["apr_0"]
    assert anyio.run(names, None, "nobody") == []
