"""A model in the loop over real HTTP: what it is sent, what counts, and every way its server can fail."""

from dataclasses import replace

import pytest

from pegboard.adapters.model_endpoint import ModelEndpoint
from pegboard.engine.verdict import Verdict, VerdictKind
from pegboard.evaluation.fixtures import Completion, Fixture
from pegboard.providers.capabilities import Api
from pegboard.service.answering import CallAnswer
from pegboard.service.evaluator import Arm, Asked
from pegboard.service.models import completed
from pegboard.service.models import made as through
from tests.crm import AGENT
from tests.evaluation.made import task
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import system
from tests.service.scripted_model import ModelScript, chat, claude, serving

pytestmark = pytest.mark.anyio
SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
ASKED = Asked(
    task=Fixture(
        task_id="read", task="read the order 7", steps=(frozenset({"crm.get_order"}),), arguments={"number": 7}
    ),
    context=AGENT,
)


@pytest.fixture
def anyio_backend():
    return "asyncio"


def shop():
    """A server of two tools."""
    return ScriptedToolServer(
        [
            tool("get_order", description="Read one order by its number.", inputSchema=SCHEMA),
            tool("cancel_order", description="Cancel an order of a customer."),
        ]
    )


async def played(api, *answers, asked=ASKED, all_tools=False, crm=None, call=None, **more):
    """Play one task against a script; return the run and the script.

    With a server its tools are really called; *call* answers calls in place of it.
    """
    real, crm = crm is not None, crm or shop()
    made = system(ScriptedToolServers(crm=crm))
    await made.refresher.refresh()
    await made.keeper.approve([one.tool_id for one in await made.keeper.drafts()], access="sales", by="t")
    settings = replace(made.catalog.deployment.selection, limit=1)
    bed = await made.evaluator.bed(Arm(name="dynamic", selection=settings, all_tools=all_tools))
    script = ModelScript(*answers)
    answered = {"calls": lambda one: through(made.gatekeeper, one.context, "c")} if real else {}
    if call is not None:
        answered = {"calls": lambda _: call}
    with serving(script) as url:
        async with ModelEndpoint(api, url, "m-1", key="s3cret", **more) as model:
            (run,) = [one async for one in made.evaluator.run(bed, [asked], {}, model, **answered)]
    return run, script


async def test_a_call_that_fits_completes_the_task_and_tokens_are_counted_over_all_turns():
    run, script = await played(Api.CHAT, chat(("crm__get_order", {"number": 7})), chat(text="It is order 7."))
    assert (run.calls, run.valid_calls, run.searches, run.completed, run.error) == (1, 1, 0, True, None)
    assert (run.tokens_cached, run.tokens_uncached) == (80, 120)
    assert run.end_to_end_ms is not None
    first, second = script.requests
    assert (script.paths, first["model"]) == (["/v1/chat/completions"] * 2, "m-1")
    assert script.headers[0]["authorization"] == "Bearer s3cret"
    assert first["messages"] == [{"role": "user", "content": "read the order 7"}]
    assert [one["function"]["name"] for one in first["tools"]] == ["crm__get_order", "search_tools"]
    assert second["messages"][1]["tool_calls"][0]["id"] == "c0"
    assert second["messages"][2] == {"role": "tool", "tool_call_id": "c0", "content": "It is done."}


async def test_the_same_over_anthropics_messages():
    run, script = await played(Api.ANTHROPIC, claude(("crm__get_order", {"number": 7})), claude(text="Done."))
    assert (run.calls, run.valid_calls, run.completed, run.error) == (1, 1, True, None)
    assert (run.tokens_cached, run.tokens_uncached) == (60, 114)
    assert script.paths[0] == "/v1/messages"
    assert script.headers[0]["x-api-key"] == "s3cret"
    assert script.requests[1]["messages"][1]["role"] == "assistant"
    assert script.requests[1]["messages"][2]["content"][0]["tool_use_id"] == "t0"


