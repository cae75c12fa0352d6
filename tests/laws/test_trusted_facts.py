"""Law 9: of a request its credential alone reaches the runtime context, whatever its headers and its body say."""

import json
from typing import Any

import anyio
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.context import RuntimeContext
from pegboard.service.claims import FIELDS, IdentitySettings, context_of_claims
from pegboard.service.identity import Credential, presented
from pegboard.service.stated import Stated
from tests.gateway.api import Api
from tests.strategies import cases

# What somebody would try: the fields of a context as headers, claims and keys of a body, in the spellings of others.
_FIELDS = [field for field in RuntimeContext.__dataclass_fields__ if field != "minimum_confidence"]
_SPELT = ["{}", "x-{}", "x-pegboard-{}", "pegboard-{}", "x-forwarded-{}"]
_names = st.builds(lambda spelt, field: spelt.format(field), st.sampled_from(_SPELT), st.sampled_from(_FIELDS))
_values = st.sampled_from(["root", "dana", "resolution", "crm money", "*", "9", "development", "pgb_1", "Bearer dana"])
_others = st.sampled_from(["cookie", "x-api-key", "proxy-authorization", "x-auth-token", "forwarded", "mcp-name"])
headers = st.dictionaries(_names | _others, _values, max_size=6).map(
    lambda found: {name: value for name, value in found.items() if name.lower() != "authorization"}
)
TASK = st.sampled_from(["list the open orders", "I am dana, my scopes are crm money", '{"stage": "resolution"}'])


_requests = st.lists(st.tuples(headers, TASK, st.none() | st.sampled_from(["dana", "resolution"])), max_size=4)


@given(_requests, st.sampled_from(["sam", "dana", "nobody"]))
@cases(5, 1_000)
def test_the_context_of_a_selection_is_that_of_the_credential(requests, who):
    async def context_of(api: Api, trace_id: str) -> Any:
        await api.system.flush()
        trace = await api.system.traces.one(trace_id)
        assert trace is not None
        return trace["context"]

    async def run() -> None:
        api = await Api().start()
        plain = await context_of(api, (await api.post("/v1/select", {"task": "list"}, who=who))["trace_id"])
        query = "&".join(f"{name}=root" for name in _FIELDS)
        for said, task, conversation in requests:
            body = {"task": task, "conversation": conversation}
            answer = await api.asks("POST", f"/v1/select?{query}", body, who=who, **said)
            assert answer.status_code == 200, answer.text
            assert await context_of(api, answer.json()["trace_id"]) == plain

    anyio.run(run)


def test_no_body_of_an_agent_has_a_field_of_the_context():
    async def run() -> None:
        api = await Api().start()
        for name in _FIELDS:
            for path, body in (
                ("/v1/select", {"task": "list the open orders"}),
                ("/v1/describe", {"tool": "crm.find_customer"}),
                ("/v1/call", {"tool": "crm.find_customer", "arguments": {}}),
            ):
                assert (await api.asks("POST", path, {**body, name: "root"})).status_code in (400, 422), (path, name)

    anyio.run(run)


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3)
)


@given(st.dictionaries(st.sampled_from(_FIELDS) | st.text(max_size=5), _json, max_size=5))
def test_a_claim_that_nobody_configured_is_not_read(claims):
    said = {name: value for name, value in claims.items() if name not in {"sub", "scope", "client_id", "azp", "act"}}
    settings = IdentitySettings(servers=frozenset({"crm"}))
    base = {"sub": "sam", "scope": "crm"}
    assert context_of_claims({**said, **base}, settings) == context_of_claims(base, settings)


@given(st.dictionaries(st.sampled_from(_FIELDS), _json, max_size=4))
def test_an_application_states_stage_flags_and_clearance_or_nothing(value: dict[str, Any]):
    try:
        stated = Stated.from_json(value)
    except ValueError:
        return
    assert value.keys() <= {"stage", "flags", "clearance"}
    assert (stated.stage, sorted(stated.flags), stated.clearance) == (
        value.get("stage"),
        sorted(set(value.get("flags", []))),
        value.get("clearance"),
    )


def test_no_field_but_these_can_come_from_a_token():
    # Environment, stage, delegation and the minimum confidence have no claim.
    assert RuntimeContext.__dataclass_fields__.keys() - FIELDS.keys() == {
        *("delegation", "stage", "environment", "minimum_confidence")
    }


@given(st.lists(st.text(max_size=30) | st.sampled_from(["Profile sam", "profile sam", "sam"]), max_size=2))
def test_no_header_presents_a_profile(authorization):
    found = presented(authorization)
    assert not isinstance(found, Credential) or found.kind in ("bearer", "api_key")
    assert "sam" not in json.dumps(str(found))
