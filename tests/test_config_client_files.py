"""Other clients' files of servers: Claude's and Cursor's, VS Code's with comments, Codex's in TOML."""

import json

import pytest

from pegboard.config.client_files import without_comments
from pegboard.config.load import load_config
from pegboard.config.mcp_servers import read_mcp_servers
from pegboard.core.errors import ConfigError

VS_CODE = """\
{
  // what is open here
  "inputs": [{"type": "promptString", "id": "key"}],
  "servers": {
    "git": {"type": "stdio", "command": "git-mcp", "args": ["--repo", "${workspaceFolder}/x", "// no comment"],},
    /* and one
       over HTTP */
    "crm": {"type": "http", "url": "https://crm.example/mcp", "headers": {"X-Key": "${env:CRM_KEY}"}},
    "ask": {"type": "http", "url": "https://a.example/mcp", "headers": {"Authorization": "Bearer ${input:key}"}},
  },
}
"""
CODEX = """\
model = "gpt-5"
[mcp_servers.git]
command = "git-mcp"
args = ["--stdio"]
startup_timeout_sec = 20
[mcp_servers.git.env]
HOME_PAGE = "x"
[mcp_servers.crm]
url = "https://crm.example/mcp"
bearer_token_env_var = "CRM_KEY"
http_headers = { X-Plain = "p" }
env_http_headers = { X-Named = "CRM_KEY" }
[mcp_servers.off]
command = "x"
enabled = false
[mcp_servers.odd]
url = "https://odd.example/mcp"
http_headers = ["x"]
"""
KEY = {"CRM_KEY": "s3cret"}


def read(tmp_path, name, text):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return read_mcp_servers(path, KEY)


def test_a_file_of_vs_code_is_read_with_its_comments_and_the_folder_that_is_open(tmp_path):
    found = read(tmp_path, ".vscode/mcp.json", VS_CODE)
    assert found.servers["git"].command == ("git-mcp", "--repo", f"{tmp_path}/x", "// no comment")
    assert found.servers["git"].origin == f"{tmp_path}/.vscode/mcp.json: servers.git"
    assert found.servers["crm"].headers == {"X-Key": "s3cret"}
    assert "input:key" in found.servers["ask"].problem


def test_a_file_of_codex_is_read_with_headers_from_variables(tmp_path):
    found = read(tmp_path, "config.toml", CODEX)
    assert (found.servers["git"].command, found.servers["git"].env) == (("git-mcp", "--stdio"), {"HOME_PAGE": "x"})
    headers = {"X-Plain": "p", "X-Named": "s3cret", "Authorization": "Bearer s3cret"}
    assert found.servers["crm"].headers == headers
    assert "off" not in found.servers
    assert found.servers["odd"].problem == "it must be a table"
    assert found.servers["crm"].origin == f"{tmp_path}/config.toml: mcp_servers.crm"


def test_a_configuration_may_name_files_of_any_of_them(tmp_path):
    read(tmp_path, "config.toml", CODEX)
    read(tmp_path, ".vscode/mcp.json", VS_CODE)
    (tmp_path / "pegboard.toml").write_text('mcp_config = ["config.toml", ".vscode/mcp.json"]')
    config = load_config(tmp_path / "pegboard.toml", KEY)
    assert sorted(config.servers) == ["ask", "crm", "git", "odd"]
    assert config.servers["git"].command == ("git-mcp", "--stdio")
    assert any("mcp_servers.git stands for this name" in one.problem for one in config.warnings)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("config.toml", "x = ", "this file is not TOML"),
        ("config.toml", "x = 1", "this file has no table 'mcp_servers'"),
        ("mcp.json", "{ // only this", "this file is not JSON"),
        ("mcp.json", '{"servers": []}', "this file has no table 'mcpServers'"),
    ],
)
def test_what_is_no_such_file_is_an_error(tmp_path, name, text, problem):
    with pytest.raises(ConfigError, match=problem):
        read(tmp_path, name, text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "//x", "b": "/* y */"}', {"a": "//x", "b": "/* y */"}),
        ('{"a": "\\"//x"} // end', {"a": '"//x'}),
        ("[1, 2, /* more */ ]", [1, 2]),
        ("[1, // one\n 2,\n // two\n]", [1, 2]),
        ('{"a": ",]"}', {"a": ",]"}),
    ],
)
def test_comments_and_commas_go_and_texts_stay(text, value):
    assert json.loads(without_comments(text)) == value
