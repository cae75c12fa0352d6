"""What the SQLite store costs: publish, a small change, load, verify, traces, at 10,000 and 100,000 tools.

    python bench/store.py [--tools 100000] [--listings ../shared/data/live-mcp/servers]

Tools are copies of real ones where a folder of saved listings is given, else made up; bodies average as stated.
CPU is this process's. "Written" is what the kernel counted until the call returned (the log, which comes into the
file later); "file" is how much the file had grown once it was there.
"""

import argparse
import json
import random
import resource
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio

from pegboard.adapters.sqlite import SqliteStore
from pegboard.core.catalog import CatalogEntry, declare, to_row, with_row
from pegboard.core.snapshot import Snapshot
from pegboard.service.ports import Listing, StoredSelection

LISTINGS = Path(__file__).parent.parent / ".." / "shared" / "data" / "live-mcp" / "servers"
CHANGED = 500


def main() -> None:
    """Print one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=int, action="append")
    parser.add_argument("--listings", type=Path, default=LISTINGS)
    asked = parser.parse_args()
    for count in asked.tools or [10_000, 100_000]:
        anyio.run(measure, count, asked.listings)


async def measure(count: int, listings: Path) -> None:
    """Run every step once on a new file."""
    entries = list(catalog(count, listings))
    size = sum(len(json.dumps(to_row(entry))) for entry in entries[:2000]) / min(count, 2000)
    servers = len({entry.source_server for entry in entries})
    print(f"\n{count:,} tools of {servers:,} servers, {size:,.0f} bytes of JSON each")
    # In the working tree, since /tmp may be memory, where nothing is written.
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        path = Path(folder) / "store.db"
        store = SqliteStore.open(path)
        first = Snapshot.of(1, entries)
        with Figure("publish, first", path):
            await store.publish(first, by="bench", at=1.0, listings=listed(entries))
        one = spread(entries, random.Random(1), together=True)
        second = Snapshot.of(2, one)
        with Figure(f"publish, {CHANGED} changed in few servers", path):
            await store.publish(second, by="bench", at=2.0, listings=())
        two = spread(one, random.Random(2), together=False)
        third = Snapshot.of(3, two)
        with Figure(f"publish, {CHANGED} changed in all servers", path):
            await store.publish(third, by="bench", at=3.0, listings=())
        with Figure("publish, nothing changed", path):
            await store.publish(Snapshot.of(4, two), by="bench", at=4.0, listings=())
        del entries, one, two, first, second, third
        with Figure("load", path):
            await store.load(4)
        with Figure("verify", path):
            found = await store.verify()
        assert not found.bad
        await small(store, path)
        store.close()


async def small(store: SqliteStore, path: Path) -> None:
    """Measure what a request costs."""
    trace = json.dumps({"ranking": [[f"server.tool_{n}", n / 7] for n in range(40)]}).encode()
    with Figure("save_selection", path, 2000):
        for number in range(2000):
            kept = StoredSelection(selection_id=f"s{number}", principal="sam", expires_at=1.0, tools={"a": ("b", "c")})
            await store.save_selection(kept)
    for batch in (1, 200):
        with Figure(f"a trace, in batches of {batch}", path, 2000):
            for start in range(0, 2000, batch):
                rows = [(f"t{batch}-{number}", float(number), trace) for number in range(start, start + batch)]
                await store.save_traces(rows)
    with Figure("selection", path, 2000):
        for number in range(2000):
            await store.selection(f"s{number}")
    with Figure("halts", path, 2000):
        for _ in range(2000):
            await store.halts()


def catalog(count: int, folder: Path) -> Iterator[CatalogEntry]:
    """Yield *count* entries, in copies of the servers there are."""
    tools = list(real(folder)) or list(made_up())
    for number in range(count):
        server, tool = tools[number % len(tools)]
        server = f"{server}-{number // len(tools)}"
        yield declare(
            tool_id=f"{server}.{tool['name']}",
            namespace=server,
            source_server=server,
            name=tool["name"],
            description=f"{tool.get('description') or ''} ({server})",
            input_schema=tool.get("inputSchema"),
        )


def real(folder: Path) -> Iterator[tuple[str, dict]]:
    """Yield the tools of saved listings."""
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        found = json.loads(path.read_text())
        yield from ((found["server"], tool) for tool in found["tools"])


def made_up() -> Iterator[tuple[str, dict]]:
    """Yield tools of about the size of real ones."""
    for server in range(40):
        for tool in range(60):
            fields = {f"field_{n}": {"type": "string", "description": f"Field {n}. {'Word ' * n}"} for n in range(12)}
            yield (
                f"server{server:02}",
                {
                    "name": f"tool_{tool}",
                    "description": "Do it. " * 30,
                    "inputSchema": {"type": "object", "properties": fields},
                },
            )


def spread(entries: list[CatalogEntry], dice: random.Random, *, together: bool) -> list[CatalogEntry]:
    """Change some entries: neighbours, or any."""
    start = dice.randrange(max(1, len(entries) - CHANGED))
    places = range(start, start + CHANGED) if together else sorted(dice.sample(range(len(entries)), CHANGED))
    found = list(entries)
    for place in places:
        found[place] = with_row(found[place], summary=f"Changed {dice.random()}.")
    return found


def listed(entries: list[CatalogEntry]) -> list[Listing]:
    """Put entries into listings by server."""
    servers: dict[str, list[CatalogEntry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.tool_id):
        servers.setdefault(entry.source_server, []).append(entry)
    return [Listing(server=name, fetched_at=1.0, entries=tuple(found)) for name, found in servers.items()]


def settled(path: Path) -> int:
    """Bring the log into the file and return the file's size."""
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size


class Figure:
    """Print what the block cost, for each of *times* runs of it."""

    def __init__(self, name: str, path: Path, times: int = 1) -> None:
        self.name, self.path, self.times = name, path, times

    def __enter__(self) -> None:
        self.size, self.written = settled(self.path), written()
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def __exit__(self, *_: object) -> None:
        cpu, wall, new = time.process_time() - self.cpu, time.perf_counter() - self.wall, written() - self.written
        size = settled(self.path) - self.size
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        unit, per = ("s", 1.0) if self.times == 1 else ("us", 1e6 / self.times)
        digits = 2 if self.times == 1 else 0
        print(
            f"  {self.name:40}{cpu * per:8.{digits}f} {unit} CPU {wall * per:8.{digits}f} {unit} wall"
            f"  {new / 1e6:8.2f} MB written  {size / 1e6:+8.2f} MB file  {peak:6.0f} MB peak"
        )


def written() -> int:
    """Return the bytes this process has written to disks so far."""
    counted = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counted["write_bytes"])


if __name__ == "__main__":
    main()
