"""What `doctor` says of the gateway, of clients that bypass it, and of credentials that callers share."""

import json

from tests.adapters.issuer import Key
from tests.cli.desk import CONFIG

SERVERS = """
[servers.crm]
command = ["/opt/x/crm-mcp", "--stdio"]
env = { CRM_TOKEN = "s3cret" }
[servers.mail]
url = "https://mail.example/mcp"
"""


def said(desk, check):
    return [one for one in desk.asks("doctor", "--offline")["findings"] if one["check"] == check]


def test_a_client_that_reaches_a_server_behind_the_gate_is_named_with_its_file(desk):
    desk.writes("pegboard.toml", CONFIG + SERVERS)
    assert said(desk, "clients")[0]["level"] == "ok"
    theirs = {"any": {"command": "crm-mcp", "args": ["--stdio"]}, "other": {"command": "crm-mcp", "args": ["--x"]}}
    desk.writes(".cursor/mcp.json", json.dumps({"mcpServers": theirs}))
    desk.writes(".vscode/mcp.json", json.dumps({"servers": {"m": {"url": "https://mail.example/mcp"}}}))
    cursor, code = said(desk, "clients")
    assert (cursor["level"], cursor["message"][:41]) == ("note", "Cursor, this project reaches crm by itsel")
    assert cursor["where"].endswith(".cursor/mcp.json")
    assert cursor["fix"] == f"`pegboard init --switch --from {cursor['where']}` puts Pegboard in their place"
    assert code["message"].startswith("VS Code, this project reaches mail by itself")


def test_servers_that_cannot_tell_callers_apart_are_named(desk):
    desk.writes("pegboard.toml", CONFIG + SERVERS)
    assert [one["message"] for one in said(desk, "credentials")] == [
        "all callers reach crm with one credential: it cannot tell them apart"
    ]


def test_a_token_of_our_own_is_one_credential_for_all_and_a_caller_s_is_not(desk):
    tokens = 'token_url = "https://l.example", client_id = "u", client_secret = { file = "secret" }'
    desk.writes("secret", "s3cret")
    one = '[servers.{0}]\nurl = "https://{0}.example"\ncredential = {{ {1} = {{ {2} }} }}\n'
    desk.writes("pegboard.toml", CONFIG + one.format("crm", "oauth", tokens) + one.format("mail", "exchange", tokens))
    assert [one["message"][:27] for one in said(desk, "credentials")] == ["all callers reach crm with "]


def test_a_credential_that_cannot_work_is_named(desk):
    folder = '[servers.crm]\nurl = "https://crm.example"\ncredential = { per_user = "none" }\n'
    desk.writes("pegboard.toml", CONFIG + folder)
    found = [one["message"] for one in said(desk, "configuration") if "credentials" in one["message"]]
    assert [one.endswith("none' is not there") for one in found] == [True]


def test_a_gateway_that_would_let_in_anyone_is_a_problem_and_one_that_lets_in_nobody_a_note(desk):
    assert (said(desk, "gateway")[0]["level"], said(desk, "gateway")[0]["message"]) == (
        "note",
        "nobody could use `pegboard serve` yet",
    )
    desk.writes("pegboard.toml", f'{CONFIG}[gateway]\nprofile = "sam"\n')
    assert said(desk, "gateway")[0]["level"] == "ok"
    desk.writes("pegboard.toml", f'{CONFIG}[gateway]\nprofile = "sam"\nhost = "0.0.0.0"\n')
    assert said(desk, "gateway")[0]["level"] == "problem"
    assert desk.runs("doctor", "--offline").status == 2


def test_tokens_that_nobody_can_verify_are_a_problem_with_its_reason(desk):
    issuer = '[identity.jwt]\nissuer = "https://login.example"\njwks_file = "keys.json"\n'
    desk.writes("pegboard.toml", f'{CONFIG}{issuer}audience = "https://t.example"\n')
    assert said(desk, "tokens") == []
    desk.writes("keys.json", "{}")
    found = [one for one in desk.asks("doctor")["findings"] if one["check"] == "tokens"]
    assert [(one["level"], one["message"]) for one in found] == [
        ("problem", "no token of https://login.example can be verified: the document is no set of at most 100 keys")
    ]
    desk.writes("keys.json", json.dumps({"keys": [Key("one").public()]}))
    found = [one for one in desk.asks("doctor")["findings"] if one["check"] == "tokens"]
    assert [one["level"] for one in found] == ["ok"]
