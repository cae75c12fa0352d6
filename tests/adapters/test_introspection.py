"""Opaque tokens: their issuer's word is asked for as it must be, taken for some seconds, and checked like any token."""

import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from pegboard.adapters.introspection import Introspection
from pegboard.adapters.jwt import UNAVAILABLE
from pegboard.adapters.token_settings import IntrospectionSettings
from pegboard.service.identity import Refused, Verified
from tests.adapters.issuer import AUDIENCE, NOW, Issuer, egress_to, serving
from tests.service.made import FixedClock

ACTIVE = {"active": True, "sub": "sam", "aud": AUDIENCE, "exp": NOW + 600, "scope": "crm.read"}
SECRET = "s:e/c ret"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with serving(found := Issuer()):
        found.answers["/introspect"] = says(ACTIVE)
        yield found


def says(value: Any) -> tuple[int, dict[str, str], bytes]:
    return 200, {}, json.dumps(value).encode()


def made(issuer: Issuer, clock: FixedClock | None = None, **settings: Any) -> Introspection:
    url = f"{issuer.url}/introspect"
    ours = IntrospectionSettings(
        issuer="https://login.example.com", audience=AUDIENCE, url=url, client_id="peg board", secret=SECRET, **settings
    )
    return Introspection(ours, egress_to(url), clock or FixedClock(NOW))


def verify(issuer: Issuer, token: str = "opaque") -> Verified | Refused:
    return anyio.run(made(issuer).verify, token)


def test_the_issuer_is_asked_about_the_token_by_a_client_that_says_who_it_is(issuer):
    found = verify(issuer, "opaque&token=x")
    assert isinstance(found, Verified)
    assert (found.claims["sub"], found.expires_at) == ("sam", NOW + 600)
    named = b64encode(b"peg%20board:s%3Ae%2Fc%20ret").decode()
    assert issuer.forms == [("token=opaque%26token%3Dx&token_type_hint=access_token", f"Basic {named}")]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"active": False}, "the token is unknown, expired or revoked"),
        ({**ACTIVE, "active": "true"}, "the token is unknown, expired or revoked"),
        ({**ACTIVE, "active": 1}, "the token is unknown, expired or revoked"),
        ([ACTIVE], "the token is unknown, expired or revoked"),
        ({**ACTIVE, "iss": "https://evil.example.com"}, "the token is of another issuer"),
        ({**ACTIVE, "aud": "https://evil.example.com"}, "the token is for another audience"),
        ({**ACTIVE, "aud": None}, "the token is for another audience"),
        ({**ACTIVE, "exp": None}, "the token does not say when it expires"),
        ({**ACTIVE, "exp": NOW - 61}, "the token has expired"),
        ({**ACTIVE, "exp": 10**400}, "the token does not say when it expires"),
        ({**ACTIVE, "cnf": {}}, "the token is bound to a key, which is not checked here"),
    ],
)
def test_what_the_issuer_says_of_the_token_is_checked(issuer, answer, problem):
    issuer.answers["/introspect"] = says(answer)
    found = verify(issuer)
    assert isinstance(found, Refused)
    assert (found.status, found.description) == (401, problem)


@pytest.mark.parametrize(
    "answer", [(401, {}, b"{}"), (302, {"location": "/keys"}, b""), (200, {}, b"no JSON"), (200, {}, b"x" * 70_000)]
)
def test_where_the_issuer_gives_no_answer_nobody_is_let_in(issuer, answer):
    issuer.answers["/introspect"] = answer
    assert verify(issuer) == UNAVAILABLE


def test_an_answer_is_taken_again_for_some_seconds_and_only_for_its_own_token(issuer):
    clock = FixedClock(NOW)
    asked = made(issuer, clock, kept_s=10.0)

    async def run() -> None:
        for _ in range(3):
            assert isinstance(await asked.verify("one"), Verified)
        assert len(issuer.forms) == 1
        issuer.answers["/introspect"] = says({"active": False})
        assert isinstance(await asked.verify("two"), Refused)
        clock.time += 10.0
        assert isinstance(await asked.verify("one"), Refused)

    anyio.run(run)


def test_a_token_that_expires_meanwhile_is_refused_though_its_answer_is_kept(issuer):
    clock = FixedClock(NOW)
    asked = made(issuer, clock, kept_s=300.0, skew_s=0.0)
    issuer.answers["/introspect"] = says({**ACTIVE, "exp": NOW + 5})

    async def run() -> None:
        assert isinstance(await asked.verify("one"), Verified)
        clock.time += 5
        assert isinstance(await asked.verify("one"), Refused)
        assert len(issuer.forms) == 1

    anyio.run(run)


def test_a_refusal_is_never_kept(issuer):
    asked = made(issuer)
    issuer.answers["/introspect"] = says({"active": False})

    async def run() -> None:
        assert isinstance(await asked.verify("one"), Refused)
        issuer.answers["/introspect"] = says(ACTIVE)
        assert isinstance(await asked.verify("one"), Verified)

    anyio.run(run)


def test_so_many_answers_are_kept_and_the_oldest_go_first(issuer, monkeypatch):
    monkeypatch.setattr("pegboard.adapters.introspection._KEPT_AT_MOST", 2)
    asked = made(issuer)

    async def run() -> None:
        for token in ("one", "two", "three", "three", "two", "one"):
            await asked.verify(token)

    anyio.run(run)
    assert [form.split("&")[0] for form, _ in issuer.forms] == ["token=one", "token=two", "token=three", "token=one"]


def test_no_secret_is_shown(issuer):
    assert SECRET not in repr(made(issuer)._settings)


def test_an_operator_is_told_why_nobody_can_be_asked_about(issuer):
    assert anyio.run(made(issuer).problem) is None
    issuer.answers["/introspect"] = (401, {}, b"")
    assert anyio.run(made(issuer).problem) == "the answer has status 401; redirects are not followed"
