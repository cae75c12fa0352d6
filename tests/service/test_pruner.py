"""Pruning: what nothing refers to goes, and nothing that anybody may still need."""

import anyio
import pytest

from pegboard.adapters.files import LockFileAt
from pegboard.adapters.sqlite import SqliteStore
from pegboard.core.catalog import Reach, Risk
from pegboard.core.policy import AccessTemplate
from pegboard.service.audit import Audit
from pegboard.service.deployment import Deployment
from pegboard.service.encoding import Encoders
from pegboard.service.lockkeeper import LockKeeper
from pegboard.service.pruner import Pruner
from pegboard.service.published import Catalog
from pegboard.service.refresher import Refresher
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import FixedClock, system

pytestmark = pytest.mark.anyio

DAY_S = 24 * 3600.0


def listing(turn):
    return [tool("get_order", description=f"Edition {turn}."), tool("pay", description="Pay an invoice.")]


async def grown(made, crm, turns):
    """Publish one version a turn, an hour apart."""
    for turn in range(turns):
        crm.lists(listing(turn))
        await made.refresher.refresh()
        made.catalog.clock.time += 3600.0


async def numbers(made):
    return [one.number for one in await made.store.versions()]


async def test_the_newest_and_what_was_served_within_a_selections_life_stay():
    crm = ScriptedToolServer([])
    made = system(ScriptedToolServers(crm=crm))
    await grown(made, crm, 6)
    assert (await made.pruner.prune(2, apply=False)).versions == ()
    made.catalog.clock.time += DAY_S
    report = await made.pruner.prune(2, apply=False)
    assert [version.partition("-")[0] for version in report.versions] == ["1", "2", "3", "4"]
    assert (report.rows, await numbers(made)) == (4, [1, 2, 3, 4, 5, 6])
    assert (await made.pruner.prune(2, apply=True)).versions == report.versions
    assert await numbers(made) == [5, 6]
    assert (await made.pruner.prune(2, apply=True)).versions == ()


async def test_a_version_that_a_trace_refers_to_stays_and_replays():
    from pegboard.service.selector import Request
    from tests.crm import AGENT

    crm = ScriptedToolServer([])
    made = system(ScriptedToolServers(crm=crm))
    await grown(made, crm, 2)
    selection, _ = await made.selector.select(Request(tasks=("read an order",)), AGENT)
    await made.flush()
    await grown(made, crm, 5)
    made.catalog.clock.time += DAY_S
    report = await made.pruner.prune(1, apply=True)
    assert (report.kept, report.needed) == (2, 1)
    (replayed,) = await made.replayer.replay([selection.trace_id])
    assert replayed.equal


async def test_the_content_that_the_lock_names_stays_when_its_versions_go():
    crm = ScriptedToolServer([])
    made = system(ScriptedToolServers(crm=crm))
    await grown(made, crm, 1)
    await made.keeper.approve(["crm.get_order"], access="sales", risk=Risk.READ, reach=Reach.BOUNDED, by="tests")
    crm.lists([listing(0)[1]])
    await made.refresher.refresh()
    made.catalog.clock.time += DAY_S
    await made.pruner.prune(1, apply=True)
    line = made.keeper.show().lines["crm.get_order"]
    assert await made.store.find(line.tool, line.hash, "crm") is not None


async def test_a_state_of_the_lock_stays_as_long_as_a_policy_that_is_kept_is_of_it():
    from pegboard.service.selector import Request
    from tests.crm import AGENT

    crm = ScriptedToolServer([])
    made = system(ScriptedToolServers(crm=crm))
    await grown(made, crm, 1)
    await made.keeper.approve(["crm.get_order"], access="sales", risk=Risk.READ, reach=Reach.BOUNDED, by="tests")
    selection, _ = await made.selector.select(Request(tasks=("read an order",)), AGENT)
    await made.flush()
    recorded = made.keeper.show()
    await made.keeper.approve(["crm.pay"], access="sales", risk=Risk.READ, reach=Reach.BOUNDED, by="tests")
    between = made.keeper.show()
    await made.keeper.replace(between.without(["crm.get_order"]))
    await made.catalog.current()
    assert {recorded.digest, between.digest, made.keeper.show().digest} == set(await made.store.documents("lock"))
    await made.pruner.prune(1, apply=True)
    assert set(await made.store.documents("lock")) == {recorded.digest, made.keeper.show().digest}
    (replayed,) = await made.replayer.replay([selection.trace_id])
    assert replayed.equal


async def test_a_file_is_whole_after_pruning_and_smaller_in_rows(tmp_path):
    clock, store, crm = FixedClock(), SqliteStore.open(tmp_path / "p.db"), ScriptedToolServer([])
    deployment = Deployment(templates={"all": AccessTemplate()})
    lock_file, audit = LockFileAt(tmp_path / "pegboard.lock"), Audit(store.audit, clock)
    catalog = Catalog(store, store, lock_file, clock, deployment, Encoders({}, store), store, audit)
    refresher = Refresher(catalog, ScriptedToolServers(crm=crm), LockKeeper(catalog))
    for turn in range(5):
        crm.lists(listing(turn))
        await refresher.refresh()
        await catalog.current()
    clock.time += DAY_S
    before, pruner = await store.verify(), Pruner(catalog, store)
    dry = await pruner.prune(1, apply=False)
    assert await store.verify() == before
    assert (await pruner.prune(1, apply=True)).to_json() == {**dry.to_json(), "applied": True}
    after = await store.verify()
    assert (after.bad, after.versions, after.rows) == ((), 1, before.rows - dry.rows)
    # Numbers of rows that went may be used again.
    crm.lists(listing(9))
    await refresher.refresh()
    assert (await store.verify()).bad == ()
    store.close()


async def test_a_publish_while_pruning_is_not_lost(tmp_path):
    crm = ScriptedToolServer([])
    made = system(ScriptedToolServers(crm=crm))
    await grown(made, crm, 4)
    made.catalog.clock.time += DAY_S
    crm.lists(listing(7))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.refresher.refresh)
        tasks.start_soon(lambda: made.pruner.prune(1, apply=True))
    served = (await made.catalog.current()).view.snapshot
    assert served.get("crm.get_order").description == "Edition 7."
