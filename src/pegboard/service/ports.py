"""The ports: what the service needs of the outside world, as protocols that adapters implement.

Every port says what an implementation must do and what it may raise; an adapter lets no other
error out. Times are Unix seconds (float), taken from `Clock` alone.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pegboard.core.catalog import CatalogEntry
from pegboard.core.lock import Lock
from pegboard.core.names import Json
from pegboard.core.revocations import Revocation
from pegboard.core.snapshot import Snapshot

__all__ = [
    "Clock",
    "Encoder",
    "Head",
    "Listing",
    "LockFile",
    "Page",
    "PolicyStore",
    "SnapshotStore",
    "StoredSelection",
    "ToolServer",
    "ToolServers",
    "TraceStore",
    "VectorStore",
    "Verification",
]


class Clock(Protocol):
    """The only source of time and of random ids."""

    def ticks(self) -> float:
        """Return seconds of a clock that never goes back, for measuring how long something took."""

    def now(self) -> float:
        """Return Unix seconds."""

    def new_id(self, prefix: str) -> str:
        """Return `<prefix>_<32 hex>` with 128 random bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of `tools/list`: tools exactly as sent, and where the next page begins (None: this is the last)."""

    tools: Sequence[Json]
    next_cursor: str | None = None
    ttl_ms: int | None = None


class ToolServer(Protocol):
    """An open session to one tool server."""

    async def list_page(self, cursor: str | None) -> Page:
        """Fetch one page.

        Raises:
            UpstreamError: The server broke the protocol, sent too much, or went away.
        """

    async def call_tool(self, name: str, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Call a tool once and return the `CallToolResult` exactly as sent (`isError` included).

        Raises:
            UpstreamError: The server refused by protocol, or the call was never sent.
            OutcomeUnknownError: It was sent and no answer came; it may have run. Never sent again by us.
        """


class ToolServers(Protocol):
    """Opens sessions to the configured servers."""

    def names(self) -> tuple[str, ...]:
        """Return the configured servers' names, sorted."""

    def connect(self, server: str) -> AbstractAsyncContextManager[ToolServer]:
        """Open one session and close it at exit, child processes included.

        Raises (on entering):
            UnreachableServerError: It cannot be started or reached, or does not answer in time.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Which catalog version is served."""

    number: int
    digest: str
    published_at: float
    by: str
    tools: int

    @property
    def version(self) -> str:
        """Name the version as `Snapshot.version` does."""
        return f"{self.number}-{self.digest[:12]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a server last listed, whole and validated: the live side that a review compares with the lock."""

    server: str
    fetched_at: float
    entries: tuple[CatalogEntry, ...]
    refused: tuple[tuple[str, str], ...] = ()
    """Names of tools that could not be taken in, each with its reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What `catalog verify` found: every stored digest computed anew."""

    versions: int
    rows: int
    bad: tuple[str, ...]


class SnapshotStore(Protocol):
    """Catalog versions and the listings they come from. Every method may raise StoreError."""

    async def head(self) -> Head | None:
        """Return the served version, None in an empty store."""

    async def load(self, number: int) -> Snapshot:
        """Return one version whole, digests checked. Raises StoreError where it is missing or damaged."""

    async def versions(self) -> tuple[Head, ...]:
        """Return all versions, oldest first."""

    async def publish(self, snapshot: Snapshot, *, by: str, at: float, listings: Sequence[Listing]) -> Head:
        """Make *snapshot* the head and replace the listings of these servers, in one durable transaction.

        Raises:
            StoreError: The head is no longer `snapshot.number - 1` (someone else published), or storage failed;
                in both cases nothing has changed.
        """

    async def keep_listings(self, listings: Sequence[Listing], *, gone: Sequence[str] = ()) -> None:
        """Replace the listings of these servers and drop those of *gone*, without a new version."""

    async def listings(self) -> tuple[Listing, ...]:
        """Return the last listing of each server, by name."""

    async def live(self) -> tuple[tuple[str, str, str], ...]:
        """Return the (tool id, schema hash, server) of everything that servers last listed, without its content."""

    async def find(self, tool_id: str, schema_hash: str, server: str) -> CatalogEntry | None:
        """Return the newest stored entry of this server's tool with this declared content, or None."""

    async def verify(self) -> Verification:
        """Compute every digest anew."""


