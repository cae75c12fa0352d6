"""Leaks: a curated text with a secret or a tenant's name is known, and ordinary texts are let be."""

import pytest

from pegboard.engine.leaks import LEAKS, leaks


def split(*parts: str) -> str:
    """Join a made-up key of parts, so that no scanner of sources takes it for a real one."""
    return "".join(parts)


FOUND = [
    ("private-key", split("-----BEGIN RSA ", "PRIVATE KEY-----")),
    ("cloud-key", split("AKIA", "ABCDEFGHIJKLMNOP")),
    ("cloud-key", split("AIza", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")),
    ("service-token", split("ghp_", "a" * 36)),
    ("service-token", split("xoxb-", "aaaaaaaaaaaa")),
    ("service-token", split("sk-", "a" * 24)),
    ("service-token", split("sk_live_", "a" * 12)),
    ("web-token", split("eyJ", "hbGciOiJub.eyJzdWIiOiIx")),
    ("address", "postgres://shop:hunter2@db/shop"),
    ("assigned", 'password = "hunter22x"'),
    ("assigned", "API key: abcd1234efgh"),
    ("random", split("b7f9c2d84e1a", "9c8e7f6a5b4d")),
    ("tenant", "orders of ACME only"),
    ("tenant", "acme's orders"),
    ("tenant", "for Umbrella (Europe)"),
]


@pytest.mark.parametrize(("rule", "text"), FOUND)
def test_a_secret_or_a_tenants_name_is_found_at_its_place(rule, text):
    (found,) = leaks(f"Finds it: {text}", ["acme", "Umbrella (Europe)", " "])
    assert (found.rule, found.position >= 10) == (rule, True)


def test_every_rule_has_a_case():
    assert {rule for rule, _, _ in LEAKS} | {"random", "tenant"} == {rule for rule, _ in FOUND}


@pytest.mark.parametrize(
    "text",
    [
        "Finds a customer by name or e-mail.",
        "Needs the password: ask the customer.",
        "token: the page to go on from",
        "such as https://example.com/orders?id=1",
        "order 123456789012345678901234567890",
        "MS365_MCP_REQUIRE_CONFIRM=true turns it on",
        "/orders/by-customer/and-by-month/2026/12",
        "ordersOfACustomerInTheLastTwelveMonths",
        "acmeworks is another company",
        "sk-ip to the next",
    ],
)
def test_an_ordinary_text_is_let_be(text):
    assert leaks(text, ["acme"]) == ()
