"""`init --switch`: Pegboard in place of a client's servers, after a diff and a backup, and all else as it was."""

import json
import tomllib
from pathlib import Path

import pytest

from pegboard.cli.switching import backup_of, is_pegboard
from pegboard.config.load import load_config
from pegboard.demo.servers.roster import command
from tests.cli.answers import ANSWERS, shape_of


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
    answer = with_files.runs("init", "--switch")
    assert "no client's file was changed; `pegboard init --switch` does it once tools are locked" in answer.err
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


OURS = """\
mcp_config = [ ".mcp.json", ".vscode/mcp.json" , ".codex/config.toml"]  # theirs
[profiles.me]
user = "dana"
"""


def test_a_configuration_that_is_there_is_put_behind_the_clients_and_keeps_its_servers(with_files):
    desk = with_files
    desk.writes("pegboard.toml", OURS)
    desk.writes("pegboard.lock", "left alone")
    before, servers = desk.reads(".mcp.json"), load_config(Path("pegboard.toml"), {}).servers
    answer = desk.runs("init", "--switch", "--from", ".mcp.json", "--yes")
    assert answer.status == 0, answer.err
    assert '-  "orders": {' in answer.err
    assert "s3cret" not in answer.err
    assert list(json.loads(desk.reads(".mcp.json"))["mcpServers"]) == ["pegboard"]
    assert desk.reads(".mcp.before-pegboard.json") == before
    assert desk.reads("pegboard.lock") == "left alone"
    assert desk.reads("pegboard.toml") == OURS.replace(".mcp.json", ".mcp.before-pegboard.json")
    now = load_config(Path("pegboard.toml"), {}).servers
    assert {name: one.command for name, one in now.items()} == {name: one.command for name, one in servers.items()}


def test_a_configuration_that_names_a_file_by_a_link_reads_the_backup_beside_the_file(with_files):
    desk = with_files
    desk.writes("elsewhere/readme", "")
    (desk.folder / "elsewhere/link.json").symlink_to(desk.folder / ".mcp.json")
    desk.writes("pegboard.toml", OURS.replace(".mcp.json", "elsewhere/link.json"))
    desk.runs("init", "--switch", "--from", ".mcp.json", "--yes")
    assert "orders" in load_config(Path("pegboard.toml"), {}).servers
    assert list(json.loads(desk.reads(".mcp.json"))["mcpServers"]) == ["pegboard"]


def test_with_json_it_answers_as_any_init(with_files):
    with_files.writes("pegboard.toml", OURS)
    answer, shape = with_files.asks("init", "--switch", "--yes"), {**ANSWERS["init"], "servers[]": {}}
    assert shape_of(answer, shape) == shape
    assert len(answer["switched"]) == len(answer["sources"]) == 3


def test_a_file_with_servers_that_the_configuration_has_not_is_left_alone(with_files):
    desk = with_files
    desk.writes("pegboard.toml", '[profiles.me]\nuser = "d"\n')
    before = desk.reads(".mcp.json")
    answer = desk.runs("init", "--switch", "--yes")
    assert (answer.status, "the configuration has no orders" in answer.err) == (2, True)
    assert "add the file to mcp_config" in answer.err
    assert desk.reads(".mcp.json") == before
    program, *arguments = command("orders")
    servers = f"[servers.other_name]\ncommand = {json.dumps([program, *arguments])}\n"
    desk.writes("pegboard.toml", f'[profiles.me]\nuser = "d"\n{servers}')
    toml = desk.reads("pegboard.toml")
    switched = desk.asks("init", "--switch", "--yes")["switched"]
    assert [one["file"] for one in switched] == [".mcp.json"]
    assert desk.reads("pegboard.toml") == toml


def test_clients_are_not_pointed_at_a_profile_that_is_not_there(with_files):
    with_files.writes("pegboard.toml", f"mcp_config = ['{with_files.folder}/.mcp.json']\n")
    answer = with_files.runs("init", "--switch", "--yes")
    assert (answer.status, "write [profiles.me]" in answer.err) == (2, True)
    assert "orders" in with_files.reads(".mcp.json")


def test_where_nobody_can_be_asked_nothing_is_switched_and_it_says_so(with_files):
    with_files.writes("pegboard.toml", OURS)
    before = with_files.reads(".mcp.json")
    answer = with_files.runs("init", "--switch", answers="y\n")
    assert "nobody was there to ask, so no client's file was changed: `pegboard init --switch --yes`" in answer.err
    assert with_files.reads(".mcp.json") == before


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