class PolicyStore(Protocol):
    """Revocations, lock versions and the content-addressed documents that replay needs. May raise StoreError."""

    async def halts(self) -> tuple[Revocation, ...]:
        """Return every halt on record, expired ones included, by target."""

    async def halt(self, revocation: Revocation) -> None:
        """Put a halt in force, durably, before returning; it replaces one of the same target."""

    async def resume(self, target: str) -> bool:
        """Lift a halt; False where there was none."""

    async def lock_version(self, lock: Lock, *, at: float) -> str:
        """Return `<n>-<digest>` of this state of the lock, recording it as a new version where it is not the last."""

    async def keep(self, kind: str, digest: str, body: bytes) -> None:
        """Keep a document under its digest; keeping it again changes nothing."""

    async def document(self, kind: str, digest: str) -> bytes | None:
        """Return a kept document, None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSelection:
    """What the gate needs of a selection later: whose it is, until when, and which content each alias meant."""

    selection_id: str
    principal: str
    """The `identity` of the caller's context."""
    expires_at: float
    tools: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Alias -> (tool id, schema hash)."""


class TraceStore(Protocol):
    """Traces, stored selections and the ledger of calls. Every method may raise StoreError."""

    async def save_selection(self, selection: StoredSelection, trace_id: str, at: float, trace: bytes) -> None:
        """Keep a selection and its trace, both or neither, before the answer returns."""

    async def selection(self, selection_id: str) -> StoredSelection | None:
        """Return a selection, expired or not; None where there is none."""

    async def save_trace(self, trace_id: str, at: float, trace: bytes) -> None:
        """Keep the trace of a call."""

    async def trace(self, trace_id: str) -> bytes | None:
        """Return one trace, None where there is none."""

    async def traces(self, limit: int) -> tuple[tuple[str, float], ...]:
        """Return ids and times of the newest traces, newest first."""

    async def open_call(self, call_id: str, at: float, record: bytes) -> None:
        """Write a call to the ledger, durably, before it is dispatched."""

    async def close_call(self, call_id: str, at: float, outcome: str) -> None:
        """Write how the call ended; a call that was never closed has an unknown outcome."""


class VectorStore(Protocol):
    """What is made of texts and can be made again: vectors and prepared catalogs. Every method may raise StoreError."""

    async def vectors(self, model_id: str, digests: Collection[str]) -> dict[str, bytes]:
        """Return those that are kept, int8 values as bytes."""

    async def keep_vectors(self, model_id: str, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors; losing them costs only making them again."""

    async def prepared(self, key: str) -> bytes | None:
        """Return what was made of a catalog version before, None where it is not kept."""

    async def keep_prepared(self, key: str, body: bytes) -> None:
        """Keep what was made of a catalog version; the oldest are dropped, since they can be made again."""


class LockFile(Protocol):
    """Where the lock is kept."""

    def stamp(self) -> object:
        """Return a cheap value that differs whenever the lock may have changed. Never raises."""

    def read(self) -> Lock:
        """Return the lock, an empty one where there is none yet. Raises LockError; nothing is granted then."""

    def write(self, lock: Lock) -> None:
        """Replace the lock whole, durably. Raises StoreError; the old one stands then."""


class Encoder(Protocol):
    """Turns texts into vectors with one model."""

    @property
    def model_id(self) -> str:
        """Return `<name>@<first 12 hex of the digest of its files>`."""

    @property
    def dimensions(self) -> int:
        """Return the length of a vector."""

    async def encode(self, texts: Sequence[str]) -> NDArray[np.int8]:
        """Return shape (len(texts), dimensions): unit vectors times 127, rounded half to even.

        Raises:
            EncoderError: The model is missing or damaged, or answered nonsense. Never a partial answer.
        """
