"""Catalogs, tasks and vectors that ranking is tested on.

Words are few, so that tools and tasks share them. Vectors come from a text's digest: no model, the same on every
machine, and two texts have the same vector only if they are the same.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from pegboard.core.catalog import CatalogEntry, declare
from pegboard.core.names import Json
from pegboard.core.snapshot import Snapshot
from pegboard.retrieval.confidence import judge
from pegboard.retrieval.documents import dense_text, document
from pegboard.retrieval.index import Eligible, Index, Ranking
from pegboard.retrieval.query import Query, read

WORDS = (
    "order",
    "orders",
    "refund",
    "list",
    "create",
    "customer",
    "invoice",
    "weather",
    "delete",
    "the",
    "please",
    "résumé",
)
CHANNELS = ("static", "encoder")
DIMENSIONS = 8

sentences = st.lists(st.sampled_from([*WORDS, "and then", ".", "also", "create_order"]), max_size=8).map(" ".join)
tasks = st.lists(sentences, min_size=1, max_size=3)
tools: st.SearchStrategy[CatalogEntry] = st.builds(
    lambda namespace, name, description, parameter, text: tool(
        f"{namespace}.{name}", description, properties={parameter: text}
    ),
    st.sampled_from(["crm", "billing", "mail"]),
    st.builds("{}_{}".format, st.sampled_from(WORDS[:6]), st.sampled_from(WORDS[:6])),
    sentences,
    st.sampled_from(WORDS),
    sentences,
)
catalogs = st.lists(tools, max_size=24, unique_by=lambda entry: entry.tool_id)


def tool(
    tool_id: str, description: str = "", *, properties: Mapping[str, str] | None = None, **more: Any
) -> CatalogEntry:
    """Declare a tool whose namespace and server are the first part of its id."""
    namespace, _, name = tool_id.rpartition(".")
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {key: {"type": "string", "description": text} for key, text in (properties or {}).items()},
    }
    return declare(
        **{
            "tool_id": tool_id,
            "namespace": namespace,
            "source_server": namespace,
            "name": name,
            "description": description,
            "input_schema": schema,
            **more,
        }
    )


def vector(text: str, channel: str) -> bytes:
    """Return an int8 vector for a text, values -127 to 127."""
    raw = hashlib.sha256(f"{channel}\n{text}".encode("utf-8", "replace")).digest()[:DIMENSIONS]
    return bytes((byte % 255 + 129) % 256 for byte in raw)


def index_of(
    entries: Sequence[CatalogEntry], channels: Sequence[str] = (), previous: Index | None = None
) -> tuple[Snapshot, Index]:
    """Build a snapshot and its index, with made vectors for *channels*."""
    snapshot = Snapshot.of(1, entries)
    texts = [dense_text(document(entry)) for entry in snapshot.entries]
    vectors = {channel: _matrix([vector(text, channel) for text in texts]) for channel in channels}
    return snapshot, Index.build(snapshot.entries, vectors, previous, dict.fromkeys(channels, "made"))


def asked(texts: Sequence[str], channels: Sequence[str] = ()) -> Query:
    """Analyse tasks, with made vectors for *channels*."""
    reading = read(texts)
    return reading.query({channel: tuple(vector(text, channel) for text in reading.texts) for channel in channels})


def only(snapshot: Snapshot, ids: frozenset[str] | set[str] | None = None) -> Eligible:
    """Make the eligible set of these ids; None: every tool."""
    return Eligible.of_mask(np.array([ids is None or one.tool_id in ids for one in snapshot.entries], dtype=np.bool_))


def first(snapshot: Snapshot, index: Index, *texts: str, k: int = 8, channels: Sequence[str] = ()) -> list[str]:
    """Return the ids of the best *k* of all tools."""
    return ids(snapshot, index.rank(asked(texts, channels), only(snapshot), k))


def ids(snapshot: Snapshot, ranking: Ranking) -> list[str]:
    """Return a ranking's tool ids."""
    return [snapshot.entries[row].tool_id for row in ranking.rows.tolist()]


def visible(snapshot: Snapshot, index: Index, query: Query, eligible: Eligible, k: int = 8) -> dict[str, Any]:
    """Return everything of a ranking that could reach a caller or a trace, tools by id."""
    ranking = index.rank(query, eligible, k)
    judgment = judge(ranking, query, index, eligible, None)
    return {
        "ids": ids(snapshot, ranking),
        "exact": [snapshot.entries[row].tool_id for row in ranking.exact],
        "scores": [score.hex() for score in ranking.scores],
        "parts": {name: [value.hex() for value in values] for name, values in ranking.parts.items()},
        "evidence": [asdict(one) for one in ranking.evidence],
        "eligible": ranking.eligible,
        "judgment": asdict(judgment),
    }


def _matrix(vectors: Sequence[bytes]) -> NDArray[np.int8]:
    return np.frombuffer(b"".join(vectors), dtype=np.int8).reshape(len(vectors), DIMENSIONS)
