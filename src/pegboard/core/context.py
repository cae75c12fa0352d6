"""The runtime context: trusted facts about who asks, for whom, where and at which step of the work.

It is made from verified credentials and the application's own state, and by nothing else: no word of
a user, a model or a tool server reaches a field of it (law 9). What is unsaid is empty, and empty
holds nothing: no scope, no role, no approved server.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from types import NoneType
from typing import Any

from pegboard.core.names import Json, digest

__all__ = ["RuntimeContext"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeContext:
    """Who asks, with what rights, in which stage and environment.

    `clearance` is an integer from 0; None holds none. `minimum_confidence` is a number from 0 to 1, or
    None for the configured one. `delegation` lists who acts for whom, the acting party last.
    """

    user: str | None = None
    tenant: str | None = None
    workload: str | None = None
    delegation: tuple[str, ...] = ()
    roles: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    stage: str | None = None
    environment: str | None = None
    flags: frozenset[str] = frozenset()
    servers: frozenset[str] = frozenset()
    approved_namespaces: frozenset[str] = frozenset()
    clearance: int | None = None
    minimum_confidence: float | None = None

    def __post_init__(self) -> None:
        """Refuse a field of another kind: `"crm" in "crm-admin"` is true of texts, and true is 1 of clearances.

        Raises:
            TypeError: A field is of another kind.
        """
        for name, kinds in _KINDS:
            if not isinstance(value := getattr(self, name), kinds) or value is True or value is False:
                raise TypeError(f"the context's {name} cannot be {value!r}")

    @property
    def principals(self) -> frozenset[str]:
        """Return every name under which this caller can be halted: user, workload, chain, and what records say."""
        return frozenset(filter(None, (self.user, self.workload, *self.delegation, self.principal)))

    @property
    def identity(self) -> str:
        """Identify who asks, for whom: equal for the same user, tenant, workload and chain, and for no other.

        `principal` is for people: a user may be called `a@b`. What is bound to a caller is bound to this.
        """
        return digest([self.user, self.tenant, self.workload, list(self.delegation)])

    @property
    def principal(self) -> str:
        """Name the caller in records: user, workload and tenant, as far as they are known."""
        who = "+".join(filter(None, (self.user, self.workload))) or "anonymous"
        return f"{who}@{self.tenant}" if self.tenant else who

    def to_json(self) -> dict[str, Json]:
        """Return the fields that are set, sets sorted."""
        found: dict[str, Json] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                found[field.name] = _plain(value)
        return found

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "RuntimeContext":
        """Rebuild a context that `to_json` wrote.

        Raises:
            TypeError: A field is unknown, or of another kind.
        """
        return cls(**{name: _KIND.get(name, _same)(item) for name, item in value.items()})


def _plain(value: Any) -> Json:
    if isinstance(value, frozenset):
        return sorted(value)
    return list(value) if isinstance(value, tuple) else value


def _same(value: Any) -> Any:
    return value


def _set(value: Iterable[str]) -> frozenset[str]:
    return frozenset(_sequence(value))


def _sequence(value: Iterable[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        raise TypeError(f"a list of texts is needed, not the text {value!r}")
    return tuple(value)


_KINDS: tuple[tuple[str, type | tuple[type, ...]], ...] = (
    *((name, (str, NoneType)) for name in ("user", "tenant", "workload", "stage", "environment")),
    *((name, frozenset) for name in ("roles", "scopes", "flags", "servers", "approved_namespaces")),
    ("delegation", tuple),
    ("clearance", (int, NoneType)),
    ("minimum_confidence", (int, float, NoneType)),
)
_KIND: dict[str, Callable[[Any], Any]] = {
    "delegation": _sequence,
    "roles": _set,
    "scopes": _set,
    "flags": _set,
    "servers": _set,
    "approved_namespaces": _set,
}
