"""What `refresh`, `review` and `catalog prune` show of a changed server, to people and to machines."""

import sys

import pytest

from tests.cli.desk import CONFIG

SERVER = f"""
[servers.billing]
command = ["{sys.executable}", "-m", "pegboard.demo.servers", "billing"]
env = {{ PEGBOARD_DEMO_RELEASE = "${{RELEASE:-1}}" }}
[[servers.billing.propose]]
match = "*"
access = "crm"
"""


@pytest.fixture
def live(empty):
    """A desk with a real server whose tools are locked."""
    empty.writes("pegboard.toml", CONFIG + SERVER)
    assert empty.runs("refresh").status == 0
    empty.runs("classify", "--apply")
    return empty


def test_a_changed_server_is_shown_step_by_step_and_then_for_good(live):
    dry = live.runs("refresh", "--dry-run", RELEASE="2")
    for step in (
        "fetched: pages 1",
        "validated: taken 11",
        "compared: unchanged 9",
        "decided: held 2",
        "served: added 1",
    ):
        assert f"billing {step}" in dry.out
    assert "changed: description, inputSchema, outputSchema" in dry.out
    assert "revoked  billing billing.create_refund" in dry.out
    assert [one["version"].partition("-")[0] for one in live.asks("catalog", "versions")["versions"]] == ["1"]

    (server,) = live.runs("refresh", "--json", RELEASE="2").json["servers"]
    assert [one["step"] for one in server["steps"]][-1] == "served"
    assert {one["tool"] for one in server["revoked"]} == {"billing.create_refund", "billing.apply_discount_code"}
    served = live.asks("select", "create a refund", "--as", "sam", "--require", "billing.create_refund")
    assert "billing.create_refund" not in {one["tool_id"] for one in served["tools"]}

    named = f"billing.create_refund@{live.asks('review', 'show', 'billing.create_refund')['draft']['hash'][7:19]}"
    assert f"approve {named}" in live.runs("review", "show", "billing.create_refund").err
    for words in (("review", "show", "billing.create_refund"), ("lock", "check")):
        assert "changed since it was locked; it is revoked until you have looked" in live.runs(*words).out
    wrong = live.runs("review", "approve", "billing.create_refund@000000000000")
    assert (wrong.status, "has changed since it was shown" in wrong.err) == (2, True)
    assert live.runs("review", "approve", named).status == 0
    served = live.asks("select", "create a refund", "--as", "sam", "--require", "billing.create_refund")
    assert "billing.create_refund" in {one["tool_id"] for one in served["tools"]}


def test_pruning_says_what_would_go_and_only_then_removes_it(live):
    live.runs("refresh", RELEASE="2")
    shown = live.runs("catalog", "prune", "--keep", "1")
    assert "that nothing needs" in shown.err
    assert live.asks("catalog", "prune", "--keep", "1", "--apply")["applied"] is True
    assert live.asks("catalog", "verify")["bad"] == []
