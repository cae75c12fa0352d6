"""The error tree: each branch says who must act.

A denial, a refused call, low confidence and "no tool fits" are not errors; they are values
(`Decision`, `Verdict`, `Selection`). Every error carries its data as fields and compares equal
by them. `str(error)` says what is wrong; `where` and `fix`, when known, say where and what to do.
No message names a tool that its reader may not see.
"""

from dataclasses import dataclass

__all__ = [
    "CatalogError",
    "ConfigError",
    "DuplicateToolError",
    "EncoderError",
    "IndexUnavailableError",
    "IndexVersionError",
    "InvalidEntryError",
    "LockError",
    "MalformedPageError",
    "OutcomeUnknownError",
    "PageLimitError",
    "PegboardError",
    "RefusedByServerError",
    "RetrievalError",
    "StoreError",
    "UnknownToolError",
    "UnreachableServerError",
    "UpstreamError",
]


class PegboardError(Exception):
    """Anything Pegboard raises on purpose."""

    where: str | None = None
    fix: str | None = None

    @property
    def kind(self) -> str:
        """Name the error for a machine: the class name without its ending, in kebab case."""
        name = type(self).__name__.removesuffix("Error")
        return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")


@dataclass(unsafe_hash=True)
class ConfigError(PegboardError):
    """The operator must act: a setting or a file is unknown, missing, unreadable or contradictory."""

    problem: str
    where: str | None = None
    fix: str | None = None

    def __str__(self) -> str:
        return self.problem


class CatalogError(PegboardError):
    """The catalog's owner must act: an entry or a snapshot breaks a rule."""


@dataclass(unsafe_hash=True)
class InvalidEntryError(CatalogError):
    """One tool cannot be taken in; the rest of its listing is not affected."""

    name: str
    reason: str
    where: str | None = None
    fix: str | None = None

    def __str__(self) -> str:
        return f"tool {self.name!r} cannot be taken in: {self.reason}"


@dataclass(unsafe_hash=True)
class DuplicateToolError(CatalogError):
    """Two servers claim one tool id in the same snapshot."""

    tool_id: str
    servers: tuple[str, str]

    def __str__(self) -> str:
        one, two = self.servers
        return f"tool id {self.tool_id!r} is claimed by {one!r} and {two!r}; give one of them another namespace"


@dataclass(unsafe_hash=True)
class UnknownToolError(CatalogError):
    """An operator named a tool that the catalog does not hold."""

    tool_id: str
    nearest: tuple[str, ...] = ()
    where: str | None = None
    fix: str | None = None

    def __str__(self) -> str:
        hint = f"; nearest: {', '.join(self.nearest)}" if self.nearest else ""
        return f"no tool {self.tool_id!r} in the catalog{hint}"


@dataclass(unsafe_hash=True)
class LockError(CatalogError):
    """The lock cannot be read or a line of it is not valid."""

    problem: str
    where: str | None = None
    fix: str | None = None

    def __str__(self) -> str:
        return self.problem


class UpstreamError(PegboardError):
    """The tool server's owner must act: it broke the protocol or went away."""


@dataclass(unsafe_hash=True)
class MalformedPageError(UpstreamError):
    """A server answered `tools/list` with something that is not a page of tools."""

    server: str
    problem: str

    def __str__(self) -> str:
        return f"server {self.server!r} sent a malformed page: {self.problem}"


@dataclass(unsafe_hash=True)
class PageLimitError(UpstreamError):
    """A listing went past a bound: pages, tools, bytes, or a cursor that repeats."""

    server: str
    problem: str

    def __str__(self) -> str:
        return f"server {self.server!r} listed without end: {self.problem}"


@dataclass(unsafe_hash=True)
class UnreachableServerError(UpstreamError):
    """A server could not be started, reached, or made to answer in time."""

    server: str
    problem: str
    where: str | None = None
    fix: str | None = None

    def __str__(self) -> str:
        return f"server {self.server!r} cannot be reached: {self.problem}"


@dataclass(unsafe_hash=True)
class OutcomeUnknownError(UpstreamError):
    """A call was sent and no answer came: it may have run. It is never sent again by us (law 10)."""

    server: str
    problem: str

    def __str__(self) -> str:
        return f"the call to server {self.server!r} was sent and its outcome is unknown: {self.problem}"


@dataclass(unsafe_hash=True)
class RefusedByServerError(UpstreamError):
    """The server answered with an error of the protocol: it says that it did not run what was asked."""

    server: str
    code: int
    message: str

    def __str__(self) -> str:
        return f"server {self.server!r} refused with error {self.code}: {self.message}"


class RetrievalError(PegboardError):
    """The operator must act: there is no index, or it belongs to another version."""


@dataclass(unsafe_hash=True)
class IndexUnavailableError(RetrievalError):
    """No index is loaded for the current catalog version."""

    problem: str

    def __str__(self) -> str:
        return f"no index is available: {self.problem}"


@dataclass(unsafe_hash=True)
class IndexVersionError(RetrievalError):
    """The index was built from another catalog version than the one served."""

    expected: str
    found: str

    def __str__(self) -> str:
        return f"the index is of catalog version {self.found}, the catalog is {self.expected}"


@dataclass(unsafe_hash=True)
class EncoderError(RetrievalError):
    """A model is missing or damaged, or answered something that is no set of vectors."""

    model: str
    problem: str
    where: str | None = None
    fix: str | None = None

    def __str__(self) -> str:
        return f"the encoder {self.model!r} failed: {self.problem}"


@dataclass(unsafe_hash=True)
class StoreError(PegboardError):
    """The operator must act: storage failed. The last committed state is intact."""

    problem: str
    where: str | None = None
    fix: str | None = None

    def __str__(self) -> str:
        return self.problem
