"""What a server may ask while a call runs: what is declared of it, what is answered, and what an answer costs."""

import json
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import CLIENT_CAPABILITIES_META_KEY

from pegboard.adapters.credential_settings import UserFiles
from pegboard.adapters.mcp_client import McpServers
from pegboard.adapters.mcp_inputs import Inputs
from pegboard.adapters.mcp_wire import Attempt
from pegboard.core.context import RuntimeContext
from pegboard.core.errors import OutcomeUnknownError, RefusedByServerError
from pegboard.service.acting import acting_for
from pegboard.service.inputs import Answering, Asked, Kind, RefusedInputError, answered_by, kind_of, who_answers
from tests.adapters.scripted_http_server import JSON, _respond, serving
from tests.adapters.sessions import settings

ALL = frozenset(Kind)
FORM = {"method": "elicitation/create", "params": {"message": "x", "requestedSchema": {}}}


async def yes(asked: Asked) -> Mapping[str, Any]:
    return {"action": "accept"}


async def no(asked: Asked) -> Mapping[str, Any]:
    raise RefusedInputError(-32602, "no")


def inputs(*kinds: Kind) -> Inputs:
    return Inputs(server="s", kinds=frozenset(kinds))


@pytest.mark.parametrize(
    ("method", "params", "kind"),
    [
        ("elicitation/create", {}, Kind.FORM),
        ("elicitation/create", {"mode": "form"}, Kind.FORM),
        ("elicitation/create", {"mode": "url"}, Kind.URL),
        ("elicitation/create", {"mode": "other"}, None),
        ("elicitation/create", {"mode": ["form"]}, None),
        ("elicitation/create", None, None),
        ("sampling/createMessage", {}, Kind.SAMPLING),
        ("sampling/createMessage", {"mode": "url"}, None),
        ("roots/list", {}, None),
        (None, {}, None),
        (["elicitation/create"], {}, None),
    ],
)
def test_what_is_asked_is_known_by_its_method_and_mode(method: object, params: object, kind: Kind | None):
    assert kind_of(method, params) is kind


@pytest.mark.parametrize(
    ("kinds", "capabilities"),
    [
        ((), {}),
        ((Kind.FORM,), {"elicitation": {"form": {}}}),
        ((Kind.URL,), {"elicitation": {"url": {}}}),
        ((Kind.SAMPLING,), {"sampling": {}}),
        (tuple(Kind), {"elicitation": {"form": {}, "url": {}}, "sampling": {}}),
    ],
)
def test_a_session_declares_what_its_server_may_ask_and_a_call_what_its_caller_answers_of_it(kinds, capabilities):
    declared = inputs(*kinds).declared("initialize", {"capabilities": {"x": 1}})
    assert declared == {"capabilities": {"x": 1, **capabilities}}
    asks = {"_meta": {CLIENT_CAPABILITIES_META_KEY: {"x": 1}}, "name": "n"}
    assert inputs(*kinds).declared("tools/call", asks) == asks
    with answered_by(Answering(kinds=frozenset(kinds), answer=yes)):
        found = Inputs(server="s", kinds=ALL).declared("tools/call", asks)
        assert inputs().declared("tools/call", asks) == asks
    assert found == {"_meta": {CLIENT_CAPABILITIES_META_KEY: {"x": 1, **capabilities}}, "name": "n"}
    assert who_answers() is None


def test_the_time_that_an_answer_takes_is_not_counted_as_the_server_s():
    seen: list[float] = []

    async def scene() -> float:
        with anyio.move_on_after(5) as wait:

            async def answer(asked: Asked) -> Mapping[str, Any]:
                seen.append(wait.deadline)
                return {"action": "accept"}

            with answered_by(Answering(kinds=ALL, answer=answer)):
                reply = await inputs(Kind.FORM).reply({**FORM, "id": 7}, Attempt(wait=wait))
        assert reply == {"jsonrpc": "2.0", "id": 7, "result": {"action": "accept"}}
        return wait.deadline - anyio.current_time()

    left_s = anyio.run(scene)
    assert seen == [inf]
    assert 4 < left_s <= 5


@pytest.mark.parametrize(
    ("requests", "answer", "found"),
    [
        ({"a": FORM, "b": FORM}, yes, {"a": {"action": "accept"}, "b": {"action": "accept"}}),
        ({}, yes, {}),
        ({"a": FORM}, no, None),
        ({"a": FORM, "b": {"method": "roots/list"}}, yes, None),
        ({"a": FORM, "b": "nonsense"}, yes, None),
        ("nonsense", yes, None),
        (None, yes, {}),
    ],
)
def test_a_result_that_asks_is_answered_whole_or_not_at_all(requests: Any, answer: Any, found: Any):
    async def scene() -> Any:
        with answered_by(Answering(kinds=ALL, answer=answer)):
            return await inputs(Kind.FORM).responses({"inputRequests": requests})

    assert anyio.run(scene) == found


