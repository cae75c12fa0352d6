"""The ledger in its file: which damage is found, which index answers, what other processes may do meanwhile."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest

from pegboard.adapters import sqlite_approvals, sqlite_forget, sqlite_ledger
from pegboard.adapters.sqlite import SqliteStore
from pegboard.adapters.sqlite_rows import pack
from pegboard.adapters.sqlite_schema import STEPS, Place, connect, prepare
from pegboard.core.errors import StoreError
from pegboard.engine.ledger import ApprovalState, Ended
from pegboard.service.ports import Forgotten
from tests.adapters.ledger_cases import QUESTION, Asked
from tests.adapters.store_cases import APPROVAL, HALT, LINE, publish


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pegboard.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore.open(path, timeout_s=0.1)) as opened:
        yield opened


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement, values).rowcount > 0


def fill(store: SqliteStore) -> None:
    """Write a call that ran under an approval, a call that still runs, and three events."""
    asked = Asked(store)
    asked.ask()
    asked.decide("apr_1", ApprovalState.GRANTED)
    assert asked.open("ran", approval_id="apr_1", key="k")
    asked.close("ran", Ended.DONE, result=b"[]")
    assert asked.open("runs")
    anyio.run(store.audit.append, [(1.0, "halt", {"n": number}) for number in range(3)])


# --- damage

WRONG_LINES = {
    "a risk that is none": "UPDATE ledger SET risk = 'harmless'",
    "a label that is none": "UPDATE ledger SET flow = 'reads_private,leaks'",
    "an end that is none": "UPDATE ledger SET ended = 'perhaps'",
    "a time that is text": "UPDATE ledger SET at = 'noon'",
    "a cost that is text": "UPDATE ledger SET cost = 'much'",
    "a caller that is bytes": "UPDATE ledger SET principal = x'ff00'",
    "an answer that is no frame": "UPDATE ledger SET result = x'00' WHERE call_id = 'ran'",
}
WRONG_APPROVALS = {
    "a state that is none": "UPDATE approvals SET state = 'perhaps'",
    "a body that is no frame": "UPDATE approvals SET body = x'00'",
    "a time beyond the calendar": "UPDATE approvals SET expires_at = 1e15",
}
WRONG_EVENTS = {
    "a body that is no frame": "UPDATE audit SET body = x'00' WHERE number = 2",
    "a kind that is bytes": "UPDATE audit SET kind = x'00' WHERE number = 2",
}


@pytest.mark.parametrize("name", WRONG_LINES)
def test_a_damaged_line_is_an_error_and_found_by_verify(store: SqliteStore, path: Path, name: str) -> None:
    fill(store)
    assert anyio.run(store.verify).bad == ()
    change(path, WRONG_LINES[name])
    with pytest.raises(StoreError, match="the store is damaged"):
        anyio.run(store.ledger.call, "ran")
    assert any("the call 'ran'" in line for line in anyio.run(store.verify).bad)


@pytest.mark.parametrize("name", WRONG_APPROVALS)
def test_a_damaged_approval_is_an_error_and_found_by_verify(store: SqliteStore, path: Path, name: str) -> None:
    fill(store)
    change(path, WRONG_APPROVALS[name])
    with pytest.raises(StoreError, match="the store is damaged"):
        anyio.run(store.ledger.approval, "apr_1")
    assert any("the approval 'apr_1'" in line for line in anyio.run(store.verify).bad)


@pytest.mark.parametrize(
    "body", [b"[]", b"{", b"{}", b'{"principal":"p","principals":[1],"reasons":[],"earlier":[],"shown":1}']
)
def test_an_approval_of_another_shape_is_damage(store: SqliteStore, path: Path, body: bytes) -> None:
    fill(store)
    change(path, "UPDATE approvals SET body = ?", pack(body))
    with pytest.raises(StoreError, match="the store is damaged: the approval 'apr_1'"):
        anyio.run(store.ledger.approvals, 9)


@pytest.mark.parametrize("name", WRONG_EVENTS)
def test_a_damaged_event_is_an_error_and_found_by_verify(store: SqliteStore, path: Path, name: str) -> None:
    fill(store)
    change(path, WRONG_EVENTS[name])
    with pytest.raises(StoreError, match="the store is damaged: the event 2 of the audit"):
        anyio.run(store.audit.events, 0, 9)
    assert any("the event 2 of the audit" in line for line in anyio.run(store.verify).bad)


@pytest.mark.parametrize("body", [b"[]", b"{"])
def test_an_event_of_another_shape_is_damage(store: SqliteStore, path: Path, body: bytes) -> None:
    fill(store)
    change(path, "UPDATE audit SET body = ? WHERE number = 2", pack(body))
    with pytest.raises(StoreError, match="the event 2 of the audit"):
        anyio.run(store.audit.events, 0, 9)


@pytest.mark.parametrize(
    ("statement", "bad"),
    [
        (
            "UPDATE ledger SET closed_at = NULL WHERE call_id = 'ran'",
            "the call 'ran' in the ledger has an end without a time, or a time without an end",
        ),
        (
            "UPDATE ledger SET closed_at = 3.0 WHERE call_id = 'runs'",
            "the call 'runs' in the ledger has an end without a time, or a time without an end",
        ),
        (
            "UPDATE ledger SET identity = 'sha256:kim' WHERE call_id = 'runs'",
            "the call 'runs' in the ledger is of a caller without a sequence",
        ),
        (
            "UPDATE ledger SET approval_id = 'apr_1' WHERE call_id = 'runs'",
            "the call 'runs' in the ledger ran under an approval that was not used by it",
        ),
        (
            "UPDATE ledger SET approval_id = NULL",
            "the approval 'apr_1' is used by no call, or by one that does not name it",
        ),
        ("DELETE FROM ledger", "the approval 'apr_1' is used by no call, or by one that does not name it"),
        ("DELETE FROM audit WHERE number = 2", "the event 3 of the audit does not follow from the one before"),
        ("UPDATE audit SET at = 9.0 WHERE number = 3", "the event 3 of the audit does not follow from the one before"),
        ("UPDATE audit SET kind = 'resume' WHERE number = 1", "the event 1 of the audit does not follow"),
        ("UPDATE audit SET hash = 'feed' WHERE number = 2", "the event 2 of the audit does not follow"),
    ],
)
def test_verify_finds_what_no_row_says_by_itself(store: SqliteStore, path: Path, statement: str, bad: str) -> None:
    fill(store)
    change(path, statement)
    found = anyio.run(store.verify).bad
    assert found
    assert bad in found[0]


def test_one_damaged_line_hides_no_other_from_verify(store: SqliteStore, path: Path) -> None:
    fill(store)
    change(path, "UPDATE ledger SET risk = 'harmless'")
    assert len(anyio.run(store.verify).bad) == 2


# --- what it costs


def _statements() -> dict[str, str]:
    found = {name: text for module in (sqlite_ledger, sqlite_approvals) for name, text in vars(module).items()}
    whole = ("SELECT_LINE", "SELECT_APPROVAL")
    wanted = {name: text for name, text in found.items() if isinstance(text, str) and name not in whole}
    return {name: text for name, text in wanted.items() if text.startswith(("SELECT", "UPDATE")) and "{" not in text}


@pytest.mark.parametrize("name", _statements())
def test_every_question_is_answered_by_an_index_and_sorts_nothing(store: SqliteStore, path: Path, name: str) -> None:
    statement = _statements()[name]
    with closing(sqlite3.connect(path)) as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", ["x"] * statement.count("?")).fetchall()
    steps = [step for *_, step in plan]
    assert len(steps) == 1
    assert steps[0].startswith("SEARCH")


# --- other processes, and the file's past


def test_a_standing_is_read_while_another_process_writes(store: SqliteStore, path: Path) -> None:
    fill(store)
    before = anyio.run(store.ledger.standing, QUESTION)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE callers SET sequence = 99")
        assert anyio.run(store.ledger.standing, QUESTION) == before
        other.execute("COMMIT")
    assert anyio.run(store.ledger.standing, QUESTION).sequence == 99


def test_a_ledger_that_another_process_writes_to_is_waited_for_and_then_an_error(
    store: SqliteStore, path: Path
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for write in (
            partial(store.ledger.open, LINE, b"{}", after=0),
            partial(store.ledger.ask, APPROVAL),
            partial(store.audit.append, [(1.0, "halt", {})]),
        ):
            with pytest.raises(StoreError, match="locked by another process"):
                anyio.run(write)
    assert anyio.run(store.ledger.standing, QUESTION).sequence == 0


def test_of_two_processes_that_judged_by_one_standing_one_opens_its_line(store: SqliteStore, path: Path) -> None:
    with closing(SqliteStore.open(path)) as other:
        sequences = [anyio.run(each.ledger.standing, QUESTION).sequence for each in (store, other)]
        assert sequences == [0, 0]
        assert anyio.run(partial(other.ledger.open, replace(LINE, call_id="two"), b"{}", after=0))
        assert not anyio.run(partial(store.ledger.open, replace(LINE, call_id="one"), b"{}", after=0))


def test_two_processes_write_one_stream_of_events(store: SqliteStore, path: Path) -> None:
    with closing(SqliteStore.open(path)) as other:
        numbers = [anyio.run(each.audit.append, [(1.0, "halt", {})]) for each in (store, other, store)]
    assert numbers == [1, 2, 3]
    assert anyio.run(store.verify).bad == ()


def test_a_ledger_is_there_after_the_file_was_closed(path: Path) -> None:
    with closing(SqliteStore.open(path)) as store:
        fill(store)
        before = anyio.run(store.ledger.standing, QUESTION)
        events = anyio.run(store.audit.events, 0, 9)
    with closing(SqliteStore.open(path)) as store:
        assert anyio.run(store.ledger.standing, QUESTION) == before
        assert anyio.run(store.audit.events, 0, 9) == events


def test_a_line_that_cannot_be_written_uses_nothing_up(store: SqliteStore) -> None:
    asked = Asked(store)
    asked.ask()
    granted = asked.decide("apr_1", ApprovalState.GRANTED)
    with pytest.raises(StoreError, match="not Unicode"):
        asked.open("one", approval_id="apr_1", conversation="\udcff")
    with pytest.raises(StoreError, match="contradicts another"):
        asked.open("one", approval_id="apr_1", cost=float("nan"))
    assert asked.approval("apr_1") == granted
    assert asked.sequence() == 1


def test_a_request_that_cannot_be_written_is_refused(store: SqliteStore) -> None:
    with pytest.raises(StoreError, match="the approval 'apr_1' cannot be written"):
        anyio.run(store.ledger.ask, replace(APPROVAL, shown=float("inf")))


def test_a_file_of_format_1_keeps_all_but_its_calls(path: Path) -> None:
    place = Place(path=str(path), timeout_s=1.0)
    with closing(connect(place)) as connection:
        prepare(connection, place, STEPS[:1])
        connection.execute("INSERT INTO calls VALUES ('c', 1.0, x'00', NULL, NULL)")
        connection.execute("INSERT INTO halts VALUES ('crm.list', 'leaks', 'dana@acme', 5.0, NULL)")
    with closing(SqliteStore.open(path)) as store:
        assert anyio.run(store.halts) == (HALT,)
        assert anyio.run(store.ledger.call, "c") is None
        fill(store)
        publish(store, 1)
        assert anyio.run(store.verify).bad == ()


def test_old_lines_go_a_few_at_a_time_until_none_is_left(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_forget, "AT_ONCE", 2)
    ledger = Asked(store)
    for number in range(5):
        ledger.open(f"call_{number}", arguments=str(number))
        ledger.close(f"call_{number}", Ended.DONE)
        ledger.ask(f"apr_{number}", arguments=str(number), expires_at=11.0)
    assert ledger.forget(20.0) == Forgotten(lines=5, approvals=5)
    assert ledger.forget(20.0, apply=False) == Forgotten()
    assert anyio.run(store.verify).bad == ()
