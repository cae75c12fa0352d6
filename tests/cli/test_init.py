"""`init` with real MCP servers over stdio: from somebody's client file to a judged call, and nothing unasked."""

import json
import tomllib

import pytest

from pegboard.cli.clients import existing
from pegboard.demo.servers.roster import command
from tests.cli.answers import ANSWERS, shape_of

NEVER = {"command": "pegboard-no-such-command"}


def entry(name):
    """Write a demo server as a client's file has it."""
    program, *arguments = command(name)
    return {"command": program, "args": arguments}


def clients_file(desk, name=".mcp.json", **servers):
    """Write a client's file and return its text."""
    text = json.dumps({"mcpServers": servers})
    desk.writes(name, text)
    return text


def total_tools(desk):
    """Count the tools of the catalog."""
    return desk.asks("catalog", "list")["total"]


def test_from_a_clients_file_to_a_selection_and_a_judged_call(empty):
    before = clients_file(empty, orders=entry("orders"), broken=NEVER)
    answer = empty.runs("init", "--yes", "--json")
    assert answer.status == 3, "one server failed"
    assert answer.err == ""
    assert shape_of(answer.json, ANSWERS["init"]) == ANSWERS["init"]
    servers = {one["server"]: one for one in answer.json["servers"]}
    assert (servers["broken"]["status"], servers["orders"]["status"]) == ("failed", "ok")
    assert answer.json["tools"] == answer.json["locked"] == len(servers["orders"]["added"]) > 5
    assert 0 < answer.json["ask_before"] < answer.json["tools"]
    assert empty.reads(".mcp.json") == before

    written = tomllib.loads(empty.reads("pegboard.toml"))
    assert written["access"]["local"] == {"required_scopes": ["local"], "environments": ["development"]}
    assert written["profiles"]["me"] == {
        "workload": "dana-agent",
        "environment": "development",
        "scopes": ["local"],
        "servers": ["broken", "orders"],
    }

    assert written["approvals"] == {"risk": ["write", "destructive"]}

    selection = empty.asks("select", "which orders are open?", "--as", "me")
    assert selection["outcome"] == "selected"
    call = empty.runs("call", "orders.list_open_orders", "--args", '{"limit": 1}', "--as", "me", "--json")
    assert (call.status, call.json["verdict"]) == (0, "allowed")
    assert call.json["result"]["structuredContent"]["orders"]
    refused = empty.asks("call", "orders.cancel_order", "--args", '{"order_id": 7}', "--as", "me")
    assert refused["verdict"] == "invalid_arguments"
    note = json.dumps({"order_id": "BF-10410", "note": "rang twice"})
    write = empty.runs("call", "orders.add_order_note", "--args", note, "--as", "me", "--json")
    assert (write.status, write.json["verdict"]) == (1, "approval_required"), write.out
    told = empty.runs("call", "orders.add_order_note", "--args", note, "--as", "me").err
    assert "held back by [approvals] in pegboard.toml, and its line in pegboard.lock: write, bounded" in told
    assert f"pegboard approvals grant {write.json['approval_id']}" in told
    assert empty.runs("approvals", "grant", write.json["approval_id"]).status == 0
    assert empty.asks("call", "orders.add_order_note", "--args", note, "--as", "me")["verdict"] == "allowed"

    again = empty.runs("refresh", "orders", "--json")
    assert (again.status, again.json["published"]) == (0, False)
    assert again.json["servers"][0]["status"] == "unchanged"
    doctor = empty.runs("doctor", "--json")
    assert doctor.status == 3
    assert [one["where"] for one in doctor.json["findings"] if one["level"] == "problem"] == ["broken"]
    again = empty.runs("init", "--yes")
    assert again.status == 2
    assert "there is a configuration already" in again.err
    assert "in another folder" in again.err
    for command_named in ("pegboard classify --apply", "pegboard refresh", "pegboard init --switch"):
        assert command_named in again.err


