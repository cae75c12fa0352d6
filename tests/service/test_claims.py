"""Claims: each is read as one kind of value, and a workload that acts for a user has what both have."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.context import RuntimeContext
from pegboard.service.claims import (
    FIELDS,
    ClaimError,
    IdentitySettings,
    Workload,
    context_of_claims,
    context_of_workload,
)
from tests.strategies import SCOPES, subsets

ISSUER = "https://login.example.com"
DESK = Workload(tenant="acme", scopes=frozenset({"crm.read"}), roles=frozenset({"support"}), servers=frozenset({"crm"}))
MAPPED = {"tenant": ("org_id",), "roles": ("realm_access.roles",), "clearance": ("level",), "servers": ("servers",)}
OURS = IdentitySettings(
    issuer=ISSUER,
    servers=frozenset({"crm", "mail"}),
    claims=MAPPED,
    workloads={"desk": DESK, "planner": Workload(scopes=frozenset({"crm.read", "mail"}), servers=frozenset({"mail"}))},
)


def context(settings: IdentitySettings = OURS, **claims: Any) -> RuntimeContext:
    return context_of_claims({"sub": "sam", **claims}, settings)


def test_a_token_says_who_asks_and_with_which_scopes_and_nothing_else_by_itself():
    said = {"tenant": "evil", "roles": ["root"], "stage": "resolution", "environment": "x", "flags": ["f"]}
    more = {"servers": ["people"], "clearance": 9, "approved_namespaces": ["*"], "minimum_confidence": 0}
    found = context(IdentitySettings(), scope="crm.read mail", client_id="app", **said, **more)
    scopes = frozenset({"crm.read", "mail"})
    assert found == RuntimeContext(user="sam", workload="app", scopes=scopes, environment="production")


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("user", "dana", "dana"),
        ("workload", "app", "app"),
        ("scopes", "a b", frozenset({"a", "b"})),
        ("scopes", " a  b ", frozenset({"a", "b"})),
        ("scopes", "", frozenset()),
        ("scopes", ["a", "b c"], frozenset({"a", "b c"})),
        ("tenant", "acme", "acme"),
        ("roles", ["support"], frozenset({"support"})),
        ("clearance", 2, 2),
        ("servers", ["crm"], frozenset({"crm"})),
        ("approved_namespaces", ["crm.orders"], frozenset({"crm.orders"})),
        ("flags", ["beta"], frozenset({"beta"})),
    ],
)
def test_a_configured_claim_fills_its_field(name, value, found):
    settings = IdentitySettings(claims={name: ("https://acme.example.com/x",)})
    assert getattr(context(settings, **{"https://acme.example.com/x": value}), name) == found


def test_every_field_that_a_token_can_say_has_a_case():
    assert set(FIELDS) == {
        *("user", "workload", "scopes", "tenant", "roles", "clearance", "servers", "approved_namespaces", "flags")
    }


BAD_TEXTS = ["", " ", "a\nb", "x" * 257, "\ud800", 7, True, ["sam"], {"a": 1}]
BAD_LISTS = [7, True, {"a": 1}, [7], ["a", None], [""], ["x"] * 1_001, [["a"]]]
BAD_LEVELS = [-1, True, 1.5, "2", 10**9, [1]]


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *((name, bad) for name in ("user", "workload", "tenant") for bad in BAD_TEXTS),
        *((name, bad) for name in ("scopes", "roles", "servers", "approved_namespaces", "flags") for bad in BAD_LISTS),
        *((name, "a b") for name in ("roles", "servers", "approved_namespaces", "flags")),
        *(("clearance", bad) for bad in BAD_LEVELS),
    ],
)
def test_a_claim_of_another_kind_denies_and_is_not_repeated(name, bad):
    with pytest.raises(ClaimError) as error:
        context(IdentitySettings(claims={name: ("claim",)}), claim=bad)
    assert str(error.value).startswith("the claim 'claim' is malformed: a ")


@pytest.mark.parametrize(
    ("claims", "roles"),
    [
        ({"realm_access": {"roles": ["a"]}}, {"a"}),
        ({"realm_access.roles": ["b"], "realm_access": {"roles": ["a"]}}, {"b"}),
        ({"realm_access": ["roles"]}, set()),
        ({"realm_access": {"role": ["a"]}}, set()),
        ({"realm_access": {"roles": None}}, set()),
        ({}, set()),
    ],
)
def test_a_dotted_name_is_a_claim_or_leads_into_tables(claims, roles):
    assert context(**claims).roles == roles


def test_of_the_usual_claims_of_a_field_the_first_that_is_there_counts():
    assert context(client_id="one", azp="two").workload == "one"
    assert context(azp="two").workload == "two"


def test_servers_are_those_of_every_caller_where_no_claim_says_otherwise():
    assert context().servers == {"crm", "mail"}
    assert context(servers=["people"]).servers == {"people"}
    assert context(servers=[]).servers == frozenset()


def test_a_client_without_a_user_is_no_user_and_is_of_its_configured_tenant():
    found = context(sub="desk", client_id="desk", scope="crm.read crm.admin")
    assert (found.user, found.workload, found.tenant, found.scopes) == (None, "desk", "acme", {"crm.read"})
    assert context(sub="app", client_id="app").tenant is None


@pytest.mark.parametrize("claims", [{"sub": None}, {"sub": None, "client_id": None}])
def test_a_token_of_nobody_is_refused(claims):
    with pytest.raises(ClaimError, match="names no user and no client"):
        context(**claims)


# A workload that acts for a user.


def test_a_configured_client_has_what_both_have():
    found = context(client_id="desk", org_id="acme", scope="crm.read crm.admin", realm_access={"roles": ["admin"]})
    assert (found.scopes, found.roles, found.servers) == ({"crm.read"}, frozenset(), {"crm"})


def test_the_chain_is_in_order_and_each_of_it_only_takes_away():
    act = {"sub": "desk", "act": {"sub": "planner"}}
    found = context(act=act, org_id="acme", scope="crm.read crm.admin mail")
    assert (found.user, found.delegation) == ("sam", ("planner", "desk"))
    assert (found.scopes, found.servers) == ({"crm.read"}, frozenset())


@pytest.mark.parametrize(
    ("act", "problem"),
    [
        ({"sub": "stranger"}, "a party that is not known here"),
        ({"sub": "desk", "act": {"sub": "stranger"}}, "a party that is not known here"),
        ({"sub": "desk", "iss": "https://evil.example.com"}, "'act' is malformed"),
        ({"sub": "desk", "act": []}, "'act' is malformed"),
        ("desk", "'act' is malformed"),
        ([], "'act' is malformed"),
        ({}, "a short text is needed"),
        ({"sub": ["desk"]}, "a short text is needed"),
    ],
)
def test_an_acting_party_that_is_unknown_or_malformed_denies(act, problem):
    with pytest.raises(ClaimError, match=problem):
        context(act=act, org_id="acme")


def test_an_acting_party_may_name_the_issuer():
    assert context(act={"sub": "desk", "iss": ISSUER}, org_id="acme").delegation == ("desk",)


@pytest.mark.parametrize("length", [8, 9, 5_000])
def test_a_chain_has_a_longest_length(length):
    act: Any = None
    for _ in range(length):
        act = {"sub": "desk", **({"act": act} if act else {})}
    if length == 8:
        assert len(context(act=act, org_id="acme").delegation) == 8
        return
    with pytest.raises(ClaimError, match="'act' is malformed"):
        context(act=act, org_id="acme")


@pytest.mark.parametrize("claims", [{"client_id": "desk"}, {"act": {"sub": "desk"}}])
@pytest.mark.parametrize("tenant", ["other", None])
def test_a_party_of_one_tenant_does_not_act_for_users_of_another(claims, tenant):
    with pytest.raises(ClaimError, match="of another tenant"):
        context(org_id=tenant, **claims)


@given(subsets(SCOPES), st.lists(st.sampled_from(["desk", "planner"]), max_size=3))
def test_whoever_acts_never_adds_a_right(scopes, chain):
    act: Any = None
    for name in chain:
        act = {"sub": name, "act": act}
    said = {"org_id": "acme", "scope": sorted(scopes - {""}), "realm_access": {"roles": ["support", "admin"]}}
    alone, acted = context(**said), context(act=act, **said)
    assert acted.scopes <= alone.scopes
    assert acted.roles <= alone.roles
    assert acted.servers <= alone.servers
    for name in chain:
        assert acted.scopes <= OURS.workloads[name].scopes
        assert acted.roles <= OURS.workloads[name].roles


# A workload that acts for itself.


@pytest.mark.parametrize(
    ("name", "scopes", "found"),
    [
        ("desk", None, (frozenset({"crm.read"}), frozenset({"support"}), frozenset({"crm"}), "acme")),
        ("desk", frozenset({"crm.read", "x"}), (frozenset({"crm.read"}), {"support"}, {"crm"}, "acme")),
        ("desk", frozenset(), (frozenset(), {"support"}, {"crm"}, "acme")),
        ("stranger", None, (frozenset(), frozenset(), {"crm", "mail"}, None)),
        ("stranger", frozenset({"x"}), (frozenset({"x"}), frozenset(), {"crm", "mail"}, None)),
    ],
)
def test_a_workload_has_what_is_configured_and_its_key_only_narrows_that(name, scopes, found):
    made = context_of_workload(name, scopes, OURS)
    assert (made.scopes, made.roles, made.servers, made.tenant) == found
    assert (made.user, made.workload, made.environment) == (None, name, "production")
