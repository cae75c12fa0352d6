"""What a refresh costs: a large catalog in which one server's tools change, and the real listings refreshed twice.

    python bench/refresh.py [--tools 100000] [--changed 500] [--listings ../shared/data/live-mcp/servers]

One process with a SQLite store and a lock of every tool, as a gateway has them after a restart; the index is made of
the static table's vectors. CPU is this process's; "written" is what the kernel counted. Nothing leaves the machine.

A refresh is told in three parts: the server's listing is taken in and judged, what comes of it is published, and the
next request picks it up. The goals are those of the first two together. Under `follow` the lock file is replaced as a
whole, since it is the authority and a file that people merge; that is told apart.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.machine import machine
from bench.store import LISTINGS, made_up, written
from pegboard.adapters.clock import SystemClock
from pegboard.adapters.encoders import StaticEncoder
from pegboard.adapters.files import LockFileAt
from pegboard.adapters.sqlite import SqliteStore
from pegboard.adapters.vector_cache import RememberingEncoder
from pegboard.core.catalog import CatalogEntry, Reach, Risk, declare
from pegboard.core.lock import Lock, LockLine, format_lock
from pegboard.core.policy import AccessTemplate
from pegboard.engine.intake import take_in_listing
from pegboard.engine.trust import Trust
from pegboard.service.audit import Audit
from pegboard.service.deployment import Deployment
from pegboard.service.encoding import Encoders
from pegboard.service.lockkeeper import LockKeeper
from pegboard.service.ports import Listing, Page
from pegboard.service.published import Catalog
from pegboard.service.refresher import Refresher, RefreshReport

A_SERVER = 500
# Of a refresh, judged and published, with 100,000 tools of which 500 change.
GOAL_CPU_S, GOAL_WRITTEN_BYTES = 1.0, 1e6


class Listed:
    """Tool servers that list what they are told, on one page."""

    def __init__(self, tools: Mapping[str, Sequence[dict]]) -> None:
        self.tools = dict(tools)
        self._server = ""

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self.tools))

    @asynccontextmanager
    async def connect(self, server: str) -> AsyncIterator["Session"]:
        yield Session(self.tools[server])


class Session:
    """One server."""

    changes = 0

    def __init__(self, tools: Sequence[dict]) -> None:
        self._tools = tools

    async def list_page(self, cursor: str | None) -> Page:
        return Page(tools=self._tools)


class Figures:
    """Prints what each step took, from the end of the one before it."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin to count here."""
        self._at = time.process_time(), time.perf_counter(), written()

    def end(self, name: str) -> tuple[float, int]:
        """Print a step that ends here; return its CPU seconds and the bytes written."""
        (cpu, wall, before), self._at = self._at, (time.process_time(), time.perf_counter(), written())
        cpu, wall, new = self._at[0] - cpu, self._at[1] - wall, self._at[2] - before
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"  {name:58}{cpu:7.2f} s CPU {wall:7.2f} s wall {new / 1e6:8.2f} MB written {peak:6.0f} MB peak",
            flush=True,
        )
        return cpu, new

    @contextmanager
    def __call__(self, name: str):
        self.begin()
        yield
        self.end(name)


