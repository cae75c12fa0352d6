"""How servers are configured: `[servers.NAME]` tables over `mcpServers` files, resolved against the environment."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pegboard.config.load import load_config
from pegboard.config.mcp_servers import read_mcp_servers
from pegboard.config.values import Config
from pegboard.core.errors import ConfigError

ENVIRON = {"CRM_TOKEN": "s3cret-crm", "WEB_KEY": "s3cret-web"}


def load(folder: Path, content: str) -> Config:
    (folder / "pegboard.toml").write_text(content, encoding="utf-8")
    return load_config(folder / "pegboard.toml", ENVIRON)


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        ('command = ["a", "${MISSING}"]', "the environment variable 'MISSING' is not set"),
        ('url = "https://a.example/${MISSING}"', "the environment variable 'MISSING' is not set"),
        ('command = ["a"]\nenv = { A = "${input:token}" }', "the placeholder '${input:token}' cannot be replaced"),
        ('command = ["a"]\ncredential = { env = "MISSING" }', "the environment variable 'MISSING' is not set"),
        ('url = "https://a.example"\ncredential = { file = "none" }', "cannot be read: No such file or directory"),
        ('url = "https://a.example"\ncredential = { file = "empty" }', "is empty"),
        ('url = "https://a.example"\ncredential = { file = "~nosuchuser/x" }', "no home folder '~nosuchuser'"),
        ('command = ["a"]\ncwd = "~nosuchuser/x"', "no home folder '~nosuchuser'"),
        ('command = ["a"]\ncwd = "x\\u0000"', "no path holds a NUL character"),
        ('command = ["a"]\ncredential = { file = "empty" }', "a command takes its credential from the environment"),
        ('url = "https://a.example"\nheaders = { authorization = "x" }\ncredential = { env = "CRM_TOKEN" }', "both"),
        ('url = "ftp://a.example"', "the url of server 'x' cannot be used"),
        ('url = "https://user:s3cret@a.example/"', "the url of server 'x' cannot be used"),
        ("command = []", "the command of server 'x' is empty"),
        ('namespace = "z"', "needs either a command or a url"),
        ('url = "https://a.example"\nheaders = { "a b" = "x" }', "cannot be sent"),
    ],
)
def test_a_server_that_cannot_be_used_is_reported_and_stops_no_other(server: str, problem: str, tmp_path: Path):
    (tmp_path / "empty").write_text("\n")
    config = load(tmp_path, f'[servers.x]\n{server}\n[servers.y]\ncommand = ["y"]')
    assert problem in str(config.servers["x"].problem)
    assert [notice.where for notice in config.warnings] == [f"{tmp_path / 'pegboard.toml'}: servers.x"]
    assert list(config.reachable()) == ["y"]
    with pytest.raises(ConfigError, match="server 'x' cannot be used"):
        config.servers["x"].settings()
    assert "s3cret" not in str(config.servers["x"].problem)


def _mcp_file(folder: Path, entries: dict[str, Any], name: str = ".mcp.json") -> Path:
    path = folder / name
    path.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    return path


def test_an_mcp_servers_file_is_read_as_its_clients_read_it(tmp_path: Path):
    path = _mcp_file(
        tmp_path,
        {
            "git": {"command": "uvx", "args": ["mcp-server-git", "${REPO:-.}"], "env": {"A": "${CRM_TOKEN}", "N": 5}},
            "remote": {"type": "http", "url": "https://${HOST}/mcp", "headers": {"X": "Bearer ${env:WEB_KEY}"}},
            "off": {"command": "x", "disabled": True},
        },
    )
    found = read_mcp_servers(path, {**ENVIRON, "HOST": "a.example", "REPO": ""})
    git, remote = found.servers["git"].settings(), found.servers["remote"].settings()
    assert (git.command, git.env) == (("uvx", "mcp-server-git", "."), {"A": "s3cret-crm", "N": "5"})
    assert (remote.url, remote.headers) == ("https://a.example/mcp", {"X": "Bearer s3cret-web"})
    assert (found.servers["git"].namespace, found.servers["git"].origin) == ("git", f"{path}: mcpServers.git")
    assert list(found.servers) == ["git", "remote"]
    assert [str(notice) for notice in found.notices] == [f"{path}: mcpServers.off: left out: it is switched off there"]
    assert "s3cret" not in repr(found)


def test_keys_that_mean_nothing_here_are_ignored_with_a_notice(tmp_path: Path):
    path = _mcp_file(tmp_path, {"a": {"command": "x", "autoApprove": ["*"], "timeout": 5, "cwd": None}})
    found = read_mcp_servers(path, {})
    assert [str(notice) for notice in found.notices] == [
        f"{path}: mcpServers.a.autoApprove: ignored: it has no meaning here",
        f"{path}: mcpServers.a.timeout: ignored: it has no meaning here",
    ]
    assert found.servers["a"].problem is None


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (5, "its entry is not a table"),
        ({}, "needs either a command or a url"),
        ({"command": ["npx", "x"]}, "'command' must be a text, not a list"),
        ({"command": "x", "args": "y"}, "'args' must be a list, not a text"),
        ({"command": "x", "env": {"A": ["s3cret"]}}, "'A' must be a text"),
        ({"command": "x", "env": "s3cret"}, "it must be a table"),
        ({"type": "sse", "url": "https://a.example/sse"}, "the HTTP+SSE transport is not supported"),
        ({"type": "ws", "url": "https://a.example"}, "the transport 'ws' is not known"),
        ({"type": "stdio", "url": "https://a.example"}, "it is of type stdio and has no command"),
        ({"type": "http", "command": "x"}, "it is of type http and has no url"),
        ({"command": "x", "url": "https://a.example"}, "'command' and 'url' exclude each other"),
        ({"command": "x", "env": {"A": "${MISSING}"}}, "the environment variable 'MISSING' is not set"),
    ],
)
def test_an_entry_that_cannot_be_used_is_that_servers_problem(entry: Any, problem: str, tmp_path: Path):
    found = read_mcp_servers(_mcp_file(tmp_path, {"a": entry, "b": {"command": "b"}}), {})
    assert problem in str(found.servers["a"].problem)
    assert "s3cret" not in str(found.servers["a"].problem)
    assert found.servers["b"].problem is None


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", "this file is not JSON: "),
        (b'{"mcpServers": {"a": {}, "a": {}}}', "the key 'a' stands twice in one object"),
        (b"[]", "this file has no table 'mcpServers'"),
        (b'{"server": {}}', "this file has no table 'mcpServers'"),
        (b'{"mcpServers": []}', "this file has no table 'mcpServers'"),
        (b"\xff", "this file is not UTF-8"),
        (None, "this file cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_is_no_mcp_servers_file_is_an_error(content: bytes | None, problem: str, tmp_path: Path):
    path = tmp_path / "servers.json"
    if content is not None:
        path.write_bytes(content)
    for read in (
        lambda: read_mcp_servers(path, {}),
        lambda: load(tmp_path, 'mcp_config = ["servers.json"]'),
    ):
        with pytest.raises(ConfigError) as error:
            read()
        assert problem in error.value.problem
        assert error.value.where == str(path)


def test_a_server_table_is_laid_over_the_entry_of_its_name(tmp_path: Path):
    _mcp_file(
        tmp_path, {"crm": {"command": "crm", "args": ["-v"], "env": {"A": "1", "B": "2"}}, "git": {"command": "g"}}
    )
    config = load(
        tmp_path,
        'mcp_config = [".mcp.json"]\n[servers.crm]\nnamespace = "customers"\nenv = { B = "3" }\n'
        '[servers.own]\nurl = "https://o.example"',
    )
    crm = config.servers["crm"]
    assert (crm.settings().command, crm.settings().env, crm.namespace) == (
        ("crm", "-v"),
        {"A": "1", "B": "3"},
        "customers",
    )
    assert list(config.servers) == ["crm", "git", "own"]
    assert config.mcp_config == (tmp_path / ".mcp.json",)


def test_a_server_table_can_replace_a_way_that_does_not_work(tmp_path: Path):
    _mcp_file(tmp_path, {"crm": {"type": "sse", "url": "https://a.example/sse"}})
    config = load(tmp_path, 'mcp_config = [".mcp.json"]\n[servers.crm]\ncommand = ["crm"]')
    assert config.reachable()["crm"].command == ("crm",)
    assert config.reachable()["crm"].url is None


def test_a_server_may_ask_what_the_file_says_and_else_nothing(tmp_path: Path):
    config = load(
        tmp_path, '[servers.a]\ncommand = ["a"]\nmay_ask = ["form", "sampling"]\n[servers.b]\ncommand = ["b"]'
    )
    assert config.reachable()["a"].may_ask == {"form", "sampling"}
    assert config.reachable()["b"].may_ask == frozenset()
    with pytest.raises(ConfigError, match="cannot be 'forms'"):
        load(tmp_path, '[servers.a]\ncommand = ["a"]\nmay_ask = ["forms"]')


def test_a_working_directory_is_relative_to_the_file_that_says_it(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    _mcp_file(tmp_path / "sub", {"a": {"command": "a", "cwd": "x"}, "b": {"command": "b", "cwd": "x"}})
    config = load(tmp_path, 'mcp_config = ["sub/.mcp.json"]\n[servers.b]\ncwd = "y"\n[servers.a]\ntrust = "review"')
    assert config.reachable()["a"].cwd == str(tmp_path / "sub" / "x")
    assert config.reachable()["b"].cwd == str(tmp_path / "y")


def test_of_two_files_with_one_server_name_the_first_stands_and_the_other_is_reported(tmp_path: Path):
    _mcp_file(tmp_path, {"crm": {"command": "one"}}, "one.json")
    second = _mcp_file(tmp_path, {"crm": {"command": "two"}}, "two.json")
    config = load(tmp_path, 'mcp_config = ["one.json", "two.json"]')
    assert config.reachable()["crm"].command == ("one",)
    assert [notice.where for notice in config.warnings] == [f"{second}: mcpServers.crm"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_may_not_be_read_says_so(tmp_path: Path):
    path = tmp_path / "pegboard.toml"
    path.write_text("")
    path.chmod(0)
    with pytest.raises(ConfigError, match="cannot be read: Permission denied"):
        load_config(path, {})
