"""`pegboard select --for`: the tools as one model API takes them."""

import json

import pytest

from tests.cli.answers import ANSWERS, shape_of

REFUND = ("select", "which orders are open", "--as", "sam")
TARGETS = ("openai", "openai-chat", "openai-compatible", "anthropic", "gemini", "mcp")


@pytest.mark.parametrize("target", TARGETS)
def test_a_machine_gets_the_selection_the_payload_and_the_report(stocked, target):
    answer = stocked.asks(*REFUND, "--for", target)
    assert answer.keys() == {"selection", "payload", "report"}
    assert shape_of(answer["selection"], ANSWERS["select"]) == ANSWERS["select"]
    names = [tool["alias"] for tool in answer["selection"]["tools"]]
    assert names
    assert all(json.dumps(name) in json.dumps(answer["payload"]) for name in names)


def test_people_get_the_payload_and_what_accompanies_it_apart(stocked):
    answer = stocked.runs(*REFUND, "--for", "openai")
    assert answer.json["tools"][0]["type"] == "function"
    assert "selected" in answer.err
    assert answer.status == 0


def test_another_target_is_a_wrong_usage(stocked):
    assert stocked.runs(*REFUND, "--for", "telex").status == 2
