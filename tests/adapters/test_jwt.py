"""Signed tokens: every way in which one can be wrong, with real keys over real HTTP on the loopback address."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from pegboard.adapters.jwks import KeySet, key_source
from pegboard.adapters.jwt import CHECKS, UNAVAILABLE, JwtVerifier, judged
from pegboard.adapters.token_settings import ALGORITHMS, JwtSettings
from pegboard.service.identity import LONGEST, Refused, Verified
from tests.adapters.issuer import AUDIENCE, NOW, Issuer, Key, egress_to, serving
from tests.service.made import FixedClock

OURS = JwtSettings(issuer="https://login.example.com", audience=AUDIENCE)
GOOD = {"iss": OURS.issuer, "aud": AUDIENCE, "exp": NOW + 600, "sub": "sam"}


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with serving(found := Issuer()):
        yield found


def verify(issuer: Issuer, *tokens: str, **settings: Any) -> list[Verified | Refused]:
    async def run() -> list[Verified | Refused]:
        ours = JwtSettings(issuer=issuer.url, audience=AUDIENCE, **settings)
        clock = FixedClock(NOW)
        keys = KeySet(key_source(ours, egress_to(issuer.url)), clock)
        verifier = JwtVerifier(ours, keys, clock)
        return [await verifier.verify(token) for token in tokens]

    return anyio.run(run)


def problem_of(issuer: Issuer, token: str, **settings: Any) -> str:
    (found,) = verify(issuer, token, **settings)
    assert isinstance(found, Refused), "the token was taken"
    assert (found.status, found.error) == (401, "invalid_token")
    return found.description


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


ACCEPTED = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


def test_these_algorithms_are_accepted_and_no_other() -> None:
    assert list(ALGORITHMS) == ACCEPTED


@pytest.mark.parametrize("algorithm", ACCEPTED)
def test_a_good_token_of_every_accepted_algorithm_is_verified(algorithm: str) -> None:
    with serving(issuer := Issuer(Key("one", algorithm))):
        (found,) = verify(issuer, issuer.token(scope="crm.read"))
    assert isinstance(found, Verified)
    assert (found.claims["sub"], found.claims["scope"], found.expires_at) == ("sam", "crm.read", NOW + 600)


@pytest.mark.parametrize("typ", ["at+jwt", "application/at+jwt", "AT+JWT", "JWT", None])
def test_a_token_of_these_types_is_taken(issuer: Issuer, typ: str | None) -> None:
    assert isinstance(verify(issuer, issuer.token(headers={"typ": typ}))[0], Verified)


@pytest.mark.parametrize("aud", [AUDIENCE, [AUDIENCE], ["https://other.example.com", AUDIENCE]])
def test_a_token_for_us_among_others_is_taken(issuer: Issuer, aud: Any) -> None:
    assert isinstance(verify(issuer, issuer.token(aud=aud))[0], Verified)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"iss": "https://evil.example.com"}, "the token is of another issuer"),
        ({"iss": None}, "the token is of another issuer"),
        ({"aud": AUDIENCE + "/"}, "the token is for another audience"),
        ({"aud": AUDIENCE.upper()}, "the token is for another audience"),
        ({"aud": "https://tools.example.com"}, "the token is for another audience"),
        ({"aud": None}, "the token is for another audience"),
        ({"aud": []}, "the token is for another audience"),
        ({"aud": {AUDIENCE: 1}}, "the token is for another audience"),
        ({"exp": None}, "the token does not say when it expires"),
        ({"exp": True}, "the token does not say when it expires"),
        ({"exp": str(NOW + 600)}, "the token does not say when it expires"),
        ({"exp": 10**400}, "the token does not say when it expires"),
        ({"exp": NOW - 60}, "the token has expired"),
        ({"nbf": NOW + 61}, "the token is not valid yet"),
        ({"nbf": "now"}, "the token is not valid yet"),
        ({"iat": NOW + 61}, "the token is from the future"),
        ({"iat": [1]}, "the token is from the future"),
        ({"cnf": {"jkt": "x"}}, "the token is bound to a key, which is not checked here"),
    ],
)
def test_a_token_with_this_claim_is_refused_and_told_why(issuer: Issuer, changes: dict[str, Any], problem: str) -> None:
    said = json.dumps(issuer.claims(**changes)).encode()
    token = jwt.PyJWS().encode(said, issuer.keys[0].private, "ES256", headers={"kid": "one"})
    assert problem_of(issuer, token) == problem


@pytest.mark.parametrize("changes", [{"exp": NOW - 59}, {"nbf": NOW + 60}, {"iat": NOW + 60}])
def test_clocks_may_be_a_minute_apart(issuer: Issuer, changes: dict[str, Any]) -> None:
    token = issuer.token(**changes)
    assert isinstance(verify(issuer, token)[0], Verified)
    assert isinstance(verify(issuer, token, skew_s=0.0)[0], Refused)


@given(st.sampled_from([row[0] for row in CHECKS]), st.data())
def test_no_claim_makes_up_for_another_that_fails(problem: str, data: st.DataObject) -> None:
    wrong = {
        "the token is of another issuer": {"iss": "https://evil.example.com"},
        "the token is for another audience": {"aud": "https://evil.example.com"},
        "the token does not say when it expires": {"exp": None},
        "the token has expired": {"exp": NOW - 61},
        "the token is not valid yet": {"nbf": NOW + 61},
        "the token is from the future": {"iat": NOW + 61},
        "the token is bound to a key, which is not checked here": {"cnf": {}},
    }
    more = data.draw(st.dictionaries(st.sampled_from(["scope", "admin", "active", "typ"]), st.booleans()))
    assert isinstance(judged({**GOOD, **more}, OURS, NOW), Verified)
    found = judged({**more, **GOOD, **wrong[problem]}, OURS, NOW)
    assert isinstance(found, Refused)
    assert found.description == problem


def signed_with_the_public_key(issuer: Issuer) -> str:
    """Take the issuer's public key for a secret one: the oldest of these attacks."""
    pem = issuer.keys[0].private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    body = f"{part({'alg': 'HS256', 'kid': 'one', 'typ': 'at+jwt'})}.{part(issuer.claims())}"
    seal = hmac.new(pem, body.encode(), hashlib.sha256).digest()
    return f"{body}.{base64.urlsafe_b64encode(seal).rstrip(b'=').decode()}"


