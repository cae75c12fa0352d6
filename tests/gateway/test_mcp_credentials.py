"""Two users at the gateway reach a tool server as themselves: by tokens exchanged for theirs, or by their own files."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard.adapters.credential_settings import UserFiles
from pegboard.service.health import State
from tests.adapters.guarded_server import SECRET, Guarded, grant, guarded, reached
from tests.gateway.api import Api, key
from tests.gateway.made import LEGACY, MODERN, client
from tests.gateway.real import DANA, SAM, Real
from tests.service.made import FixedClock

NO_CREDENTIAL = "there is no credential for the tool's server that this call could be made with; nothing was run"


@pytest.fixture(scope="module")
def running() -> Iterator[Guarded]:
    with guarded() as made:
        yield made


@pytest.fixture
def server(running: Guarded) -> Guarded:
    running.begins_anew()
    return running


def in_front_of(server: Guarded, credential: Any) -> Real:
    """Make a gateway in front of the server that looks at tokens."""
    clock = FixedClock()
    return Real(reached(server, credential, clock), clock, "s.whoami")


async def whoami(made: Any) -> str:
    """Ask the server whom it sees; a refusal is its message."""
    answer = await made.call_tool("s.whoami", {})
    return str((answer.structured_content or {}).get("message") if answer.is_error else answer.content[0].text)


@pytest.mark.parametrize("mode", [MODERN, LEGACY])
def test_two_users_at_once_reach_the_server_with_tokens_of_their_own(server: Guarded, mode: str):
    desk, seen = in_front_of(server, grant(server)), []

    async def ask(url: str, token: str) -> None:
        async with client(url, token, mode) as made:
            seen.extend([(token, await whoami(made)) for _ in range(3)])

    async def scene() -> None:
        await desk.start()
        async with desk.pool.running(), desk.serving() as url, anyio.create_task_group() as tasks:
            for token in (SAM, DANA):
                tasks.start_soon(ask, url, token)

    anyio.run(scene)
    assert sorted(seen) == [(DANA, "dana")] * 3 + [(SAM, "sam")] * 3
    assert sorted(form.get("subject_token", "") for form in server.forms) == ["", DANA, SAM]
    assert not {token for _, token in server.shown} & {SAM, DANA}


def test_the_http_api_shows_its_callers_too_and_a_key_is_no_token(server: Guarded):
    async def scene() -> list[dict[str, Any]]:
        api = await Api(desk=in_front_of(server, grant(server))).start()
        found = []
        for who in (SAM, DANA, "bot"):
            selected = await api.post("/v1/select", {"task": "who am I", "require": ["s.whoami"]}, who=who)
            call = {"tool": "s.whoami", "selection": selected["selection_id"]}
            found.append(await api.post("/v1/call", call, who=who))
        return found

    sam, dana, bot = anyio.run(scene)
    assert [one["result"]["content"][0]["text"] for one in (sam, dana)] == ["sam", "dana"]
    assert (bot["verdict"], bot["message"]) == ("unavailable", NO_CREDENTIAL)
    assert key("bot") not in str(server.shown) + str(server.forms)


def test_a_profile_has_no_token_to_exchange_and_its_refusal_takes_the_server_from_nobody(server: Guarded):
    desk = in_front_of(server, grant(server))

    async def scene() -> tuple[str, str]:
        await desk.start()
        async with desk.streams("sam") as made:
            refused = await whoami(made)
        async with desk.serving() as url, client(url, DANA) as made:
            return refused, await whoami(made)

    assert anyio.run(scene) == (NO_CREDENTIAL, "dana")
    assert desk.system.health.of("s").state is State.UP


def test_a_profile_has_a_file_of_its_own_and_who_has_none_is_refused(server: Guarded, tmp_path: Path):
    desk = in_front_of(server, UserFiles(folder=tmp_path, listing=server.issues("lister")))
    (tmp_path / "sam").write_text(server.issues("sam"))

    async def scene() -> list[str]:
        await desk.start()
        found = []
        for name in ("sam", "dana", "sam"):
            async with desk.streams(name) as made:
                found.append(await whoami(made))
        return found

    assert anyio.run(scene) == ["sam", NO_CREDENTIAL, "sam"]
    assert server.ran == ["sam", "sam"]


@pytest.mark.parametrize("answer", [(503, {}, b""), (200, {}, b"nonsense"), (400, {}, b'{"error": "invalid_grant"}')])
def test_while_its_endpoint_gives_none_calls_are_unavailable_and_nothing_is_run(server: Guarded, answer: Any):
    desk = in_front_of(server, grant(server))

    async def scene() -> list[str]:
        await desk.start()
        async with desk.serving() as url, client(url, SAM) as made:
            server.answer = answer
            refused = await whoami(made)
            server.answer = None
            return [refused, await whoami(made)]

    assert anyio.run(scene) == [NO_CREDENTIAL, "sam"]
    assert server.ran == ["sam"]


def test_no_token_stands_in_a_trace_the_audit_a_ledger_or_a_log(server: Guarded, caplog: pytest.LogCaptureFixture):
    desk = in_front_of(server, grant(server))
    caplog.set_level(logging.DEBUG)

    async def scene() -> str:
        await desk.start()
        async with desk.serving() as url, client(url, SAM) as made:
            await whoami(made)
            server.answer = (503, {}, b"")
            desk.clock.time += 3_600
            await whoami(made)
            server.answer = None
            server.refused |= set(server.owner)
            await whoami(made)
        await desk.system.flush()
        kept = [str(vars(part)) for part in vars(desk.system.store).values() if hasattr(part, "__dict__")]
        traces = [str(one) for one in await desk.system.store.traces(limit=100)]
        events = [str(event) async for event in desk.system.audit.events()]
        return "\n".join([*kept, *traces, *events, str(desk.system.health.read())])

    text = anyio.run(scene)
    assert "s.whoami" in text
    # The tests' own client and the server stand in the same process, and their logs are not ours.
    ours = "\n".join(one.getMessage() for one in caplog.records if one.name.startswith("pegboard"))
    for token in (SAM, SECRET, *server.owner):
        assert token not in text
        assert token not in ours