async def test_a_search_is_counted_and_brings_more_tools():
    run, script = await played(
        Api.CHAT,
        chat(("search_tools", {"task": "cancel an order of a customer"})),
        chat(("crm__cancel_order", {})),
        chat(text="Cancelled."),
    )
    assert (run.searches, run.calls, run.valid_calls) == (1, 1, 1)
    assert run.completed is False
    assert "crm__cancel_order" in [one["function"]["name"] for one in script.requests[1]["tools"]]


@pytest.mark.parametrize(
    "call",
    [("crm__get_order", {"number": "seven"}), ("crm__get_order", {}), ("crm__cancel_order", {}), ("nothing", {})],
)
async def test_a_call_of_what_was_not_loaded_or_with_wrong_arguments_is_not_valid(call):
    run, script = await played(Api.CHAT, chat(call), chat(text="Sorry."))
    assert (run.calls, run.valid_calls, run.completed) == (1, 0, False)
    assert script.requests[1]["messages"][-1]["content"].startswith("error:")


READ = ("crm__get_order", {"number": 7})


@pytest.mark.parametrize(
    ("recorded", "said", "done"),
    [
        ("It shipped on Monday.", "It shipped on Monday.", True),
        ({"status": "shipped"}, '{"status":"shipped"}', True),
        ([1, 2], "[1,2]", True),
        ({"content": [{"type": "text", "text": "On its way."}]}, "On its way.", True),
        ({"isError": True, "content": [{"type": "text", "text": "No such order."}]}, "error: No such order.", False),
    ],
)
async def test_a_call_is_answered_by_what_the_task_recorded_and_a_recorded_error_completes_nothing(
    recorded, said, done
):
    asked = replace(ASKED, task=replace(ASKED.task, results={"crm.get_order": recorded}))
    run, script = await played(Api.CHAT, chat(READ), chat(text="There."), asked=asked)
    assert script.requests[1]["messages"][2]["content"] == said
    assert (run.calls, run.valid_calls, run.completed) == (1, 1, done)


async def test_a_call_is_made_through_the_gate_and_its_result_reaches_the_model():
    crm = shop()
    crm.answers("get_order", {"content": [{"type": "text", "text": "BF-7 shipped."}]})
    asked = replace(ASKED, task=replace(ASKED.task, completed=Completion(called=("crm.get_order",), says=("BF-7",))))

    def told(request):
        return chat(text=f"I read: {request['messages'][-1]['content']}")

    run, script = await played(Api.CHAT, chat(READ), told, asked=asked, crm=crm)
    assert [(name, given) for name, given in crm.calls] == [("get_order", {"number": 7})]
    assert script.requests[1]["messages"][2]["content"] == "BF-7 shipped."
    assert (run.calls, run.valid_calls, run.completed, run.error) == (1, 1, True, None)


async def test_what_the_gate_refuses_is_not_made_and_completes_nothing():
    crm = shop()
    wrong = ("crm__get_order", {"number": "seven"})
    run, _ = await played(Api.CHAT, chat(wrong), chat(("crm__cancel_order", {})), chat(text="Hm."), crm=crm)
    assert crm.calls == []
    assert (run.calls, run.valid_calls, run.completed) == (2, 0, False)


@pytest.mark.parametrize(
    "came",
    [
        {"verdict": Verdict(kind=VerdictKind.APPROVAL_REQUIRED, message="ask")},
        {"verdict": Verdict(kind=VerdictKind.ALLOWED), "error": {"code": -32603, "message": "broken"}},
    ],
)
async def test_a_call_that_was_refused_or_not_answered_by_its_tool_completes_nothing(came):
    async def call(tool, arguments):
        return CallAnswer(trace_id="tr", **came)

    run, script = await played(Api.CHAT, chat(READ), chat(text="Hm."), call=call)
    assert (run.calls, run.valid_calls, run.completed) == (1, 1, False)
    assert script.requests[1]["messages"][2]["content"].startswith("error:")


