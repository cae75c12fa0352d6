"""What the ledger costs: a standing, opening and closing a line, on ledgers of 1,000 and 100,000 lines.

    python bench/ledger.py [--lines 100000]

CPU is this process's, all threads, through the store's async methods as the gate calls them. One caller owns a tenth
of the lines; a standing is asked for that caller, within a conversation and without one, with two limits that reach
over *window* of its lines. "open and close" waits for the disk twice: its CPU says what it costs us.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import anyio

from pegboard.adapters.memory import MemoryStore
from pegboard.adapters.sqlite import SqliteStore
from pegboard.core.catalog import Flow, Risk
from pegboard.engine.ledger import Ended, Line, Question

RECORD = b'{"kind":"call","verdict":"allowed"}'
SETS = [frozenset(), frozenset(), frozenset({Flow.READS_PRIVATE}), frozenset({Flow.INGESTS_UNTRUSTED})]


def main() -> None:
    """Print one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, action="append")
    for lines in parser.parse_args().lines or [1_000, 100_000]:
        anyio.run(measure, lines)


async def measure(lines: int) -> None:
    """Fill a ledger and ask it."""
    # In the working tree, since /tmp may be memory, where nothing is written.
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        path = Path(folder) / "store.db"
        store = SqliteStore.open(path)
        fill(store, lines)
        print(f"\n{lines:,} lines, {path.stat().st_size / lines:,.0f} bytes each")
        await ask(store, lines)
        await write(store)
        store.close()
    if lines <= 10_000:
        memory = MemoryStore()
        for number in range(lines):
            await memory.ledger.open(line(number, lines), RECORD, after=number // 10 if number % 10 == 0 else 0)
        await timed("in memory: a standing", 200, lambda _: memory.ledger.standing(question(lines, 100)))


def line(number: int, lines: int) -> Line:
    """Make a line: every tenth is our caller's, the others' callers have one each."""
    dice = random.Random(number)
    return Line(
        call_id=f"call_{number:032x}",
        trace_id=f"tr_{number:032x}",
        identity="sha256:" + "5" * 64 if number % 10 == 0 else f"sha256:{number:064x}",
        principal="sam@acme",
        conversation=f"conv_{number % 50}",
        at=1e9 - lines + number,
        tool_id=f"crm.orders.tool_{number % 7}",
        schema_hash="sha256:" + "a" * 64,
        arguments=f"sha256:{number % 100:064x}",
        key=f"key-{number}" if number % 3 == 0 else None,
        risk=Risk.WRITE,
        flow=dice.choice(SETS),
        cost=0.5,
    )


def fill(store: SqliteStore, lines: int) -> None:
    """Write the lines in one transaction, closed as calls end: one in a hundred unknown, one in fifty not sent."""
    from pegboard.adapters import sqlite_ledger as ledger

    def run(connection: object) -> None:
        connection.execute("PRAGMA synchronous = OFF")
        for number in range(lines):
            one = line(number, lines)
            after = ledger._sequence(connection, one.identity)
            assert ledger._open(connection, one, RECORD, after)
            ended = Ended.OUTCOME_UNKNOWN if number % 100 == 1 else Ended.NOT_SENT if number % 50 == 2 else Ended.DONE
            ledger._close(connection, one.call_id, one.at + 1, ended, b"{}" if one.key else None)
        connection.execute("PRAGMA synchronous = FULL")

    store.ledger._lanes._sure.use(run)


def question(lines: int, within: int, **changes: object) -> Question:
    """Ask for the caller that owns a tenth, of whose lines *within* are inside the longer window."""
    return replace(
        Question(
            identity="sha256:" + "5" * 64,
            conversation="conv_10",
            tool_id="crm.orders.tool_3",
            schema_hash="sha256:" + "a" * 64,
            arguments=f"sha256:{10:064x}",
            key="key-30",
            now=1e9,
            repeat_window_s=600.0,
            limit_windows_s=(60.0, 10.0 * within),
            flow_window_s=3600.0,
        ),
        **changes,
    )


async def ask(store: SqliteStore, lines: int) -> None:
    """Measure standings."""
    ledger = store.ledger
    for within in (0, 100, 10_000):
        asked = question(lines, within)
        await timed(f"a standing, limits over {within:,} lines", 2000, lambda _, q=asked: ledger.standing(q))
    other = question(lines, 100, conversation=None, key=None, arguments="sha256:none")
    await timed("a standing, no conversation, nothing alike", 2000, lambda _: ledger.standing(other))
    none = question(lines, 100, limit_windows_s=())
    await timed("a standing, no limits", 2000, lambda _: ledger.standing(none))


async def write(store: SqliteStore) -> None:
    """Measure what a call writes."""
    ledger = store.ledger

    async def both(number: int) -> None:
        new = replace(line(7, 1), call_id=f"new_{number}", identity=f"sha256:new_{number}", key=f"new-{number}")
        assert await ledger.open(new, RECORD, after=0)
        await ledger.close(new.call_id, new.at, Ended.DONE, b"{}")

    await timed("open and close", 300, both)
    await timed("an event of the audit", 300, lambda number: store.audit.append([(1.0, "denial", {"n": number})]))


async def timed(name: str, times: int, work: Callable[[int], Awaitable[object]]) -> None:
    """Print CPU and wall time of one run of *work*."""
    await work(times)
    cpu, wall = time.process_time(), time.perf_counter()
    for number in range(times):
        await work(number)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"  {name:46}{cpu / times * 1e6:8.0f} us CPU {wall / times * 1e6:8.0f} us wall")


if __name__ == "__main__":
    main()
