"""The issuer's keys: kept for a while, found again after a rotation, and never served for longer than they may be."""

import json
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from pegboard.adapters.egress import EgressError
from pegboard.adapters.jwks import FRESH_S, SOONEST_S, STALE_S, KeysError, KeySet, key_source
from pegboard.adapters.token_settings import JwtSettings
from tests.adapters.issuer import AUDIENCE, NOW, Issuer, Key, egress_to, serving
from tests.service.made import FixedClock

ONE, TWO = Key("one"), Key("two")


class Script:
    """What the document of keys is, from one fetch to the next; an exception is raised."""

    def __init__(self, *documents: Any) -> None:
        self.documents = list(documents)
        self.fetched = 0

    async def __call__(self) -> bytes:
        self.fetched += 1
        found = self.documents.pop(0) if len(self.documents) > 1 else self.documents[0]
        if isinstance(found, Exception):
            raise found
        return found if isinstance(found, bytes) else json.dumps(found).encode()


def document(*keys: Any) -> dict[str, Any]:
    return {"keys": list(keys)}


def made(*documents: Any) -> tuple[KeySet, Script, FixedClock]:
    script, clock = Script(*documents), FixedClock(NOW)
    return KeySet(script, clock), script, clock


def ask(keys: KeySet, kid: str | None = "one", algorithm: str = "ES256") -> Any:
    return anyio.run(keys.key, kid, algorithm)


def test_keys_are_fetched_once_and_again_when_they_are_no_longer_fresh():
    keys, script, clock = made(document(ONE.public()))
    for _ in range(3):
        assert ask(keys) == ONE.public()
    assert script.fetched == 1
    clock.time += FRESH_S + 1
    assert ask(keys) == ONE.public()
    assert script.fetched == 2


def test_a_new_key_is_found_when_a_token_names_it_and_a_withdrawn_one_is_gone():
    keys, script, clock = made(document(ONE.public()), document(TWO.public()))
    ask(keys)
    clock.time += SOONEST_S
    assert ask(keys, "two") == TWO.public()
    clock.time += SOONEST_S
    assert ask(keys, "one") is None
    assert script.fetched == 3


def test_whoever_names_unknown_keys_makes_us_fetch_no_more_often_than_this():
    keys, script, clock = made(document(ONE.public()))
    for number in range(200):
        assert ask(keys, f"no-{number}") is None
        clock.time += SOONEST_S / 100
    assert script.fetched <= 3


def test_while_the_issuer_is_down_known_keys_serve_for_an_hour_and_then_nobody_is_let_in():
    keys, script, clock = made(document(ONE.public()), EgressError("down"))
    ask(keys)
    clock.time += FRESH_S + STALE_S
    assert ask(keys) == ONE.public()
    clock.time += SOONEST_S
    with pytest.raises(KeysError, match="cannot be had: down"):
        ask(keys)
    assert script.fetched == 3


def test_an_issuer_that_is_down_is_not_asked_more_often_either():
    keys, script, _ = made(EgressError("down"))
    for _ in range(5):
        with pytest.raises(KeysError):
            ask(keys)
    assert script.fetched == 1


def test_an_operator_is_told_why_there_are_no_keys_once_for_each_reason_and_until_there_are(caplog):
    keys, _, clock = made(EgressError("down"), EgressError("down"), ValueError("no keys"), document(ONE.public()))
    found = []
    for _ in range(4):
        found.append(anyio.run(keys.problem))
        clock.time += SOONEST_S
    assert found == ["down", "down", "no keys", None]
    assert [one.getMessage() for one in caplog.records] == [
        "the issuer's keys cannot be had: down",
        "the issuer's keys cannot be had: no keys",
    ]


def test_when_the_issuer_is_back_its_keys_are_too():
    keys, _, clock = made(EgressError("down"), document(ONE.public()))
    with pytest.raises(KeysError):
        ask(keys)
    clock.time += SOONEST_S
    assert ask(keys) == ONE.public()


def test_many_callers_at_once_fetch_once():
    keys, script, _ = made(document(ONE.public()))

    async def run() -> None:
        async with anyio.create_task_group() as group:
            for kid in ("one", "two", None) * 10:
                group.start_soon(keys.key, kid, "ES256")

    anyio.run(run)
    assert script.fetched == 1


def test_while_keys_are_being_fetched_those_at_hand_serve():
    keys, _, clock = made(document(ONE.public()))
    ask(keys)

    async def run() -> None:
        arrived, leave = anyio.Event(), anyio.Event()

        async def slow() -> bytes:
            arrived.set()
            await leave.wait()
            return json.dumps(document(TWO.public())).encode()

        keys._load = slow
        clock.time += FRESH_S + 1
        async with anyio.create_task_group() as group:
            group.start_soon(keys.key, "one", "ES256")
            await arrived.wait()
            assert await keys.key("one", "ES256") == ONE.public()
            leave.set()

    anyio.run(run)


def test_a_caller_that_gives_up_meanwhile_leaves_the_keys_to_the_others():
    async def run() -> None:
        scope, fetched = anyio.CancelScope(), []

        async def load() -> bytes:
            scope.cancel()
            await anyio.lowlevel.checkpoint()
            fetched.append(True)
            return json.dumps(document(ONE.public())).encode()

        keys = KeySet(load, FixedClock(NOW))
        with scope:
            await keys.key("one", "ES256")
        assert await keys.key("one", "ES256") == ONE.public()
        assert fetched == [True]

    anyio.run(run)