def test_without_a_person_or_yes_nothing_is_locked_and_the_command_is_named(empty):
    clients_file(empty, "their.json", calendar=entry("calendar"))
    answer = empty.runs("init", "--from", "their.json", answers="y\n")
    assert answer.status == 0
    assert "none locked: nobody was there to ask" in answer.out
    assert "`pegboard init --yes` would have answered" in answer.err
    assert "pegboard classify --apply" in answer.err
    assert empty.asks("lock", "show")["lines"] == []
    assert empty.asks("select", "what is on today?", "--as", "me")["outcome"] == "no_tool"
    assert empty.asks("classify", "--apply")["applied"] is True
    assert empty.asks("explain", "what is on today?", "--as", "me")["eligible"] == total_tools(empty)


def test_it_says_how_many_tools_will_not_run_and_where_that_is_set(empty):
    clients_file(empty, orders=entry("orders"))
    answer = empty.runs("init", "--yes")
    assert "of them run only after `pegboard approvals grant`: [approvals] in pegboard.toml says which" in answer.out


def test_what_to_try_next_stands_in_two_columns(empty):
    clients_file(empty, calendar=entry("calendar"))
    lines = empty.runs("init", "--yes").err.splitlines()
    tried = lines[next(number for number, line in enumerate(lines) if line.startswith("Try:")) :]
    assert {(line.index("pegboard "), line.index("# ")) for line in tried} == {(6, 53)}


def test_where_no_server_is_found_it_says_where_it_looked_and_writes_nothing(empty):
    clients_file(empty, ".cursor/mcp.json")
    answer = empty.runs("init", "--yes")
    assert answer.status == 2
    assert ".mcp.json" in answer.err
    assert "--from" in answer.err
    assert not (empty.folder / "pegboard.toml").exists()


@pytest.mark.parametrize(("content", "word"), [("{", "JSON"), ("{}", "mcpServers"), (b"\xff", "UTF-8")])
def test_a_named_file_that_cannot_be_used_is_an_error_and_writes_nothing(empty, content, word):
    empty.writes("their.json", content)
    answer = empty.runs("init", "--from", "their.json", "--yes", "--json")
    assert answer.status == 2
    assert word in answer.json["error"]["message"]
    assert "their.json" in answer.json["error"]["where"]
    assert not (empty.folder / "pegboard.toml").exists()


def test_an_init_that_fails_can_be_run_again(empty):
    clients_file(empty, broken=NEVER)
    empty.writes("pegboard.db", "this is no store, and it is long enough to be looked at" * 100)
    assert empty.runs("init", "--yes").status == 3
    assert not (empty.folder / "pegboard.toml").exists()


def test_clients_files_are_found_where_clients_keep_them(empty):
    for name in (".mcp.json", ".cursor/mcp.json", ".config/Claude/claude_desktop_config.json"):
        clients_file(empty, f"home/{name}" if "onfig" in name else name)
    clients_file(empty, "roaming/Claude/claude_desktop_config.json")
    found = existing(empty.folder, {"APPDATA": str(empty.folder / "roaming"), "HOME": str(empty.folder / "home")})
    assert [path.relative_to(empty.folder).as_posix() for _, path in found] == [
        ".mcp.json",
        ".cursor/mcp.json",
        "home/.config/Claude/claude_desktop_config.json",
        "roaming/Claude/claude_desktop_config.json",
    ]


def test_names_that_toml_must_quote_are_quoted(empty):
    clients_file(empty, **{'a "b" \\ \x7fc'.replace("\x7f", ""): NEVER, "d.e": NEVER})
    assert empty.runs("init", "--yes").status == 3
    written = tomllib.loads(empty.reads("pegboard.toml"))
    assert written["profiles"]["me"]["servers"] == ['a "b" \\ c', "d.e"]
    assert set(written["servers"]) == {'a "b" \\ c', "d.e"}
