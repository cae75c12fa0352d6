"""The index of one snapshot: rank the eligible tools for a query.

Row i is entry i of the snapshot, so ties broken by row are broken by tool id. An index is immutable; its
version covers every document, every constant of the recipe and every model. Of hidden tools nothing enters a
ranking: it equals, byte for byte, that of an index built from the eligible entries alone (law 2).

The recipe, and what each step is worth: docs of the retrieval measurements (`bench/retrieval.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pegboard.core.catalog import CatalogEntry
from pegboard.core.names import digest
from pegboard.retrieval.bm25 import BM25_VERSION, LexicalView, Matches, Postings
from pegboard.retrieval.building import BUILDING_VERSION, Rows, read
from pegboard.retrieval.dense import Vectors
from pegboard.retrieval.documents import DOCUMENTS_VERSION
from pegboard.retrieval.eligible import Eligible
from pegboard.retrieval.evidence import Evidence
from pegboard.retrieval.exact import Names
from pegboard.retrieval.kept import Kept
from pegboard.retrieval.namespaces import Namespaces
from pegboard.retrieval.query import Query
from pegboard.retrieval.ranking import RANKING_VERSION, Ordered, Ranking, join, order
from pegboard.retrieval.scoring import Scored
from pegboard.retrieval.tokens import TOKENS_VERSION

__all__ = ["Eligible", "Index", "Ranking"]

_VIEWS_BYTES = 256 << 20
# At most an eighth of the rows get postings of their own: what they take and cost follows the eligible rows alone, and
# every later task finds no other row in its way. For more rows the index's own are walked under a mask.
_FEW = 8
_VECTORS_BYTES = 512 << 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Index:
    """Search structures aligned with a snapshot's entries. Build it with `build`."""

    version: str
    """`sha256:<hex>` over document digests, recipe constants, vectors and model ids."""
    entries: Sequence[CatalogEntry] = field(repr=False)
    rows: Rows = field(repr=False)
    postings: Postings = field(repr=False)
    names: Names = field(repr=False)
    namespaces: Namespaces = field(repr=False)
    channels: Mapping[str, Vectors] = field(repr=False)
    _views: "Kept[tuple[Postings, LexicalView]]" = field(default_factory=lambda: Kept(_VIEWS_BYTES), repr=False)

    @classmethod
    def build(
        cls,
        entries: Sequence[CatalogEntry],
        vectors: Mapping[str, NDArray[np.int8]] | None = None,
        previous: "Index | None" = None,
        models: Mapping[str, str] | None = None,
        rows: Rows | None = None,
    ) -> "Index":
        """Build an index of entries sorted by tool id.

        Args:
            entries: As in a snapshot.
            vectors: Channel -> int8 matrix, row i for entry i.
            previous: An index whose unchanged documents are taken over instead of being read again.
            models: Channel -> model id, part of the version.
            rows: What these entries were read into before, where that was kept.

        Raises:
            ValueError: A matrix has another number of rows, another type, or too long vectors.
        """
        channels = {name: Vectors.of(matrix, budget=_VECTORS_BYTES) for name, matrix in sorted((vectors or {}).items())}
        for name, channel in channels.items():
            if len(channel.matrix) != len(entries):
                raise ValueError(f"channel {name!r} has {len(channel.matrix)} vectors for {len(entries)} tools")
        rows = read(entries, None if previous is None else previous.rows) if rows is None else rows
        return cls(
            version=_version(rows, channels, models or {}),
            entries=entries,
            rows=rows,
            postings=_postings(rows),
            names=Names.of(entries),
            namespaces=Namespaces.of(entries),
            channels=channels,
        )

    def rank(self, query: Query, eligible: Eligible, k: int) -> Ranking:
        """Rank the eligible tools, the best *k* of them, exactly named ones first.

        Tools that share nothing with the query are left out where only terms are compared, so fewer than *k* may come.
        """
        if not eligible.count or k <= 0:
            return Ranking.nothing(eligible.count)
        orders = [self._order(query, number, eligible, k) for number in range(len(query.parts))]
        return join(orders, self.names.find(query.names, eligible), eligible, k)

    def _order(self, query: Query, number: int, eligible: Eligible, k: int) -> Ordered:
        postings, view = self._views.get(eligible.key, lambda: self._lexical(eligible), self._size)
        texts = (query.parts[number], *query.clauses[number])
        matches = postings.match(texts, view)
        first, last = query.texts[number]
        dense = {
            name: channel.scores(query.vectors[name][first:last], eligible)
            for name, channel in self.channels.items()
            if channel.takes(query.vectors.get(name, ())[first:last], len(texts))
        }
        return order(
            Scored.of(count=eligible.count, matches=matches, dense=dense),
            lambda places: self.namespaces.codes[_rows(eligible, places)],
            self.namespaces.named(query.parts[number]),
            lambda places: self._evidence(texts, matches, eligible, places),
            k,
        )

    def _lexical(self, eligible: Eligible) -> tuple[Postings, LexicalView]:
        """Return what the terms of a task are looked up in: few eligible rows have postings of their own."""
        if eligible.count * _FEW > len(self.entries):
            return self.postings, self.postings.view(eligible)
        postings = _postings(self.rows.alone(eligible.rows))
        return postings, postings.view(Eligible.of_mask(np.ones(eligible.count, dtype=np.bool_)))

    def _size(self, found: tuple[Postings, LexicalView]) -> int:
        postings, view = found
        own = view.norms.nbytes + (0 if view.place is None else view.place.nbytes)
        return own if postings is self.postings else own + postings.nbytes

    def _evidence(
        self, texts: Sequence[Sequence[str]], matches: Matches, eligible: Eligible, places: NDArray[np.int64]
    ) -> Evidence:
        """Tell which of the task's terms each of the first candidates holds."""
        numbers = {self.rows.vocabulary.get(term, -1): term for term in matches.weights}
        known = frozenset(numbers)
        spans = [self.rows.terms[self.rows.span(row)].tolist() for row in _rows(eligible, places).tolist()]
        held = [frozenset(map(numbers.__getitem__, known.intersection(span))) for span in spans]
        return Evidence.of(texts, matches.weights, held)


def _rows(eligible: Eligible, places: NDArray[np.int64]) -> NDArray[np.int64]:
    return places if eligible.everything else eligible.rows[places]


def _postings(rows: Rows) -> Postings:
    return Postings.of(rows.vocabulary, rows.terms, rows.frequencies, rows.ends, rows.lengths)


def _version(rows: Rows, channels: Mapping[str, Vectors], models: Mapping[str, str]) -> str:
    return digest(
        {
            "recipe": [TOKENS_VERSION, DOCUMENTS_VERSION, BUILDING_VERSION, BM25_VERSION, RANKING_VERSION],
            "documents": list(rows.digests),
            "channels": {name: [models.get(name, ""), *channel.matrix.shape] for name, channel in channels.items()},
        }
    )
