"""Identity: what is a credential, what each kind of it opens, and what a refused caller is told."""

from dataclasses import replace
from typing import Any

import pytest

from pegboard.adapters.memory_audit import MemoryAudit
from pegboard.adapters.memory_keys import MemoryContexts, MemoryKeys
from pegboard.core.context import RuntimeContext
from pegboard.service.audit import Audit
from pegboard.service.claims import IdentitySettings, Workload
from pegboard.service.identity import (
    LONGEST,
    NO_CREDENTIAL,
    Application,
    Credential,
    CredentialKind,
    Identity,
    Refused,
    Verified,
    insufficient_scope,
    invalid_token,
    presented,
)
from pegboard.service.keys import KeyRole, Keys
from tests.service.test_keys import Dice

pytestmark = pytest.mark.anyio

SAM = RuntimeContext(user="sam", environment="development", stage="investigation")
SETTINGS = IdentitySettings(
    issuer="https://login.example.com",
    audience="https://tools.example.com/mcp",
    servers=frozenset({"crm"}),
    claims={"tenant": ("tenant",), "flags": ("flags",), "clearance": ("clearance",)},
    workloads={"desk": Workload(tenant="acme", scopes=frozenset({"crm.read"}))},
)


class Tokens:
    """Verifies the tokens that a test names."""

    def __init__(self, **tokens: dict[str, Any]) -> None:
        self.tokens = tokens
        self.expires_at = 2_000.0

    async def verify(self, token: str) -> Verified | Refused:
        claims = self.tokens.get(token)
        return invalid_token("no") if claims is None else Verified(claims=claims, expires_at=self.expires_at)


class Desk:
    """An identity with everything around it in memory."""

    def __init__(self, audit: MemoryAudit | None = None, verifier: Tokens | None = None, **settings: Any) -> None:
        self.clock, self.stream, self.contexts = Dice(), audit or MemoryAudit(), MemoryContexts()
        stream = Audit(self.stream, self.clock)
        self.keys = Keys(MemoryKeys(), Audit(MemoryAudit(), self.clock), self.clock)
        self.tokens = verifier or Tokens(sam={"sub": "sam", "tenant": "acme"}, eve={"sub": "eve", "tenant": "other"})
        self.identity = Identity(
            replace(SETTINGS, **settings),
            self.keys,
            self.contexts,
            stream,
            self.clock,
            verifier=self.tokens,
            profiles={"sam": SAM},
        )

    async def key(self, role: KeyRole, workload: str = "desk", **more: Any) -> Credential:
        made = await self.keys.create(f"{role}-{workload}", workload=workload, by="dana", role=role, **more)
        return key(made.secret)

    async def application(self, workload: str = "app") -> Application:
        found = await self.identity.application_of(await self.key(KeyRole.APPLICATION, workload), KeyRole.APPLICATION)
        assert isinstance(found, Application)
        return found


def bearer(text: str) -> Credential:
    return Credential(kind=CredentialKind.BEARER, text=text)


def key(text: str) -> Credential:
    return Credential(kind=CredentialKind.API_KEY, text=text)


def profile(text: str) -> Credential:
    return Credential(kind=CredentialKind.PROFILE, text=text)


# What is presented.


@pytest.mark.parametrize(
    ("header", "kind", "text"),
    [
        ("Bearer abc", CredentialKind.BEARER, "abc"),
        ("bearer  abc ", CredentialKind.BEARER, "abc"),
        ("Bearer pgb_1_2", CredentialKind.API_KEY, "pgb_1_2"),
        ("Bearer " + "x" * LONGEST, CredentialKind.BEARER, "x" * LONGEST),
    ],
)
def test_one_header_with_a_token_or_a_key_is_a_credential(header, kind, text):
    assert presented([header]) == Credential(kind=kind, text=text)


@pytest.mark.parametrize(
    "headers",
    [
        ["Bearer a", "Bearer a"],
        *([one] for one in ("", "Bearer", "Bearer ", "abc", "Basic YTpi", "Profile sam", "Bearer a b", "Bearer é")),
        ["Bearer " + "x" * (LONGEST + 1)],
    ],
)
def test_anything_else_is_refused_and_not_repeated(headers):
    found = presented(headers)
    assert isinstance(found, Refused)
    assert (found.status, found.error) == (401, "invalid_token")


