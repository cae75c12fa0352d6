"""What can be made again, in SQLite: vectors by model and text digest, prepared catalogs by key.

What is large of it stands in files beside the store, so that processes share it (`mapped_files.py`). What is damaged
counts as not kept.
"""

import sqlite3
from collections.abc import Collection, Mapping
from pathlib import Path

from pegboard.adapters import mapped_files
from pegboard.adapters.sqlite_rows import pack, unpack
from pegboard.adapters.sqlite_schema import writing
from pegboard.core.errors import StoreError

__all__ = ["keep_prepared", "keep_vectors", "prepared", "vectors"]

# A query for a few digests asks for each; beyond this the model's whole table is read once, which is faster.
_FEW = 500
# A catalog version has its rows, its token counts and a matrix for each channel; two versions are kept.
_PREPARED_KEPT = 10
# Bytes from which a body is a file of its own: vectors of a few thousand tools. Less is unpacked in a millisecond.
_LARGE = 1 << 20
# Stands in for a body that is a file, before its name; no packed body begins so.
_FILE = b"file:"


def vectors(connection: sqlite3.Connection, model_id: str, digests: Collection[str]) -> dict[str, bytes]:
    """Return those of *digests* that are kept."""
    if len(digests) > _FEW:
        every = connection.execute("SELECT digest, vector FROM vectors WHERE model_id = ?", (model_id,))
        wanted = frozenset(digests)
        return {digest: vector for digest, vector in every if digest in wanted and isinstance(vector, bytes)}
    marks = ", ".join("?" * len(digests))
    found = connection.execute(
        f"SELECT digest, vector FROM vectors WHERE model_id = ? AND digest IN ({marks})",  # noqa: S608 - only marks
        (model_id, *digests),
    )
    return {digest: vector for digest, vector in found if isinstance(vector, bytes)}


def keep_vectors(connection: sqlite3.Connection, model_id: str, made: Mapping[str, bytes]) -> None:
    """Keep vectors; one that is there already stays."""
    with writing(connection):
        connection.executemany(
            "INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", ((model_id, key, vector) for key, vector in made.items())
        )


def prepared(connection: sqlite3.Connection, key: str) -> bytes | memoryview | None:
    """Return what is kept under *key*; None also where it is damaged, since it can be made again."""
    found = connection.execute("SELECT body FROM prepared WHERE key = ?", (key,)).fetchone()
    if found is None:
        return None
    if isinstance(found[0], bytes) and found[0].startswith(_FILE):
        return mapped_files.opened(_folder(connection), _name(found[0]))
    try:
        return unpack(found[0], key)
    except StoreError:
        return None


def keep_prepared(connection: sqlite3.Connection, key: str, body: bytes) -> None:
    """Keep *body* as the newest, and drop what is older than the last few."""
    folder = _folder(connection)
    packed = _in_a_file(folder, body) or pack(body)
    with writing(connection):
        connection.execute("INSERT OR REPLACE INTO prepared (key, body) VALUES (?, ?)", (key, packed))
        connection.execute(
            "DELETE FROM prepared WHERE number NOT IN (SELECT number FROM prepared ORDER BY number DESC LIMIT ?)",
            (_PREPARED_KEPT,),
        )
        named = connection.execute("SELECT body FROM prepared WHERE substr(body, 1, ?) = ?", (len(_FILE), _FILE))
        mapped_files.keep_only(folder, {_name(body) for (body,) in named})


def _in_a_file(folder: Path, body: bytes) -> bytes | None:
    """Keep a large body as a file and return what stands for it; None where it is small or cannot be written."""
    if len(body) < _LARGE:
        return None
    try:
        return _FILE + mapped_files.keep(folder, body).encode()
    except OSError:
        return None


def _name(body: bytes) -> str:
    return body.removeprefix(_FILE).decode("ascii", "replace")


def _folder(connection: sqlite3.Connection) -> Path:
    (path,) = [file for _, name, file in connection.execute("PRAGMA database_list") if name == "main"]
    return Path(f"{path}-prepared")
