"""What the tests of the stores share: stores to open, entries to publish, an account that is not root."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import anyio

from pegboard.adapters.memory import MemoryStore
from pegboard.adapters.sqlite import SqliteStore
from pegboard.core.catalog import CatalogEntry, Risk, declare
from pegboard.core.revocations import Revocation
from pegboard.core.snapshot import Snapshot
from pegboard.engine.ledger import Approval, Line
from pegboard.service.ports import Head, Listing, StoredSelection

Store = MemoryStore | SqliteStore


def tool(server: str, name: str, description: str = "") -> CatalogEntry:
    return declare(
        tool_id=f"{server}.{name}", namespace=server, source_server=server, name=name, description=description
    )


LIST = tool("crm", "list", "Lists orders.")
GET = tool("crm", "get", "Gets one.")
SEND = tool("mail", "send", "Sends 📨.")
HALT = Revocation(target="crm.list", why="leaks", by="dana@acme", since=5.0)
SELECTION = StoredSelection(
    selection_id="sel_1", principal="sam@acme", expires_at=90.0, tools={"crm_list": ("crm.list", LIST.schema_hash)}
)
LINE = Line(
    call_id="call_1",
    trace_id="tr_1",
    identity="sha256:sam",
    principal="sam@acme",
    at=10.0,
    tool_id="mail.send",
    schema_hash=SEND.schema_hash,
    arguments="sha256:args",
    risk=Risk.WRITE,
)
APPROVAL = Approval(
    approval_id="apr_1",
    identity="sha256:sam",
    principal="sam@acme",
    principals=frozenset({"sam", "sam@acme"}),
    tool_id="mail.send",
    schema_hash=SEND.schema_hash,
    arguments="sha256:args",
    shown={"to": "kim", "copies": 2, "cc": ["é", None]},
    reasons=("risk", "flow"),
    earlier=("call_a", "call_b"),
    asked_at=5.0,
    expires_at=50.0,
)


@contextmanager
def sqlite_store() -> Iterator[SqliteStore]:
    with tempfile.TemporaryDirectory() as folder, closing(SqliteStore.open(Path(folder) / "pegboard.db")) as store:
        yield store


@contextmanager
def memory_store() -> Iterator[MemoryStore]:
    yield MemoryStore()


OPEN: dict[str, Callable[[], Any]] = {"memory": memory_store, "sqlite": sqlite_store}


def listing(*found: CatalogEntry, at: float = 1.0, refused: tuple[tuple[str, str], ...] = ()) -> Listing:
    return Listing(server=found[0].source_server, fetched_at=at, entries=found, refused=refused)


def publish(store: Store, number: int, *found: CatalogEntry, listings: tuple[Listing, ...] = ()) -> Head:
    async def run() -> Head:
        snapshot = Snapshot.of(number, found)
        return await store.publish(snapshot, by="dana", at=float(number), listings=listings)

    return anyio.run(run)


def save_selection(store: Store) -> None:
    anyio.run(store.save_selection, SELECTION)


@contextmanager
def another_account() -> Iterator[Path]:
    """Give a folder of an account that is not root, and be that account: root may write everything."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        if os.geteuid() != 0:
            yield Path(folder)
            return
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
        try:
            yield Path(folder)
        finally:
            os.seteuid(0)
