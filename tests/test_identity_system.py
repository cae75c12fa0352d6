"""A deployment as its configuration describes it, asked by callers of a real issuer, and by keys that were made."""

import json
from collections.abc import Iterator
from contextlib import closing

import anyio
import pytest

from pegboard.core.context import RuntimeContext
from pegboard.service.identity import Application, Refused, presented
from pegboard.service.keys import KeyRole
from pegboard.service.stated import Stated
from pegboard.wiring import build, identity_of, read_config
from tests.adapters.issuer import AUDIENCE, Issuer, serving

CONFIG = """\
[identity]
servers = ["crm"]
[identity.claims]
tenant = "org"
[identity.workloads.desk]
tenant = "acme"
scopes = ["crm.read"]
[identity.WAY]
issuer = "ISSUER"
audience = "AUDIENCE"
"""
ASKED = 'url = "ISSUER/introspect"\nclient_id = "pegboard"\ncredential = { env = "ISSUER_SECRET" }\n'
FOREVER = 4_000_000_000


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with serving(found := Issuer()):
        yield found


@pytest.fixture
def deployment(issuer, tmp_path, monkeypatch):
    """Open a deployment that takes this issuer's tokens, verified in one way or the other."""
    monkeypatch.setenv("ISSUER_SECRET", "s3cret")

    def opened(way: str, more: str = ""):
        path = tmp_path / "pegboard.toml"
        text = f'[retrieval]\nranking = "words"\n{CONFIG}{more}'.replace("WAY", way).replace("AUDIENCE", AUDIENCE)
        path.write_text(
            text.replace("ISSUER_SECRET", "\0").replace("ISSUER", issuer.url).replace("\0", "ISSUER_SECRET")
        )
        config = read_config(path)
        return config, build(config)

    return opened


def test_signed_tokens_keys_and_stated_contexts_work_together(issuer, deployment):
    config, system = deployment("jwt")

    async def run() -> None:
        identity = identity_of(config, system)
        token = presented([f"Bearer {issuer.token(exp=FOREVER, org='acme', scope='crm.read')}"])
        assert not isinstance(token, Refused)
        context = await identity.context_of(token)
        assert context == RuntimeContext(
            user="sam",
            tenant="acme",
            scopes=frozenset({"crm.read"}),
            servers=frozenset({"crm"}),
            environment="production",
        )
        made = await system.keys.create("app", workload="desk", by="dana", role=KeyRole.APPLICATION)
        key = presented([f"Bearer {made.secret}"])
        assert not isinstance(key, Refused)
        application = await identity.application_of(key, KeyRole.APPLICATION)
        assert isinstance(application, Application)
        await identity.set_context(application, token, Stated(stage="resolution"))
        found = await identity.context_of(token)
        assert isinstance(found, RuntimeContext)
        assert found.stage == "resolution"
        await system.keys.revoke("app", by="dana")
        assert isinstance(await identity.application_of(key, KeyRole.APPLICATION), Refused)

    with closing(system):
        anyio.run(run)


def test_opaque_tokens_are_asked_about(issuer, deployment):
    config, system = deployment("introspection", ASKED)
    said = {"active": True, "sub": "sam", "aud": AUDIENCE, "exp": FOREVER, "org": "acme"}
    issuer.answers["/introspect"] = (200, {}, json.dumps(said).encode())

    async def run() -> None:
        token = presented(["Bearer opaque"])
        assert not isinstance(token, Refused)
        found = await identity_of(config, system).context_of(token)
        assert isinstance(found, RuntimeContext)
        assert (found.user, found.tenant) == ("sam", "acme")

    with closing(system):
        anyio.run(run)
    assert len(issuer.forms) == 1
