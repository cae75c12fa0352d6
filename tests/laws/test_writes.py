"""Law 10: whatever kills a caller, a write under a key lands at most once, and no write is ever sent twice.

A counting server tells what arrived; callers are killed, tried again, reselected and doubled (`caller`). 20 kills in
a normal run, 1,000 under `PEGBOARD_SOAK=1`, at moments drawn from a fixed seed.
"""

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import anyio

from pegboard.adapters.sqlite import SqliteStore
from pegboard.core.catalog import Risk
from pegboard.core.names import digest
from pegboard.wiring import build, read_config
from tests.strategies import SOAK

KILLS = 1000 if SOAK else 20
KINDS = {("refund", "keyed"), ("refund", "plain"), ("erase", "asked")}
ROOT = Path(__file__).parents[2]
SEED = 20261201
CONFIG = """
lock = "pegboard.lock"
[dimensions]
used = ["scopes"]
[access.sales]
required_scopes = ["crm"]
[servers.crm]
url = "http://127.0.0.1:{port}/mcp"
[retrieval]
ranking = "words"
"""


@contextmanager
def counting_server(counted: Path) -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.laws.counting_server", str(counted), str(SEED)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        try:
            yield int(child.stdout.readline())
        finally:
            child.kill()


async def prepare(path: Path) -> None:
    """Lock both tools: to refund is a write, to erase asks for an approval."""
    with closing(build(read_config(path))) as system:
        await system.refresher.refresh()
        for name, risk in (("refund", Risk.WRITE), ("erase", Risk.DESTRUCTIVE)):
            await system.keeper.approve([f"crm.{name}"], access="sales", risk=risk, by="tests")


def lines(store: Path) -> list[tuple[str, str, str | None, str | None, str | None]]:
    """Read the whole ledger: tool, arguments, key, end and approval of each line."""
    with closing(sqlite3.connect(store)) as connection:
        asked = "SELECT tool_id, arguments, key, ended, approval_id FROM ledger ORDER BY number"
        return connection.execute(asked).fetchall()


def test_callers_killed_at_any_moment_send_no_write_twice(tmp_path: Path) -> None:
    config, counted = tmp_path / "pegboard.toml", tmp_path / "counted"
    with counting_server(counted) as port:
        config.write_text(CONFIG.format(port=port))
        anyio.run(prepare, config)
        ran = [sys.executable, "-m", "tests.laws.caller", str(config), str(KILLS), str(SEED)]
        # They speak plain HTTP; to load the system's certificates would take half of a short life.
        plain = {**os.environ, "SSL_CERT_DIR": str(tmp_path)}
        subprocess.run(ran, cwd=ROOT, check=True, timeout=3600, env=plain)
    arrived = Counter(tuple(line.split()) for line in counted.read_text().splitlines())
    ledger = lines(tmp_path / "pegboard.db")
    sent = Counter((tool, arguments) for tool, arguments, _, ended, _ in ledger if ended != "not_sent")
    for (name, order), times in arrived.items():
        # No line is sent twice, and nothing without a line.
        assert times <= sent[f"crm.{name}", digest({"order": order})], f"{name} of {order} arrived {times} times"
        if name == "refund":
            assert times == 1, f"the refund of {order} arrived {times} times"
    kept = Counter((tool, key) for tool, _, key, ended, _ in ledger if key is not None and ended != "not_sent")
    assert set(kept.values()) == {1}
    used = Counter(approval for tool, _, _, ended, approval in ledger if tool == "crm.erase" and ended != "not_sent")
    assert set(used.values()) == {1}
    with closing(SqliteStore.open(tmp_path / "pegboard.db")) as store:
        assert anyio.run(store.verify).bad == ()
    ends = Counter(ended for *_, ended, _ in ledger)
    print(f"{KILLS} kills, {len(ledger)} lines, {arrived.total()} calls arrived, {dict(ends)}")
    # It was no idle run: calls of each kind arrived, and some callers died with a call on its way.
    assert {(name, order.partition("-")[0]) for name, order in arrived} == KINDS
    assert ends[None] + ends["outcome_unknown"] >= KILLS // 10
