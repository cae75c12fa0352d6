"""The HTTP API: each door answers in its published shape, for its role alone, and says of nothing else that it is."""

from dataclasses import replace

import jsonschema
import pytest

from pegboard.core.catalog import Risk
from pegboard.core.errors import LockError
from pegboard.gateway.doors import DOORS, Role
from tests.gateway.api import Api, key
from tests.gateway.made import BILLING_TOOLS, CRM_TOOLS
from tests.servers import tool

pytestmark = pytest.mark.anyio

GET_ORDERS = {"tool": "crm.list_open_orders", "arguments": {"customer_id": "c1"}}


class BrokenLock:
    """A lock file that somebody cut off."""

    def stamp(self):
        raise LockError(problem="the line of billing.create_refund is cut off")

    read = stamp


@pytest.fixture
async def api():
    return await Api().start()


async def test_a_selection_is_the_callers_own_and_has_no_operators_part(api):
    sam = await api.post("/v1/select", {"task": "give a customer the money back"})
    dana = await api.post("/v1/select", {"task": "give a customer the money back"}, who="dana")
    assert "billing.create_refund" in [one["tool_id"] for one in dana["tools"]]
    assert all(one["tool_id"].startswith("crm.") for one in sam["tools"])
    assert "operator" not in dana


async def test_a_selected_tool_is_called_by_its_alias_through_the_gate(api):
    found = await api.post("/v1/select", {"task": "list the open orders of a customer"})
    answer = await api.post("/v1/call", {**GET_ORDERS, "selection": found["selection_id"]})
    assert (answer["verdict"], answer["tool_id"]) == ("allowed", "crm.list_open_orders")
    assert api.desk.crm.calls == [("list_open_orders", {"customer_id": "c1"})]


async def test_a_call_of_another_callers_selection_is_refused_as_an_unknown_tool_is(api):
    found = await api.post("/v1/select", {"task": "refund a payment"}, who="dana")
    stolen = await api.post("/v1/call", {"tool": "billing.get_payment", "selection": found["selection_id"]})
    unknown = await api.post("/v1/call", {"tool": "billing.nothing", "selection": "sel_none"})
    assert {**stolen, "trace_id": ""} == {**unknown, "trace_id": ""}
    assert stolen["verdict"] == "unknown_or_denied"
    assert api.desk.billing.calls == []


async def test_a_denied_tool_is_described_as_an_unknown_one_is(api):
    denied = await api.asks("POST", "/v1/describe", {"tool": "billing.create_refund"})
    unknown = await api.asks("POST", "/v1/describe", {"tool": "billing.create_refnd"})
    assert (denied.status_code, denied.content) == (404, unknown.content)
    assert (await api.post("/v1/describe", {"tool": "billing.create_refund"}, who="dana"))["input_schema"]


async def test_what_a_caller_may_not_see_changes_no_byte_of_its_answers(api):
    async def seen():
        selection = await api.post("/v1/select", {"task": "give the money of a payment back"})
        return (
            {**selection, "selection_id": "", "trace_id": ""},
            (await api.asks("GET", "/v1/tools?limit=2")).content,
            (await api.asks("POST", "/v1/describe", {"tool": "crm.find_customer"})).content,
            (await api.asks("POST", "/v1/describe", {"tool": "billing.reverse_payment"})).content,
        )

    before = await seen()
    api.desk.billing.lists([tool("reverse_payment", description="Give the money of a payment back."), *BILLING_TOOLS])
    await api.post("/v1/operator/refresh", who="ops")
    await api.desk.lock("money", "billing.reverse_payment")
    assert await seen() == before
    assert "billing.reverse_payment" in (await api.asks("GET", "/v1/tools", who="dana")).text


async def test_tools_are_listed_a_page_at_a_time_and_only_those_of_the_caller(api):
    first = await api.get("/v1/tools?limit=2")
    rest = await api.get(f"/v1/tools?after={first['next']}")
    listed = [one["tool_id"] for one in (*first["tools"], *rest["tools"])]
    assert listed == sorted(listed)
    assert {one.partition(".")[0] for one in listed} == {"crm"}
    assert rest["next"] is None
    assert await api.get("/v1/tools?namespace=billing") == {**rest, "tools": []}


