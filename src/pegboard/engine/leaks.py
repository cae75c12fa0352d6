"""Leaks: what a text that is written here for tools must not hold, a secret or a tenant's name.

Curated texts are ranked for every caller who may use the tool, and may be served to models. So they are scanned before
they are taken, and what is found is refused. A message says where and by which rule, never what.

Source: the published formats of each service's keys.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

__all__ = ["LEAKS", "Leak", "leaks"]


@dataclass(frozen=True, slots=True)
class Leak:
    """One thing that must not stand in a text: the rule, what it is, and at which character it begins, from 0."""

    rule: str
    says: str
    position: int


LEAKS: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("private-key", "a private key", re.compile(r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY")),
    ("cloud-key", "a cloud provider's key", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{35}")),
    (
        "service-token",
        "a service's token",
        re.compile(
            r"\b(?:gh[opsru]_[A-Za-z0-9]{30,}|github_pat_\w{20,}|glpat-[\w-]{20,}|xox[abeoprs]-[\w-]{10,}"
            r"|sk-[\w-]{20,}|[rs]k_(?:live|test)_\w{10,}|whsec_\w{10,}|npm_\w{30,}|hf_\w{30,}|pypi-[\w-]{30,})"
        ),
    ),
    ("web-token", "a JSON web token", re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}")),
    ("address", "an address with a password in it", re.compile(r"\b\w{2,20}://[^\s/:@]{1,80}:[^\s/@]{1,80}@")),
    (
        "assigned",
        "a password or token that is spelled out",
        re.compile(
            r"\b(?:password|passwd|pwd|secret|token|api[ _-]?key)\b[\"']?\s{0,2}[:=]\s{0,2}[\"']?"
            r"(?=\S{0,60}[0-9])(?=\S{0,60}[A-Za-z])\S{8,}",
            re.IGNORECASE,
        ),
    ),
)
# Letters and digits in one piece with three digits at least: words, paths and numbers are none.
_TOKEN = re.compile(r"(?<![A-Za-z0-9])(?=(?:[A-Za-z]{0,40}[0-9]){3})(?=[0-9]{0,40}[A-Za-z])[A-Za-z0-9]{24,}")
# Bits a character; 32 random hexadecimal digits have 3.6 on average, and 24 random letters and digits 4.2.
_RANDOM_BITS = 3.2


def leaks(text: str, tenants: Iterable[str] = ()) -> tuple[Leak, ...]:
    """Return what a text must not hold, at most one finding a rule and a tenant.

    Args:
        text: One curated text.
        tenants: Names that the configuration gives to tenants; found as whole words, in any case.
    """
    known = (Leak(rule, says, found.start()) for rule, says, pattern in LEAKS if (found := pattern.search(text)))
    return (*known, *_random(text), *_tenants(text, tenants))


def _random(text: str) -> Iterator[Leak]:
    found = next((one for one in _TOKEN.finditer(text) if _bits(one.group()) > _RANDOM_BITS), None)
    if found is not None:
        yield Leak("random", "a token that looks random", found.start())


def _tenants(text: str, tenants: Iterable[str]) -> Iterator[Leak]:
    for tenant in sorted(set(tenants)):
        pattern = rf"(?<!\w){re.escape(tenant)}(?!\w)"
        if tenant.strip() and (found := re.search(pattern, text, re.IGNORECASE)):
            yield Leak("tenant", "the name of a tenant", found.start())


def _bits(token: str) -> float:
    """Return the Shannon entropy of a token's characters, in bits a character."""
    counts = Counter(token).values()
    return -sum(count / len(token) * math.log2(count / len(token)) for count in counts)
