"""The lock is read strictly: a file that is not wholly valid grants nothing."""

import json
from dataclasses import replace

import pytest
from hypothesis import given

from pegboard.core.catalog import Flow, Reach, Risk
from pegboard.core.errors import LockError
from pegboard.core.lock import Lock, LockLine, format_lock, parse_lock
from tests.strategies import lock_lines, locks

LINE = {
    "tool": "crm.refunds.create",
    "hash": "sha256:" + "ab" * 32,
    "access": "crm-admin",
    "risk": "destructive",
    "reach": "bounded",
    "flow": ["sends_out"],
    "by": "dana@acme",
    "at": "2026-12-01T09:00:00Z",
}
PARSED = LockLine(
    tool="crm.refunds.create",
    hash="sha256:" + "ab" * 32,
    access="crm-admin",
    risk=Risk.DESTRUCTIVE,
    reach=Reach.BOUNDED,
    flow=frozenset({Flow.SENDS_OUT}),
    by="dana@acme",
    at="2026-12-01T09:00:00Z",
)


def text(**changes: object) -> str:
    return json.dumps({**LINE, **changes})


@given(locks)
def test_a_lock_reads_back_as_it_was_written(lock: Lock):
    assert parse_lock(format_lock(lock)) == lock
    assert parse_lock(format_lock(lock)).digest == lock.digest


@given(locks)
def test_a_file_is_one_line_a_tool_sorted_and_the_same_whatever_the_order(lock: Lock):
    lines = format_lock(lock).split("\n")[:-1]
    assert [json.loads(line)["tool"] for line in lines] == sorted(lock.lines)
    assert format_lock(parse_lock("\n".join(reversed(lines)))) == format_lock(lock)


@given(locks, lock_lines)
def test_every_change_of_a_line_changes_the_digest(lock: Lock, line: LockLine):
    changed = lock.granting([line])
    assert (changed.digest == lock.digest) == (changed == lock)
    assert changed.without([line.tool]).lines.keys() == lock.lines.keys() - {line.tool}


@given(locks, locks)
def test_a_lock_that_is_read_again_is_read_as_if_it_were_new_and_keeps_its_lines(old: Lock, new: Lock):
    again = parse_lock(format_lock(new), known=old)
    assert again == parse_lock(format_lock(new))
    assert all(again.lines[tool] is line for tool, line in old.lines.items() if new.lines.get(tool) == line)


@given(locks, locks)
def test_the_lines_that_differ_are_those_that_one_lock_has_and_the_other_has_not(one: Lock, other: Lock):
    lines = {json.dumps(line.to_json()) for line in one} ^ {json.dumps(line.to_json()) for line in other}
    assert one.differing(other) == {json.loads(line)["tool"] for line in lines}
    assert one.differing(one) == frozenset()


def test_a_line_stands_in_the_file_as_the_surface_shows_it():
    assert parse_lock(text()) == Lock.of([PARSED])
    assert format_lock(Lock.of([PARSED])) == json.dumps(LINE, separators=(",", ":")) + "\n"


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\n\n\n", ""])
def test_line_endings_and_blank_lines_are_no_content(ending: str):
    assert parse_lock(text() + ending) == Lock.of([PARSED])


def test_a_lock_grants_by_tool_and_content():
    lock = Lock.of([PARSED])
    assert lock.grants(PARSED.tool, PARSED.hash, "crm")
    assert not lock.grants(PARSED.tool, "sha256:" + "00" * 32, "crm")
    assert not lock.grants("crm.refunds", PARSED.hash, "crm")


def test_a_line_that_names_its_server_grants_to_no_other_and_keeps_the_name():
    named = replace(PARSED, server="crm")
    lock = parse_lock(format_lock(Lock.of([named])))
    assert lock.lines[PARSED.tool] == named
    assert lock.grants(PARSED.tool, PARSED.hash, "crm")
    assert not lock.grants(PARSED.tool, PARSED.hash, "another")


RESTORE = "restore the line from version control, or remove it and approve the tool again"
FIELDS = "the fields are tool, hash, access, risk, reach, flow, by, at, server"


@pytest.mark.parametrize(
    ("line", "problem", "fix"),
    [
        *(
            (f"{mark} ours", "a merge left its marks in the lock", "keep one line for each tool")
            for mark in ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
        ),
        ("[]", "not a JSON object", RESTORE),
        ("null", "not a JSON object", RESTORE),
        (text(granted=True), "unknown field 'granted'", FIELDS),
        (text(hash="sha256:AB"), "the field 'hash' must be sha256: and 64 hex digits", RESTORE),
        (text(hash="ab" * 32), "the field 'hash' must be sha256: and 64 hex digits", RESTORE),
        (text(hash="sha256:" + "AB" * 32), "the field 'hash' must be sha256: and 64 hex digits", RESTORE),
        (text(hash=f"sha256:{'ab' * 32}\n"), "the field 'hash' must be sha256: and 64 hex digits", RESTORE),
        (text(tool="a\x1bb"), "the field 'tool' holds the unprintable character U+001B at position 1", RESTORE),
        (text(tool="  "), "the field 'tool' is empty", RESTORE),
        (text(risk="safe"), "the field 'risk' must be one of read, write, destructive, not 'safe'", RESTORE),
        (text(reach="Open"), "the field 'reach' must be one of bounded, open, not 'Open'", RESTORE),
        (text(flow="sends_out"), "the field 'flow' must be a list", RESTORE),
        (text(flow={"sends_out": 1}), "the field 'flow' must be a list", RESTORE),
        (
            text(flow=["sends"]),
            "the field 'flow' must be one of reads_private, ingests_untrusted, sends_out, not 'sends'",
            RESTORE,
        ),
        (
            text(risk="read", reach="open"),
            "a tool of open reach runs what it is given, so its risk cannot be read",
            RESTORE,
        ),
        (text(by="\ud800"), "the field 'by' holds a lone surrogate", RESTORE),
        *(
            (text(**{name: value}), f"the field {name!r} must be a text that is not empty", RESTORE)
            for name in ("tool", "hash", "access", "risk", "reach", "by", "at")
            for value in (None, "", 5, ["x"])
        ),
        *(
            (
                json.dumps({key: value for key, value in LINE.items() if key != name}),
                f"the field {name!r} is missing",
                RESTORE,
            )
            for name in LINE
        ),
    ],
)
def test_a_line_that_is_not_wholly_valid_is_refused(line: str, problem: str, fix: str):
    good = text(tool="a.first")
    with pytest.raises(LockError) as refused:
        parse_lock(f"{good}\n{line}\n", "board/pegboard.lock")
    assert refused.value == LockError(problem=problem, where="board/pegboard.lock, line 2", fix=fix)


@pytest.mark.parametrize("line", ["{", "{} {}", '{"tool": "a", "tool": "b"}', "\ufeff" + text(), text()[:-1], "1e999"])
def test_a_line_that_is_no_json_is_refused(line: str):
    with pytest.raises(LockError, match="not a JSON object: "):
        parse_lock(line)


def test_a_line_that_was_read_before_is_refused_where_it_stands_twice():
    known = Lock.of([PARSED])
    with pytest.raises(LockError, match="has two lines"):
        parse_lock(f"{PARSED.text}\n{PARSED.text}\n", known=known)


def test_a_tool_with_two_lines_is_refused_even_where_they_agree():
    with pytest.raises(LockError) as refused:
        parse_lock(f"{text()}\n{text()}\n")
    assert refused.value == LockError(
        problem="the tool 'crm.refunds.create' has two lines",
        where="pegboard.lock, line 2",
        fix="keep the one that was approved",
    )
