"""What a tool server asks reaches the client that made the call, labelled, and nobody where it may not ask."""

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp.types import INVALID_PARAMS, CreateMessageResult, ElicitResult, InputRequiredResult, TextContent

from pegboard.adapters.mcp_client import McpServers
from pegboard.adapters.mcp_settings import ServerSettings
from pegboard.gateway import holding
from pegboard.service.inputs import Answering, Asked, Kind, answered_by
from tests.adapters.scripted_http_server import serving
from tests.gateway.asking_server import TOOLS, asking_app, ran
from tests.gateway.made import LEGACY, MODERN, client
from tests.gateway.real import DANA, SAM, Real
from tests.service.made import FixedClock
from tests.strategies import SOAK

ALL = frozenset(Kind)
PROGRAMS = pytest.mark.skipif(not SOAK, reason="starts programs; run by `make soak`")
HTTP = ("http-legacy", "http-modern")
RED = {"action": "accept", "content": {"colour": "red"}}


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, str]]:
    with ExitStack() as stack:
        yield {era: stack.enter_context(serving(asking_app(era))) for era in ("legacy", "modern")}


class Person:
    """A client's user and model; it answers, and remembers what it was asked."""

    def __init__(self, *answers: ElicitResult) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []

    async def fills_in(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(params)
        return self.answers.pop(0) if self.answers else ElicitResult(**RED)

    async def says(self, context: Any, params: Any) -> CreateMessageResult:
        self.asked.append(params)
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="hello"), model="m")


def desk_of(urls: dict[str, str], server: str, kinds: frozenset[Kind] = ALL, **changed: Any) -> Real:
    over, _, era = server.partition("-")
    command = (sys.executable, "-m", "tests.gateway.asking_server", era)
    reach: dict[str, Any] = {"url": urls[era]} if over == "http" else {"command": command}
    settings = ServerSettings(name="s", may_ask=kinds, **reach, **changed)
    return Real(McpServers({"s": settings}), FixedClock(), *(f"s.{name}" for name in TOOLS))


def answered(
    desk: Real, tool: str | tuple[str, ...], person: Person | None, mode: str = MODERN, over: str = "http"
) -> Any:
    """Call a tool as sam with this person at the client; what it says it was answered, or the whole result."""
    options: dict[str, Any] = {}
    if person is not None:
        options = {"elicitation_callback": person.fills_in, "sampling_callback": person.says}

    async def called(made: Any, name: str) -> Any:
        result = await made.call_tool(f"s.{name}", {})
        return result if result.is_error else json.loads(result.content[0].text)

    async def deed(made: Any) -> Any:
        return await called(made, tool) if isinstance(tool, str) else [await called(made, name) for name in tool]

    async def scene() -> Any:
        await desk.start()
        async with desk.pool.running():
            if over == "streams":
                async with desk.streams("sam", mode, **options) as made:
                    return await deed(made)
            async with desk.serving() as url, client(url, SAM, mode, **options) as made:
                return await deed(made)

    return anyio.run(scene)


ROUNDS = [(server, mode) for server in HTTP for mode in (MODERN, LEGACY)]


@pytest.fixture(scope="module")
def seen(urls: dict[str, str]) -> dict[tuple[str, str, str], tuple[Any, list[Any]]]:
    """Call what asks, at servers and with clients of both eras: what each said it was answered, and what was asked."""
    found = {}

    async def scene(server: str) -> None:
        desk = await desk_of(urls, server).start()
        async with desk.pool.running(), desk.serving() as url:
            for mode in (MODERN, LEGACY):
                for tool in ("form", "twice", "url", "sampling"):
                    person = Person(*([ElicitResult(**RED), ElicitResult(action="decline")] if tool == "twice" else []))
                    options = {"elicitation_callback": person.fills_in, "sampling_callback": person.says}
                    async with client(url, SAM, mode, **options) as made:
                        said = (await made.call_tool(f"s.{tool}", {})).content[0].text
                    found[server, mode, tool] = json.loads(said), person.asked

    ran.clear()
    for server in HTTP:
        anyio.run(scene, server)
    return found


@pytest.mark.parametrize(("server", "mode"), ROUNDS)
def test_a_form_reaches_the_client_that_made_the_call_and_its_answer_the_server(seen, server: str, mode: str):
    said, (asked,) = seen[server, mode, "form"]
    assert said == [RED]
    assert asked.message == "The tool server 's' asks: Which colour?"
    assert asked.requested_schema["properties"] == {"colour": {"type": "string"}}


@pytest.mark.parametrize(("server", "mode"), ROUNDS)
def test_what_is_asked_twice_is_answered_twice_and_the_call_is_begun_once(seen, server: str, mode: str):
    said, asked = seen[server, mode, "twice"]
    assert said == [RED, {"action": "decline"}]
    assert [one.message.partition("asks: ")[2] for one in asked] == ["Which colour?", "And which size?"]
    assert ran.count("twice") == len(ROUNDS)


