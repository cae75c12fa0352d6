"""Vectors of documents in SQLite, by model and text digest."""

import sqlite3
from collections.abc import Collection, Mapping

from pegboard.adapters.sqlite_schema import writing

__all__ = ["keep_vectors", "vectors"]

# A query for a few digests asks for each; beyond this the model's whole table is read once, which is faster.
_FEW = 500


def vectors(connection: sqlite3.Connection, model_id: str, digests: Collection[str]) -> dict[str, bytes]:
    """Return those of *digests* that are kept."""
    if len(digests) > _FEW:
        every = connection.execute("SELECT digest, vector FROM vectors WHERE model_id = ?", (model_id,))
        wanted = frozenset(digests)
        return {digest: vector for digest, vector in every if digest in wanted}
    marks = ", ".join("?" * len(digests))
    found = connection.execute(
        f"SELECT digest, vector FROM vectors WHERE model_id = ? AND digest IN ({marks})",  # noqa: S608 - only marks
        (model_id, *digests),
    )
    return dict(found.fetchall())


def keep_vectors(connection: sqlite3.Connection, model_id: str, made: Mapping[str, bytes]) -> None:
    """Keep vectors; one that is there already stays."""
    with writing(connection):
        connection.executemany(
            "INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", ((model_id, key, vector) for key, vector in made.items())
        )
