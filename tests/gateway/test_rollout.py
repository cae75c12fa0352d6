"""A release at the gateway: who is not served yet has the whole list, as before, and a search of the rest."""

from typing import Any

import anyio
import pytest
from mcp import Client

from pegboard.engine.rollout import WHOLE, place, setting_of
from pegboard.gateway import agents
from pegboard.gateway import asked as asked_for
from pegboard.gateway.listing import ListMode, ListSettings
from pegboard.gateway.verbs import TASK
from tests.cli.answers import ANSWERS, shape_of
from tests.gateway.api import Api
from tests.gateway.made import Desk

OWN = ["search_tools", "describe_tool", "call_tool"]
CRM = ["crm.close_case", "crm.find_customer", "crm.list_open_orders", "crm.stop_all"]


def asked(token: str, deed: Any, *steps: tuple[str, str], settings: ListSettings | None = None) -> Any:
    """Set namespaces one after another, and do one thing as a client."""
    desk = Desk(settings)

    async def scene() -> Any:
        await desk.start()
        for namespace, setting in steps:
            await desk.system.rollouts.change(namespace, setting_of(setting), by="dana", why="a test")
        async with desk.streams(token) as made:
            found = await deed(made)
        return found, await desk.system.shadow.report()

    return anyio.run(scene)


async def names(made: Client) -> list[str]:
    return [one.name for one in (await made.list_tools()).tools]


@pytest.mark.parametrize(
    ("token", "steps", "listed"),
    [
        ("sam", (), [*OWN, "crm.stop_all"]),
        ("sam", ((WHOLE, "shadow"),), CRM),
        ("sam", (("crm", "off"),), CRM),
        ("dana", (("crm", "shadow"),), [*OWN, *CRM[:3], "crm.merge_cases", "crm.stop_all"]),
        ("dana", (("billing", "shadow"),), [*OWN, "billing.create_refund", "billing.get_payment", "crm.stop_all"]),
        ("sam", (("billing", "shadow"),), [*OWN, "crm.stop_all"]),
        ("sam", (("crm", "canary=0.999999"),), [*OWN, "crm.stop_all"]),
        ("sam", (("crm", "canary=0.000001"),), CRM),
    ],
)
def test_what_production_still_decides_is_listed(token: str, steps: tuple[tuple[str, str], ...], listed: list[str]):
    found, _ = asked(token, names, *steps)
    assert found == listed


def test_what_is_listed_is_called_by_its_name():
    async def deed(made: Client) -> Any:
        return await made.call_tool("crm.find_customer", {"query": "kim"})

    found, _ = asked("sam", deed, ("crm", "shadow"))
    assert not found.is_error


def test_a_call_that_says_its_task_is_compared_with_what_would_have_been_offered():
    async def deed(made: Client) -> Any:
        return await made.call_tool("crm.find_customer", {"query": "kim"}, meta={TASK: "find a customer by email"})

    _, report = asked("sam", deed, settings=ListSettings(mode=ListMode.SHADOW))
    assert (report["selections"], report["calls"], report["recall"]["value"]) == (1, 1, 1.0)
    assert report["tokens"]["listed"] is not None


def test_a_change_of_the_rollout_is_a_change_of_the_list():
    desk = Desk()

    async def scene() -> tuple[object, object]:
        await desk.start()
        before = await desk.gateway._lister.state()
        await desk.system.rollouts.change("crm", setting_of("shadow"), by="dana", why="a test")
        return before, await desk.gateway._lister.state()

    before, after = anyio.run(scene)
    assert before != after


def test_over_http_a_canary_is_chosen_by_conversation_and_its_calls_are_observed():
    desk, key = Desk(), next(name for name in map(str, range(99)) if place(name) > 0.5)

    async def scene() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        await desk.start()
        await desk.system.rollouts.change("crm", setting_of("canary=0.5"), by="dana", why="a test")
        caller = await desk.identity.context_of(desk.credential("sam"))
        outside = asked_for.Select(task="find a customer", conversation=key)
        selection = await agents.select(desk.system, caller, outside)
        call = {"tool": "crm.find_customer", "arguments": {"query": "kim"}, "conversation": key}
        named = asked_for.Call(**call, selection=selection["selection_id"])
        return selection, await agents.call(desk.system, caller, named), await desk.system.shadow.report()

    selection, answer, report = anyio.run(scene)
    assert (selection["tools"], selection["production"]) == ([], ["crm"])
    assert answer["verdict"] == "allowed"
    assert (report["calls"], report["recall"]["value"]) == (1, 1.0)


def released(deed: Any) -> Any:
    """Do one thing at the HTTP API."""

    async def scene() -> Any:
        return await deed(await Api().start())

    return anyio.run(scene)


def test_over_http_a_release_answers_what_the_command_line_answers():
    async def deed(api: Api) -> dict[str, Any]:
        change = {"setting": "shadow", "why": "to see it first"}
        answers = {"rollout set": (await api.asks("PUT", "/v1/operator/rollout/crm", change, who="ops")).json()}
        await api.post("/v1/select", {"task": "find a customer"})
        answers["rollout show"] = await api.get("/v1/operator/rollout", who="ops")
        answers["shadow report"] = await api.get("/v1/operator/shadow/report?since=0", who="ops")
        history = await api.get("/v1/operator/rollout/history", who="ops")
        assert history == {"history": answers["rollout show"]["history"]}
        return answers

    for name, answer in released(deed).items():
        assert shape_of(answer, ANSWERS[name]) == ANSWERS[name], name


def test_over_http_a_release_needs_a_reason_and_what_the_guards_ask_for():
    async def deed(api: Api) -> None:
        async def puts(setting: str, namespace: str = "crm", **more: Any) -> Any:
            body = {"setting": setting, **more}
            return await api.asks("PUT", f"/v1/operator/rollout/{namespace}", body, who="ops")

        drill = {"why": "a drill"}
        wrong = [await puts("shadow"), await puts("sometimes", **drill), await puts("shadow", why="")]
        assert [(one.status_code, one.json()["error"]["where"]) for one in wrong] == [
            (422, "body.why"),
            (422, "body.setting"),
            (422, "body.why"),
        ]
        assert "write off, shadow, canary=0.1 or live" in wrong[1].json()["error"]["message"]
        assert (await puts("shadow", "crn", **drill)).status_code == 409
        assert (await puts("shadow", "*", **drill)).json()["changed"] is True
        stopped = (await puts("canary=0.1", **drill)).json()
        assert (stopped["changed"], len(stopped["problems"])) == (False, 5)
        waive = dict.fromkeys(("exposure", "recall", "validity", "latency", "completion", "reads_first"), "a drill")
        assert (await puts("canary=0.1", **drill, waive=waive)).json()["changed"] is True
        told = [one.body async for one in api.system.audit.events() if one.kind == "rollout_changed"]
        assert [(one["namespace"], one["by"], one["why"]) for one in told] == [
            ("*", "ops", "a drill"),
            ("crm", "ops", "a drill"),
        ]

    released(deed)
