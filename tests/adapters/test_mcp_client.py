"""Real servers over stdio, in both eras: what comes through untouched, and every way it can fail to come."""

import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard.adapters.mcp_client import McpServers
from pegboard.adapters.mcp_session import UnsendableCallError
from pegboard.core.errors import (
    ConfigError,
    MalformedPageError,
    OutcomeUnknownError,
    PageLimitError,
    RefusedByServerError,
    UnreachableServerError,
    UpstreamError,
)
from pegboard.core.names import canonical_json
from pegboard.service.ports import Page, ToolServer
from tests.adapters.sessions import (
    alive,
    call,
    calling,
    during,
    listing,
    pids,
    raised_during,
    scripted,
    settings,
    walk,
)
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool

ODD = [tool("a", title=None, surplus={"deep": [1, None, 2.5]}), 7, "text", None, {"name": 3}, {"inputSchema": True}]


# What comes through


@pytest.mark.parametrize("era", ["handshake", "modern", "both"])
def test_every_page_of_a_real_server_arrives_in_both_eras(era: str) -> None:
    pages = during(scripted(era=era, pages=[[tool("a"), tool("b")], [tool("c")], []]), walk)
    assert [[one["name"] for one in page.tools] for page in pages] == [["a", "b"], ["c"], []]


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_tools_and_results_arrive_as_they_were_sent(era: str) -> None:
    result = {
        "content": [{"type": "novel", "odd": None}],
        "isError": True,
        "structuredContent": [1.0],
        "_meta": {"k": None},
    }
    servers = scripted(era=era, pages=[ODD], results={"a": result})

    async def both(server: ToolServer) -> tuple[Page, Any]:
        return await server.list_page(None), await server.call_tool("a", {})

    assert during(servers, both) == (Page(tools=ODD), result)


def test_arguments_arrive_as_they_were_given() -> None:
    arguments = {"none": None, "nested": [None, {"a": None}], "big": 2**70, "text": "ü\u2028\n", "float": 1.0}
    result = during(scripted(), calling("a", arguments))
    assert json.loads(result["content"][0]["text"]) == arguments


@pytest.mark.parametrize("servers", [
    scripted(pages=[ODD, [tool("b")]], results={"a": {"content": []}}),
    ScriptedToolServers(s=ScriptedToolServer(ODD, [tool("b")])),
], ids=["child", "fake"])  # fmt: skip
def test_the_fake_and_a_real_child_keep_the_same_contract(servers: Any) -> None:
    async def scene(server: ToolServer) -> Any:
        return [page.tools for page in await walk(server)], await server.call_tool("a", {"x": 1})

    assert servers.names() == ("s",)
    assert during(servers, scene) == ([ODD, [tool("b")]], {"content": []})


@pytest.mark.parametrize(("tools", "broken"), [
    ('[{"name":"a"},{"name":"\\ud800"}]', 1),
    ('[{"name":"a"},{"name":"\udcff"}]', 1),  # the byte FF, which no UTF-8 text holds
    ('[{"name":"a"},{"maximum":NaN}]', 1),
    ('[{"name":"a"},{"maximum":' + "9" * 6_000 + "}]", 1),
])  # fmt: skip
def test_a_tool_that_is_no_proper_json_does_not_hide_the_rest(tools: str, broken: int) -> None:
    line = '{"jsonrpc":"2.0","id":$ID,"result":{"tools":' + tools + "}}"
    page = during(scripted(on={"tools/list": [["instead", line]]}), listing)
    assert page.tools[0] == {"name": "a"}
    with pytest.raises(ValueError, match=r"surrogate|JSON"):
        canonical_json(page.tools[broken])


