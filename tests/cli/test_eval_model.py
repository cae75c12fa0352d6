"""A model in the loop of `pegboard eval`: two of them as arms, calls that are made, and an end in the middle."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.adapters.sessions import SERVER
from tests.cli.desk import CONFIG
from tests.cli.labelled import value
from tests.servers import tool
from tests.service.scripted_model import ModelScript, chat, serving


def interrupt(_):
    """End this process as Ctrl-C does, in the middle of a request."""
    os.kill(os.getpid(), signal.SIGINT)


def test_what_an_interrupted_evaluation_finished_is_taken_over(labelled):
    hm = chat(text="Hm.")
    words = ("eval", "tasks.jsonl", "--arm", "dynamic")
    with serving(ModelScript(hm, hm, interrupt, hm)) as url:
        part = f'[evaluation.model]\napi = "openai-chat"\nurl = "{url}"\nmodel = "m"\n'
        labelled.writes("pegboard.toml", labelled.reads("pegboard.toml") + part)
        ended = labelled.runs(*words)
        assert (ended.status, "2 finished tasks kept" in ended.err) == (130, True)
        (left,) = (labelled.folder / ".pegboard-eval").iterdir()
        lines = [json.loads(line) for line in left.read_text().splitlines()]
        lines[0]["run"]["ms"] = 12_345.0
        # The line at which it was ended may be half there.
        left.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + '{"arm": "dyn')
        fresh, resumed = labelled.asks(*words), labelled.asks(*words, "--resume")
    assert fresh["arms"]["dynamic"]["tasks"][0]["ms"] < 12_345
    tasks = resumed["arms"]["dynamic"]["tasks"]
    assert [one["task_id"] for one in tasks] == ["open", "cancel", "weather"]
    assert tasks[0]["ms"] == 12_345
    assert not (labelled.folder / ".pegboard-eval").exists()


def test_a_configured_model_is_put_in_the_loop_and_without_one_its_measures_are_null(labelled):
    missing = labelled.asks("eval", "tasks.jsonl", "--arm", "dynamic")["arms"]["dynamic"]["measures"]
    assert missing["call_validity"]["reason"] == "no model was in the loop"
    with serving(ModelScript(chat(text="I cannot help with that."))) as url:
        part = f'[evaluation.model]\napi = "openai-chat"\nurl = "{url}"\nmodel = "m"\n'
        labelled.writes("pegboard.toml", labelled.reads("pegboard.toml") + part)
        report = labelled.asks("eval", "tasks.jsonl", "--arm", "dynamic")
    assert value(report, "dynamic", "task_completion") == pytest.approx(1 / 3, abs=1e-4)
    assert value(report, "dynamic", "searches") == 0
    assert value(report, "dynamic", "end_to_end_ms_p50") > 0


def test_two_models_are_arms_and_no_address_is_in_the_report(labelled):
    with (
        serving(ModelScript(chat(text="I cannot."))) as url,
        serving(ModelScript(chat(("crm__cancel_order", {"order_id": "7"})), chat(text="Done."))) as other,
    ):
        part = """
[evaluation.model]
api = "openai-chat"
url = "{url}"
model = "m"
[arms.other.model]
api = "openai-chat"
url = "{other}"
model = "n"
"""
        labelled.writes("pegboard.toml", labelled.reads("pegboard.toml") + part.format(url=url, other=other))
        report = labelled.asks("eval", "tasks.jsonl", "--arm", "dynamic", "--arm", "other")
    assert [report["arms"][name]["tasks"][0]["calls"] for name in ("dynamic", "other")] == [0, 1]
    assert report["arms"]["other"]["settings"] == {"model": {"api": "openai-chat", "model": "n"}}
    assert other not in json.dumps(report)


def test_calls_are_made_to_real_servers_where_the_configuration_says_so(empty):
    answer = {"content": [{"type": "text", "text": "It is for order BF-7."}]}
    script = {"pages": [[tool("get_payment", description="Get a payment.")]], "results": {"get_payment": answer}}
    command = json.dumps([sys.executable, SERVER, json.dumps(script)])
    rule = '[[servers.crm.propose]]\nmatch = "*"\naccess = "crm"\nrisk = "read"\n'
    config = f"{CONFIG}[servers.crm]\ncommand = {command}\n{rule}"
    empty.writes("pegboard.toml", config)
    empty.runs("refresh")
    empty.runs("classify", "--apply")
    asked = {"task_id": "pay", "task": "get the payment", "as": "sam", "acceptable": [["crm.get_payment"]]}
    empty.writes("tasks.jsonl", [{**asked, "completed": {"called": ["crm.get_payment"], "says": ["BF-7"]}}])
    empty.writes("tools.jsonl", [{"tool_id": "crm.get_payment", "description": "Get a payment."}])

    def told(request):
        return chat(text=request["messages"][-1]["content"])

    call = chat(("crm__get_payment", {}))
    with serving(ModelScript(call, told, call, told)) as url:
        part = f'[evaluation]\ncalls = "CALLS"\n[evaluation.model]\napi = "openai-chat"\nurl = "{url}"\nmodel = "m"\n'
        found = {}
        for calls in ("recorded", "servers"):
            empty.writes("pegboard.toml", config + part.replace("CALLS", calls))
            report = empty.asks("eval", "tasks.jsonl", "--arm", "dynamic")
            found[calls] = value(report, "dynamic", "task_completion"), value(report, "dynamic", "call_validity")
        refused = empty.runs("eval", "tasks.jsonl", "--catalog", "tools.jsonl", "--open")
    assert found == {"recorded": (0.0, 1.0), "servers": (1.0, 1.0)}
    # What was really called is on record, like every call.
    assert [one["kind"] for one in empty.asks("traces", "list")["traces"]] == ["call"]
    assert (refused.status, "no servers to make calls to" in refused.err) == (2, True)


def test_two_evaluations_at_once_do_not_disturb_each_other(labelled):
    words = ("eval", "tasks.jsonl", "--arm", "dynamic", "--json")
    others = []

    def another_meanwhile(_):
        done = subprocess.run([sys.executable, "-m", "pegboard", *words], capture_output=True, check=False)
        others.append(json.loads(done.stdout))
        return chat(text="Hm.")

    with serving(ModelScript(another_meanwhile, chat(text="Hm."))) as url:
        part = f'[evaluation.model]\napi = "openai-chat"\nurl = "{url}"\nmodel = "m"\n'
        labelled.writes("pegboard.toml", labelled.reads("pegboard.toml") + part)
        first = labelled.runs(*words)
    assert (first.status, len(others)) == (0, 1)
    assert [loaded(one) for one in (first.json, others[0])] == [loaded(first.json)] * 2
    assert not (labelled.folder / ".pegboard-eval").exists()


def loaded(report):
    return [(one["task_id"], one["loaded"]) for one in report["arms"]["dynamic"]["tasks"]]
