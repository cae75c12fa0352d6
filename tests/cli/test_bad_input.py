"""Bad input: a clear error with what to do, the exit status that fits, and the last good state intact."""

import sqlite3

import pytest

from tests.cli.desk import CONFIG, CRM, listing, tool

CONFIGS = (
    ("unknown key", "enviroment = 'development'\n", "environment"),
    ("no TOML", "environment = \n", "TOML"),
    ("not UTF-8", b"environment = '\xff'\n", "UTF-8"),
    ("another kind", "environment = 3\n", "text"),
    ("unknown key below", f"{CONFIG}[profiles.eve]\nscope = ['crm']\n", "scopes"),
)


@pytest.mark.parametrize(("content", "word"), [row[1:] for row in CONFIGS], ids=[row[0] for row in CONFIGS])
def test_a_wrong_configuration_is_named_with_its_place(stocked, content, word):
    stocked.writes("pegboard.toml", content)
    for words in (("select", "x", "--as", "sam"), ("refresh",), ("lock", "show"), ("call", "x", "--as", "sam")):
        answer = stocked.runs(*words, "--json")
        assert answer.status == 2
        error = answer.json["error"]
        assert error["kind"] == "config"
        assert "pegboard.toml" in error["where"]
        assert word in f"{error['message']} {error['fix']}"


def test_no_configuration_is_an_error_that_says_how_to_get_one(empty):
    answer = empty.runs("select", "x", "--as", "me")
    assert answer.status == 2
    assert "pegboard init" in answer.err
    assert list(empty.folder.iterdir()) == []


def test_an_empty_configuration_is_valid_and_grants_nothing(desk):
    desk.writes("pegboard.toml", "")
    assert desk.asks("catalog", "import", "listings")["imported"] == 4
    assert desk.asks("lock", "show")["lines"] == []


LOCKS = (
    ("no JSON", "not json\n", "JSON"),
    ("half a line", '{"tool": "crm.x"\n', "JSON"),
    ("a field too many", '{"tool": "crm.x", "who": "me"}\n', "field"),
    ("marks of a merge", "<<<<<<< ours\n=======\n>>>>>>> theirs\n", "merge"),
    ("not UTF-8", b"\xff\n", "UTF-8"),
)


@pytest.mark.parametrize(("content", "word"), [row[1:] for row in LOCKS], ids=[row[0] for row in LOCKS])
def test_a_lock_that_cannot_be_read_grants_nothing_and_says_why(stocked, content, word):
    good = stocked.reads("pegboard.lock")
    stocked.writes("pegboard.lock", content)
    for words in (
        ("select", "cancel an order", "--as", "sam"),
        ("call", "crm.list_open_orders", "--as", "sam"),
        ("lock", "check"),
        ("review", "list"),
        ("lock", "import", "pegboard.lock"),
    ):
        answer = stocked.runs(*words, "--json")
        assert answer.status == 2
        assert answer.json["error"]["kind"] == "lock"
        assert word in answer.json["error"]["message"]
        assert "pegboard.lock" in answer.json["error"]["where"]
        assert answer.json["error"]["fix"]
    assert stocked.runs("doctor", "--offline").status == 2
    stocked.writes("pegboard.lock", good)
    assert stocked.asks("select", "cancel an order", "--as", "sam")["outcome"] == "selected"


def test_everything_can_be_halted_while_the_lock_is_broken(stocked):
    stocked.writes("pegboard.lock", "not json\n")
    assert stocked.runs("halt", "crm/cancel_order", "--why", "drill").status == 0


def test_a_lock_with_an_unknown_template_is_not_put_in_place(stocked):
    good = stocked.reads("pegboard.lock")
    stocked.writes("new.lock", good.replace('"access":"crm"', '"access":"crn"'))
    answer = stocked.runs("lock", "import", "new.lock")
    assert answer.status == 2
    assert "crn" in answer.err
    assert stocked.reads("pegboard.lock") == good


def test_a_corrupt_store_is_said_to_be_one(stocked):
    path = stocked.folder / "pegboard.db"
    path.write_bytes(b"x" * path.stat().st_size)
    for words in (("select", "x", "--as", "sam"), ("catalog", "verify")):
        answer = stocked.runs(*words, "--json")
        assert answer.status == 3
        assert answer.json["error"]["kind"] == "store"
        assert "pegboard.db" in answer.json["error"]["where"]
        assert answer.json["error"]["fix"]
    assert stocked.runs("doctor", "--offline").status == 3


def test_the_doctor_asks_for_a_configuration_and_makes_no_store(empty):
    answer = empty.runs("doctor", "--json")
    assert answer.status == 2
    assert ["init" in one["fix"] for one in answer.json["findings"]] == [True]
    assert list(empty.folder.iterdir()) == []


def test_the_doctor_makes_no_store_beside_a_configuration(stocked):
    (stocked.folder / "pegboard.db").unlink()
    before = sorted(stocked.folder.iterdir())
    answer = stocked.runs("doctor", "--json")
    assert answer.status == 0
    notes = [one["message"] for one in answer.json["findings"] if one["check"] == "store"]
    assert notes == ["there is none yet"]
    assert sorted(stocked.folder.iterdir()) == before


def test_a_store_of_a_newer_format_is_left_alone(stocked):
    with sqlite3.connect(stocked.folder / "pegboard.db") as connection:
        connection.execute("PRAGMA user_version = 999")
    before = (stocked.folder / "pegboard.db").read_bytes()
    answer = stocked.runs("catalog", "list", "--json")
    assert answer.status == 3
    assert answer.json["error"]["fix"]
    assert (stocked.folder / "pegboard.db").read_bytes() == before


def test_a_store_that_another_process_holds_is_said_to_be_locked(stocked):
    other = sqlite3.connect(stocked.folder / "pegboard.db", isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        answer = stocked.runs("halt", "all", "--why", "drill", "--json")
    finally:
        other.close()
    assert answer.status == 3
    assert "locked" in answer.json["error"]["message"]
    assert stocked.asks("select", "cancel an order", "--as", "sam")["outcome"] == "selected"


def test_bad_lines_and_files_are_refused_one_by_one(stocked):
    broken = {"name": "b", "inputSchema": {"type": 7}}
    stocked.writes("listings/crm.json", listing("crm", [*CRM, broken, tool("list_open_orders", "again"), 7]))
    stocked.writes("listings/none.json", "{")
    answer = stocked.runs("catalog", "import", "listings", "--json")
    assert answer.status == 0
    assert answer.json["imported"] == 4
    assert {one["name"] for one in answer.json["refused"]} == {
        "b",
        "list_open_orders",
        "listings/none.json",
        "listings/crm.json, tool 5",
    }
    assert all(one["reason"] for one in answer.json["refused"])


def test_arguments_that_are_no_json_are_wrong_usage(stocked):
    answer = stocked.runs("call", "crm.cancel_order", "--args", '{"order_id": NaN}', "--as", "sam", "--json")
    assert answer.status == 2
    assert "--args" in answer.json["error"]["message"]
