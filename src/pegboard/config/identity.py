"""The `[identity]` table: whose tokens are taken, what their claims mean, and what workloads may do.

Everything that a token may say about a caller is named here. Without this table no token is taken, and a key's
workload has the scopes of its key and no server.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pegboard.adapters.token_settings import IntrospectionSettings, JwtSettings
from pegboard.config.credentials import UnresolvedError, secret, secret_section
from pegboard.config.parsers import At, Parser, at_most_one_of, by_name, names, number, section, text
from pegboard.core.errors import ConfigError
from pegboard.service.claims import IdentitySettings, Workload

__all__ = ["IdentityPart", "identity_section", "resolved_identity"]

# Clocks that are further apart than this are broken; every second more is one in which an expired token is taken.
_SKEW_S = 600
_KEPT_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityPart:
    """What the file says, the issuer's credential not fetched yet."""

    servers: frozenset[str] = frozenset()
    required_scopes: frozenset[str] = frozenset()
    jwt: JwtSettings | None = None
    introspection: Mapping[str, Any] | None = None
    """The arguments of `IntrospectionSettings` and a `credential`, from which its secret is fetched."""
    claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    workloads: Mapping[str, Workload] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse two ways to verify tokens: whoever sends one could choose the weaker."""
        at_most_one_of({"jwt": self.jwt, "introspection": self.introspection}, "jwt", "introspection")


def identity_section(file: Parser[Path]) -> Parser[IdentityPart]:
    """Return the parser of `[identity]`; *file* takes a path."""
    return section(
        IdentityPart,
        servers=names,
        required_scopes=names,
        jwt=section(
            _jwt,
            required=("issuer", "audience"),
            issuer=text,
            audience=text,
            algorithms=names,
            jwks_url=text,
            jwks_file=file,
            clock_skew_s=number(0, _SKEW_S),
        ),
        introspection=section(
            dict,
            required=("issuer", "audience", "url", "client_id", "credential"),
            issuer=text,
            audience=text,
            url=text,
            client_id=text,
            credential=secret_section(),
            clock_skew_s=number(0, _SKEW_S),
            kept_s=number(0, _KEPT_S),
        ),
        claims=section(
            dict,
            user=_claim,
            workload=_claim,
            scopes=_claim,
            tenant=_claim,
            roles=_claim,
            clearance=_claim,
            servers=_claim,
            approved_namespaces=_claim,
            flags=_claim,
        ),
        workloads=by_name(section(Workload, tenant=text, scopes=names, roles=names, servers=names)),
    )


def resolved_identity(
    part: IdentityPart, path: Path, environment: str, environ: Mapping[str, str]
) -> tuple[IdentitySettings, JwtSettings | IntrospectionSettings | None]:
    """Return how credentials become a context, and how tokens are verified.

    Raises:
        ConfigError: The credential is not there, or an address cannot be used.
    """
    tokens = part.jwt if part.introspection is None else _introspection(path, part.introspection, environ)
    settings = IdentitySettings(
        issuer=None if tokens is None else tokens.issuer,
        audience=None if tokens is None else tokens.audience,
        environment=environment,
        servers=part.servers,
        required_scopes=part.required_scopes,
        claims=part.claims,
        workloads=part.workloads,
    )
    return settings, tokens


def _jwt(*, clock_skew_s: float = 60.0, **said: Any) -> JwtSettings:
    return JwtSettings(skew_s=clock_skew_s, **said)


def _introspection(path: Path, said: Mapping[str, Any], environ: Mapping[str, str]) -> IntrospectionSettings:
    values = {"skew_s" if name == "clock_skew_s" else name: value for name, value in said.items()}
    at = At(str(path), "identity.introspection")
    try:
        key = secret(values.pop("credential"), environ)
        return IntrospectionSettings(secret=key, **values)
    except UnresolvedError as error:
        raise ConfigError(str(error), str(at.key("credential")), "set it") from None
    except ValueError as error:
        raise ConfigError(str(error), str(at)) from None


def _claim(value: Any, at: At) -> tuple[str, ...]:
    """Take the name of a claim; dots in it lead into tables where no claim has the whole name."""
    return (text(value, at),)