def test_calls_overlap_in_one_session() -> None:
    async def together(server: ToolServer) -> list[Any]:
        found: list[Any] = [None] * 5

        async def one(number: int) -> None:
            found[number] = json.loads((await server.call_tool("a", {"n": number}))["content"][0]["text"])["n"]

        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(one, number)
        return found

    assert during(scripted(), together) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("deeds", [
    [["say", "starting up…"], ["say", ""], ["say", "{"], ["say", "[1]"], ["say", "null"]],
    [["say", '{"level":"info","msg":"ready"}'], ["say", '{"id":1,"result":{}}'], ["say", '{"jsonrpc":"2.0"}']],
    [["say", '{"jsonrpc":"2.0","method":"notifications/message","params":{}}']],
    [["other_ids"]],
    [["ask", "ping"], ["ask", "roots/list"], ["ask", "sampling/createMessage"]],
    [["flood", "stderr", 3_000_000]],
    [["flood", "stdout", 3_000_000]],
], ids=["no-json", "no-json-rpc", "notification", "other-ids", "requests", "stderr", "stdout"])  # fmt: skip
def test_noise_before_and_between_answers_changes_nothing(deeds: list[Any]) -> None:
    occasions = ("start", "server/discover", "initialize", "tools/list", "tools/call")
    servers = scripted(pages=[[tool("a")]], on=dict.fromkeys(occasions, deeds))

    async def scene(server: ToolServer) -> Any:
        return (await server.list_page(None)).tools, (await server.call_tool("a", {}))["content"][0]["text"]

    assert during(servers, scene) == ([tool("a")], "{}")


def test_a_ping_is_answered_and_nothing_else_is_granted(tmp_path: Path) -> None:
    diary = tmp_path / "diary"

    async def scene(server: ToolServer) -> None:
        await server.list_page(None)
        await server.list_page(None)

    during(scripted(diary=str(diary), on={"tools/list": [["ask", "ping"], ["ask", "elicitation/create"]]}), scene)
    assert diary.read_text().splitlines().count("answer") >= 2


@pytest.mark.parametrize("era", ["handshake", "both"])
def test_a_probe_left_unanswered_costs_seconds_and_not_the_server(era: str) -> None:
    started = time.monotonic()
    servers = scripted({"connect_timeout_s": 30}, era=era, pages=[[tool("a")]], on={"server/discover": [["silence"]]})
    assert during(servers, listing).tools == [tool("a")]
    assert time.monotonic() - started < 10  # the SDK's own client waits that long for the probe alone


def test_a_modern_server_that_starts_slower_than_the_probe_waits_is_still_understood() -> None:
    servers = scripted(era="modern", pages=[[tool("a")]], on={"start": [["sleep", 2.3]]})
    assert during(servers, listing).tools == [tool("a")]


@pytest.mark.parametrize(("page", "cursor", "ttl_ms"), [
    ('{"tools":[],"nextCursor":null}', None, None),
    ('{"tools":[],"nextCursor":""}', None, None),
    ('{"tools":[],"nextCursor":" ","ttlMs":0}', " ", 0),
    ('{"tools":[],"ttlMs":-1}', None, None),
    ('{"tools":[],"ttlMs":"60"}', None, None),
    ('{"tools":[],"ttlMs":60000}', None, 60_000),
])  # fmt: skip
def test_cursor_and_age_are_read_and_nonsense_in_the_age_is_none(
    page: str, cursor: str | None, ttl_ms: int | None
) -> None:
    line = '{"jsonrpc":"2.0","id":$ID,"result":' + page + "}"
    assert during(scripted(on={"tools/list": [["instead", line]]}), listing) == Page(
        tools=[], next_cursor=cursor, ttl_ms=ttl_ms
    )


# What does not come


def unreachable(problem: str) -> UnreachableServerError:
    return UnreachableServerError("s", problem, "servers.s", "run its command by hand to see why")