FORGED: dict[str, tuple[Callable[[Issuer], str], str]] = {
    "unsigned": (
        lambda issuer: f"{part({'alg': 'none'})}.{part(issuer.claims())}.",
        "the token is signed in a way that is not accepted",
    ),
    "None in other letters": (
        lambda issuer: f"{part({'alg': 'nOnE'})}.{part(issuer.claims())}.",
        "the token is signed in a way that is not accepted",
    ),
    "HMAC with the public key": (
        signed_with_the_public_key,
        "the token is signed in a way that is not accepted",
    ),
    "a key of somebody else": (
        lambda issuer: issuer.token(Key("two")),
        "the token is signed with a key that is not the issuer's",
    ),
    "a key of somebody else under our id": (
        lambda issuer: issuer.token(Key("two"), headers={"kid": "one"}),
        "the token is malformed or its signature is wrong",
    ),
    "an algorithm of another key": (
        lambda issuer: issuer.token(Key("one", "RS256")),
        "the token is signed with a key that is not the issuer's",
    ),
    "its own key": (
        lambda issuer: issuer.token(Key("two"), headers={"kid": None, "jwk": Key("two").public()}),
        "the token is malformed or its signature is wrong",
    ),
    "an address of keys": (
        lambda issuer: issuer.token(Key("two"), headers={"jku": f"{issuer.url}/evil", "x5u": f"{issuer.url}/evil"}),
        "the token is signed with a key that is not the issuer's",
    ),
    "another type": (lambda issuer: issuer.token(headers={"typ": "logout+jwt"}), "this is no access token"),
    "a type that is no text": (
        lambda issuer: f"{part({'alg': 'ES256', 'typ': 7})}.{part(issuer.claims())}.AA",
        "this is no access token",
    ),
    "what must be understood": (
        lambda issuer: f"{part({'alg': 'ES256', 'crit': ['b64'], 'b64': True})}.{part(issuer.claims())}.AA",
        "this is no access token",
    ),
    "a changed claim": (
        lambda issuer: ".".join(
            (issuer.token().split(".")[0], part(issuer.claims(sub="root")), issuer.token().split(".")[2])
        ),
        "the token is malformed or its signature is wrong",
    ),
    "an algorithm that is a list": (
        lambda issuer: f"{part({'alg': ['ES256']})}.{part(issuer.claims())}.AA",
        "the token is malformed or its signature is wrong",
    ),
    "no token": (lambda _: "rubbish", "the token is malformed or its signature is wrong"),
    "not even ASCII": (lambda _: "é.é.é", "the token is malformed or its signature is wrong"),
    "huge": (lambda _: "a" * (LONGEST + 1), "the token is too long"),
    "nested deep": (
        lambda _: base64.urlsafe_b64encode(b"[" * 9000).decode() + ".e30.AA",
        "the token is malformed or its signature is wrong",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_token_is_refused(issuer: Issuer, name: str) -> None:
    forge, problem = FORGED[name]
    assert problem_of(issuer, forge(issuer)) == problem
    assert "/evil" not in issuer.asked


@pytest.mark.parametrize("algorithm", ["RS256", "EdDSA"])
def test_an_algorithm_that_the_operator_left_out_is_refused(algorithm: str) -> None:
    with serving(issuer := Issuer(Key("one", algorithm))):
        said = problem_of(issuer, issuer.token(), algorithms=frozenset({"ES256"}))
    assert said == "the token is signed in a way that is not accepted"


def test_a_claim_that_is_said_twice_refuses_the_token(issuer: Issuer) -> None:
    body = json.dumps(issuer.claims())[:-1] + ', "sub": "root"}'
    token = jwt.PyJWS().encode(body.encode(), issuer.keys[0].private, "ES256", headers={"kid": "one"})
    assert problem_of(issuer, token) == "the token is malformed or its signature is wrong"


@pytest.mark.parametrize("body", [b"[]", b"null", b'"sam"'])
def test_claims_that_are_no_object_refuse_the_token(issuer: Issuer, body: bytes) -> None:
    token = jwt.PyJWS().encode(body, issuer.keys[0].private, "ES256", headers={"kid": "one"})
    assert problem_of(issuer, token) == "the token is malformed"


def test_a_short_rsa_key_of_the_issuer_verifies_nothing() -> None:
    key = Key("short", "RS256")
    key.private = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    with serving(issuer := Issuer(key)):
        with pytest.warns(match="1024 bits"):
            token = issuer.token()
        assert problem_of(issuer, token) == "the token is malformed or its signature is wrong"


def test_where_no_key_can_be_had_nobody_is_let_in_and_nobody_is_sent_away_for_good(issuer: Issuer) -> None:
    issuer.answers["/keys"] = (500, {}, b"")
    assert verify(issuer, issuer.token()) == [UNAVAILABLE]
    assert UNAVAILABLE.status == 503


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda raw: base64.urlsafe_b64encode(raw).decode() + "."))
def test_no_text_is_a_token_and_none_makes_the_verifier_raise(text: str) -> None:
    async def run() -> Verified | Refused:
        async def keys() -> bytes:
            return Issuer().jwks()

        return await JwtVerifier(OURS, KeySet(keys, FixedClock(NOW)), FixedClock(NOW)).verify(text)

    assert isinstance(anyio.run(run), Refused)
