"""The arms of `pegboard eval`: other catalogs, locks, policies and rankings, all on the same tasks."""

import pytest

from tests.cli.labelled import value


def test_another_lock_other_policies_and_a_former_version_are_arms(labelled):
    labelled.writes("empty.lock", "")
    labelled.writes("nobody.cedar", 'forbid(principal, action == Pegboard::Action::"consider", resource);')
    arms = '[arms.bare]\nlock = "empty.lock"\ncatalog = 1\n[arms.strict]\ncedar = ["nobody.cedar"]\n'
    labelled.writes("pegboard.toml", labelled.reads("pegboard.toml") + arms)
    report = labelled.asks("eval", "tasks.jsonl", "--arm", "dynamic", "--arm", "bare")
    assert [one["eligible"] for one in report["arms"]["bare"]["tasks"]] == [0, 0, 0]
    assert [one["eligible"] for one in report["arms"]["dynamic"]["tasks"]] == [4, 4, 4]
    strict = labelled.asks("eval", "tasks.jsonl", "--arm", "dynamic", "--arm", "strict")
    assert [one["eligible"] for one in strict["arms"]["strict"]["tasks"]] == [0, 0, 0]
    labelled.writes("pegboard.toml", labelled.reads("pegboard.toml").replace("catalog = 1", "catalog = 9"))
    assert labelled.runs("eval", "tasks.jsonl", "--arm", "bare").status == 3


def test_another_catalog_other_templates_and_another_ranking_are_arms(labelled):
    few = [{"tool_id": "crm.cancel_order", "description": "Cancel an order."}]
    labelled.writes("few.jsonl", few)
    arms = """
[arms.few]
catalog = "few.jsonl"
[arms.listed]
catalog = "listings"
lock = "pegboard.lock"
[arms.strict.access.crm]
required_scopes = ["none.has"]
[arms.plain.retrieval]
ranking = "words"
"""
    labelled.writes("pegboard.toml", labelled.reads("pegboard.toml") + arms)
    report = labelled.asks("eval", "tasks.jsonl", *(f"--arm={name}" for name in ("dynamic", *NEW_ARMS)))
    eligible = {name: {one["eligible"] for one in arm["tasks"]} for name, arm in report["arms"].items()}
    # A tool that its file says otherwise has another hash, which the lock does not grant.
    assert eligible == {"dynamic": {4}, "few": {0}, "listed": {4}, "strict": {0}, "plain": {4}}
    assert "fits" in report["arms"]["dynamic"]["tasks"][0]
    assert "fits" not in report["arms"]["plain"]["tasks"][0]
    assert {value(report, name, "denied_exposure") for name in report["arms"]} == {0}


NEW_ARMS = ("few", "listed", "strict", "plain")


def test_two_catalog_files_are_compared_with_every_tool_open(empty):
    tools = [{"tool_id": f"{server}.find", "description": "Find an order."} for server in ("crm", "shop")]
    empty.writes("one.jsonl", tools[:1])
    empty.writes("both.jsonl", tools)
    empty.writes("pegboard.toml", '[arms.both]\ncatalog = "both.jsonl"\n')
    empty.writes("tasks.jsonl", [{"task_id": "t", "task": "find the order", "acceptable": [["crm.find"]]}])
    words = ("eval", "tasks.jsonl", "--catalog", "one.jsonl", "--open", "--arm", "dynamic", "--arm", "both")
    report = empty.asks(*words)
    assert [report["arms"][name]["tasks"][0]["eligible"] for name in ("dynamic", "both")] == [1, 2]


@pytest.mark.parametrize(
    ("arm", "status", "said"),
    [
        ('catalog = "gone.jsonl"', 2, "gone.jsonl"),
        ('retrieval = { ranking = "fast", endpoint = { url = "http://127.0.0.1:9", model = "m" } }', 2, "dimensions"),
        ('model = { api = "openai-chat", url = "http://x" }', 2, "'model' is missing"),
        ('access = { crm = { scopes = ["x"] } }', 2, "unknown key 'scopes'"),
    ],
)
def test_an_arm_that_cannot_be_is_refused(labelled, arm, status, said):
    labelled.writes("pegboard.toml", labelled.reads("pegboard.toml") + f"[arms.odd]\n{arm}\n")
    answer = labelled.runs("eval", "tasks.jsonl", "--arm", "odd")
    assert (answer.status, said in answer.err) == (status, True)
