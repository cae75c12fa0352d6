"""Against a hostile server, a real process: bounded time and memory, the last good version served, and a reason."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard.adapters.mcp_client import McpServers
from pegboard.adapters.upstream import UpstreamPool
from pegboard.core.names import canonical_json
from pegboard.service.refresher import RefreshReport
from pegboard.service.turns import LONGEST_GAP_S
from pegboard.service.watcher import Watcher
from pegboard.wiring import System
from tests.adapters.sessions import alive, settings
from tests.service.made import system
from tests.service.steered import SteeredClock

pytestmark = pytest.mark.anyio

SERVER = str(Path(__file__).with_name("hostile_server.py"))
GOOD = ("s.get_order", "s.pay")
# What one hostile listing may cost. A page may have 32 MB, and is held as bytes, as text and as values.
SECONDS = 30.0
MEGABYTES = 400.0


class Stage:
    """A system whose one server is played by the hostile process."""

    def __init__(self, folder: Path, **limits: Any) -> None:
        self._behaviour = folder / "behaviour"
        limits = {"connect_timeout_s": 15, "list_timeout_s": 15, "call_timeout_s": 15, **limits}
        self.servers = McpServers({"s": settings(command=(sys.executable, SERVER, str(self._behaviour)), **limits)})
        self.clock = SteeredClock()
        self.pool = UpstreamPool(self.servers, self.clock, sleep=self.clock.sleep)
        self.made: System = system(self.pool, self.clock, deadlines_s={"s": 20.0})

    async def refreshed(self, behaviour: str) -> RefreshReport:
        self._behaviour.write_text(behaviour)
        return await self.made.refresher.refresh()

    async def served(self) -> bytes:
        snapshot = (await self.made.catalog.current()).view.snapshot
        return canonical_json([[entry.tool_id, entry.schema_hash] for entry in snapshot.entries])

    async def ids(self) -> tuple[str, ...]:
        return tuple(entry.tool_id for entry in (await self.made.catalog.current()).view.snapshot.entries)


# Rows that take seconds, or whose kind a quicker row shows too: `make soak` runs them.
SOAKED = {
    "pages_for_ever", "hundred_thousand_on_pages", "notifies_without_end", "floods_stdout", "trickles", "no_answer",
    "dies_of_the_probe", "exits", "error_of_a_megabyte", "ignores_the_probe", "answers_twice", "refuses_the_probe",
}  # fmt: skip
REFRESHES = 5
SOAK = os.environ.get("PEGBOARD_SOAK") == "1"


@pytest.fixture
def cost(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hold a test to the time and memory that one hostile listing may cost this process."""
    behaviour = request.node.callspec.params.get("behaviour", "") if hasattr(request.node, "callspec") else ""
    if behaviour in SOAKED and not SOAK:
        pytest.skip("run by `make soak`")
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    except OSError:
        pytest.skip("this system does not count a process's peak memory anew")
    before, began = _kilobytes("VmRSS"), time.monotonic()
    yield
    seconds, megabytes = time.monotonic() - began, (_kilobytes("VmHWM") - before) / 1024
    if SOAK:
        print(f"\n{behaviour or request.node.name}: {seconds:.1f} s, {megabytes:.0f} MB more at its peak")
    assert seconds < SECONDS
    assert megabytes < MEGABYTES


def _kilobytes(row: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(row))


def _children() -> list[int]:
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


# Behaviour, limits, and what its reason says.
KEPT: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("pages_for_ever", {}, "more than 1,000 pages"),
    ("loops", {}, "a cursor repeats"),
    ("changes_between_pages", {}, "its list changed during each of 3 walks"),
    ("hundred_thousand", {}, "more than 50,000 tools"),
    ("hundred_thousand_on_pages", {}, "more than 50,000 tools"),
    ("huge_description", {}, "one message passes 33,554,432 bytes"),
    ("nested_schemas", {}, "nested too deeply"),
    ("other_ids", {"list_timeout_s": 0.3}, "no answer came within 0.3 s"),
    ("stalls_mid_line", {"list_timeout_s": 0.3}, "no answer came within 0.3 s"),
    ("trickles", {"list_timeout_s": 0.3}, "no answer came within 0.3 s"),
    ("no_answer", {"list_timeout_s": 0.3}, "no answer came within 0.3 s"),
    ("restarts", {}, "it exited with status 0"),
    ("notifies_without_end", {}, "more than 16,777,216 bytes on stdout answer nothing"),
    ("floods_stdout", {}, "more than 16,777,216 bytes on stdout answer nothing"),
    ("exits", {}, "it exited with status 7"),
    ("exits_at_once", {}, "it exited with status 1"),
    ("dies_of_the_probe", {}, "it exited with status 2"),
    ("error_of_a_megabyte", {}, "refused with error -32603: xxx"),
)