@pytest.mark.parametrize(
    ("kid", "algorithm", "keys", "found"),
    [
        (None, "ES256", [ONE.public()], ONE.public()),
        (None, "ES256", [ONE.public(), TWO.public()], None),
        (None, "ES256", [ONE.public(), Key("r", "RS256").public()], ONE.public()),
        ("one", "ES256", [ONE.public(), ONE.public()], None),
        ("one", "ES384", [ONE.public(alg=None)], None),
        ("one", "ES256", [ONE.public(alg="ES384")], None),
        ("one", "ES256", [ONE.public(kid=None)], None),
        ("r", "PS256", [Key("r", "RS256").public()], None),
        ("r", "PS256", [Key("r", "RS256").public(alg=None)], Key("r", "RS256").public(alg=None)),
    ],
)
def test_a_key_is_the_one_that_is_meant_or_none(kid, algorithm, keys, found):
    assert ask(made(document(*keys))[0], kid, algorithm) == found


@pytest.mark.parametrize(
    "bad",
    [
        {"kty": "oct", "k": "c2VjcmV0", "kid": "one"},
        ONE.public(use="enc"),
        ONE.public(key_ops=["sign"]),
        ONE.public(key_ops="verify"),
        ONE.public(d="c2VjcmV0"),
        ONE.public(kty="XX"),
        "a text",
    ],
)
def test_a_key_of_another_use_is_passed_over(bad):
    assert ask(made(document(bad, TWO.public()))[0], "one") is None
    assert ask(made(document(bad, ONE.public()))[0], "one") == ONE.public()


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"7", b"{}", b'{"keys": {}}', b'{"keys": []}', b'{"keys": [], "keys": []}'),
        json.dumps(document(*[ONE.public()] * 101)).encode(),
        b"[" * 100_000,
        b"\xff",
    ],
    ids=range(11),
)
def test_a_document_that_is_no_set_of_keys_changes_nothing(body):
    keys, _, clock = made(document(ONE.public()), body)
    ask(keys)
    clock.time += FRESH_S + 1
    assert ask(keys) == ONE.public()
    with pytest.raises(KeysError):
        ask(made(body)[0])


# Where the keys are.


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with serving(found := Issuer()):
        yield found


def fetched(issuer: Issuer, **where: Any) -> bytes:
    settings = JwtSettings(issuer=issuer.url + where.pop("path", ""), audience=AUDIENCE, **where)
    return anyio.run(key_source(settings, egress_to(settings.issuer)))


def metadata(serving: Issuer, **changes: Any) -> tuple[int, dict[str, str], bytes]:
    return 200, {}, json.dumps({"issuer": serving.url, "jwks_uri": f"{serving.url}/keys", **changes}).encode()


def test_keys_come_from_where_the_issuers_metadata_says(issuer):
    assert fetched(issuer) == issuer.jwks()
    assert issuer.asked == ["/.well-known/oauth-authorization-server", "/keys"]


def test_openid_metadata_is_asked_where_there_is_no_other(issuer):
    issuer.answers["/.well-known/oauth-authorization-server"] = (404, {}, b"")
    issuer.answers["/.well-known/openid-configuration"] = metadata(issuer)
    assert fetched(issuer) == issuer.jwks()


def test_the_metadata_of_an_issuer_with_a_path_is_asked_for_in_both_places(issuer):
    issuer.answers["/realms/acme/.well-known/openid-configuration"] = metadata(
        issuer, issuer=f"{issuer.url}/realms/acme"
    )
    assert fetched(issuer, path="/realms/acme") == issuer.jwks()
    assert issuer.asked[0] == "/.well-known/oauth-authorization-server/realms/acme"


def test_an_address_or_a_file_of_keys_is_taken_at_its_word(issuer, tmp_path):
    assert fetched(issuer, jwks_url=f"{issuer.url}/keys") == issuer.jwks()
    (tmp_path / "keys.json").write_bytes(b"{}")
    assert fetched(issuer, jwks_file=tmp_path / "keys.json") == b"{}"
    assert issuer.asked == ["/keys"]


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": "https://evil.example.com"},
        {"issuer": None},
        {"jwks_uri": None},
        {"jwks_uri": ["https://evil.example.com"]},
        {"jwks_uri": "http://169.254.169.254/latest/meta-data/"},
        {"jwks_uri": "https://169.254.169.254/latest/meta-data/"},
        {"jwks_uri": "https://2852039166/"},
        {"jwks_uri": "https://0xa9fea9fe/"},
        {"jwks_uri": "https://[::ffff:169.254.169.254]/"},
        {"jwks_uri": "https://localhost/"},
        {"jwks_uri": "file:///etc/passwd"},
    ],
)
def test_metadata_that_leads_elsewhere_leads_nowhere(issuer, changes):
    issuer.answers["/.well-known/oauth-authorization-server"] = metadata(issuer, **changes)
    with pytest.raises((EgressError, ValueError)):
        fetched(issuer)
    assert "/keys" not in issuer.asked