@pytest.mark.parametrize(("server", "mode"), ROUNDS)
def test_an_address_is_passed_on_where_the_operator_said_so(seen, server: str, mode: str):
    said, (asked,) = seen[server, mode, "url"]
    assert said[0]["action"] == "accept"
    assert (asked.url, asked.message) == ("https://e.example/", "The tool server 's' asks: Sign in.")


@pytest.mark.parametrize(("server", "mode"), ROUNDS)
def test_a_model_is_told_whose_words_it_is_given_and_nothing_of_others(seen, server: str, mode: str):
    (said,), (asked,) = seen[server, mode, "sampling"]
    assert (said["content"]["text"], said["model"]) == ("hello", "m")
    label = "What follows is asked by the tool server 's', and not by the user."
    assert (asked.system_prompt, asked.include_context) == (f"{label}\nBe brief.", "none")


@PROGRAMS
@pytest.mark.parametrize(("server", "mode"), [("stdio-legacy", MODERN), ("stdio-modern", LEGACY)])
def test_a_local_server_asks_too(urls, server: str, mode: str):
    assert answered(desk_of(urls, server), "form", Person(), mode) == [RED]


@pytest.mark.parametrize("mode", [MODERN, LEGACY])
def test_a_client_over_stdio_is_asked_too(urls, mode: str):
    assert answered(desk_of(urls, "http-legacy"), "form", Person(), mode, over="streams") == [RED]


NOTHING = "this client offers nothing to servers"
NOBODY = "whoever made this call does not answer such a thing"


@pytest.mark.parametrize(("kinds", "answers"), [
    (frozenset(), {"form": f"-32601: {NOTHING}", "url": f"-32601: {NOTHING}", "sampling": f"-32601: {NOTHING}"}),
    (frozenset({Kind.FORM}), {"url": f"-32601: {NOTHING}", "sampling": f"-32601: {NOTHING}"}),
    (ALL, {
        "bad_url": "-32602: only https addresses are passed on",
        "with_tools": "-32602: a model is passed no tools of a server's own",
    }),
])  # fmt: skip
def test_what_a_server_may_not_ask_is_refused_at_once_and_asked_of_nobody(urls, kinds, answers: dict[str, str]):
    person = Person()
    said = answered(desk_of(urls, "http-legacy", kinds), tuple(answers), person)
    assert said == [[f"refused {one}"] for one in answers.values()]
    assert person.asked == []


def test_a_server_of_the_present_era_that_may_not_ask_is_not_told_that_it_could(urls):
    assert answered(desk_of(urls, "http-modern", frozenset()), "form", Person()) == ["not offered"]
    assert answered(desk_of(urls, "http-modern", frozenset({Kind.SAMPLING})), "form", Person()) == ["not offered"]


@pytest.mark.parametrize("mode", [MODERN, LEGACY])
def test_a_client_that_answers_nothing_is_asked_nothing(urls, mode: str):
    assert answered(desk_of(urls, "http-modern"), "form", None, mode) == ["not offered"]
    assert answered(desk_of(urls, "http-legacy"), "form", None, mode) == [f"refused -32601: {NOBODY}"]


def test_a_server_that_asks_all_the_same_ends_the_call_there(urls):
    result = answered(desk_of(urls, "http-modern"), "bad_url", Person())
    assert result.is_error
    assert result.structured_content["message"].startswith("the tool's server asks for more input")


def test_one_call_asks_only_so_often(urls):
    said = answered(desk_of(urls, "http-legacy"), "endless", person := Person())
    assert len(person.asked) == 10
    assert said[-1] == "refused -32602: too much is asked of this caller"


def test_two_users_at_once_answer_each_for_their_own_call(urls):
    desk = desk_of(urls, "http-modern")
    both = {SAM: Person(), DANA: Person(*[ElicitResult(action="accept", content={"colour": "blue"})] * 4)}
    seen: list[tuple[str, str]] = []

    async def ask(url: str, token: str, mode: str) -> None:
        async with client(url, token, mode, elicitation_callback=both[token].fills_in) as made:
            for _ in range(2):
                (said,) = json.loads((await made.call_tool("s.form", {})).content[0].text)
                seen.append((token, said["content"]["colour"]))

    async def scene() -> None:
        await desk.start()
        async with desk.pool.running(), desk.serving() as url, anyio.create_task_group() as tasks:
            for token in both:
                for mode in (MODERN, LEGACY):
                    tasks.start_soon(ask, url, token, mode)

    anyio.run(scene)
    assert sorted(seen) == [(DANA, "blue")] * 4 + [(SAM, "red")] * 4


# A call that waits


async def sent(made: Any, tool: str = "form", **more: Any) -> Any:
    """Send a call, or an answer to what it asked, as a client does that keeps the rounds in its own hands."""
    return await made.session.call_tool(f"s.{tool}", more.pop("arguments", {}), allow_input_required=True, **more)


