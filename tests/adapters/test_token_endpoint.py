"""A token endpoint: how often it is asked, how long a token is used, and what it may answer; over real HTTP."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import anyio
import pytest

from pegboard.adapters.credential_settings import Grant, TokenGrant
from pegboard.adapters.egress import Egress
from pegboard.adapters.mcp_client import McpServers
from pegboard.adapters.token_endpoint import TokenEndpoint
from pegboard.service.acting import NoCredentialError
from tests.adapters.guarded_server import SAM, Guarded, asked, grant, guarded, refusal
from tests.adapters.issuer import egress_to
from tests.adapters.sessions import settings
from tests.service.made import FixedClock


@pytest.fixture(scope="module")
def running() -> Iterator[Guarded]:
    with guarded() as made:
        yield made


@pytest.fixture
def shared(running: Guarded) -> Guarded:
    running.begins_anew()
    return running


def test_many_who_come_at_once_share_one_request_and_how_it_ends(shared):
    endpoint = TokenEndpoint(grant(shared, Grant.CLIENT_CREDENTIALS), egress_to(grant(shared).token_url), FixedClock())

    async def scene() -> tuple[set[str], int]:
        found: list[str] = []

        async def get() -> None:
            try:
                found.append(await endpoint.token())
            except Exception as error:  # noqa: BLE001 - how it ends is what is asked
                found.append(type(error).__name__)

        before = len(shared.forms)
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(get)
        assert len(found) == 20
        return set(found), len(shared.forms) - before

    shared.answer = (503, {}, b"")
    assert anyio.run(scene) == ({"NoTokenError"}, 1)
    shared.answer = None
    tokens, requests = anyio.run(scene)
    assert (len(tokens), requests) == (1, 1)


def test_whoever_asks_for_a_token_and_goes_away_takes_it_from_nobody(shared):
    endpoint = TokenEndpoint(grant(shared, Grant.CLIENT_CREDENTIALS), egress_to(grant(shared).token_url), FixedClock())

    async def scene() -> str:
        shared.answer = "hangs"
        async with anyio.create_task_group() as tasks:
            first = anyio.CancelScope()
            found: list[str] = []

            async def leaving() -> None:
                with first:
                    await endpoint.token()

            async def staying() -> None:
                found.append(await endpoint.token())

            before = len(shared.forms)
            tasks.start_soon(leaving)
            while len(shared.forms) == before:
                await anyio.sleep(0.001)
            tasks.start_soon(staying)
            await anyio.wait_all_tasks_blocked()
            shared.answer = None
            first.cancel()
        return found[0]

    assert shared.owner[anyio.run(scene)] == "client"


@pytest.mark.parametrize(
    ("expires_in", "holds_s"),
    [(600, 570), (3600.5, 3570.5), (10, 0), (None, 60), ("600", 60), (True, 60), (10**9, 86_370), (-5, 0)],
)
def test_a_token_is_used_until_shortly_before_it_expires_and_then_fetched_once(shared, expires_in, holds_s):
    clock, endpoint_of = FixedClock(), grant(shared, Grant.CLIENT_CREDENTIALS)
    endpoint = TokenEndpoint(endpoint_of, egress_to(endpoint_of.token_url), clock)
    shared.expires_in = expires_in
    first = anyio.run(endpoint.token)
    clock.time += max(0, holds_s - 0.5)
    assert (anyio.run(endpoint.token) == first) is (holds_s > 0)
    clock.time += 1
    before = len(shared.forms)
    assert anyio.run(endpoint.token) != first
    assert len(shared.forms) == before + 1


def test_what_is_kept_is_bounded(shared, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pegboard.adapters.token_endpoint._KEPT_AT_MOST", 2)
    ours = replace(grant(shared), scopes=("x",))
    endpoint = TokenEndpoint(ours, egress_to(ours.token_url), FixedClock())
    first = anyio.run(endpoint.token, "p", "sam-1")
    for number in (2, 3):
        anyio.run(endpoint.token, "p", f"sam-{number}")
    assert anyio.run(endpoint.token, "p", "sam-1") != first


# What an endpoint may answer


def says(**said: Any) -> tuple[int, dict[str, str], bytes]:
    good = {"access_token": "a", "token_type": "Bearer", "issued_token_type": "urn:ietf:params:oauth:token-type:jwt"}
    return 200, {}, json.dumps({**good, **said}).encode()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ((500, {}, b"secret"), "the answer has status 500"),
        ((400, {}, b'{"error": "invalid_grant", "error_description": "sam-1"}'), "the answer has status 400"),
        ((302, {"location": "http://169.254.169.254/"}, b""), "redirects are not followed"),
        ((200, {}, b""), "no token came"),
        ((200, {}, b"[1]"), "no token that can be sent"),
        ((200, {}, b"{" * 5_000), "no token came"),
        ((200, {}, b"\xff\xfe"), "no token came"),
        ((200, {}, b" " * 100_000), "the answer is longer than 65,536 bytes"),
        (says(access_token=""), "no token that can be sent"),
        (says(access_token=7), "no token that can be sent"),
        (says(access_token="a\r\nx: y"), "no token that can be sent"),
        (says(access_token="a b"), "no token that can be sent"),
        (says(access_token="x" * 20_000), "no token that can be sent"),
        (says(token_type="DPoP"), "no bearer token"),
        (says(token_type=None), "no bearer token"),
        (says(issued_token_type="urn:ietf:params:oauth:token-type:refresh_token"), "no access token"),
        (says(issued_token_type=None), "no access token"),
        ("hangs", "within 0.2 s"),
    ],
)
def test_an_endpoint_that_answers_something_else_gives_no_token_and_its_words_are_not_repeated(shared, answer, problem):
    class Impatient(Egress):
        async def fetch(self, url: str, **given: Any) -> bytes:
            return await super().fetch(url, **{**given, "within_s": 0.2})

    ours = grant(shared)
    servers = McpServers(
        {"s": settings(url=shared.url, credential=ours)}, FixedClock(), Impatient(operators=[ours.token_url], tls=TLS)
    )
    shared.answer = answer
    said = refusal(servers, SAM, "sam-1")
    assert isinstance(said, NoCredentialError)
    assert problem in str(said)
    assert "sam-1" not in str(said)
    assert "secret" not in str(said)
    assert shared.shown == []
    shared.answer = None
    assert asked(servers, SAM, "sam-1") == "sam"


@pytest.mark.parametrize("kind", ["access_token", "jwt"])
def test_an_access_token_of_either_name_is_taken(shared, kind: str):
    shared.answer = says(issued_token_type=f"urn:ietf:params:oauth:token-type:{kind}", token_type="bEARER")
    endpoint = TokenEndpoint(grant(shared), egress_to(grant(shared).token_url), FixedClock())
    assert anyio.run(endpoint.token, "p", "sam-1") == "a"


TLS = egress_to()._tls


def test_an_endpoint_that_is_not_there_gives_no_token():
    gone = TokenGrant(grant=Grant.EXCHANGE, token_url="http://127.0.0.1:9/token", client_id="a", client_secret="sEcReT")
    servers = McpServers(
        {"s": settings(url="http://127.0.0.1:9/mcp", credential=gone)}, egress=egress_to(gone.token_url)
    )
    assert "takes no connection" in str(refusal(servers, SAM, "sam-1"))


def test_an_endpoint_that_the_operator_did_not_write_may_not_be_in_a_private_network(shared):
    servers = McpServers({"s": settings(url=shared.url, credential=grant(shared))}, egress=egress_to())
    assert "only https" in str(refusal(servers, SAM, "sam-1"))
