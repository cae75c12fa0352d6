"""What `doctor` says of the lock: tools that went away, a file that is broken, and one that is not there."""


def said(desk, level):
    found = desk.asks("doctor", "--offline")["findings"]
    return [(one["check"], one["message"]) for one in found if one["level"] == level]


def test_a_locked_tool_that_went_away_is_a_note_and_the_command_it_names_ends_it(stocked):
    stocked.writes("pegboard.lock", stocked.reads("pegboard.lock").replace("crm.cancel_order", "crm.cancelled"))
    answer = stocked.runs("doctor", "--offline")
    assert answer.status == 0
    assert "crm.cancelled is locked, and no server lists it" in answer.out
    assert "if it is gone for good: pegboard lock remove crm.cancelled" in answer.out
    checked = stocked.runs("lock", "check")
    assert (checked.status, "`pegboard lock remove crm.cancelled`" in checked.out) == (1, True)
    assert stocked.asks("lock", "remove", "crm.cancelled") == {"removed": ["crm.cancelled"]}
    assert stocked.runs("lock", "check").status == 0
    assert stocked.asks("audit", "list")["events"][0]["body"]["removed"] == ["crm.cancelled"]


def test_a_line_that_is_removed_takes_its_tool_from_everyone(stocked):
    stocked.runs("lock", "remove", "crm/cancel_order")
    assert stocked.asks("explain", "cancel", "--as", "sam")["eligible"] == 3
    assert [one["tool"] for one in stocked.asks("review")["waiting"]] == ["crm.cancel_order"]


def test_what_is_not_locked_cannot_be_removed(stocked):
    before = stocked.reads("pegboard.lock")
    answer = stocked.runs("lock", "remove", "crm.cancel_order", "crm.cancl")
    assert (answer.status, "pegboard lock show" in answer.err) == (2, True)
    assert stocked.reads("pegboard.lock") == before


def test_a_broken_line_of_the_lock_is_one_problem(stocked):
    stocked.writes("pegboard.lock", stocked.reads("pegboard.lock")[:-20])
    assert [check for check, _ in said(stocked, "problem")] == ["lock"]


def test_a_lock_that_was_deleted_is_a_problem(stocked):
    (stocked.folder / "pegboard.lock").unlink()
    message = "the lock is not there, and there was one: nothing is granted to anyone"
    assert said(stocked, "problem") == [("lock", message)]
    assert stocked.runs("doctor", "--offline").status == 2


def test_a_lock_that_never_was_is_no_problem(desk):
    desk.runs("catalog", "import", "listings")
    desk.runs("select", "cancel an order", "--as", "sam")
    assert said(desk, "problem") == []
