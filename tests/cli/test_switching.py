"""`init --switch`: Pegboard in place of a client's servers, after a diff and a backup, and all else as it was."""

import json
import tomllib

import pytest

from pegboard.cli.switching import backup_of, is_pegboard
from pegboard.demo.servers.roster import command


def entry(name, **more):
    """Write a demo server as a client's file has it."""
    program, *arguments = command(name)
    return {"command": program, "args": arguments, **more}


@pytest.fixture
def with_files(empty):
    """Files of three clients, with one server each."""
    empty.writes(".mcp.json", json.dumps({"other": 1, "mcpServers": {"orders": entry("orders", env={"K": "s3cret"})}}))
    empty.writes(".vscode/mcp.json", "{ // mine\n" + json.dumps({"servers": {"calendar": entry("calendar")}})[1:])
    program, *arguments = command("billing")
    empty.writes(
        ".codex/config.toml",
        f'model = "m" # keep me\n[mcp_servers.billing]\ncommand = {program!r}\nargs = {json.dumps(arguments)}\n',
    )
    return empty


def test_every_clients_servers_are_behind_pegboard_and_the_rest_of_their_files_is_as_it_was(with_files):
    desk = with_files
    before = {name: desk.reads(name) for name in (".mcp.json", ".vscode/mcp.json", ".codex/config.toml")}
    answer = desk.runs("init", "--yes", "--switch", "--json")
    assert answer.status == 0, answer.out
    assert sorted(one["file"] for one in answer.json["switched"]) == sorted(before)
    for one in answer.json["switched"]:
        assert desk.reads(one["backup"]) == before[one["file"]]
    claude, code = json.loads(desk.reads(".mcp.json")), json.loads(desk.reads(".vscode/mcp.json"))
    codex = tomllib.loads(desk.reads(".codex/config.toml"))
    assert claude["other"] == 1
    assert "# keep me" in desk.reads(".codex/config.toml")
    for servers in (claude["mcpServers"], code["servers"], codex["mcp_servers"]):
        assert list(servers) == ["pegboard"]
        assert servers["pegboard"]["args"][-4:] == ["serve", "--stdio", "--as", "me"]
    assert {one["status"] for one in desk.asks("refresh")["servers"]} == {"unchanged"}


def test_the_diff_names_the_servers_and_no_secret(with_files):
    told = with_files.runs("init", "--yes", "--switch").err
    assert '-  "orders": {' in told
    assert '+  "pegboard": {' in told
    assert "s3cret" not in told


def test_without_an_answer_nothing_is_switched(with_files):
    before = with_files.reads(".mcp.json")
    assert with_files.runs("init", "--switch", "--json").json["switched"] == []
    assert with_files.reads(".mcp.json") == before


def test_a_backup_is_never_written_over(with_files):
    before = with_files.reads(".mcp.json")
    with_files.writes(".mcp.before-pegboard.json", "the only copy")
    answer = with_files.runs("init", "--yes", "--switch")
    assert (answer.status, "there is a backup already" in answer.err) == (2, True)
    assert with_files.reads(".mcp.json") == before
    assert with_files.reads(".mcp.before-pegboard.json") == "the only copy"


def test_pegboard_is_not_put_behind_itself(with_files):
    with_files.runs("init", "--yes", "--switch")
    (with_files.folder / "pegboard.toml").unlink()
    answer = with_files.runs("init", "--yes")
    assert "it has Pegboard in it already" in answer.err
    assert answer.status == 2


@pytest.mark.parametrize(
    ("words", "url", "ours"),
    [
        (("/x/bin/pegboard", "serve", "--stdio"), None, True),
        (("python", "-m", "pegboard", "serve"), None, True),
        (None, "http://127.0.0.1:8700/mcp", True),
        (("python", "-m", "pegboard.demo.servers", "orders"), None, False),
        (("serve", "x"), None, False),
        (None, "https://crm.example/mcp", False),
    ],
)
def test_a_pegboard_is_known_by_how_it_is_started(words, url, ours):
    assert is_pegboard(words, url) is ours


def test_a_backup_lies_beside_its_file_and_is_read_as_what_it_is(tmp_path):
    assert backup_of(tmp_path / "config.toml") == tmp_path / "config.before-pegboard.toml"
