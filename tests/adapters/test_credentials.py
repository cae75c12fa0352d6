"""What a server is shown, and for whom: with a real token endpoint, and a real server that looks at tokens."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.adapters.credential_settings import Grant, UserFiles
from pegboard.adapters.credentials import file_name
from pegboard.adapters.upstream import UpstreamPool
from pegboard.core.context import RuntimeContext
from pegboard.core.errors import RefusedByServerError
from pegboard.service.acting import NoCredentialError, acting, acting_for, presenting
from pegboard.service.identity import Credential, CredentialKind
from tests.adapters.guarded_server import (
    DANA,
    SAM,
    SECRET,
    Guarded,
    asked,
    bearer,
    grant,
    guarded,
    reached,
    refusal,
    who,
)
from tests.adapters.sessions import settings
from tests.service.made import FixedClock
from tests.strategies import cases


@pytest.fixture(scope="module")
def both() -> Iterator[dict[str, Guarded]]:
    with guarded() as modern, guarded(legacy=True) as legacy:
        yield {"modern": modern, "legacy": legacy}


@pytest.fixture(params=["modern", "legacy"])
def server(request: pytest.FixtureRequest, both: dict[str, Guarded]) -> Guarded:
    both[request.param].begins_anew()
    return both[request.param]


@pytest.fixture
def shared(both: dict[str, Guarded]) -> Guarded:
    both["modern"].begins_anew()
    return both["modern"]


# A file for each caller


def test_each_caller_is_shown_by_its_own_file_and_a_new_one_holds_at_once(server, tmp_path: Path):
    servers = reached(server, UserFiles(folder=tmp_path, listing=server.issues("lister")))
    for name in ("sam", "dana"):
        (tmp_path / f"{name}@acme").write_text(f"{server.issues(name)}\n")
    assert [asked(servers, SAM), asked(servers, DANA), asked(servers, None)] == ["sam", "dana", "lister"]
    (tmp_path / "sam@acme").write_text(server.issues("sam-again"))
    assert asked(servers, SAM) == "sam-again"


def test_a_file_that_changed_since_its_credential_was_refused_is_shown_once_more(server, tmp_path: Path):
    servers = reached(server, UserFiles(folder=tmp_path))
    old, new = server.issues("sam"), server.issues("sam")
    server.refused.add(old)
    (tmp_path / "sam@acme").write_text(old)
    assert "HTTP 401" in str(refusal(servers, SAM))
    # The probe and the handshake, each once: there was nothing else to show.
    assert [token for _, token in server.shown] == [old, old]
    (tmp_path / "sam@acme").write_text(new)
    assert asked(servers, SAM) == "sam"


@pytest.mark.parametrize("content", [None, "", "\n", "two words", "two\nlines", "ümlaut", "x" * 20_000])
def test_a_caller_whose_file_holds_no_credential_is_shown_as_nobody(shared, tmp_path: Path, content: str | None):
    if content is not None:
        (tmp_path / "sam@acme").write_text(content)
    said = refusal(reached(shared, UserFiles(folder=tmp_path, listing=shared.issues("lister"))), SAM)
    assert said == NoCredentialError("s", "this caller has no file of its own that holds one")
    assert shared.shown == []


def test_a_caller_of_whom_neither_user_nor_workload_is_known_has_no_file(shared, tmp_path: Path):
    (tmp_path / "@acme").write_text(shared.issues("nobody"))
    assert isinstance(
        refusal(reached(shared, UserFiles(folder=tmp_path)), RuntimeContext(tenant="acme")), NoCredentialError
    )


@pytest.mark.parametrize(
    ("who_asks", "name"),
    [
        (("sam", None, None), "sam"),
        (("sam", "acme", "nightly"), "sam@acme"),
        ((None, "acme", "nightly"), "+nightly@acme"),
        (("Sam@acme.com", "a/b", None), "%53am%40acme.com@a%2Fb"),
        (("..", None, None), "%2E."),
        (("ü", None, None), "%C3%BC"),
        ((None, "acme", None), None),
        (("", None, None), None),
    ],
)
def test_the_name_of_a_caller_s_file(who_asks, name):
    assert file_name(*who_asks) == name


names = st.none() | st.text("aA.@+/%-\u00fc\ud800", min_size=1, max_size=4)
callers = st.tuples(names, names, names)


@given(callers, callers)
@cases(100, 5_000)
def test_no_two_callers_have_one_file_on_any_file_system(one, two):
    def known_by(user: str | None, tenant: str | None, workload: str | None) -> Any:
        return (user, tenant) if user else (user, tenant, workload)

    first, second = file_name(*one), file_name(*two)
    if first is not None and second is not None and known_by(*one) != known_by(*two):
        assert first.casefold() != second.casefold()
    for found in filter(None, (first, second)):
        assert not set(found) & set("/\\\0")
        assert found not in (".", "..")


# A token of our own


def test_a_token_of_our_own_is_asked_for_as_the_file_says_and_used_for_all(server):
    own = grant(server, Grant.CLIENT_CREDENTIALS, scopes=("a", "b"), resource=server.url, audience="crm")
    servers = reached(server, own)
    assert [asked(servers, SAM), asked(servers, DANA), asked(servers, None)] == ["client"] * 3
    assert server.forms == [
        {"grant_type": "client_credentials", "scope": "a b", "resource": server.url, "audience": "crm"}
    ]


def test_a_refused_token_is_fetched_anew_once_and_the_call_is_carried_out_once(server):
    servers = reached(server, grant(server, Grant.CLIENT_CREDENTIALS))
    assert asked(servers, SAM) == "client"
    server.refused |= set(server.owner)
    assert asked(servers, SAM) == "client"
    assert len(server.forms) == 2
    assert server.ran == ["client", "client"]


def test_a_refusal_without_a_challenge_may_be_of_something_behind_the_server_and_nothing_is_sent_again(server):
    servers = reached(server, grant(server, Grant.CLIENT_CREDENTIALS))
    assert asked(servers, SAM) == "client"
    server.challenge, server.refused = [], set(server.owner)
    refusal(servers, SAM)
    assert len(server.forms) == 1


def test_a_call_whose_new_token_is_refused_too_is_sent_twice_and_no_more(shared):
    class Everything(set[str]):
        def __contains__(self, _: object) -> bool:
            return True

    async def scene() -> None:
        async with reached(shared, grant(shared, Grant.CLIENT_CREDENTIALS)).connect("s", SAM.identity) as session:
            shared.refused = Everything()
            with pytest.raises(RefusedByServerError, match="HTTP 401: it wants a credential"):
                await session.call_tool("whoami", {})

    anyio.run(scene)
    calls = [token for method, token in shared.shown if method == "tools/call"]
    assert (len(calls), len(set(calls))) == (2, 2)


# A token in exchange for the caller's


def test_each_caller_reaches_the_server_with_a_token_of_its_own_and_never_with_the_one_it_has_here(server):
    servers = reached(server, grant(server, resource=server.url))
    assert [asked(servers, SAM, "sam-1"), asked(servers, DANA, "dana-1"), asked(servers, SAM, "sam-1")] == [
        "sam", "dana", "sam",
    ]  # fmt: skip
    assert asked(servers, SAM, "sam-2") == "sam"
    assert [form["subject_token"] for form in server.forms] == ["sam-1", "dana-1", "sam-2"]
    assert server.forms[0] == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "subject_token": "sam-1",
        "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "resource": server.url,
    }
    assert not {token for _, token in server.shown} & {"sam-1", "sam-2", "dana-1", None}


def test_the_operator_lists_with_a_token_of_our_own_or_the_one_that_is_configured(server):
    assert asked(reached(server, grant(server)), None) == "client"
    assert asked(reached(server, grant(server, listing=server.issues("lister"))), None) == "lister"


def test_a_caller_without_a_token_is_refused_clearly_and_nothing_is_sent(shared):
    servers = reached(shared, grant(shared))
    assert "presented no access token" in str(refusal(servers, SAM))
    key = Credential(kind=CredentialKind.API_KEY, text="pgb_1")

    async def with_a_key() -> None:
        with presenting(key, SAM):
            await who(servers, SAM)

    with pytest.raises(NoCredentialError):
        anyio.run(with_a_key)
    assert (shared.shown, shared.forms) == ([], [])


def test_a_session_shows_nothing_of_whoever_else_acts_in_it(shared):
    async def scene() -> None:
        with presenting(bearer("sam-1"), SAM):
            async with reached(shared, grant(shared)).connect("s", SAM.identity) as session:
                with presenting(bearer("dana-1"), DANA):
                    await session.call_tool("whoami", {})

    with pytest.raises(NoCredentialError, match="not known for whom"):
        anyio.run(scene)


def test_what_is_acted_with_is_another_s_for_no_one_and_in_no_text():
    assert acting(SAM.identity) is None
    with presenting(bearer("sam-1"), SAM):
        assert acting(DANA.identity) is None
        with acting_for(SAM):
            found = acting(SAM.identity)
        with acting_for(DANA):
            assert acting(SAM.identity) is None
    assert found is not None
    assert found.token == "sam-1"
    assert "sam-1" not in repr(found)


def test_a_refused_exchanged_token_is_exchanged_anew_once(server):
    servers = reached(server, grant(server))
    assert asked(servers, SAM, "sam-1") == "sam"
    server.refused |= set(server.owner)
    assert asked(servers, SAM, "sam-1") == "sam"
    assert len(server.forms) == 2


STEPS = st.lists(
    st.tuples(st.sampled_from(["sam", "dana", "eve"]), st.integers(1, 2), st.sampled_from(["call", "refuse"])),
    min_size=2,
    max_size=5,
)


@given(st.lists(STEPS, min_size=1, max_size=3), st.booleans())
@cases(4, 400)
def test_however_calls_interleave_none_is_made_with_a_token_of_another(both, rounds, expiring):
    shared = both["modern"]
    shared.begins_anew()
    people = {name: RuntimeContext(user=name, tenant="acme") for name in ("sam", "dana", "eve")}
    seen: list[tuple[str, str]] = []

    async def scene() -> None:
        clock = FixedClock()
        pool = UpstreamPool(reached(shared, grant(shared), clock), clock)

        async def call(name: str, number: int) -> None:
            # A token may be refused, and the next one with it.
            with suppress(RefusedByServerError):
                seen.append((name, await who(pool, people[name], f"{name}-{number}")))

        async with pool.running():
            for steps in rounds:
                async with anyio.create_task_group() as tasks:
                    for name, number, deed in steps:
                        if deed == "refuse":
                            shared.refused |= {one for one, owner in shared.owner.items() if owner == name}
                        tasks.start_soon(call, name, number)
                clock.time += 600 if expiring else 0

    anyio.run(scene)
    assert [name for name, _ in seen] == [owner for _, owner in seen]


def test_settings_show_no_secret(shared, tmp_path: Path):
    for one in (grant(shared, listing="l1st"), UserFiles(folder=tmp_path, listing="l1st")):
        shown = repr(one) + repr(settings(url=shared.url, credential=one))
        assert SECRET not in shown
        assert "l1st" not in shown
