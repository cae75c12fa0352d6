"""Credentials of `[servers.NAME]` that are more than one secret: what the file may say, and what becomes of it."""

from pathlib import Path
from typing import Any

import pytest

from pegboard.adapters.credential_settings import Grant, TokenGrant, UserFiles
from pegboard.config.load import load_config
from pegboard.config.values import Config
from pegboard.core.errors import ConfigError

ENVIRON = {"OUR_SECRET": "s3cret-own", "LISTING": "s3cret-list", "HOST": "login.example.com"}
TOKENS = 'token_url = "https://${HOST}/token", client_id = "us", client_secret = { env = "OUR_SECRET" }'


def load(folder: Path, server: str) -> Config:
    (folder / "tokens").mkdir(exist_ok=True)
    (folder / "pegboard.toml").write_text(f"[servers.x]\n{server}", encoding="utf-8")
    return load_config(folder / "pegboard.toml", ENVIRON)


def shown(folder: Path, credential: str) -> Any:
    config = load(folder, f'url = "https://x.example/mcp"\ncredential = {{ {credential} }}')
    server = config.servers["x"]
    assert server.problem is None
    assert server.settings().headers == {}
    assert "s3cret" not in repr(config)
    return server.settings().credential


def test_a_folder_of_files_is_relative_to_the_file_that_says_it(tmp_path: Path):
    assert shown(tmp_path, 'per_user = "tokens"') == UserFiles(folder=tmp_path / "tokens")
    found = shown(tmp_path, 'per_user = "tokens", listing = { env = "LISTING" }')
    assert found == UserFiles(folder=tmp_path / "tokens", listing="s3cret-list")


@pytest.mark.parametrize(
    ("key", "grant", "caller_s"), [("oauth", Grant.CLIENT_CREDENTIALS, False), ("exchange", Grant.EXCHANGE, True)]
)
def test_a_token_endpoint_is_asked_for_tokens_of_the_server_unless_another_resource_is_said(
    key: str, grant: Grant, caller_s: bool, tmp_path: Path
):
    plain = TokenGrant(
        grant=grant,
        token_url="https://login.example.com/token",
        client_id="us",
        client_secret="s3cret-own",
        resource="https://x.example/mcp",
    )
    assert shown(tmp_path, f"{key} = {{ {TOKENS} }}") == plain
    assert plain.per_caller is caller_s
    more = f'{TOKENS}, scopes = ["a", "b"], audience = "crm", resource = ""'
    found = shown(tmp_path, f"{key} = {{ {more} }}")
    assert (found.scopes, found.audience, found.resource) == (("a", "b"), "crm", None)


@pytest.mark.parametrize(
    ("credential", "problem"),
    [
        ('per_user = "none"', "the folder of credentials"),
        ('per_user = "tokens", listing = { env = "MISSING" }', "the environment variable 'MISSING' is not set"),
        (f"oauth = {{ {TOKENS.replace('OUR_SECRET', 'MISSING')} }}", "the environment variable 'MISSING' is not set"),
        (f"oauth = {{ {TOKENS.replace('${HOST}', '${NONE}')} }}", "the environment variable 'NONE' is not set"),
        (f"exchange = {{ {TOKENS.replace('https:', 'http:')} }}", "'token_url' must be https://host/path"),
        (f"oauth = {{ {TOKENS.replace('${HOST}', 'u:s3cret@h')} }}", "'token_url' must be https://host/path"),
    ],
)
def test_what_cannot_be_found_is_that_server_s_problem(credential: str, problem: str, tmp_path: Path):
    config = load(tmp_path, f'url = "https://x.example/mcp"\ncredential = {{ {credential} }}')
    assert problem in str(config.servers["x"].problem)
    assert "s3cret" not in str(config.servers["x"].problem)


@pytest.mark.parametrize("credential", ['per_user = "tokens"', f"oauth = {{ {TOKENS} }}", f"exchange = {{ {TOKENS} }}"])
@pytest.mark.parametrize(
    ("reached", "problem"),
    [
        ('command = ["x"]', "a command takes its credential from the environment"),
        ('url = "https://x.example"\nheaders = { authorization = "x" }', "both its credential and its headers say"),
    ],
)
def test_what_is_shown_by_headers_goes_to_a_url_and_stands_in_no_other_header(
    credential: str, reached: str, problem: str, tmp_path: Path
):
    config = load(tmp_path, f"{reached}\ncredential = {{ {credential} }}")
    assert problem in str(config.servers["x"].problem)


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        ('credential = { per_user = "tokens" }\nshared = true', "'shared' gives all callers one session"),
        (f"credential = {{ exchange = {{ {TOKENS} }} }}\nshared = true", "'shared' gives all callers one session"),
        (f'credential = {{ per_user = "tokens", exchange = {{ {TOKENS} }} }}', "exclude each other"),
        ('credential = { env = "A", listing = { env = "B" } }', "'listing' is for 'per_user' and 'exchange'"),
        (f"credential = {{ oauth = {{ {TOKENS} }}, listing = {{ env = 'B' }} }}", "'listing' is for"),
        ('credential = { oauth = { client_id = "us" } }', "'token_url' is missing"),
        (f'credential = {{ oauth = {{ {TOKENS}, secret = "x" }} }}', "unknown key 'secret'"),
    ],
)
def test_what_contradicts_itself_is_an_error(server: str, problem: str, tmp_path: Path):
    with pytest.raises(ConfigError, match=problem):
        load(tmp_path, f'url = "https://x.example/mcp"\n{server}')


def test_one_session_for_all_goes_with_a_token_of_our_own(tmp_path: Path):
    server = f'url = "https://x.example/mcp"\ncredential = {{ oauth = {{ {TOKENS} }} }}\nshared = true'
    assert load(tmp_path, server).servers["x"].problem is None
