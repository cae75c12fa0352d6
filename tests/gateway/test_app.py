"""What every request passes before a door opens: names, pages, counts, sizes; and the probes beside the doors."""

import logging

import anyio
import pytest

from pegboard.adapters.memory import MemoryStore
from pegboard.core.errors import StoreError
from pegboard.service.claims import IdentitySettings
from tests.gateway.api import Api, key

pytestmark = pytest.mark.anyio

SELECT = {"task": "list the open orders"}


@pytest.mark.parametrize(
    ("headers", "status", "kind"),
    [
        ({"host": "evil.example"}, 421, "unknown-host"),
        ({"origin": "https://evil.example"}, 403, "unknown-origin"),
        ({"origin": "null"}, 403, "unknown-origin"),
        ({"content_length": "99999999"}, 413, "too-large"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/select", "/mcp"])
async def test_neither_door_is_reached_by_what_must_not_pass(path, headers, status, kind):
    api = await Api().start()
    answer = await api.asks("POST", path, b"{}", content_type="application/json", **headers)
    assert (answer.status_code, answer.json()["error"]["kind"]) == (status, kind)


async def test_probes_answer_under_our_names_alone():
    api = await Api().start()
    assert (await api.asks("GET", "/healthz", who=None)).status_code == 200
    assert (await api.asks("GET", "/healthz", who=None, host="evil.example")).status_code == 421


async def test_ready_means_a_catalog_that_was_published():
    api = Api()
    assert (await api.asks("GET", "/readyz", who=None)).status_code == 503
    await api.start()
    assert (await api.asks("GET", "/readyz", who=None)).status_code == 200


class Unreadable(MemoryStore):
    """A store whose halts cannot be read."""

    async def halts(self):
        raise StoreError(problem="the disk is gone")


async def test_ready_means_that_revocations_can_be_read():
    api = await Api().start()
    api.system.catalog.policies = Unreadable()
    assert (await api.asks("GET", "/readyz", who=None)).status_code == 503
    assert (await api.asks("POST", "/v1/select", SELECT)).status_code == 503


async def test_what_drains_lives_and_is_not_ready():
    api = await Api().start()
    api.gateway.drain()
    assert (await api.asks("GET", "/readyz", who=None)).status_code == 503
    assert (await api.asks("GET", "/healthz", who=None)).status_code == 200
    assert (await api.asks("POST", "/v1/select", SELECT)).status_code == 200


async def test_metrics_name_no_tool_and_are_for_this_machine_or_an_operator():
    api = await Api().start()
    await api.post("/v1/select", SELECT)
    local = await api.asks("GET", "/metrics", who=None)
    assert 'pegboard_requests_total{route="/v1/select",status="200"} 1' in local.text
    assert "orders" not in local.text
    assert (await api.asks("GET", "/metrics", who=None, client="10.0.0.9")).status_code == 401
    assert (await api.asks("GET", "/metrics", who="sam")).status_code == 401
    assert (await api.asks("GET", "/metrics", who="ops", client="10.0.0.9")).status_code == 200


async def test_a_caller_without_a_credential_is_the_profile_only_from_this_machine():
    api = await Api(profile="sam").start()
    assert (await api.asks("GET", "/v1/tools", who=None)).status_code == 200
    for away in ({"client": "10.0.0.9"}, {"x_forwarded_for": "203.0.113.9"}):
        assert (await api.asks("GET", "/v1/tools", who=None, **away)).status_code == 401
        assert (await api.asks("POST", "/mcp", b"{}", who=None, **away)).status_code == 401
    assert (await api.asks("GET", "/v1/operator/review", who=None)).status_code == 401


async def test_without_a_profile_nobody_is_let_in_unknown():
    api = await Api().start()
    for path in ("/v1/tools", "/v1/operator/review", "/mcp"):
        answer = await api.asks("GET", path, who=None)
        assert (answer.status_code, answer.headers["www-authenticate"][:6]) == (401, "Bearer")


async def test_a_caller_that_is_refused_learns_where_tokens_come_from():
    issued = IdentitySettings(issuer="https://login.example", audience="https://tools.example/x/mcp")
    api = await Api(host="tools.example", identity=issued).start()
    refused = await api.asks("GET", "/v1/tools", who=None)
    where = "https://tools.example/.well-known/oauth-protected-resource/x/mcp"
    assert f'resource_metadata="{where}"' in refused.headers["www-authenticate"]
    found = await api.asks("GET", where.removeprefix("https://tools.example"), who=None)
    assert found.json()["authorization_servers"] == ["https://login.example"]
    nobody = await Api().start()
    assert (await nobody.asks("GET", "/.well-known/oauth-protected-resource", who=None)).status_code == 404


async def test_a_caller_who_asks_too_often_waits_and_no_other_does():
    api = await Api(requests_per_minute=3).start()
    answers = [await api.asks("GET", "/v1/tools") for _ in range(4)]
    assert [one.status_code for one in answers] == [200, 200, 200, 429]
    assert answers[-1].headers["retry-after"] == "20"
    assert (await api.asks("GET", "/v1/tools", who="dana")).status_code == 200
    assert (await api.asks("GET", "/healthz", who="sam")).status_code == 200
    api.desk.clock.time += 20.0
    assert (await api.asks("GET", "/v1/tools")).status_code == 200


async def test_a_path_that_leads_nowhere_says_so_and_nothing_else():
    api = await Api().start()
    for path in ("/", "/v1", "/v1/", "/v2/select", "/v1/select/", "//v1/select", "/v1/..%2f..%2fetc", "/mcp/", "/%00"):
        answer = await api.asks("POST", path, SELECT)
        assert (answer.status_code, answer.json()["error"]["kind"]) == (404, "not-found"), path


async def test_a_method_that_a_door_has_not_is_refused_with_those_it_has():
    api = await Api().start()
    for path, allowed in (("/v1/select", "POST"), ("/v1/tools", "GET"), ("/healthz", "GET, HEAD")):
        answer = await api.asks("DELETE", path)
        assert (answer.status_code, answer.headers["allow"]) == (405, allowed)


async def test_the_log_has_no_query_no_header_and_no_word_of_a_caller(caplog):
    caplog.set_level(logging.INFO, "pegboard")
    api = await Api().start()
    await api.asks("GET", "/v1/tools?namespace=secret-word", cookie="secret-word", user_agent="secret-word")
    await api.asks("GET", "/v1/secret-word", who="secret-word")
    await api.asks("POST", "/v1/call", {"tool": "secret-word"})
    await api.asks("GET", "/v1/operator/traces/secret-word", who="ops")
    assert "GET /v1/tools 200" in caplog.text
    assert "GET /v1/operator/traces/{trace_id} 404" in caplog.text
    assert "secret-word" not in caplog.text
    assert key("ops") not in caplog.text


class Faulty(MemoryStore):
    """A store with a fault of ours in it."""

    async def halts(self):
        raise RuntimeError("secret-word")


async def test_a_fault_of_ours_ends_one_request_and_tells_only_its_place(caplog):
    api = await Api().start()
    policies, api.system.catalog.policies = api.system.catalog.policies, Faulty()
    answer = await api.asks("GET", "/v1/tools")
    assert (answer.status_code, answer.json()["error"]["kind"]) == (500, "unexpected")
    assert "RuntimeError in test_app.py" in caplog.text
    assert "secret-word" not in answer.text + caplog.text
    api.system.catalog.policies = policies
    assert (await api.asks("GET", "/v1/tools")).status_code == 200


async def body_in_pieces(api, pieces, more=True):
    """Send a request whose body comes in these pieces, then nothing; return the status."""
    waiting, sent = list(pieces), []

    async def receive():
        if not waiting:
            await anyio.sleep_forever()
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting) or more}

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:8700"), (b"authorization", b"Bearer sam"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/v1/select", "query_string": b"", "headers": headers}
    await api.gateway({**scope, "server": ("127.0.0.1", 8700), "client": ("127.0.0.1", 5)}, receive, send)
    return sent[0]["status"]


async def test_a_body_that_does_not_come_is_not_waited_for():
    api = await Api(body_timeout_s=0.01).start()
    assert await body_in_pieces(api, [b'{"task": ']) == 408


async def test_a_body_that_grows_beyond_the_limit_is_not_read_on():
    api = await Api(body_bytes=1024).start()
    assert await body_in_pieces(api, [b"x" * 600, b"x" * 600]) == 413
    assert await body_in_pieces(api, [b'{"task":', b' "x"}'], more=False) == 200
