"""Attacks on what tool servers are shown: times that no clock has, servers that repeat what they saw, strange names."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard.adapters.credential_settings import Grant, UserFiles
from pegboard.adapters.credentials import file_name
from pegboard.adapters.token_endpoint import NoTokenError, TokenEndpoint
from pegboard.config.load import load_config
from pegboard.core.context import RuntimeContext
from pegboard.core.errors import RefusedByServerError
from pegboard.service.acting import NoCredentialError
from tests.adapters.guarded_server import SAM, Guarded, grant, guarded, guarded_app, reached, refusal
from tests.adapters.issuer import egress_to
from tests.adapters.scripted_http_server import _respond, serving
from tests.service.made import FixedClock


@pytest.fixture(scope="module")
def made() -> Iterator[Guarded]:
    with guarded() as found:
        yield found


@pytest.mark.parametrize("expires_in", [f"-1{'0' * 400}", f"1{'0' * 400}", "1e400", "NaN", "-Infinity", "[]", '"-1"'])
def test_a_time_that_no_clock_has_ends_in_a_token_or_in_none(made: Guarded, expires_in: str):
    made.answer = 200, {}, f'{{"access_token": "a", "token_type": "Bearer", "expires_in": {expires_in}}}'.encode()
    ours = grant(made, Grant.CLIENT_CREDENTIALS)

    async def got() -> str | None:
        try:
            return await TokenEndpoint(ours, egress_to(ours.token_url), FixedClock()).token()
        except NoTokenError:
            return None

    assert anyio.run(got) in ("a", None)


@pytest.mark.parametrize("expires_in", [600, 10, -5])
def test_who_comes_while_a_token_is_asked_for_shares_it_however_soon_it_expires(made: Guarded, expires_in: int):
    made.begins_anew()
    made.expires_in = expires_in
    ours = grant(made, Grant.CLIENT_CREDENTIALS)
    endpoint = TokenEndpoint(ours, egress_to(ours.token_url), FixedClock())
    found: list[str] = []

    async def get() -> None:
        found.append(await endpoint.token())

    async def scene() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(get)

    anyio.run(scene)
    assert (len(found), len(set(found)), len(made.forms)) == (10, 1, 1)


class Repeating(Guarded):
    """A server of the handshake era that refuses its stream, and says in which name it was asked for."""

    def app(self) -> Any:
        tools = guarded_app(self, legacy=True)

        async def app(scope: Any, receive: Any, send: Any) -> Any:
            if scope["type"] != "http" or scope["method"] != "GET":
                return await tools(scope, receive, send)
            shown = dict(scope["headers"])[b"authorization"].decode()
            error = {"code": -32000, "message": f"no stream for {shown}"}
            body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
            return await _respond(send, 403, body, {"content-type": "application/json"})

        return app


def test_a_server_that_refuses_to_be_listened_to_has_its_token_taken_out_of_what_it_says():
    repeating = Repeating()

    async def scene() -> str:
        async with reached(repeating, grant(repeating, Grant.CLIENT_CREDENTIALS)).connect("s") as session:
            with pytest.raises(RefusedByServerError) as refused:
                await session.listen(lambda: None)
        return str(refused.value)

    with serving(repeating.app()) as url:
        repeating.url = url
        said = anyio.run(scene)
    assert said.endswith("no stream for Bearer ***")


@pytest.mark.parametrize(
    "user", ["sam ", "Sam", "sam\x00", "../dana", "%73am", "\u017fam", "sa\u0301m", "sam@", "+sam"]
)
def test_no_caller_is_called_like_the_file_of_another(user: str):
    name = file_name(user, None, None)
    assert name is not None
    assert name.isascii()
    assert name.casefold() not in ("sam", "+sam", "dana")
    assert Path(name).name == name


def test_a_caller_whose_name_is_longer_than_a_file_s_is_refused_as_one_without(made: Guarded, tmp_path: Path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    servers = reached(made, UserFiles(folder=tmp_path))
    for user in ("\u00fc" * 200, "folder", "loop"):
        assert isinstance(refusal(servers, RuntimeContext(user=user)), NoCredentialError)
    gone = reached(made, UserFiles(folder=tmp_path / "nothing"))
    assert isinstance(refusal(gone, SAM), NoCredentialError)


@pytest.mark.parametrize("listing", ["", "two\nlines", "two words", "s\u00e9cret", "x" * 20_000])
def test_a_secret_that_cannot_be_sent_is_a_problem_of_its_server_and_in_no_text(tmp_path: Path, listing: str):
    (tmp_path / "pegboard.toml").write_text(
        '[servers.s]\nurl = "https://mcp.example/mcp"\ncredential = { per_user = ".", listing = { env = "LISTING" } }\n'
    )
    problem = load_config(tmp_path / "pegboard.toml", environ={"LISTING": listing}).servers["s"].problem
    assert problem == "the credential for listing cannot be sent: it is not one word of printable ASCII"


@pytest.mark.parametrize(
    ("token_url", "secret"),
    [
        ("https://\u00e4\u00e4.example/t", "x"),
        ("https://e\u3002\u3002x/t", "x"),
        ("https://e.example/\x7f", "x"),
        (f"https://e.example/{'a' * 70_000}", "x"),
        ("https://e.example/t", "\udcff"),
    ],
)
def test_what_is_wrong_with_the_endpoint_of_one_server_is_its_problem_and_no_other_s(
    tmp_path: Path, token_url: str, secret: str
):
    (tmp_path / "pegboard.toml").write_text(
        '[servers.s]\nurl = "https://mcp.example/mcp"\n'
        '[servers.s.credential.oauth]\ntoken_url = "${URL}"\nclient_id = "c"\nclient_secret = { env = "SECRET" }\n'
    )
    config = load_config(tmp_path / "pegboard.toml", environ={"URL": token_url, "SECRET": secret})
    assert config.servers["s"].problem is not None
    assert "\udcff" not in config.servers["s"].problem