def test_without_a_header_a_caller_is_told_what_to_present():
    assert presented([]) == NO_CREDENTIAL
    assert NO_CREDENTIAL.error is None


def test_no_credential_shows_its_text():
    assert "secret" not in repr(bearer("secret"))
    assert "sam" not in repr(Verified(claims={"sub": "sam"}, expires_at=1.0))


# What it opens.


async def test_a_token_opens_what_its_claims_say():
    found = await Desk().identity.context_of(bearer("sam"))
    servers = frozenset({"crm"})
    assert found == RuntimeContext(user="sam", tenant="acme", servers=servers, environment="production")


async def test_a_token_that_is_not_verified_opens_nothing():
    assert await Desk().identity.context_of(bearer("no")) == invalid_token("no")
    without = Identity(SETTINGS, Desk().keys, MemoryContexts(), Audit(MemoryAudit(), Dice()), Dice())
    found = await without.context_of(bearer("sam"))
    assert isinstance(found, Refused)
    assert (found.status, without.authenticates, Desk().identity.authenticates) == (401, False, True)


async def test_a_malformed_claim_refuses_the_token():
    desk = Desk(verifier=Tokens(bad={"sub": "sam", "tenant": 7}))
    found = await desk.identity.context_of(bearer("bad"))
    assert found == invalid_token("the claim 'tenant' is malformed: a short text is needed")


async def test_a_caller_is_told_every_scope_that_it_needs_in_one_answer():
    needed = frozenset({"mcp", "crm.read"})
    desk = Desk(
        verifier=Tokens(some={"sub": "sam", "scope": "mcp"}, all={"sub": "sam", "scope": "mcp crm.read x"}),
        required_scopes=needed,
    )
    assert await desk.identity.context_of(bearer("some")) == insufficient_scope(needed)
    assert isinstance(await desk.identity.context_of(bearer("all")), RuntimeContext)


async def test_a_key_of_an_agent_opens_what_its_workload_may():
    desk = Desk()
    found = await desk.identity.context_of(await desk.key(KeyRole.AGENT))
    assert isinstance(found, RuntimeContext)
    assert (found.user, found.workload, found.tenant, found.scopes) == (None, "desk", "acme", {"crm.read"})


@pytest.mark.parametrize("role", KeyRole)
@pytest.mark.parametrize("wanted", KeyRole)
async def test_a_key_opens_the_routes_of_its_role_and_of_no_other(role, wanted):
    desk = Desk()
    found = await desk.identity.application_of(credential := await desk.key(role), wanted)
    if role is wanted:
        assert found == Application(name=f"{role}-desk", workload="desk", role=role, tenant="acme")
    else:
        assert isinstance(found, Refused)
        assert (found.status, found.error) == (403, "access_denied")
    opened = await desk.identity.context_of(credential)
    assert isinstance(opened, RuntimeContext) is (role is KeyRole.AGENT)


@pytest.mark.parametrize("credential", [bearer("sam"), profile("sam"), key("pgb_x"), key("")])
async def test_no_other_credential_opens_an_operators_route(credential):
    found = await Desk().identity.application_of(credential, KeyRole.OPERATOR)
    assert isinstance(found, Refused)
    assert found.status == 401


async def test_a_key_that_never_was_and_one_that_is_revoked_are_refused_alike():
    desk = Desk()
    credential = await desk.key(KeyRole.AGENT)
    await desk.keys.revoke("agent-desk", by="dana")
    assert await desk.identity.context_of(credential) == await desk.identity.context_of(key("pgb_never"))


async def test_a_profile_gives_its_context_and_an_unknown_one_none():
    assert await Desk().identity.context_of(profile("sam")) == SAM
    found = await Desk().identity.context_of(profile("dana"))
    assert isinstance(found, Refused)
    assert "sam" not in found.description
