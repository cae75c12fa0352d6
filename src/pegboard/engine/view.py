"""A view: everything a request reads, as one immutable value that is swapped whole (law 5).

A snapshot, the policy bound to it, its index, and what can be computed once for all callers. A reader
keeps the view it began with. Row i of every array is `snapshot.entries[i]`.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pegboard.core.catalog import ALWAYS, CatalogEntry, Risk
from pegboard.core.context import RuntimeContext
from pegboard.core.policy import Policy, pinned_stages
from pegboard.core.revocations import Revocations
from pegboard.core.snapshot import Snapshot
from pegboard.engine.fallback import Cause
from pegboard.engine.rendering import Renderings
from pegboard.policy.table import Eligibility, RuleTable
from pegboard.retrieval.index import Eligible, Index

__all__ = ["Seen", "View"]

_RISKS = tuple(Risk)
# Distinct eligible sets whose derived values are kept; a caller beyond them pays for computing its own again.
_SEEN_AT_MOST = 64


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What one caller may see of a view: the eligible rows, and a digest of them that may be shown to it."""

    eligibility: Eligibility
    eligible: Eligible
    digest: str
    """`sha256:<hex>` over the sorted eligible (tool id, schema hash)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class View:
    """One published state, bound to the policy in force."""

    snapshot: Snapshot
    policy: Policy
    table: RuleTable
    index: Index | None
    no_index_cause: Cause
    """Which cause stands for a missing index: it is down, or it was dropped because it grew too old."""
    encoding: str
    count_tokens: Callable[[str], int]
    tokens: NDArray[np.int32] = field(repr=False)
    """By row: tokens of the whole definition as MCP lists it, every mention shown."""
    _fingerprints: NDArray[np.uint8] = field(repr=False)
    _risks: NDArray[np.int8] = field(repr=False)
    _namespaces: tuple[str, ...] = field(repr=False)
    _namespace_of: NDArray[np.int32] = field(repr=False)
    _pinned: tuple[tuple[int, tuple[str, ...]], ...] = field(repr=False)
    _siblings: dict[tuple[str, str], list[int]] = field(repr=False)
    renderings: Renderings = field(default_factory=Renderings, repr=False)
    _seen: "OrderedDict[Eligibility, Seen]" = field(default_factory=OrderedDict, repr=False)

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        policy: Policy,
        index: Index | None,
        *,
        encoding: str,
        count_tokens: Callable[[str], int],
        tokens: NDArray[np.int32],
        no_index_cause: Cause = Cause.INDEX_DOWN,
    ) -> "View":
        """Bind a policy to a snapshot and prepare what every request needs."""
        entries = snapshot.entries
        namespaces = tuple(sorted({entry.namespace for entry in entries}))
        number = {path: place for place, path in enumerate(namespaces)}
        return cls(
            snapshot=snapshot,
            policy=policy,
            table=RuleTable.of(snapshot, policy),
            index=index,
            no_index_cause=no_index_cause,
            encoding=encoding,
            count_tokens=count_tokens,
            tokens=tokens,
            _fingerprints=_fingerprints(entries),
            _risks=np.fromiter((_locked_risk(entry, policy).rank for entry in entries), np.int8, len(entries)),
            _namespaces=namespaces,
            _namespace_of=np.fromiter((number[entry.namespace] for entry in entries), np.int32, len(entries)),
            _pinned=tuple(
                (row, stages) for row, entry in enumerate(entries) if (stages := pinned_stages(entry, policy))
            ),
            _siblings=_siblings(entries),
        )

    def see(self, context: RuntimeContext, revocations: Revocations) -> Seen:
        """Return what this caller may see now. Callers with the same eligible set share one value."""
        eligibility = self.table.eligible(context, revocations)
        if (known := self._seen.get(eligibility)) is not None:
            return known
        seen = Seen(
            eligibility=eligibility,
            eligible=Eligible.of_mask(eligibility.mask),
            digest=f"sha256:{hashlib.sha256(self._fingerprints[eligibility.mask].tobytes()).hexdigest()}",
        )
        self._seen[eligibility] = seen
        while len(self._seen) > _SEEN_AT_MOST:
            self._seen.popitem(last=False)
        return seen

    def noted(self, context: RuntimeContext, seen: Seen) -> Mapping[str, int]:
        """Return how many of a caller's tools each log-only policy would have taken away, by its id."""
        return self.table.noted(context, seen.eligibility)

    def risk(self, row: int) -> Risk:
        """Return the locked risk of a tool; what is not locked counts as the worst."""
        return _RISKS[int(self._risks[row])]

    def highest_risk(self, rows: NDArray[np.intp]) -> Risk:
        """Return the worst risk among *rows*, `read` among none."""
        return _RISKS[int(self._risks[rows].max())] if len(rows) else Risk.READ

    def pinned_rows(self, stage: str | None) -> list[int]:
        """Return the rows that are loaded without ranking in *stage*, ascending."""
        return [row for row, stages in self._pinned if ALWAYS in stages or stage in stages]

    def rows_of_namespace(self, path: str, seen: Seen) -> NDArray[np.intp]:
        """Return the eligible rows of exactly this namespace, ascending."""
        if path not in self._namespaces:
            return np.empty(0, np.intp)
        return np.flatnonzero(seen.eligibility.mask & (self._namespace_of == self._namespaces.index(path)))

    def has_namespace(self, path: str, seen: Seen) -> bool:
        """Say whether the caller has a tool in this namespace or below it."""
        held = np.bincount(self._namespace_of[seen.eligible.rows], minlength=len(self._namespaces))
        return any(
            held[number] and (own == path or own.startswith(f"{path}.")) for number, own in enumerate(self._namespaces)
        )

    def namespaces(self, seen: Seen) -> tuple[str, ...]:
        """Return the namespaces of the eligible tools, sorted."""
        held = np.bincount(self._namespace_of[seen.eligible.rows], minlength=len(self._namespaces))
        return tuple(path for path, count in zip(self._namespaces, held, strict=True) if count)

    def all_tokens(self, seen: Seen) -> int:
        """Return what the definitions of every eligible tool take together."""
        return int(self.tokens[seen.eligible.rows].sum())

    def known_names(self, names: Iterable[str], seen: Seen) -> tuple[str, ...]:
        """Return those of *names* that name an eligible tool."""
        if self.index is None:
            return ()
        known = self.index.names
        return tuple(name for name in names if known.find((name,), seen.eligible))

    def eligible_siblings(self, entry: CatalogEntry, seen: Seen) -> Collection[str]:
        """Return which of the tools that *entry*'s own text names are eligible too."""
        rows = ((name, self._siblings.get((entry.source_server, name), [])) for name in entry.mentions)
        return {name for name, found in rows if seen.eligibility.mask[found].any()}


def _locked_risk(entry: CatalogEntry, policy: Policy) -> Risk:
    line = policy.lock.lines.get(entry.tool_id)
    return Risk.DESTRUCTIVE if line is None else line.risk


def _fingerprints(entries: tuple[CatalogEntry, ...]) -> NDArray[np.uint8]:
    joined = b"".join(hashlib.sha256(f"{one.tool_id}\n{one.schema_hash}".encode()).digest() for one in entries)
    return np.frombuffer(joined, dtype=np.uint8).reshape(len(entries), 32)


def _siblings(entries: tuple[CatalogEntry, ...]) -> dict[tuple[str, str], list[int]]:
    """Return the rows of every tool that some text names; catalog files may give one server a name twice."""
    found: dict[tuple[str, str], list[int]] = {
        (entry.source_server, name): [] for entry in entries for name in entry.mentions
    }
    for row, entry in enumerate(entries):
        if (rows := found.get((entry.source_server, entry.name))) is not None:
            rows.append(row)
    return found