# Used where the time limit is what is tested; elsewhere a slow machine must not make one.
HASTY = {"connect_timeout_s": 1.5, "list_timeout_s": 0.3, "call_timeout_s": 0.3}
NOISY = "more than 16,777,216 bytes on stdout answer nothing"
FAILURES: list[tuple[str, Callable[[ToolServer], Any], list[Any], UpstreamError]] = [
    ("start", listing, [["leave", 3]], unreachable("it exited with status 3")),
    ("start", listing, [["complain", "no \x1b[31mtoken\x00\n\n"], ["leave", 1]],
     unreachable("it exited with status 1; its last line on stderr: 'no token'")),
    ("start", listing, [["complain", "waiting"], ["sleep", 60]],
     unreachable("it did not finish the handshake within 1.5 s; its last line on stderr: 'waiting'")),
    ("initialize", listing, [["silence"]], unreachable("it did not finish the handshake within 1.5 s")),
    ("initialize", listing, [["die"]], unreachable("it was ended by signal 9")),
    ("initialize", listing, [["instead", '{"jsonrpc":"2.0","id":$ID,"result":[]}']],
     unreachable("the answer to 'initialize' is no JSON object")),
    ("initialize", listing, [["instead", '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"no"}}']],
     unreachable("it refused the handshake with error -32000: no")),
    ("initialize", listing, [["instead", '{"jsonrpc":"2.0","id":$ID,"error":"odd"}']],
     unreachable("it refused the handshake with error 0: odd")),
    ("tools/list", listing, [["silence"]], unreachable("no answer came within 0.3 s")),
    ("tools/list", listing, [["half", '{"jsonrpc":"2.0","id":']], unreachable("no answer came within 0.3 s")),
    ("tools/list", listing, [["leave", 0]], unreachable("it exited with status 0")),
    ("tools/list", listing, [["instead", '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"oh"}}']],
     RefusedByServerError("s", -32603, "oh")),
    ("tools/list", listing, [["instead", '{"jsonrpc":"2.0","id":$ID,"result":{"tools":{}}}']],
     MalformedPageError("s", "it holds no list of tools")),
    ("tools/list", listing, [["instead", '{"jsonrpc":"2.0","id":$ID,"result":3}']],
     MalformedPageError("s", "it holds no list of tools")),
    ("tools/list", listing, [["instead", '{"jsonrpc":"2.0","id":$ID,"result":{"tools":[],"nextCursor":2}}']],
     MalformedPageError("s", "its cursor is no text")),
    ("tools/list", listing, [["nested", 99_999]],
     MalformedPageError("s", "a message is nested too deeply")),
    ("tools/list", listing, [["other_ids"], ["silence"]], unreachable("no answer came within 0.3 s")),
    ("tools/call", call, [["silence"]], OutcomeUnknownError("s", "no answer came within 0.3 s")),
    ("tools/call", call, [["half", '{"jsonrpc":"2.0","id":']], OutcomeUnknownError("s", "no answer came within 0.3 s")),
    ("tools/call", call, [["die"]], OutcomeUnknownError("s", "it was ended by signal 9")),
    ("tools/call", call, [["complain", "lost it"], ["leave", 4]],
     OutcomeUnknownError("s", "it exited with status 4; its last line on stderr: 'lost it'")),
    ("tools/call", call, [["instead", '{"jsonrpc":"2.0","id":$ID,"result":[]}']],
     OutcomeUnknownError("s", "the answer is no JSON object")),
    ("tools/call", call, [["instead", '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"Unknown tool"}}']],
     RefusedByServerError("s", -32602, "Unknown tool")),
    ("tools/call", call, [["instead", '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"busy"}}']],
     RefusedByServerError("s", -32000, "busy")),
]  # fmt: skip


@pytest.mark.parametrize(("occasion", "deed", "deeds", "error"), FAILURES)
def test_each_failure_has_its_own_error(
    occasion: str, deed: Callable[[ToolServer], Any], deeds: list[Any], error: UpstreamError, tmp_path: Path
) -> None:
    diary = tmp_path / "diary"
    limits = HASTY if "within" in str(error) else {}
    assert raised_during(scripted(limits, diary=str(diary), on={occasion: deeds}), deed) == error
    assert diary.read_text().splitlines().count("tools/call") <= 1
    assert not any(map(alive, pids(diary)))


