"""Real servers over HTTP, in both eras, and every way a raw one can answer wrongly."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pegboard.adapters.mcp_client import McpServers
from pegboard.core.errors import (
    MalformedPageError,
    OutcomeUnknownError,
    PageLimitError,
    RefusedByServerError,
    UnreachableServerError,
    UpstreamError,
)
from pegboard.service.ports import ToolServer
from tests.adapters.scripted_http_server import RawServer, mcp_app, serving, without_probe
from tests.adapters.sessions import call, calling, during, listing, raised_during, settings, walk
from tests.servers import tool


def over_http(url: str, **changed: Any) -> McpServers:
    return McpServers({"s": settings(url=url, **changed)})


@pytest.fixture(params=["modern json", "modern events", "handshake"])
def real(request: pytest.FixtureRequest) -> Iterator[tuple[str, list[Any], list[str]]]:
    calls: list[Any] = []
    methods: list[str] = []
    app = mcp_app(calls, json_response=request.param == "modern json")
    with serving(without_probe(app, methods) if request.param == "handshake" else app) as url:
        yield url, calls, methods


def test_a_real_http_server_is_listed_and_called_in_both_eras(real: Any) -> None:
    url, calls, methods = real

    async def scene(server: ToolServer) -> Any:
        names = [[one["name"] for one in page.tools] for page in await walk(server)]
        return names, (await server.call_tool("weather", {"place": "Zürich", "x": None}))["content"][0]["text"]

    names, text = during(over_http(url), scene)
    assert names == [["echo"], ["weather"]]
    assert json.loads(text) == {"place": "Zürich", "x": None}
    assert calls == [("weather", {"place": "Zürich", "x": None})]
    assert not methods or methods[-1] == "DELETE"


def test_a_call_whose_arguments_are_mirrored_in_headers_runs_once_without_a_listing_before_it(real: Any) -> None:
    url, calls, _ = real
    during(over_http(url), calling("weather", {"place": "Oslo"}))
    assert calls == [("weather", {"place": "Oslo"})]


def test_an_unknown_tool_at_a_real_server_is_refused(real: Any) -> None:
    assert isinstance(
        raised_during(over_http(real[0]), lambda server: server.list_page("no such")), RefusedByServerError
    )


def http_unreachable(problem: str) -> UnreachableServerError:
    return UnreachableServerError("s", problem, "servers.s", "check its url and headers")


def lost(problem: str) -> tuple[UpstreamError, UpstreamError]:
    return http_unreachable(problem), OutcomeUnknownError("s", problem)


def garbled(problem: str) -> tuple[UpstreamError, UpstreamError]:
    return MalformedPageError("s", problem), OutcomeUnknownError("s", problem)


def too_big(problem: str) -> tuple[UpstreamError, UpstreamError]:
    return PageLimitError("s", problem), OutcomeUnknownError("s", problem)


def refused(code: int, message: str) -> tuple[UpstreamError, UpstreamError]:
    return RefusedByServerError("s", code, message), RefusedByServerError("s", code, message)


@pytest.mark.parametrize(("behaviour", "errors"), [
    ("events end", lost("its stream of events ended without an answer")),
    ("events flood", too_big("its answer passes 33,554,432 bytes")),
    ("big", too_big("its answer passes 33,554,432 bytes")),
    ("hangs up", lost("RemoteProtocolError: peer closed connection without sending complete message body "
                      "(received 10 bytes, expected 1000)")),
    ("stalls", lost("no answer came within 0.5 s")),
    ("redirects", refused(-32600, "HTTP 307: it redirects to 'http://127.0.0.1:9/elsewhere', which is not followed")),
    ("unauthorized", refused(-32600, "HTTP 401: it wants a credential")),
    ("gateway", lost("it answered with HTTP 502")),
    ("error in body", refused(-32602, "no such tool")),
    ("accepted", lost("it answered with HTTP 202")),
    ("html", garbled("it answered with content type 'text/html'")),
    ("no json", garbled("its answer is no JSON-RPC answer to the request")),
    ("compressed", garbled("its answer is compressed with 'gzip', which was not asked for")),
    ("nested", garbled("the answer is nested too deeply")),
])  # fmt: skip
def test_each_failure_over_http_has_its_own_error(behaviour: str, errors: tuple[UpstreamError, UpstreamError]) -> None:
    async def both(server: ToolServer) -> list[UpstreamError]:
        found = []
        for deed in (listing, call):
            with pytest.raises(UpstreamError) as raised:
                await deed(server)
            found.append(raised.value)
        return found

    app = RawServer(behaviour)
    limits = {"list_timeout_s": 0.5, "call_timeout_s": 0.5} if behaviour == "stalls" else {}
    with serving(app) as url:
        assert tuple(during(over_http(url, **limits), both)) == errors
    assert [method for method, _ in app.requests].count("tools/call") == 1


@pytest.mark.parametrize("behaviour", ["events", "split event", "server asks"])
def test_an_answer_is_found_among_events(behaviour: str) -> None:
    with serving(RawServer(behaviour)) as url:
        assert during(over_http(url), listing).tools == [tool("one")]


def test_odd_tools_over_http_arrive_as_they_were_sent() -> None:
    with serving(RawServer("plain")) as url:
        assert during(over_http(url), listing).tools == [{"name": "one", "odd": [1, None]}, 7]
    with serving(RawServer("one broken tool")) as url:
        assert [one["name"] for one in during(over_http(url), listing).tools] == ["\ud800", "\udcff"]


def test_only_configured_headers_and_the_protocol_s_are_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text("default login me password hush\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    app = RawServer("plain")
    with serving(app) as url:
        during(over_http(url, headers={"Authorization": "Bearer own", "Accept": "text/plain"}), listing)
    for _, headers in app.requests:
        protocol = {"host", "accept", "accept-encoding", "content-type"}
        optional = {"content-length", "mcp-session-id", "mcp-protocol-version", "mcp-method"}
        assert set(headers) - optional == protocol | {"authorization"}
        assert (headers["authorization"], headers["accept"]) == ("Bearer own", "application/json, text/event-stream")
    assert [method for method, _ in app.requests] == [
        "server/discover", "initialize", "notifications/initialized", "tools/list", "DELETE",
    ]  # fmt: skip
    assert app.requests[-1][1]["mcp-session-id"] == "session-1"
    assert "mcp-protocol-version" not in app.requests[1][1]


def test_a_call_given_up_over_http_is_cancelled_at_the_server() -> None:
    app = RawServer("stalls")
    with serving(app) as url:
        raised_during(over_http(url, call_timeout_s=0.3), call)
    assert [method for method, _ in app.requests][-2:] == ["notifications/cancelled", "DELETE"]


def dead_port() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"


def test_a_dead_port_is_unreachable() -> None:
    error = raised_during(over_http(dead_port()), listing)
    assert error == http_unreachable("ConnectError: All connection attempts failed")


def test_a_call_to_a_server_that_has_gone_was_never_sent() -> None:
    async def scene(server: ToolServer) -> None:
        await server.list_page(None)
        stop.__exit__(None, None, None)
        await server.call_tool("a", {})

    stop = serving(RawServer("plain"))
    error = raised_during(over_http(stop.__enter__()), scene)
    assert error == http_unreachable("ConnectError: All connection attempts failed")


def test_a_port_that_accepts_and_says_nothing_is_given_up_in_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        error = raised_during(over_http(url, connect_timeout_s=0.5), listing)
    assert error == http_unreachable("it did not finish the handshake within 0.5 s")