@pytest.mark.parametrize(("behaviour", "limits", "reason"), KEPT, ids=[row[0] for row in KEPT])
async def test_a_listing_that_is_none_keeps_what_was_served_and_says_why(
    behaviour: str, limits: dict[str, Any], reason: str, tmp_path: Path, cost: None
):
    stage = Stage(tmp_path, **limits)
    await stage.refreshed("good")
    before = await stage.served()
    (report,) = (await stage.refreshed(behaviour)).servers
    assert reason in (report.error or "")
    assert len(report.error or "") < 500
    assert await stage.served() == before
    health = stage.made.health.of("s")
    assert reason in f"{health.error}; {health.listing_error}"
    assert not any(map(alive, _children()))
    stage.made.health.try_now("s")
    assert (await stage.refreshed("good")).servers[0].error is None
    assert stage.made.health.of("s").available


# Behaviour, what is served beside the good tools, and how many tools are refused.
TAKEN: tuple[tuple[str, tuple[str, ...], int], ...] = (
    ("duplicates", ("s.PAY", "s.refund"), 1),
    ("nested_less", (), 1),
    ("odd_names", (), 9),
    ("changes_once", ("s.late",), 0),
    ("notifies", (), 0),
    ("floods_stderr", (), 0),
    ("grows", (), 0),
    ("refuses_the_probe", (), 0),
    ("ignores_the_probe", (), 0),
    ("answers_twice", (), 0),
)


@pytest.mark.parametrize(("behaviour", "more", "refused"), TAKEN, ids=[row[0] for row in TAKEN])
async def test_what_can_be_taken_in_is_and_each_refusal_has_its_reason(
    behaviour: str, more: tuple[str, ...], refused: int, tmp_path: Path, cost: None
):
    stage = Stage(tmp_path)
    await stage.refreshed("good")
    (report,) = (await stage.refreshed(behaviour)).servers
    assert report.error is None
    assert await stage.ids() == tuple(sorted((*GOOD, *more)))
    assert len(report.refused) == refused
    assert all(why and len(why) < 500 for _, why in report.refused)
    assert not any(map(alive, _children()))


async def test_a_list_that_grows_when_a_tool_is_called_grants_nothing_and_is_heard(tmp_path: Path):
    stage = Stage(tmp_path)
    async with stage.pool.running():
        await stage.refreshed("grows")
        async with stage.pool.connect("s", "ann") as session:
            await session.call_tool("get_order", {})
            await session.list_page(None)
            assert session.changes == 1
        assert (await stage.refreshed("grows")).published is False
        assert await stage.ids() == GOOD


async def test_ten_thousand_notices_with_each_listing_are_a_handful_of_refreshes(tmp_path: Path, cost: None):
    stage, begun = Stage(tmp_path), []
    (tmp_path / "behaviour").write_text("notifies")

    async def refresh(names: Sequence[str]) -> RefreshReport:
        begun.append(stage.clock.time)
        return await stage.made.refresher.refresh(names)

    watcher = Watcher(refresh, stage.pool, stage.made.health, stage.clock, {}, sleep=stage.clock.sleep)
    async with stage.pool.running(), anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.run)
        with anyio.fail_after(SECONDS):
            while len(begun) < REFRESHES:
                await stage.clock.advance(0.5)
                await anyio.sleep(0.005)
        async with stage.pool.connect("s") as session:
            assert session.changes >= (REFRESHES - 1) * 10_000
        tasks.cancel_scope.cancel()
    gaps = [later - earlier for earlier, later in pairwise(begun)]
    assert all(gap >= min(LONGEST_GAP_S, 2**number) for number, gap in enumerate(gaps))
    assert await stage.ids() == GOOD


async def test_a_hostile_server_hinders_no_other(tmp_path: Path):
    (tmp_path / "bad").mkdir()
    bad, good = Stage(tmp_path / "bad"), Stage(tmp_path)
    await good.refreshed("good")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bad.refreshed, "trickles")
        await anyio.sleep(0.2)
        began = time.monotonic()
        assert (await good.refreshed("good")).servers[0].error is None
        assert time.monotonic() - began < 2
        tasks.cancel_scope.cancel()