def main() -> None:
    """Print one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=int, default=100_000)
    parser.add_argument("--changed", type=int, default=500)
    parser.add_argument("--listings", type=Path, default=LISTINGS)
    asked = parser.parse_args()
    print(json.dumps(machine()))
    anyio.run(large, asked.tools, asked.changed, asked.listings)
    if asked.listings.is_dir():
        anyio.run(twice, asked.listings)


async def large(count: int, changed: int, listings: Path) -> None:
    """Refresh one server of a catalog of *count* tools."""
    tools = [tool for _, tool in _real(listings)] or [tool for _, tool in made_up()]
    servers = {
        f"s{place // A_SERVER:03}": [
            {**tools[number % len(tools)], "name": f"tool_{number}", "description": _text(tools, number)}
            for number in range(place, min(place + A_SERVER, count))
        ]
        for place in range(0, count, A_SERVER)
    }
    listed = Listed(servers)
    # In the working tree, since /tmp may be memory, where nothing is written.
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        catalog, refresher = _system(Path(folder), listed, Trust.FOLLOW)
        print(f"\n{count:,} tools of {len(servers):,} servers, all locked; {changed:,} texts of one server change")
        figure = Figures()
        one = sorted(servers)[len(servers) // 2]
        entries = {name: _entries(name, tools, whole=name == one) for name, tools in servers.items()}
        catalog.lock_file.write(_locked(entry for found in entries.values() for entry in found))
        listings = [Listing(server=name, fetched_at=1.0, entries=tuple(found)) for name, found in entries.items()]
        del entries
        with figure("everything published"):
            await catalog.publish(listings, by="bench")
        del listings
        catalog.snapshots.close()  # type: ignore[attr-defined]
        catalog, refresher = _system(Path(folder), listed, Trust.FOLLOW)
        with figure("everything picked up (index, policy), after a restart"):
            await catalog.current()
        for trust in (Trust.REVIEW, Trust.FOLLOW):
            catalog.deployment.trust.clear()  # type: ignore[attr-defined]
            catalog.deployment.trust[one] = trust  # type: ignore[index]
            for tool in listed.tools[one][:changed]:
                tool["description"] += " It is new."
            (told,) = (await refreshed(catalog, refresher, one, str(trust), figure)).servers
            print(f"    held {told.held}, followed {len(told.followed)}, {told.steps[-1]}")
        with figure("one server refreshed, unchanged"):
            await refresher.refresh([one])
            await catalog.current()
        listed.tools[one] = listed.tools[one][: A_SERVER // 10]
        with figure("one server refreshed, nine tenths of it gone"):
            report = await refresher.refresh([one])
            await catalog.current()
        print(f"    {report.servers[0].alarm}")
        for store in (catalog.snapshots,):
            store.close()  # type: ignore[attr-defined]


async def refreshed(catalog: Catalog, refresher: Refresher, server: str, trust: str, figure: Figures) -> RefreshReport:
    """Refresh one server and pick up what came of it; print each part, and whether the goals are met."""
    lock, judged = catalog.composer.lock(), []
    figure.begin()
    report = await refresher.refresh(
        [server], progress=lambda _: judged.append(figure.end(f"one server refreshed, {trust}: judged"))
    )
    published = figure.end(f"one server refreshed, {trust}: published")
    await catalog.current()
    figure.end(f"one server refreshed, {trust}: picked up (index, policy)")
    cpu, new = (one + other for one, other in zip(judged[0], published, strict=True))
    size = 0 if catalog.composer.lock() is lock else len(format_lock(catalog.composer.lock()).encode())
    print(
        f"    {cpu:.2f} s CPU (goal {GOAL_CPU_S:.1f}: {'met' if cpu < GOAL_CPU_S else 'missed'}), "
        f"{(new - size) / 1e6:.2f} MB (goal {GOAL_WRITTEN_BYTES / 1e6:.1f}: "
        f"{'met' if new - size < GOAL_WRITTEN_BYTES else 'missed'}) and a lock file of {size / 1e6:.2f} MB"
    )
    return report


async def twice(listings: Path) -> None:
    """Refresh the real listings, lock them, and refresh them again in another key order."""
    servers: dict[str, list[dict]] = {}
    for server, tool in _real(listings):
        servers.setdefault(server, []).append(tool)
    listed = Listed(servers)
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        catalog, refresher = _system(Path(folder), listed, Trust.REVIEW)
        first = await refresher.refresh()
        taken_in = (entry for name, tools in servers.items() for entry in take_in_listing(name, name, tools)[0])
        catalog.lock_file.write(_locked(taken_in))
        await catalog.current()
        listed.tools = {name: [_shuffled(tool) for tool in tools] for name, tools in servers.items()}
        second = await refresher.refresh()
        taken = sum(len(one.added) for one in first.servers)
        refused = sum(len(one.refused) for one in first.servers)
        changed = [tool for one in second.servers for tool in (*one.added, *one.changed, *one.removed)]
        held = sum(one.held for one in second.servers)
        print(f"\n{len(servers)} real listings: {taken:,} tools taken in, {refused} refused")
        print(f"  again, keys and sets reordered: {len(changed)} changes, {held} held, published {second.published}")
        catalog.snapshots.close()  # type: ignore[attr-defined]


def _system(folder: Path, listed: Listed, trust: Trust) -> tuple[Catalog, Refresher]:
    clock, store = SystemClock(), SqliteStore.open(folder / "pegboard.db")
    encoders = Encoders({"static": RememberingEncoder(StaticEncoder.open())}, store)
    deployment = Deployment(templates={"all": AccessTemplate()}, used=frozenset(), trust={})
    lock_file = LockFileAt(folder / "pegboard.lock")
    catalog = Catalog(store, store, lock_file, clock, deployment, encoders, store, Audit(store.audit, clock))
    return catalog, Refresher(catalog, listed, LockKeeper(catalog))


def _entries(server: str, tools: Sequence[dict], *, whole: bool) -> Sequence[CatalogEntry]:
    """Take a listing in; of servers that are not refreshed without the checks, which take minutes for all of them."""
    if whole:
        return take_in_listing(server, server, tools)[0]
    return [
        declare(
            tool_id=f"{server}.{tool['name']}",
            namespace=server,
            source_server=server,
            name=tool["name"],
            description=tool["description"],
            input_schema=tool.get("inputSchema"),
        )
        for tool in tools
    ]


def _locked(entries: Iterable[CatalogEntry]) -> Lock:
    lines = (
        LockLine(
            tool=entry.tool_id,
            hash=entry.schema_hash,
            access="all",
            risk=Risk.WRITE,
            reach=Reach.BOUNDED,
            by="bench",
            at="2026-12-01T09:00:00Z",
            server=entry.source_server,
        )
        for entry in entries
    )
    return Lock.of(lines)


def _real(listings: Path):
    for path in sorted(listings.glob("*.json")) if listings.is_dir() else ():
        found = json.loads(path.read_text(encoding="utf-8"))
        yield from ((found["server"], tool) for tool in found["tools"])


def _text(tools: Sequence[dict], number: int) -> str:
    return f"{(tools[number % len(tools)].get('description') or '')[:400]} Number {number}."


def _shuffled(value):
    """Return the same JSON with its keys, and the lists that have no order, the other way round."""
    if isinstance(value, dict):
        return {
            key: one[::-1] if key in {"required", "enum"} and isinstance(one, list) else _shuffled(one)
            for key, one in reversed(value.items())
        }
    return [_shuffled(one) for one in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