def test_a_waiting_call_goes_on_for_its_own_caller_with_its_own_arguments_once(urls):
    desk = desk_of(urls, "http-legacy")

    async def refused(made: Any, **more: Any) -> int:
        with pytest.raises(MCPError) as raised:
            await sent(made, input_responses={"question": ElicitResult(**RED)}, **more)
        return raised.value.code

    async def scene() -> tuple[list[int], Any]:
        await desk.start()
        fills_in = {"elicitation_callback": Person().fills_in}
        async with (
            desk.pool.running(),
            desk.serving() as url,
            client(url, SAM, **fills_in) as sam,
            client(url, DANA, **fills_in) as dana,
        ):
            asked = await sent(sam)
            assert isinstance(asked, InputRequiredResult)
            state = asked.request_state
            codes = [
                await refused(dana, request_state=state),
                await refused(sam, request_state=state, tool="twice"),
                await refused(sam, request_state=state, arguments={"x": 1}),
                await refused(sam, request_state="input_9"),
            ]
            answer = await sent(sam, request_state=state, input_responses={"question": ElicitResult(**RED)})
            return [*codes, await refused(sam, request_state=state)], answer

    codes, answer = anyio.run(scene)
    assert codes == [INVALID_PARAMS] * 5
    assert json.loads(answer.content[0].text) == [RED]


def test_a_state_is_good_for_one_answer(urls):
    desk, red = desk_of(urls, "http-legacy"), {"question": ElicitResult(**RED)}

    async def scene() -> int:
        await desk.start()
        async with (
            desk.pool.running(),
            desk.serving() as url,
            client(url, SAM, elicitation_callback=Person().fills_in) as made,
        ):
            first = await sent(made, "twice")
            await sent(made, "twice", request_state=first.request_state, input_responses=red)
            with pytest.raises(MCPError) as raised:
                await sent(made, "twice", request_state=first.request_state, input_responses=red)
            return raised.value.code

    assert anyio.run(scene) == INVALID_PARAMS


def test_an_answer_to_something_else_is_none(urls):
    desk = desk_of(urls, "http-legacy")

    async def scene() -> list[Any]:
        await desk.start()
        found = []
        async with (
            desk.pool.running(),
            desk.serving() as url,
            client(url, SAM, elicitation_callback=Person().fills_in) as made,
        ):
            hello = CreateMessageResult(role="assistant", content=TextContent(type="text", text="x"), model="m")
            for responses in ({"question": hello}, {"other": ElicitResult(**RED)}, None):
                asked = await sent(made)
                said = await sent(made, request_state=asked.request_state, input_responses=responses)
                found += json.loads(said.content[0].text)
        return found

    assert anyio.run(scene) == ["refused -32603: the client answered something else"] * 3


def test_a_question_that_nobody_answers_in_time_is_refused_and_the_call_ends(urls, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(holding, "ANSWER_S", 0.0)
    desk = desk_of(urls, "http-legacy")

    async def scene() -> tuple[int, Any]:
        await desk.start()
        async with (
            desk.pool.running(),
            desk.serving() as url,
            client(url, SAM, elicitation_callback=Person().fills_in) as made,
        ):
            asked = await sent(made, "twice")
            ended = await desk.ended()
            with pytest.raises(MCPError) as raised:
                await sent(made, "twice", request_state=asked.request_state)
            return raised.value.code, ended

    assert anyio.run(scene) == (INVALID_PARAMS, ["allowed"])


def test_past_so_many_waiting_calls_of_one_caller_the_next_asks_in_vain(urls):
    desk = desk_of(urls, "http-legacy")

    async def scene() -> list[Any]:
        await desk.start()
        async with (
            desk.pool.running(),
            desk.serving() as url,
            client(url, SAM, elicitation_callback=Person().fills_in) as made,
            client(url, DANA, elicitation_callback=Person().fills_in) as other,
        ):
            asked = [await sent(made) for _ in range(4)]
            fifth = await sent(made)
            await sent(made, request_state=asked[0].request_state)
            return [fifth, await sent(made), await sent(other)]

    fifth, *later = anyio.run(scene)
    assert json.loads(fifth.content[0].text) == ["refused -32602: too much is asked of this caller"]
    assert all(isinstance(one, InputRequiredResult) for one in later)


def test_over_stdio_a_question_while_several_calls_run_is_nobody_s():
    command = (sys.executable, "-m", "tests.gateway.asking_server", "legacy")
    servers = McpServers({"s": ServerSettings(name="s", command=command, may_ask=ALL)})

    async def scene() -> tuple[Any, Any]:
        asked, go, found = anyio.Event(), anyio.Event(), []

        async def answer(question: Asked) -> dict[str, Any]:
            asked.set()
            await go.wait()
            return RED

        async with servers.connect("s", "ann") as session:

            async def call() -> None:
                found.append(json.loads((await session.call_tool("form", {}))["content"][0]["text"]))

            with answered_by(Answering(kinds=ALL, answer=answer)):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(call)
                    await asked.wait()
                    await call()
                    go.set()
        return tuple(found)

    assert anyio.run(scene) == ([f"refused -32601: {NOTHING}"], [RED])