class Rounds:
    """A server of the present era that answers calls by a list: results, JSON-RPC errors, or None to hang up."""

    def __init__(self, *answers: dict[str, Any] | None) -> None:
        self.answers = list(answers)
        self.calls: list[dict[str, Any]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        message = json.loads((await receive())["body"])
        answer: dict[str, Any] | None = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 1}
        answer |= {"cacheScope": "private", "serverInfo": {"name": "r", "version": "1"}}
        if message["method"] == "tools/list":
            answer = {"tools": [{"name": "a", "inputSchema": {"type": "object"}}], "ttlMs": 1, "cacheScope": "private"}
        if message["method"] == "tools/call":
            self.calls.append(message["params"])
            answer = self.answers.pop(0)
        if answer is None:
            raise ConnectionAbortedError
        said = answer if "error" in answer else {"result": {"resultType": "complete", **answer}}
        await _respond(send, 200, json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}).encode(), JSON)


ASKS = {"resultType": "input_required", "inputRequests": {"q": FORM}, "requestState": "s1"}


def called(*answers: dict[str, Any] | None, kinds: frozenset[Kind] = ALL) -> tuple[Any, list[dict[str, Any]]]:
    """Call a tool of such a server; what it comes to, and the parameters of each round."""
    rounds = Rounds(*answers)

    async def scene(url: str) -> Any:
        servers = McpServers({"s": settings(url=url, may_ask=kinds)})
        with answered_by(Answering(kinds=ALL, answer=yes)):
            async with servers.connect("s") as session:
                try:
                    return await session.call_tool("a", {"x": None})
                except (OutcomeUnknownError, RefusedByServerError) as error:
                    return error

    with serving(rounds) as url:
        return anyio.run(scene, url), rounds.calls


def test_a_call_goes_on_with_the_answers_and_the_state_that_the_server_gave():
    result, (first, second) = called(ASKS, {"content": []})
    assert result["content"] == []
    assert "inputResponses" not in first
    assert (second["inputResponses"], second["requestState"]) == ({"q": {"action": "accept"}}, "s1")
    assert (second["name"], second["arguments"]) == (first["name"], first["arguments"]) == ("a", {"x": None})
    assert second["_meta"][CLIENT_CAPABILITIES_META_KEY]["elicitation"] == {"form": {}, "url": {}}


def test_a_server_that_is_lost_after_it_asked_may_have_done_anything():
    error, calls = called(ASKS, None)
    assert isinstance(error, OutcomeUnknownError)
    assert len(calls) == 2


def test_a_call_that_cannot_go_on_after_a_question_may_have_done_anything(tmp_path: Path):
    (tmp_path / "sam").write_text("t0ken")

    async def takes_the_file_away(asked: Asked) -> Mapping[str, Any]:
        (tmp_path / "sam").unlink()
        return {"action": "accept"}

    async def scene(url: str) -> None:
        sam = RuntimeContext(user="sam")
        servers = McpServers({"s": settings(url=url, may_ask=ALL, credential=UserFiles(folder=tmp_path))})
        with acting_for(sam), answered_by(Answering(kinds=ALL, answer=takes_the_file_away)):
            async with servers.connect("s", sam.identity) as session:
                await session.call_tool("a", {})

    with serving(Rounds(ASKS)) as url, pytest.raises(OutcomeUnknownError, match="it had begun, and asked"):
        anyio.run(scene, url)


def test_a_refusal_after_a_question_is_a_refusal():
    error, _ = called(ASKS, {"error": {"code": -32602, "message": "no"}})
    assert error == RefusedByServerError("s", -32602, "no")


@pytest.mark.parametrize("asks", [{**ASKS, "requestState": 7}, {**ASKS, "inputRequests": {"q": 7}}])
def test_a_question_that_cannot_be_read_ends_the_call(asks: dict[str, Any]):
    result, calls = called(asks)
    assert (result["resultType"], len(calls)) == ("input_required", 1)


def test_a_server_that_never_stops_asking_is_answered_ten_times():
    result, calls = called(*[ASKS] * 12)
    assert (result["resultType"], len(calls)) == ("input_required", 11)
