"""What was prepared of a catalog is taken over by the next process, vectors without a copy."""

import mmap
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

from pegboard.adapters.sqlite import SqliteStore
from pegboard.core.catalog import with_row
from pegboard.core.snapshot import Snapshot
from pegboard.service.encoding import Encoders
from pegboard.service.preparing import Preparer
from tests.crm import ENTRIES

pytestmark = pytest.mark.anyio

# As many rows of as many numbers as make a body that is a file of its own.
ROWS, DIMENSIONS = 1_100, 1_000


class Lengths:
    """An encoder that puts a text's length everywhere, and counts what it was given."""

    model_id, dimensions = "lengths@1", DIMENSIONS

    def __init__(self) -> None:
        self.given = 0

    async def encode(self, texts: Sequence[str]) -> NDArray[np.int8]:
        self.given += len(texts)
        return np.array([[len(text) % 100] * DIMENSIONS for text in texts], dtype=np.int8)


@lru_cache
def catalog(extra: int = 0) -> Snapshot:
    made = (replace(ENTRIES[0], tool_id=f"crm.tool_{n:04}", name=f"tool_{n}") for n in range(ROWS + extra))
    return Snapshot.of(1, map(with_row, made))


async def prepared(store: SqliteStore, snapshot: Snapshot) -> tuple[NDArray[np.int8], Lengths]:
    """Prepare a catalog as a process does that has just begun, and return the vectors and who made them."""
    encoder = Lengths()
    preparer = Preparer(Encoders({"lengths": encoder}, store), store, "characters / 4", len)
    index = await preparer.index(snapshot)
    return index.channels["lengths"].matrix, encoder


def is_mapped(matrix: NDArray[np.int8]) -> bool:
    base: object = matrix
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, memoryview) and isinstance(base.obj, mmap.mmap)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a store in which the catalog was prepared by an earlier process."""
    path = tmp_path_factory.mktemp("prepared")
    with closing(SqliteStore.open(path / "pegboard.db")) as store:
        anyio.run(prepared, store, catalog())
    return path


@pytest.fixture
def store(folder: Path, tmp_path: Path) -> Iterator[SqliteStore]:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    with closing(SqliteStore.open(tmp_path / "pegboard.db")) as opened:
        yield opened


async def test_the_next_process_maps_the_vectors_and_encodes_nothing(store: SqliteStore) -> None:
    found, encoder = await prepared(store, catalog())
    assert (encoder.given, found.shape) == (0, (ROWS, DIMENSIONS))
    assert is_mapped(found)


async def test_damaged_vectors_are_put_together_again_from_the_store(store: SqliteStore, tmp_path: Path) -> None:
    whole, _ = await prepared(store, catalog())
    for path in (tmp_path / "pegboard.db-prepared").iterdir():
        path.unlink()
        path.write_bytes(b"damaged")
    found, encoder = await prepared(store, catalog())
    assert encoder.given == 0
    assert not is_mapped(found)
    assert (found == whole).all()


async def test_of_a_catalog_that_grew_only_the_new_texts_are_encoded(store: SqliteStore) -> None:
    found, encoder = await prepared(store, catalog(extra=3))
    assert (len(found), encoder.given) == (ROWS + 3, 3)