@pytest.mark.parametrize(("deeds", "on_list", "on_call"), [
    ([["big_page", 50_000_000]], PageLimitError("s", "one message passes 33,554,432 bytes"),
     OutcomeUnknownError("s", "one message passes 33,554,432 bytes")),
    ([["flood", "stdout", 40_000_000]], PageLimitError("s", NOISY), OutcomeUnknownError("s", NOISY)),
], ids=["big", "flood"])  # fmt: skip
def test_a_page_and_a_flood_past_their_bounds_are_refused(deeds: list[Any], on_list: Any, on_call: Any) -> None:
    assert raised_during(scripted(on={"tools/list": deeds}), listing) == on_list
    assert raised_during(scripted(on={"tools/call": deeds}), call) == on_call


def test_a_page_past_its_bound_does_not_fill_our_memory() -> None:
    servers = scripted({"page_bytes": 1_000_000}, on={"tools/list": [["big_page", 50_000_000]]})
    tracemalloc.start()
    try:
        assert raised_during(servers, listing) == PageLimitError("s", "one message passes 1,000,000 bytes")
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_a_call_that_follows_the_server_s_end_was_never_sent() -> None:
    async def scene(server: ToolServer) -> None:
        with pytest.raises(OutcomeUnknownError):
            await server.call_tool("a", {})
        await server.call_tool("a", {})

    assert raised_during(scripted(on={"tools/call": [["leave", 5]]}), scene) == unreachable("it exited with status 5")


@pytest.mark.parametrize("argument", [float("nan"), float("inf"), "\ud800", {1, 2}, object()])
def test_arguments_that_are_no_json_are_not_sent(argument: Any, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    error = raised_during(scripted(diary=str(diary)), calling("a", {"x": argument}))
    assert isinstance(error, UnsendableCallError)
    assert "tools/call" not in diary.read_text()


@pytest.mark.parametrize(("changed", "problem"), [
    ({"command": ("/no/such/command",)}, "its command '/no/such/command' is not there"),
    ({"command": (sys.executable,), "cwd": "/no/such/folder"}, "its folder '/no/such/folder' is not there"),
    ({"command": ("/",)}, "its command '/' cannot be started: Permission denied"),
    ({"command": ("a\0b",)}, "its command 'a\\x00b' cannot be started: embedded null byte"),
])  # fmt: skip
def test_what_cannot_be_started_says_why(changed: dict[str, Any], problem: str) -> None:
    assert raised_during(McpServers({"s": settings(**changed)}), listing) == unreachable(problem)


def test_a_server_that_is_not_configured_is_unreachable() -> None:
    assert raised_during(McpServers({}), listing) == UnreachableServerError("s", "no server of this name is configured")


@pytest.mark.parametrize(("changed", "problem"), [
    ({}, "server 's' needs either a command or a url"),
    ({"command": ("x",), "url": "https://x"}, "server 's' needs either a command or a url"),
    ({"command": ()}, "the command of server 's' is empty"),
    ({"url": "ftp://x"}, "the url of server 's' cannot be used"),
    ({"url": "https://user:secret@x/mcp"}, "the url of server 's' cannot be used"),
    ({"url": "https://x", "headers": {"a b": "c"}}, "header 'a b' of server 's' cannot be sent"),
    ({"url": "https://x", "headers": {"a": "b\r\nc: d"}}, "header 'a' of server 's' cannot be sent"),
])  # fmt: skip
def test_settings_that_contradict_themselves_are_refused(changed: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        settings(**changed)
    assert (raised.value.problem, raised.value.where) == (problem, "servers.s")


def test_settings_do_not_show_their_secrets() -> None:
    shown = repr(settings(url="https://x", headers={"authorization": "hush"}, env={"TOKEN": "hush"}))
    assert "hush" not in shown
