"""How access tokens are verified: by signature, or by asking their issuer. Values only; secrets are never shown."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

__all__ = ["ALGORITHMS", "IntrospectionSettings", "JwtSettings", "basic", "check_url"]

# Signature algorithm -> key type and curve (RFC 7518, section 3.1; RFC 8037). Public keys alone: with HMAC whoever
# verifies can sign as well, and a public key taken for a secret one would let anybody sign.
ALGORITHMS: Mapping[str, tuple[str, str | None]] = {
    "RS256": ("RSA", None),
    "RS384": ("RSA", None),
    "RS512": ("RSA", None),
    "PS256": ("RSA", None),
    "PS384": ("RSA", None),
    "PS512": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
_LONGEST = 2_048
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtSettings:
    """Whose signed tokens are taken. Without an address of keys they are found through the issuer's metadata."""

    issuer: str
    audience: str
    algorithms: frozenset[str] = frozenset(ALGORITHMS)
    jwks_url: str | None = None
    jwks_file: Path | None = None
    skew_s: float = 60.0
    """How far the issuer's clock and ours may be apart."""

    def __post_init__(self) -> None:
        """Refuse contradictions.

        Raises:
            ValueError: An address cannot be used, an algorithm is not for public keys, or keys come from two places.
        """
        check_url("issuer", self.issuer)
        if self.jwks_url is not None:
            check_url("jwks_url", self.jwks_url)
        if self.jwks_url is not None and self.jwks_file is not None:
            raise ValueError("'jwks_url' and 'jwks_file' exclude each other")
        if unknown := sorted(self.algorithms - ALGORITHMS.keys()):
            raise ValueError(f"{unknown[0]!r} is none of the algorithms {', '.join(ALGORITHMS)}")
        if not self.algorithms:
            raise ValueError("'algorithms' names none; left out, it means all that are taken here")


@dataclass(frozen=True, slots=True, kw_only=True)
class IntrospectionSettings:
    """Where the issuer says whether a token is in force (RFC 7662), and as whom we ask it."""

    issuer: str
    audience: str
    url: str
    client_id: str
    secret: str = field(repr=False)
    skew_s: float = 60.0
    kept_s: float = 10.0
    """How long an answer is taken again; so long a token may outlive its revocation."""

    def __post_init__(self) -> None:
        """Refuse an address that cannot be used.

        Raises:
            ValueError: One cannot.
        """
        check_url("issuer", self.issuer)
        check_url("url", self.url)


def basic(client_id: str, secret: str) -> dict[str, str]:
    """Return the header by which a client shows an endpoint who it is (RFC 6749, section 2.3.1)."""
    named = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
    return {"authorization": f"Basic {b64encode(named.encode()).decode()}"}


def check_url(key: str, url: str) -> None:
    """Take https, and http on this machine: what goes over the wire in the clear anyone on the way can replace."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    secure = parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)
    # What clients of HTTP refuse of an address is refused here, where it is one setting's mistake.
    plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= _LONGEST
    if not host or not secure or not plain or "@" in parts.netloc or parts.fragment:
        raise ValueError(f"{key!r} must be https://host/path; http is for this machine alone")