async def test_tools_of_a_selection_are_shaped_for_a_model_api(api):
    shaped = await api.post("/v1/select", {"task": "list the open orders", "for": "anthropic"})
    assert {"selection", "payload", "report"} <= shaped.keys()


async def test_an_application_states_the_stage_of_a_caller_and_nobody_else_does(api):
    stated = {"token": "sam", "stage": "resolution"}
    answer = await api.asks("PUT", "/v1/context", stated, who="app")
    assert (answer.status_code, answer.json()["stage"]) == (200, "resolution")
    for who in ("sam", "ops", "bot"):
        assert (await api.asks("PUT", "/v1/context", stated, who=who)).status_code in (401, 403)


async def test_no_door_opens_for_the_credential_of_another_role(api):
    others = {Role.AGENT: ["app", "ops"], Role.APPLICATION: ["sam", "bot", "ops"], Role.OPERATOR: ["sam", "bot", "app"]}
    for door in DOORS:
        for who in [*others[door.role], "nonsense", None]:
            answer = await api.asks(door.method, door.path, who=who)
            assert answer.status_code in ({401} if who in ("nonsense", None) else {401, 403}), (door.path, who)
            assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_every_answer_has_its_published_shape(api):
    found = await api.post("/v1/select", {"task": "list the open orders"})
    asked = {
        "/v1/select": {"task": "list the open orders"},
        "/v1/describe": {"tool": "crm.find_customer"},
        "/v1/call": {**GET_ORDERS, "selection": found["selection_id"]},
        "/v1/context": {"token": "sam", "flags": ["x"]},
        "/v1/operator/rollback": {"version": "1"},
        "/v1/operator/refresh": {"servers": ["crm"]},
        "/v1/operator/halt": {"target": "all", "why": "a drill"},
        "/v1/operator/resume": {"target": "all"},
        "/v1/operator/replay": {"traces": [found["trace_id"]]},
        "/v1/operator/rollout/crm": {"setting": "shadow", "why": "a drill"},
    }
    whose = {Role.AGENT: "sam", Role.APPLICATION: "app", Role.OPERATOR: "ops"}
    seen = 0
    for door in DOORS:
        path = door.path.replace("{trace_id}", found["trace_id"]).replace("{namespace}", "crm")
        query = {"/v1/operator/diff": "?from=1&to=1"}.get(path, "")
        if "{" in path or "review/" in path:
            continue
        answer = await api.asks(door.method, path + query, asked.get(path), who=whose[door.role])
        assert answer.status_code == 200, (path, answer.text)
        jsonschema.validate(answer.json(), door.answer)
        seen += 1
    assert seen == len(DOORS) - 5


async def test_what_waits_is_shown_and_approved_by_its_hash(api):
    api.desk.crm.lists([*CRM_TOOLS, tool("new_tool")])
    await api.post("/v1/operator/refresh", who="ops")
    (waiting,) = [one for one in (await api.get("/v1/operator/review", who="ops"))["waiting"] if one["kind"] == "new"]
    shown = await api.get(f"/v1/operator/review/show?tool={waiting['tool']}", who="ops")
    assert [one["field"] for one in shown["changes"]][:1] == ["name"]
    body = {"tools": [{"tool": waiting["tool"], "hash": waiting["hash"]}], "access": "sales", "risk": "write"}
    stale = {**body, "tools": [{"tool": waiting["tool"], "hash": "0" * 64}]}
    assert (await api.asks("POST", "/v1/operator/review/approve", stale, who="ops")).status_code == 409
    locked = await api.post("/v1/operator/review/approve", body, who="ops")
    assert [one["by"] for one in locked["locked"]] == ["ops"]


async def test_a_halt_holds_from_the_next_request_on_and_must_stop_something(api):
    halt = {"target": "crm.list_open_orders", "why": "a drill", "seconds": 60}
    assert (await api.post("/v1/operator/halt", halt, who="ops"))["by"] == "ops"
    assert "crm.list_open_orders" not in [one["tool_id"] for one in (await api.get("/v1/tools"))["tools"]]
    slip = await api.asks("POST", "/v1/operator/halt", {"target": "crm.lst", "why": "x"}, who="ops")
    assert slip.status_code == 404
    assert (await api.post("/v1/operator/resume", {"target": "crm.list_open_orders"}, who="ops"))["resumed"] is True


