"""Search, describe, call, as real clients of both eras do it over HTTP and streams."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError

from pegboard.core.catalog import Risk
from pegboard.core.errors import OutcomeUnknownError, RefusedByServerError, UnreachableServerError
from pegboard.engine.limits import Limits
from pegboard.gateway.listing import ListMode, ListSettings
from pegboard.gateway.passing import ORIGIN, VERDICT
from pegboard.gateway.verbs import KEY
from tests.gateway.made import LEGACY, MODERN, Desk, client, headers, raw
from tests.servers import tool

BOTH = pytest.mark.parametrize("mode", [MODERN, LEGACY])
WHOLE = ListSettings(mode=ListMode.ALL)
PAY = "billing.create_refund"
TASK = {"task": "give money of a payment back to the customer"}
UNKNOWN = "unknown tool: call one by its name in the list, or with the selection of the search that named it"


def asked(desk: Desk, deed: Callable[[Client], Awaitable[Any]], who: str = "dana", mode: str = MODERN) -> Any:
    """Do one thing as a client of a gateway that was just started."""

    async def scene() -> Any:
        await desk.start()
        async with desk.streams(who, mode) as made:
            return await deed(made)

    return anyio.run(scene)


async def search(made: Client, **arguments: Any) -> dict[str, Any]:
    return (await made.call_tool("search_tools", {**TASK, **arguments})).structured_content  # type: ignore[return-value]


async def call(made: Client, name: str, arguments: dict[str, Any] | None = None, **more: Any) -> Any:
    """Search first, and call what the search has found."""
    selection = (await search(made))["selection"]
    given = {"tool": name, "arguments": arguments or {}, "selection": selection, **more}
    return await made.call_tool("call_tool", given)


async def refused(deed: Awaitable[Any]) -> tuple[int, str]:
    with pytest.raises(MCPError) as raised:
        await deed
    return raised.value.error.code, raised.value.error.message


@BOTH
def test_a_client_over_http_searches_and_calls_what_it_found(mode: str):
    desk = Desk()
    desk.billing.answers("create_refund", {"content": [{"type": "text", "text": "paid"}]})

    async def scene() -> Any:
        await desk.start()
        async with desk.serving() as url, client(url, "dana", mode) as made:
            found = await search(made)
            assert found["tools"][0]["name"] == PAY
            return await call(made, PAY, {"payment_id": "p1"})

    answer = anyio.run(scene)
    assert answer.content[0].text == "paid"
    assert answer.meta[ORIGIN] == {"server": "billing", "tool": PAY}
    assert desk.billing.calls == [("create_refund", {"payment_id": "p1"})]


def test_a_search_gives_complete_schemas_and_what_they_cost():
    found = asked(Desk(), search)
    assert found["outcome"] == "selected"
    assert found["tools"][0]["inputSchema"]["required"] == ["payment_id"]
    assert found["tokens"]["definitions"] > 0
    assert "operator" not in found


def test_a_compact_search_gives_signatures_and_costs_less():
    async def both(made: Client) -> Any:
        return await search(made), await search(made, detail="compact")

    whole, short = asked(Desk(), both)
    assert short["tools"][0]["signature"] == "billing.create_refund(payment_id: string)"
    assert short["tokens"]["definitions"] < whole["tokens"]["definitions"]


def test_a_tool_that_is_in_the_list_is_not_sent_again_by_a_search():
    assert "crm.stop_all" not in [one["name"] for one in asked(Desk(), search)["tools"]]


def test_a_tool_of_a_compact_search_is_described_whole():
    async def deed(made: Client) -> Any:
        selection = (await search(made, detail="compact"))["selection"]
        return await made.call_tool("describe_tool", {"tool": PAY, "selection": selection})

    assert asked(Desk(), deed).structured_content["tool"]["inputSchema"]["required"] == ["payment_id"]


@pytest.mark.parametrize("name", [PAY, "billing.no_such_tool", "\x00", "crm/close_case", "x" * 300])
def test_what_may_not_be_called_is_one_error_whether_it_is_there_or_not(name: str):
    """Cases 2 and 4: a denied tool by its exact name, and one that nobody has."""

    async def deed(made: Client) -> Any:
        selection = (await search(made))["selection"]
        given = {"tool": name, "selection": selection}
        return {
            await refused(made.call_tool(name, {"payment_id": "p1"})),
            await refused(made.call_tool("call_tool", {**given, "arguments": {"payment_id": "p1"}})),
            await refused(made.call_tool("describe_tool", given)),
        }

    desk = Desk()
    assert asked(desk, deed, "sam") == {(-32602, UNKNOWN)}
    assert desk.billing.calls == []


def test_our_own_tools_are_not_called_through_each_other():
    given = {"tool": "search_tools", "arguments": TASK}
    assert asked(Desk(), lambda made: refused(made.call_tool("call_tool", given))) == (-32602, UNKNOWN)


def test_a_selection_of_another_caller_opens_nothing():
    desk = Desk()

    async def scene() -> Any:
        await desk.start()
        async with desk.streams("dana") as dana, desk.streams("sam") as sam:
            given = {"tool": PAY, "arguments": {"payment_id": "p1"}, "selection": (await search(dana))["selection"]}
            return await refused(sam.call_tool("call_tool", given))

    assert anyio.run(scene) == (-32602, UNKNOWN)


def test_no_log_names_a_tool_that_was_asked_for_and_denied(caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO")
    desk = Desk()

    async def scene() -> None:
        await desk.start()
        async with desk.serving() as url:
            for mode in (MODERN, LEGACY):
                async with client(url, "sam", mode) as made:
                    await refused(made.call_tool(PAY, {}))
                    await refused(made.call_tool("call_tool", {"tool": PAY, "arguments": {}}))

    anyio.run(scene)
    ours = [one for one in caplog.records if not one.name.startswith(("mcp.client", "client", "httpx"))]
    assert not any("create_refund" in one.getMessage() for one in ours)


def test_operators_read_of_a_denial_what_its_caller_cannot_tell():
    """Case 4."""
    desk = Desk()

    async def scene() -> list[Any]:
        await desk.start()
        async with desk.streams("sam") as made:
            selection = (await search(made))["selection"]
            for name in (PAY, "billing.nothing"):
                given = {"tool": name, "arguments": {}, "selection": selection}
                await refused(made.call_tool("call_tool", given))
        await desk.system.flush()
        return [event.body async for event in desk.system.audit.events() if event.kind == "denial"]

    denials = anyio.run(scene)
    assert [one["asked"] for one in denials] == [PAY, "billing.nothing"]


@BOTH
def test_a_listed_tool_is_called_by_its_name_and_passes_the_gate(mode: str):
    desk = Desk(WHOLE)
    answer = asked(desk, lambda made: made.call_tool("billing.get_payment", {}), "dana", mode)
    assert answer.is_error
    assert answer.structured_content["path"] == "" or "payment_id" in answer.structured_content["message"]
    assert answer.structured_content["input_schema"]["required"] == ["payment_id"]
    assert desk.billing.calls == []


def test_a_call_without_its_arguments_is_refused_with_what_to_repair_and_ends_in_the_loop_breaker():
    """Case 24: the same empty call, thirty times."""

    async def deed(made: Client) -> list[str]:
        selection = (await search(made))["selection"]
        given = {"tool": PAY, "arguments": {}, "selection": selection}
        answers = [await made.call_tool("call_tool", given) for _ in range(30)]
        assert answers[0].structured_content["input_schema"]["required"] == ["payment_id"]
        assert "payment_id" in answers[0].structured_content["message"]
        assert all(one.is_error for one in answers)
        return [one.meta[VERDICT] for one in answers]

    desk = Desk()
    found = asked(desk, deed)
    assert found[0] == "invalid_arguments"
    assert found[-1] == "limit_exceeded"
    assert desk.billing.calls == []


@BOTH
def test_what_a_server_answers_passes_untouched(mode: str):
    result = {
        "content": [
            {"type": "text", "text": "a", "annotations": {"audience": ["user"]}, "unheardOf": [None, 1.5]},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "b"}},
            {"type": "resource_link", "uri": "file:///a", "name": "a"},
        ],
        "structuredContent": {"n": None, "big": 2**63, "deep": [{"x": []}]},
        "isError": True,
        "future": {"kept": True},
        "_meta": {"theirs.example/a": 1},
    }
    desk = Desk()
    desk.billing.answers("get_payment", result)
    sent: list[Any] = []

    async def scene() -> None:
        await desk.start()
        async with desk.serving() as url:
            sent.append(await posted(url, mode))

    async def posted(url: str, mode: str) -> Any:
        async with client(url, "dana", mode) as made:
            selection = (await search(made))["selection"]
        return await call_raw(
            url, {"tool": "billing.get_payment", "arguments": {"payment_id": "1"}, "selection": selection}
        )

    anyio.run(scene)
    answer = sent[0]["result"]
    meta = answer.pop("_meta")
    assert {name: value for name, value in answer.items() if name != "resultType"} == {
        name: value for name, value in result.items() if name != "_meta"
    }
    assert meta["theirs.example/a"] == 1
    assert meta[ORIGIN]["server"] == "billing"


async def call_raw(url: str, arguments: dict[str, Any]) -> Any:
    body = raw("tools/call", {"name": "call_tool", "arguments": arguments})
    async with httpx2.AsyncClient() as http:
        return (await http.post(url, json=body, headers=headers("dana", "tools/call", "call_tool"))).json()


def test_an_error_of_the_protocol_passes_with_its_code():
    desk = Desk(WHOLE)
    desk.billing.fails("call", RefusedByServerError("billing", -31_999, "out of paper"))
    found = asked(desk, lambda made: refused(made.call_tool("billing.get_payment", {"payment_id": "1"})))
    assert found == (-31_999, "out of paper")


@pytest.mark.parametrize("code", [-32_700, -32_600, -32_601, -32_020, -32_022])
def test_a_servers_error_about_its_own_hop_is_not_taken_for_one_about_ours(code: int):
    desk = Desk(WHOLE)
    desk.billing.fails("call", RefusedByServerError("billing", code, "what?"))
    assert asked(desk, lambda made: refused(made.call_tool("billing.get_payment", {"payment_id": "1"})))[0] == -32_603


def test_a_server_that_asks_for_input_gets_none():
    desk = Desk(WHOLE)
    desk.billing.answers("get_payment", {"resultType": "input_required", "inputRequests": {"a": {"secret": 1}}})
    answer = asked(desk, lambda made: made.call_tool("billing.get_payment", {"payment_id": "1"}))
    assert answer.is_error
    assert "secret" not in answer.model_dump_json()


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (OutcomeUnknownError("billing", "it went away"), "outcome_unknown"),
        (UnreachableServerError("billing", "it went away"), "unavailable"),
    ],
)
def test_a_server_that_dies_mid_call_is_told_in_the_verdict(error: Exception, verdict: str):
    desk = Desk(WHOLE)
    desk.billing.fails("call", error)  # type: ignore[arg-type]
    answer = asked(desk, lambda made: made.call_tool("billing.get_payment", {"payment_id": "1"}))
    assert (answer.is_error, answer.structured_content["verdict"]) == (True, verdict)
    assert len(desk.billing.calls) == 1


def test_a_call_that_needs_an_approval_says_which():
    async def scene() -> Any:
        desk = Desk(WHOLE)
        desk.billing.lists([tool("delete_payment")])
        await desk.system.refresher.refresh()
        await desk.lock("money", "billing.delete_payment", risk=Risk.DESTRUCTIVE)
        async with desk.streams("dana") as made:
            return await made.call_tool("billing.delete_payment", {})

    answer = anyio.run(scene)
    assert answer.is_error
    assert answer.structured_content["verdict"] == "approval_required"
    assert answer.structured_content["approval_id"]


def test_under_one_key_a_call_runs_once():
    async def deed(made: Client) -> Any:
        given = {"payment_id": "1"}
        return [await made.call_tool(PAY, given, meta={KEY: "k1"}) for _ in range(2)]

    desk = Desk(WHOLE)
    desk.billing.answers("create_refund", {"content": [{"type": "text", "text": "paid"}]})
    answers = asked(desk, deed)
    assert [one.content[0].text for one in answers] == ["paid", "paid"]
    assert len(desk.billing.calls) == 1


def test_a_limit_is_told_as_one():
    async def deed(made: Client) -> list[str | None]:
        answers = [await made.call_tool("billing.get_payment", {"payment_id": str(n)}) for n in range(3)]
        return [(one.meta or {}).get(VERDICT) for one in answers]

    assert asked(Desk(WHOLE, limits=Limits(calls_per_minute=2)), deed) == [None, None, "limit_exceeded"]


def test_a_tool_of_another_stage_is_found_and_called_in_its_stage_alone():
    desk = Desk()

    async def scene() -> list[Any]:
        await desk.start()
        found = []
        task = {"task": "close a support case"}
        async with desk.serving() as url, client(url, "sam") as made:
            for stage in ("investigation", "resolution"):
                await desk.state("sam", stage)
                answer = (await made.call_tool("search_tools", task)).structured_content
                found.append("crm.close_case" in [one["name"] for one in answer["tools"]])
        return found

    assert anyio.run(scene) == [False, True]


@BOTH
def test_the_callers_trace_goes_on_to_the_server(mode: str):
    desk, trace = Desk(WHOLE), f"00-{'a' * 32}-{'b' * 16}-01"

    async def deed(made: Client) -> Any:
        return await made.call_tool("billing.get_payment", {"payment_id": "1"}, meta={"traceparent": trace})

    asked(desk, deed, "dana", mode)
    assert desk.billing.metas[0]["traceparent"].split("-")[1] == "a" * 32


@BOTH
def test_structured_content_that_is_no_object_goes_only_to_who_can_take_it(mode: str):
    desk = Desk(WHOLE)
    desk.billing.answers("get_payment", {"content": [{"type": "text", "text": "[1]"}], "structuredContent": [1]})
    answer = asked(desk, lambda made: made.call_tool("billing.get_payment", {"payment_id": "1"}), "dana", mode)
    assert answer.structured_content == ([1] if mode == MODERN else None)
    assert answer.content[0].text == "[1]"


def test_an_answer_that_is_no_result_reaches_a_client_as_one():
    desk = Desk(WHOLE)
    desk.billing.answers("get_payment", {"content": "all of it", "_meta": 7})
    assert asked(desk, lambda made: made.call_tool("billing.get_payment", {"payment_id": "1"})).content == []


def test_the_gate_holds_after_a_halt():
    desk = Desk(WHOLE)

    async def deed(made: Client) -> Any:
        await desk.halt("server:billing")
        return await refused(made.call_tool("billing.get_payment", {"payment_id": "1"}))

    assert asked(desk, deed) == (-32602, UNKNOWN)


def test_a_fault_inside_tells_its_caller_nothing(caplog: pytest.LogCaptureFixture):
    desk = Desk(WHOLE)

    class Broken(Exception):
        pass

    desk.billing.fails("call", Broken("crm.secret_tool"))  # type: ignore[arg-type]
    found = asked(desk, lambda made: refused(made.call_tool("billing.get_payment", {"payment_id": "1"})))
    assert found[0] == -32603
    assert "secret" not in found[1]
    assert "secret" not in caplog.text
    assert "Broken" in caplog.text
