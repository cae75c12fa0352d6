"""The ports: what the service needs of the outside world, as protocols that adapters implement.

Every port says what an implementation must do and what it may raise; an adapter lets no other
error out. Times are Unix seconds (float), taken from `Clock` alone.
It is longer than other files, since this is the one list of what the outside has to do.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
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
from pegboard.engine.ledger import Approval, ApprovalState, Ended, Line, Past, Question, Standing

__all__ = [
    "AuditEvent",
    "AuditStore",
    "Clock",
    "Discarded",
    "Encoder",
    "Forgotten",
    "Head",
    "Ledger",
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

    @property
    def changes(self) -> int:
        """Return how often the server has said on this session that its list changed."""

    async def list_page(self, cursor: str | None) -> Page:
        """Fetch one page.

        Raises:
            UpstreamError: The server broke the protocol, sent too much, or went away.
        """

    async def call_tool(
        self, name: str, arguments: Mapping[str, Json], meta: Mapping[str, str] | None = None
    ) -> dict[str, Json]:
        """Call a tool once and return the `CallToolResult` exactly as sent (`isError` included).

        *meta* goes along in `_meta`: the trace context that the server's own spans may join.

        Raises:
            UpstreamError: The server refused by protocol, or the call was never sent.
            OutcomeUnknownError: It was sent and no answer came; it may have run. Never sent again by us.
        """

    async def listen(self, ring: Callable[[], None]) -> None:
        """Call *ring* whenever the server says that its list changed, until cancelled; bursts may be one ring.

        Returns where the server ends it or offers none.

        Raises:
            UpstreamError: It refused, broke the protocol, or went away. What changes from then on is not heard.
        """


class ToolServers(Protocol):
    """Opens sessions to the configured servers."""

    def names(self) -> tuple[str, ...]:
        """Return the configured servers' names, sorted."""

    def connect(self, server: str, principal: str | None = None) -> AbstractAsyncContextManager[ToolServer]:
        """Open one session and close it at exit, child processes included; or lend one that is open.

        *principal* is the `identity` of the caller for whom calls are made: none is lent to another. None is the
        operator, who only lists and listens.

        Raises (on entering):
            UnreachableServerError: It cannot be started or reached, or does not answer in time.
            UpstreamError: Too many use it now; nothing was sent.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Discarded:
    """What `catalog prune` removed, or would remove."""

    versions: int = 0
    rows: int = 0
    size_bytes: int = 0


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

    async def listings(self, servers: Collection[str] | None = None) -> tuple[Listing, ...]:
        """Return the last listing of each server, or of these, by name."""

    async def listing_stamps(self) -> dict[str, object]:
        """Return for each server a cheap value that differs whenever its listing does."""

    async def live(self, servers: Collection[str] | None = None) -> tuple[tuple[str, str, str], ...]:
        """Return the (tool id, schema hash, server) of what servers, or these, last listed, without its content."""

    async def find(self, tool_id: str, schema_hash: str, server: str) -> CatalogEntry | None:
        """Return the newest stored entry of this server's tool with this declared content, or None."""

    async def discard(
        self, versions: Collection[int], contents: Collection[tuple[str, str]], *, apply: bool
    ) -> Discarded:
        """Remove *versions*, and what then no version and no listing refers to; without *apply* only say what.

        The entries of *contents*, (tool id, schema hash), stay: the lock names them. The head is never removed.
        """

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

    async def suspended(self) -> tuple[Revocation, ...]:
        """Return what refreshes have revoked, by target: a list apart from the operators' halts."""

    async def suspend(self, revocations: Sequence[Revocation], *, lifted: Collection[str] = ()) -> None:
        """Revoke tools on a refresh's behalf and lift others, all or nothing, durably, before returning."""

    async def lock_version(self, lock: Lock, *, at: float) -> str:
        """Return `<n>-<digest>` of this state of the lock, recording it as a new version where it is not the last."""

    async def keep(self, kind: str, digest: str, body: bytes) -> None:
        """Keep a document under its digest; keeping it again changes nothing."""

    async def document(self, kind: str, digest: str) -> bytes | None:
        """Return a kept document, None where there is none."""

    async def documents(self, kind: str) -> tuple[str, ...]:
        """Return the digests of the kept documents of one kind, sorted."""

    async def forget(self, kind: str, digests: Collection[str]) -> None:
        """Remove documents that nothing refers to any more."""


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
    """Traces and stored selections. Every method may raise StoreError."""

    async def save_selection(self, selection: StoredSelection) -> None:
        """Keep a selection, before its answer returns: a later call is bound to it."""

    async def selection(self, selection_id: str) -> StoredSelection | None:
        """Return a selection, expired or not; None where there is none."""

    async def save_traces(self, traces: Sequence[tuple[str, float, bytes]]) -> None:
        """Keep traces as (trace id, time, record), all or none, in one transaction."""

    async def trace(self, trace_id: str) -> bytes | None:
        """Return one trace, None where there is none."""

    async def traces(
        self, limit: int, *, since: float = 0.0, until: float | None = None, skip: int = 0
    ) -> tuple[tuple[str, float], ...]:
        """Return ids and times of the newest traces from *since* up to before *until*, newest first.

        The newest *skip* of them are left out.
        """

    async def prune(self, before: float, now: float, limit: int) -> int:
        """Remove the oldest traces from before *before* and selections that expired before *now*; say how many.

        At most *limit* of each go at once, so that nobody waits long for it.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What a ledger has removed, or would remove, and what it keeps although it is as old."""

    lines: int = 0
    approvals: int = 0
    unknown: int = 0
    """Lines of unknown outcome, which stay."""
    labels: int = 0
    """First lines of a conversation's labels, which stay."""


