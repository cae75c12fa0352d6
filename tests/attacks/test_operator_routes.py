"""Attacks on the operators' doors for releases: names and reasons that are none, and whoever is no operator."""

from typing import Any

import anyio
import pytest

from tests.gateway.api import Api

DRILL = {"setting": "off", "why": "a drill"}


def asked(deed: Any) -> Any:
    async def scene() -> Any:
        return await deed(await Api().start())

    return anyio.run(scene)


def test_a_namespace_that_is_none_changes_nothing_and_is_refused_as_that():
    names = [
        "%00",
        "%ff",
        "..%2f",
        "crm%2Fx",
        "CRM",
        "crm.",
        ".crm",
        "crm%20",
        "**",
        "x" * 5_000,
        "%F0%9F%93%A8",
        "%2A.crm",
    ]

    async def deed(api: Api) -> tuple[list[int], Any]:
        found = [await api.asks("PUT", f"/v1/operator/rollout/{name}", DRILL, who="ops") for name in names]
        return [one.status_code for one in found], await api.get("/v1/operator/rollout", who="ops")

    statuses, shown = asked(deed)
    assert set(statuses) <= {404, 409, 422}
    assert shown == {"namespaces": [], "history": []}


@pytest.mark.parametrize("body", [
    {"setting": "canary=1e-400", "why": "x"},
    {"setting": "canary=nan", "why": "x"},
    {"setting": "canary=0", "why": "x"},
    {"setting": "canary=1.0000000001", "why": "x"},
    {"setting": "live ", "why": "x"},
    {"setting": "off", "why": " "},
    {"setting": "off", "why": "x", "waive": {"reads_first": " "}},
    {"setting": "off", "why": "x", "waive": {"nothing": "x"}},
    {"setting": "off", "why": "x", "by": "eve"},
])  # fmt: skip
def test_a_setting_or_a_reason_that_is_none_changes_nothing(body: dict[str, Any]):
    async def deed(api: Api) -> tuple[int, Any]:
        found = await api.asks("PUT", "/v1/operator/rollout/crm", body, who="ops")
        return found.status_code, await api.get("/v1/operator/rollout/history", who="ops")

    status, history = asked(deed)
    assert status in (409, 422)
    assert history == {"history": []}


def test_what_was_waived_for_which_reason_is_on_the_audit_with_the_change():
    waive = dict.fromkeys(("exposure", "recall", "validity", "latency", "completion", "reads_first"), "nobody is here")

    async def deed(api: Api) -> list[Any]:
        await api.asks("PUT", "/v1/operator/rollout/crm", DRILL, who="ops")
        body = {"setting": "canary=0.1", "why": "to begin", "waive": waive}
        assert (await api.asks("PUT", "/v1/operator/rollout/crm", body, who="ops")).json()["changed"]
        return [one.body async for one in api.system.audit.events() if one.kind == "rollout_changed"]

    assert asked(deed)[-1]["waived"] == waive


@pytest.mark.parametrize("who", ["sam", "app", "bot", None])
@pytest.mark.parametrize(("method", "path"), [
    ("GET", "rollout"), ("GET", "rollout/history"), ("GET", "shadow/report"), ("PUT", "rollout/crm"),
    ("PUT", "rollout/nothing"), ("GET", "rollout/../rollout"), ("GET", "rollout%2Fhistory"), ("POST", "rollout/crm"),
])  # fmt: skip
def test_whoever_is_no_operator_learns_nothing_of_a_release(method: str, path: str, who: str | None):
    async def deed(api: Api) -> tuple[int, str, Any]:
        found = await api.asks(method, f"/v1/operator/{path}", DRILL if method != "GET" else None, who=who)
        return found.status_code, found.text, await api.get("/v1/operator/rollout/history", who="ops")

    status, text, history = asked(deed)
    assert status in (401, 403, 404, 405)
    assert "crm" not in text
    assert history == {"history": []}
