"""What a hostile or broken client sends over HTTP to the MCP door, and what becomes of it."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import httpx2

from pegboard.gateway.listing import ListMode, ListSettings
from tests.gateway.made import LEGACY, MODERN, Desk, client, headers, raw
from tests.strategies import SOAK

WHOLE = ListSettings(mode=ListMode.ALL)
OLD = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
}


def over_http(deed: Callable[[httpx2.AsyncClient, str], Awaitable[Any]], desk: Desk | None = None) -> Any:
    """Do one thing over HTTP with a gateway that was just started."""
    desk = desk or Desk(WHOLE)

    async def scene() -> Any:
        await desk.start()
        async with desk.serving() as url, httpx2.AsyncClient(timeout=10) as http:
            return await deed(http, url)

    return anyio.run(scene)


def bearer(token: str, **more: str) -> dict[str, str]:
    return {**OLD, "Authorization": f"Bearer {token}", **more}


async def opened(http: httpx2.AsyncClient, url: str, token: str) -> str:
    """Open a session of the handshake era and return its id."""
    answer = await http.post(url, json=HELLO, headers=bearer(token))
    assert answer.status_code == 200
    return str(answer.headers["mcp-session-id"])


# What is presented, and the status of the answer.
CREDENTIALS: tuple[tuple[dict[str, str], int], ...] = (
    ({}, 401),
    ({"Authorization": "Bearer nonsense"}, 401),
    ({"Authorization": "Basic c2FtOnNhbQ=="}, 401),
    ({"Authorization": "Bearer sam dana"}, 401),
    ({"Authorization": "Bearer sam"}, 200),
)


def test_without_a_credential_in_force_nothing_is_read():
    async def deed(http: httpx2.AsyncClient, url: str) -> Any:
        found = []
        for sent, _ in CREDENTIALS:
            answer = await http.post(url, json=raw("tools/list"), headers={**headers(None), **sent})
            challenge = answer.headers.get("www-authenticate", "").partition(" ")[0]
            found.append((answer.status_code, challenge))
        return found

    assert over_http(deed) == [(status, "Bearer" if status == 401 else "") for _, status in CREDENTIALS]


# What is sent, and the code of the error.
BODIES: tuple[tuple[bytes, int], ...] = (
    (b"{", -32700),
    (b"[" * 100_000, -32700),
    (b"[]", -32600),
    (b"7", -32600),
    (json.dumps([raw("tools/list"), raw("tools/list", number=2)]).encode(), -32600),
    (b'{"jsonrpc":"2.0","id":1}', -32600),
    (b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}', -32600),
    (b'{"id":1,"method":"tools/list","jsonrpc":"2.0","params":[]}', -32600),
    (json.dumps(raw("no/such")).encode(), -32020),
    (json.dumps(raw("tools/call", {"name": 7})).encode(), -32020),
)


def test_what_is_no_request_is_refused_as_one():
    async def deed(http: httpx2.AsyncClient, url: str) -> Any:
        sent = {**headers("sam"), "Content-Type": "application/json"}
        answers = [await http.post(url, content=body, headers=sent) for body, _ in BODIES]
        return [(one.status_code, one.json()["error"]["code"]) for one in answers]

    assert over_http(deed) == [(400, code) for _, code in BODIES]


# What is changed of the headers, of the body's revision, and the code of the error.
MISMATCHES: tuple[tuple[dict[str, str], str, int], ...] = (
    ({"Mcp-Method": "tools/call"}, MODERN, -32020),
    ({"MCP-Protocol-Version": "2026-07-29"}, MODERN, -32020),
    ({"MCP-Protocol-Version": "2026-07-29"}, "2026-07-29", -32022),
    ({"MCP-Protocol-Version": "1999-01-01"}, "1999-01-01", -32022),
    ({"Mcp-Name": "crm.stop_all"}, MODERN, 0),
)


def test_headers_that_differ_from_the_body_are_refused():
    async def deed(http: httpx2.AsyncClient, url: str) -> Any:
        found = []
        for changed, revision, _ in MISMATCHES:
            body = raw("tools/list")
            body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = revision
            answer = await http.post(url, json=body, headers={**headers("sam"), **changed})
            found.append(answer.json().get("error", {}).get("code", 0))
        return found

    assert over_http(deed) == [code for _, _, code in MISMATCHES]


def test_a_name_in_the_header_that_is_not_the_bodys_is_refused():
    async def deed(http: httpx2.AsyncClient, url: str) -> Any:
        body = raw("tools/call", {"name": "crm.stop_all", "arguments": {}})
        answer = await http.post(url, json=body, headers=headers("sam", "tools/call", "crm.find_customer"))
        return answer.json()["error"]["code"]

    desk = Desk(WHOLE)
    assert over_http(deed, desk) == -32020
    assert desk.crm.calls == []


METHODS = ("tools/list", "tools/call", "server/discover", "subscriptions/listen", "ping")
PARAMETERS: tuple[Any, ...] = (None, [], {"_meta": 7}, {"_meta": {}, "name": None, "cursor": {}, "notifications": 1})


def test_no_request_makes_the_gateway_fail():
    async def deed(http: httpx2.AsyncClient, url: str) -> Any:
        session = {"mcp-session-id": await opened(http, url, "sam")}
        found = []
        for method in METHODS:
            for params in PARAMETERS:
                body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
                sent = (headers("sam", method), bearer("sam"), bearer("sam", **session))
                found += [(await http.post(url, json=body, headers=one)).status_code for one in sent]
        return found

    assert all(status < 500 for status in over_http(deed))


def test_a_stolen_session_is_not_there_for_anyone_else():
    async def deed(http: httpx2.AsyncClient, url: str) -> Any:
        session = {"mcp-session-id": await opened(http, url, "dana")}
        body = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        found = []
        for token in ("sam", "dana"):
            found.append((await http.post(url, json=body, headers=bearer(token, **session))).status_code)
            found.append((await http.delete(url, headers=bearer(token, **session))).status_code)
        unknown = await http.post(url, json=body, headers=bearer("sam", **{"mcp-session-id": "0" * 32}))
        return [*found, unknown.status_code]

    assert over_http(deed) == [404, 404, 200, 200, 404]


def test_a_session_goes_on_with_its_owners_next_token():
    async def deed(http: httpx2.AsyncClient, url: str) -> Any:
        session = {"mcp-session-id": await opened(http, url, "sam")}
        body = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        return (await http.post(url, json=body, headers=bearer("sam-again", **session))).status_code

    assert over_http(deed) == 200


def test_in_one_session_each_request_has_the_rights_of_its_own_token():
    """A session that was opened with rights that its owner has lost gives none of them."""
    desk = Desk(WHOLE)

    async def deed(http: httpx2.AsyncClient, url: str) -> Any:
        async with client(url, "dana", LEGACY) as made:
            before = len((await made.list_tools()).tools)
            desk.tokens.claims["dana"]["scope"] = "crm"
            return before, len((await made.list_tools()).tools)

    assert over_http(deed, desk) == (7, 4)


def test_sessions_that_are_opened_and_left_keep_nobody_out():
    """The thousand of `make soak` are 40 here."""

    number = 1_000 if SOAK else 40

    async def deed(http: httpx2.AsyncClient, url: str) -> Any:
        for _ in range(number):
            await opened(http, url, "sam")
        async with client(url, "dana", LEGACY) as made:
            return len((await made.list_tools()).tools)

    assert over_http(deed) == 7


def test_a_client_that_goes_away_mid_call_leaves_the_outcome_open_and_the_gateway_well():
    desk = Desk(WHOLE)

    async def deed(http: httpx2.AsyncClient, url: str) -> Any:
        desk.crm.stalls("call")
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                body = raw("tools/call", {"name": "crm.find_customer", "arguments": {"query": "x"}})
                await http.post(url, json=body, headers=headers("sam", "tools/call", "crm.find_customer"))

            tasks.start_soon(call)
            await desk.crm.reached("call")
            tasks.cancel_scope.cancel()
        with anyio.fail_after(5):
            while desk.crm.open:
                await anyio.sleep(0)
        desk.crm.recovers("call")
        async with client(url, "sam") as made:
            return (await made.call_tool("crm.find_customer", {"query": "y"})).is_error

    assert over_http(deed, desk) is False
    assert len(desk.crm.calls) == 2


def test_a_server_that_hangs_keeps_no_other_from_answering():
    """Case 22: the others answer at once."""
    desk = Desk(WHOLE)

    async def deed(http: httpx2.AsyncClient, url: str) -> Any:
        desk.billing.stalls("call")
        async with client(url, "dana") as one, client(url, "dana") as two, anyio.create_task_group() as tasks:
            tasks.start_soon(one.call_tool, "billing.get_payment", {"payment_id": "1"})
            await desk.billing.reached("call")
            with anyio.fail_after(5):
                found = (await two.call_tool("crm.find_customer", {"query": "x"})).is_error
            desk.billing.recovers("call")
            return found

    assert over_http(deed, desk) is False


def test_nothing_but_the_credential_of_a_request_reaches_a_context():
    """Law 9: names in headers, in `_meta` and in arguments give no rights."""

    async def deed(http: httpx2.AsyncClient, url: str) -> Any:
        said = {
            "scope": "crm money",
            "user": "dana",
            "tenant": "x",
            "stage": "resolution",
            "authorization": "Bearer dana",
        }
        body = raw("tools/list", said)
        body["params"]["_meta"].update({**said, "io.pegboard/context": said})
        sent = {**headers("sam"), **{f"x-{name}": value for name, value in said.items()}, "cookie": "user=dana"}
        answer = await http.post(f"{url}?access_token=dana", json=body, headers=sent)
        return [one["name"] for one in answer.json()["result"]["tools"]]

    assert over_http(deed) == ["crm.close_case", "crm.find_customer", "crm.list_open_orders", "crm.stop_all"]
