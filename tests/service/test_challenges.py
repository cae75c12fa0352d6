"""Challenges: a refused caller learns where tokens come from and every scope it needs, and nothing of any tool."""

import pytest

from pegboard.service.challenges import challenge, metadata_url, resource_metadata
from pegboard.service.claims import IdentitySettings
from pegboard.service.identity import NO_CREDENTIAL, insufficient_scope, invalid_token

BARE = IdentitySettings(issuer="https://login.example.com", audience="https://tools.example.com/mcp")
SCOPED = IdentitySettings(issuer=BARE.issuer, audience=BARE.audience, required_scopes=frozenset({"mcp", "crm.read"}))
METADATA = 'resource_metadata="https://tools.example.com/.well-known/oauth-protected-resource/mcp"'


@pytest.mark.parametrize(
    ("resource", "url"),
    [
        ("https://a.example.com", "https://a.example.com/.well-known/oauth-protected-resource"),
        ("https://a.example.com/", "https://a.example.com/.well-known/oauth-protected-resource"),
        ("https://a.example.com:8443/x/mcp", "https://a.example.com:8443/.well-known/oauth-protected-resource/x/mcp"),
        ("http://localhost:1/mcp?a=b", "http://localhost:1/.well-known/oauth-protected-resource/mcp?a=b"),
    ],
)
def test_the_metadata_of_a_resource_stands_under_its_own_path(resource, url):
    assert metadata_url(resource) == url


def test_the_metadata_names_the_issuer_and_the_scopes_that_everybody_needs():
    found = {
        "resource": "https://tools.example.com/mcp",
        "authorization_servers": ["https://login.example.com"],
        "bearer_methods_supported": ["header"],
    }
    assert resource_metadata(BARE) == found
    assert resource_metadata(SCOPED) == {**found, "scopes_supported": ["crm.read", "mcp"]}
    assert resource_metadata(IdentitySettings()) is None


@pytest.mark.parametrize(
    ("refused", "settings", "header"),
    [
        (NO_CREDENTIAL, BARE, f"Bearer {METADATA}"),
        (NO_CREDENTIAL, SCOPED, f'Bearer {METADATA}, scope="crm.read mcp"'),
        (
            invalid_token("the token has expired"),
            BARE,
            f'Bearer {METADATA}, error="invalid_token", error_description="the token has expired"',
        ),
        (
            insufficient_scope(frozenset({"b", "a"})),
            SCOPED,
            f'Bearer {METADATA}, error="insufficient_scope", error_description="more scopes are needed", scope="a b"',
        ),
        (NO_CREDENTIAL, IdentitySettings(), "Bearer"),
        (
            invalid_token('a "b" \\ c\r\nX: 1 é'),
            IdentitySettings(),
            'Bearer error="invalid_token", error_description="a \\"b\\" \\\\ c??X: 1 ?"',
        ),
    ],
)
def test_a_challenge_is_one_header_that_holds_everything(refused, settings, header):
    assert challenge(refused, settings) == header
