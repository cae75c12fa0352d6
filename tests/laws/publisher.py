"""A process that publishes, made to be killed: `python -m tests.laws.publisher FILE NAME LAST`.

It takes the next number again and again until LAST is served, and writes each number that it won to its output
once `publish` has returned. What version *n* holds follows from *n* alone (`catalog`), so whoever reads the file
afterwards can tell a whole version from a torn one.
"""

import sys
from contextlib import closing
from functools import cache

import anyio

from pegboard.adapters.sqlite import SqliteStore
from pegboard.core.catalog import CatalogEntry, declare
from pegboard.core.errors import StoreError
from pegboard.core.snapshot import Snapshot
from pegboard.service.ports import Listing, StoredSelection

TOOLS = 120
_SERVERS = 4
_ROUNDS = 6


def catalog(number: int) -> Snapshot:
    """Return version *number*: each tool as it was last changed, a sixth of them by this version."""
    return Snapshot.of(number, (_entry(place, number - (number - place) % _ROUNDS) for place in range(TOOLS)))


def listings(number: int) -> list[Listing]:
    """Return what the servers list when *number* is published: the same entries."""
    servers: dict[str, list[CatalogEntry]] = {}
    for entry in catalog(number).entries:
        servers.setdefault(entry.source_server, []).append(entry)
    return [Listing(server=name, fetched_at=float(number), entries=tuple(found)) for name, found in servers.items()]


@cache
def _entry(place: int, changed: int) -> CatalogEntry:
    server = f"s{place % _SERVERS}"
    return declare(
        tool_id=f"{server}.t{place:03}",
        namespace=server,
        source_server=server,
        name=f"t{place:03}",
        # Long and of its own, so that a version takes some pages and a kill can fall between them.
        description=f"Version {changed}. " + " ".join(str(place * changed * step) for step in range(200)),
    )


async def publish_until(store: SqliteStore, name: str, last: int) -> None:
    """Publish whatever number is next, until *last* is served."""
    served = 0
    while served < last:
        head = await store.head()
        served = 0 if head is None else head.number
        if served >= last:
            return
        next_ = served + 1
        try:
            await store.publish(catalog(next_), by=name, at=float(next_), listings=listings(next_))
        except StoreError as error:
            if "cannot follow" not in error.problem:
                raise
            continue
        kept = StoredSelection(selection_id=f"s{next_}", principal=name, expires_at=0.0)
        await store.save_selection(kept)
        await store.save_traces([(f"t{next_}", float(next_), b"{}")])
        print(next_, flush=True)


def main() -> None:
    """Run until done or killed."""
    path, name, last = sys.argv[1:]
    with closing(SqliteStore.open(path)) as store:
        anyio.run(publish_until, store, name, int(last))


if __name__ == "__main__":
    main()