class Ledger(Protocol):
    """The calls that were allowed, and the approvals that were asked for. Every method may raise StoreError.

    A line, its end and a decision are durable when the method returns; each is one transaction.
    """

    async def standing(self, question: Question) -> Standing:
        """Say what is on record of one caller, as of one moment."""

    async def open(self, line: Line, record: bytes, *, after: int) -> bool:
        """Write a line before its call is dispatched, and mark the approval that it names as used by it.

        False, with nothing written, where the caller's sequence is no longer *after*, the key is taken by a call that
        may have run, or the approval does not allow this line (`Approval.allows`): the call is judged again.
        """

    async def close(self, call_id: str, at: float, ended: Ended, result: bytes | None = None) -> None:
        """Write how the call ended, and the answer to keep under its key; the same again changes nothing.

        A call that was not sent used nothing up: its key is free again, and so is the approval that it had used.

        Raises:
            StoreError: There is no such call, or it ended otherwise.
        """

    async def call(self, call_id: str) -> Past | None:
        """Return one line, None where there is none."""

    async def ask(self, approval: Approval) -> Approval:
        """Put a request on record, or return the one that already `answers` it: asked, granted or denied."""

    async def approval(self, approval_id: str) -> Approval | None:
        """Return one request, None where there is none."""

    async def approvals(
        self, limit: int, *, state: ApprovalState | None = None, identity: str | None = None
    ) -> tuple[Approval, ...]:
        """Return the newest requests, newest first; of one caller where its identity is given."""

    async def decide(self, approval_id: str, state: ApprovalState, *, by: str, at: float) -> Approval | None:
        """Grant or deny an open request, once; None where it is not there, or no longer open at *at*."""

    async def unknown(self, limit: int) -> tuple[Past, ...]:
        """Return the newest lines of which nobody knows how they ended, newest first."""

    async def settle(self, call_id: str, at: float, ended: Ended) -> Past | None:
        """Close a line of unknown outcome as a person says; None where it is not there, or its outcome is known."""

    async def forget(self, before: float, *, apply: bool) -> Forgotten:
        """Remove what is older than a time and no law needs; without *apply* only count it.

        Needed is a line of unknown outcome, and the first line of each set of labels in a conversation. An approval
        that has expired is good for nothing any more.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """One event of the operators' stream. `hash` is `core.chain.chained` over it and the hash of the one before."""

    number: int
    at: float
    kind: str
    body: Mapping[str, Json]
    hash: str


class AuditStore(Protocol):
    """The operators' stream: append-only, each event chained to the one before. Every method may raise StoreError."""

    async def append(self, events: Sequence[tuple[float, str, Mapping[str, Json]]]) -> int:
        """Write events as (time, kind, body), all or none, durably; return the last one's number, counting from 1."""

    async def events(self, after: int, limit: int) -> tuple[AuditEvent, ...]:
        """Return the events that follow number *after*, oldest first."""

    async def older(self, before: float) -> AuditEvent | None:
        """Return the last of the events that stand before the first one from *before* on, never the newest of all."""

    async def forget(self, through: int) -> int:
        """Remove the events up to that number, the newest never; say how many."""


class VectorStore(Protocol):
    """What is made of texts and can be made again: vectors and prepared catalogs. Every method may raise StoreError."""

    async def vectors(self, model_id: str, digests: Collection[str]) -> dict[str, bytes]:
        """Return those that are kept, int8 values as bytes."""

    async def keep_vectors(self, model_id: str, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors; losing them costs only making them again."""

    async def prepared(self, key: str) -> bytes | memoryview | None:
        """Return what was made of a catalog version before, read-only, None where it is not kept.

        A memoryview may be of memory that other processes map too, so it is not copied where it need not be.
        """

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