async def test_a_tool_that_reports_an_error_completes_nothing():
    crm = shop()
    crm.answers("get_order", {"isError": True, "content": [{"type": "text", "text": "No such order."}]})
    run, script = await played(Api.CHAT, chat(READ), chat(text="It is gone."), crm=crm)
    assert script.requests[1]["messages"][2]["content"] == "error: No such order."
    assert (run.valid_calls, run.completed) == (1, False)


async def test_all_tools_are_all_before_the_model():
    _, script = await played(Api.CHAT, chat(text="Hm."), all_tools=True)
    names = [one["function"]["name"] for one in script.requests[0]["tools"]]
    assert names == ["crm__cancel_order", "crm__get_order", "search_tools"]


async def test_a_model_that_never_ends_is_ended():
    run, script = await played(Api.CHAT, chat(("crm__get_order", {"number": 7})), turns=3)
    assert (len(script.requests), run.calls) == (3, 3)


async def test_a_server_that_says_nothing_of_its_cache_has_not_said_that_nothing_was_cached():
    run, _ = await played(Api.CHAT, chat(text="Hm.", cached=None))
    assert (run.tokens_cached, run.tokens_uncached) == (None, 100)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (500, "status 500"),
        (401, "status 401"),
        (b"<html>", "not of the form"),
        ([], "not of the form"),
        ({"choices": []}, "not of the form"),
        ({"choices": [{"message": "hello"}]}, "not of the form"),
        (b"[" * 100_000, "not of the form"),
        (None, "no whole answer within 0.2 s"),
    ],
)
async def test_an_answer_that_cannot_be_used_is_the_tasks_error_and_no_measure(answer, said):
    run, _ = await played(Api.CHAT, answer, timeout_s=0.2)
    assert said in run.error
    assert "s3cret" not in run.error
    assert (run.calls, run.completed, run.end_to_end_ms) == (None, None, None)
    assert run.loaded == ("crm.get_order",)


@pytest.mark.parametrize("answer", [{"content": "hello"}, {"content": ["hello"]}, {"role": "assistant"}])
async def test_nonsense_over_messages_is_an_error_too(answer):
    run, _ = await played(Api.ANTHROPIC, answer)
    assert "not of the form" in run.error


async def test_a_server_that_is_not_there_is_an_error():
    async with ModelEndpoint(Api.CHAT, "http://127.0.0.1:9/v1", "m") as model:
        made = system(ScriptedToolServers(crm=ScriptedToolServer([])))
        bed = await made.evaluator.bed(Arm(name="dynamic", selection=made.catalog.deployment.selection))
        (run,) = [one async for one in made.evaluator.run(bed, [replace(ASKED)], {}, model)]
    assert "the request failed" in run.error


@pytest.mark.parametrize(
    ("fixture", "called", "text", "done"),
    [
        (task("1", "a b", "c"), [("b", {}), ("c", {})], "", True),
        (task("1", "a b", "c"), [("b", {})], "", False),
        (task("1", "a", arguments={"n": 1}), [("a", {"n": 1, "more": 2})], "", True),
        (task("1", "a", arguments={"n": [1]}), [("a", {"n": [2]})], "", False),
        (task("1", "a", arguments={"n": 1}), [("a", "n")], "", False),
        (task("1"), [], "I cannot.", True),
        (task("1"), [("a", {})], "", False),
        (task("1", "a", forbidden=frozenset({"b"})), [("a", {}), ("b", {})], "", False),
        (task("1", "a", completed=Completion(called=("x", "y"))), [("x", {}), ("z", {}), ("y", {})], "", True),
        (task("1", "a", completed=Completion(says=("Done",))), [], "done!", True),
        (task("1", "a", completed=Completion(called=("x", "y"))), [("y", {}), ("x", {})], "", False),
        (task("1", "a", completed=Completion(says=("done",))), [("a", {})], "not yet", False),
    ],
)  # fmt: skip
def test_a_task_is_completed_by_its_own_check_or_its_labels(fixture, called, text, done):
    assert completed(fixture, called, text) is done
