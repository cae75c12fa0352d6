"""Challenges: how a refused caller learns where to get a token, and which scopes it needs.

Pure functions: the `WWW-Authenticate` header of a refusal, and the document that a client reads to find the issuer.

Source: RFC 6750 section 3, RFC 9728, MCP 2026-07-28, authorization ("Protected Resource Metadata Discovery").
"""

from urllib.parse import urlsplit, urlunsplit

from pegboard.core.names import Json
from pegboard.service.claims import IdentitySettings
from pegboard.service.identity import Refused

__all__ = ["WELL_KNOWN", "challenge", "metadata_url", "resource_metadata"]

WELL_KNOWN = "/.well-known/oauth-protected-resource"


def metadata_url(resource: str) -> str:
    """Return where the metadata of a resource is published: its path follows the well-known one (RFC 9728, 3.1)."""
    parts = urlsplit(resource)
    return urlunsplit((parts.scheme, parts.netloc, WELL_KNOWN + parts.path.rstrip("/"), parts.query, ""))


def resource_metadata(settings: IdentitySettings) -> dict[str, Json] | None:
    """Return the protected resource metadata; None where no issuer of tokens is configured.

    The scopes in it are those that every caller needs: the others would tell what tools there are.
    """
    if settings.issuer is None or settings.audience is None:
        return None
    found: dict[str, Json] = {
        "resource": settings.audience,
        "authorization_servers": [settings.issuer],
        "bearer_methods_supported": ["header"],
    }
    return {**found, "scopes_supported": sorted(settings.required_scopes)} if settings.required_scopes else found


def challenge(refused: Refused, settings: IdentitySettings) -> str:
    """Return the value of `WWW-Authenticate` for a 401 or a 403.

    All needed scopes stand in one challenge: a client that learned of them one by one would ask a person each time.
    """
    scopes = refused.scopes or (settings.required_scopes if refused.status == 401 else frozenset())
    said = {
        "resource_metadata": metadata_url(settings.audience) if settings.issuer and settings.audience else None,
        "error": refused.error,
        "error_description": refused.description if refused.error else None,
        "scope": " ".join(sorted(scopes)),
    }
    return f"Bearer {', '.join(f'{name}={_quoted(value)}' for name, value in said.items() if value)}".rstrip()


def _quoted(text: str) -> str:
    """Write a quoted-string (RFC 9110, section 5.6.4); what no header can hold is replaced."""
    plain = "".join(character if " " <= character <= "~" else "?" for character in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
