"""Bad configuration and a damaged store: an error that says where and what to do, never "a fault of Pegboard"."""

import sqlite3

import pytest
from click.testing import CliRunner

from pegboard.cli import pegboard

PROFILE = '[profiles.sam]\nuser = "sam"\nscopes = ["s"]\nservers = ["crm"]\n'


def runs(*words):
    result = CliRunner().invoke(pegboard, list(words))
    return result.exit_code, result.stdout + result.stderr


@pytest.mark.parametrize(
    "said",
    [
        f"[selection]\nlimit = {'9' * 5000}\n",
        'lock = "~nosuchuser/pegboard.lock"\n',
        'mcp_config = ["~nosuchuser/x.json"]\n',
        '[servers.x]\ncommand = ["true"]\ncwd = "~nosuchuser/x"\n',
        '[servers.x]\nurl = "https://h/x"\ncredential = { file = "~nosuchuser/x" }\n',
    ],
)
def test_a_setting_that_cannot_be_read_is_named(said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pegboard.toml").write_text(said)
    status, told = runs("doctor", "--offline")
    assert "fault of Pegboard" not in told
    assert status in (0, 2)


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pegboard.toml").write_text(
        f'[dimensions]\nused = ["scopes"]\n[access.t]\nrequired_scopes = ["s"]\n{PROFILE}'
    )
    (tmp_path / "t.jsonl").write_text('{"tool_id": "crm.get_x", "description": "read", "input_schema": {}}\n')
    assert runs("catalog", "import", "t.jsonl", "--approve", "t")[0] == 0
    assert runs("halt", "crm.get_x", "--why", "x")[0] == 0
    assert runs("select", "read", "--as", "sam")[0] == 0
    return tmp_path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE halts SET expires_at = 'zzz'", ("select", "read", "--as", "sam")),
        ("UPDATE halts SET expires_at = 'zzz'", ("call", "crm.get_x", "--as", "sam")),
        ("UPDATE halts SET target = x'ff00'", ("select", "read", "--as", "sam")),
        ("UPDATE listings SET refused = '7'", ("review", "list")),
        ("UPDATE listings SET refused = '7'", ("halt", "all", "--why", "x")),
        ("UPDATE listings SET refused = '7'", ("halt", "crm.get_x", "--why", "x")),
        ("UPDATE versions SET digest = x'ff00'", ("select", "read", "--as", "sam")),
        ("UPDATE versions SET published_at = 'zzz'", ("catalog", "versions")),
        ("UPDATE traces SET at = 'zzz'", ("traces", "list")),
    ],
)
def test_a_damaged_row_is_a_damaged_store(change, words, desk):
    connection = sqlite3.connect(desk / "pegboard.db")
    connection.execute(change)
    connection.commit()
    connection.close()
    status, told = runs(*words)
    assert "fault of Pegboard" not in told
    assert status in (0, 3)
    assert status == 0 or "damaged" in told


def test_verify_finds_a_damaged_listing(desk):
    connection = sqlite3.connect(desk / "pegboard.db")
    connection.execute("UPDATE listings SET refused = '[[1]]'")
    connection.commit()
    connection.close()
    assert runs("review", "list")[0] == 3
    assert runs("catalog", "verify")[0] == 1


def test_a_schema_of_sqlite_that_is_no_utf_8_is_a_damaged_store(desk):
    connection = sqlite3.connect(desk / "pegboard.db")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    path = desk / "pegboard.db"
    data = path.read_bytes()
    at = data.index(b"CREATE TABLE rows") + 7
    path.write_bytes(data[:at] + b"\xcb\xff" + data[at + 2 :])
    for beside in ("-wal", "-shm"):
        (desk / f"pegboard.db{beside}").unlink(missing_ok=True)
    _, told = runs("select", "read", "--as", "sam")
    assert "fault of Pegboard" not in told