async def test_a_request_for_approval_is_decided_by_an_operator_who_is_not_its_requester(api):
    lock = api.system.keeper.show()
    line = lock.lines["billing.create_refund"]
    await api.system.keeper.replace(lock.granting([replace(line, risk=Risk.DESTRUCTIVE)]))
    found = await api.post("/v1/select", {"task": "refund a payment"}, who="dana")
    call = {"tool": "billing.create_refund", "arguments": {"payment_id": "p1"}, "selection": found["selection_id"]}
    asked = await api.post("/v1/call", call, who="dana")
    assert asked["verdict"] == "approval_required", asked
    (waiting,) = (await api.get("/v1/operator/approvals", who="ops"))["approvals"]
    grant = f"/v1/operator/approvals/{waiting['approval_id']}/grant"
    assert (await api.asks("POST", grant, who="dana")).status_code in (401, 403)
    assert (await api.post(grant, who="ops"))["state"] == "granted"
    assert (await api.asks("POST", grant, who="ops")).status_code == 409
    assert (await api.post("/v1/call", call, who="dana"))["verdict"] == "allowed"


async def test_what_is_not_there_is_not_found(api):
    for method, path in (
        ("POST", "approvals/ap_none/grant"),
        ("POST", "approvals/ap_none/deny"),
        ("GET", "traces/tr_none"),
        ("GET", "review/show?tool=crm.nothing"),
        ("GET", "diff?from=1&to=99"),
    ):
        assert (await api.asks(method, f"/v1/operator/{path}", who="ops")).status_code == 404, path


# Each body, and what is wrong with it.
BAD_BODIES = (
    ({"tsk": "x"}, 422, "unknown key 'tsk'"),
    ({"task": 5}, 422, "valid string"),
    ({"task": "x", "limit": "3"}, 422, "valid integer"),
    ({"task": "x", "limit": -1}, 422, "greater than or equal to 0"),
    ({"task": "x", "limit": 1.5}, 422, "integer"),
    ({"limit": 3}, 422, "'task' is missing"),
    ([], 422, "valid dictionary"),
    ("{", 400, "not JSON"),
    ("[" * 100_000, 400, "not JSON"),
    ('{"task": "a", "task": "b"}', 400, "not JSON"),
    ('{"task": NaN}', 400, "not JSON"),
    (b"\xff\xfe", 400, "not JSON"),
    ('{"task": "\\ud800"}', 422, "unicode"),
    ({"task": "x" * 60_000}, 422, "at most"),
)


async def test_a_body_that_cannot_be_taken_is_refused_with_what_is_wrong(api):
    for body, status, message in BAD_BODIES:
        answer = await api.asks("POST", "/v1/select", body, content_type="application/json")
        assert (answer.status_code, message in answer.json()["error"]["message"]) == (status, True), answer.text


async def test_an_unknown_key_is_refused_with_the_nearest_one(api):
    answer = await api.asks("POST", "/v1/call", {"tool": "x", "argumnts": {}})
    assert answer.json()["error"]["fix"] == "did you mean 'arguments'?"


async def test_a_body_that_a_web_page_could_send_unasked_is_not_taken(api):
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = await api.asks("POST", "/v1/select", b'{"task": "x"}', content_type=kind)
        assert answer.status_code == 415


async def test_a_fault_inside_tells_an_agent_nothing_and_an_operator_what_to_do(api):
    api.system.catalog.lock_file = BrokenLock()
    agent, operator = await api.asks("GET", "/v1/tools"), await api.asks("GET", "/v1/operator/review", who="ops")
    assert (agent.status_code, operator.status_code) == (503, 503)
    assert "refund" not in agent.text
    assert "refund" in operator.text


async def test_a_key_that_was_revoked_opens_nothing_from_the_next_request_on(api):
    assert (await api.asks("GET", "/v1/operator/servers", who="ops")).status_code == 200
    await api.system.keys.revoke("ops", by="tests")
    assert (await api.asks("GET", "/v1/operator/servers", who="ops")).status_code == 401
    assert key("ops") not in str(await api.get("/v1/operator/audit", who="boss"))
