"""Composing: what moved is all that is read and composed, and that gives what composing everything gives."""

import random
from dataclasses import replace

import pytest

from pegboard.core.catalog import Reach, Risk
from pegboard.engine.compose import compose
from pegboard.engine.intake import take_in_listing
from pegboard.service.lockkeeper import LockKeeper
from pegboard.service.published import Catalog
from pegboard.service.refresher import Refresher
from pegboard.wiring import System
from tests.servers import ScriptedToolServer, ScriptedToolServers, tool
from tests.service.made import system
from tests.strategies import SOAK

pytestmark = pytest.mark.anyio

NAMES = ("a", "b", "c", "d")


def scripted(*names: str) -> dict[str, ScriptedToolServer]:
    return {name: ScriptedToolServer([tool("a"), tool("b", description="Call get_c first.")]) for name in names}


def restarted(made: System) -> Catalog:
    """Return a catalog over the same stores, which knows nothing yet."""
    return made.catalog.ranked_by(made.catalog.encoders)


async def lock_all(made: System) -> None:
    waiting = [one.tool_id for one in await made.keeper.drafts()]
    await made.keeper.approve(waiting, access="sales", risk=Risk.READ, reach=Reach.BOUNDED, by="tests")


async def test_a_process_that_begins_reads_the_listing_of_the_server_that_it_refreshes_and_no_other(monkeypatch):
    servers = scripted("crm", "mail", "billing")
    made = system(ScriptedToolServers(servers))
    await made.refresher.refresh()
    await lock_all(made)
    asked, listings = [], made.store.listings

    async def counting(names=None):
        asked.append(None if names is None else set(names))
        return await listings(names)

    monkeypatch.setattr(made.store, "listings", counting)
    catalog = restarted(made)
    servers["crm"].lists([tool("a", description="Another text."), tool("b")])
    report = await Refresher(catalog, ScriptedToolServers(servers), LockKeeper(catalog)).refresh(["crm"])
    assert report.servers[0].held == 2
    assert asked
    assert all(one == {"crm"} for one in asked)


async def test_a_listing_that_another_process_kept_meanwhile_is_composed():
    made = system(ScriptedToolServers(scripted("crm", "mail")))
    await made.refresher.refresh()
    (listing,) = await made.store.listings(["crm"])
    entries, _ = take_in_listing("crm", "crm", [tool("a"), tool("c")])
    await made.store.keep_listings([replace(listing, fetched_at=listing.fetched_at + 1.0, entries=entries)])
    change = (await made.catalog.publish((), by="tests")).change
    assert (change.added, change.removed) == (("crm.c",), ("crm.b",))


async def test_a_server_that_is_no_longer_kept_is_composed_away():
    made = system(ScriptedToolServers(scripted("crm", "mail")))
    await made.refresher.refresh()
    await made.store.keep_listings([], gone=["mail"])
    assert (await made.catalog.publish((), by="tests")).change.removed == ("mail.a", "mail.b")


@pytest.mark.parametrize("seed", range(1_000 if SOAK else 8))
async def test_composing_what_moved_in_any_process_gives_what_composing_everything_gives(seed):
    dice, servers = random.Random(seed), scripted("crm", "mail")
    made = system(ScriptedToolServers(servers))
    catalogs = [made.catalog, restarted(made)]
    for turn in range(10):
        made.catalog.clock.time += 1.0
        catalog = dice.choice(catalogs)
        name = dice.choice(["crm", "mail"])
        texts = {one: f"Edition {dice.randrange(3)}. See get_a, get_d." for one in NAMES[turn % 4 :]}
        servers[name].lists([tool(f"get_{one}", description=text) for one, text in texts.items()])
        await Refresher(catalog, ScriptedToolServers(servers), LockKeeper(catalog)).refresh(dice.choice([[name], None]))
        lock = catalog.composer.lock()
        if dice.random() < 0.5 and len(lock):
            line = dice.choice(list(lock))
            lock = lock.without([line.tool]) if dice.random() < 0.5 else lock.granting([replace(line, server=None)])
            made.catalog.lock_file.write(lock)
        elif dice.random() < 0.7:
            await lock_all(made)
        snapshot = (await catalog.current()).view.snapshot
        listed = {one.server: one for one in await made.store.listings()}
        whole = compose(
            {server: one.entries for server, one in listed.items()},
            lock := catalog.composer.lock(),
            await catalog.composer.find([entry for one in listed.values() for entry in one.entries], lock),
            refused_names={server: [refused for refused, _ in one.refused] for server, one in listed.items()},
            previous=snapshot,
        )
        assert whole.snapshot.entries == snapshot.entries
