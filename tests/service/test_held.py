"""Held tools: what is remembered is what looking at everything would find."""

import random

import pytest

from pegboard.adapters.memory import MemoryStore
from pegboard.core.lock import Lock
from pegboard.service.held import HeldTools
from pegboard.service.ports import Listing
from tests.crm import tool
from tests.strategies import SOAK, lock_line

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("seed", range(2_000 if SOAK else 40))
async def test_what_is_remembered_is_what_everything_would_give(seed):
    dice, store, lock = random.Random(seed), MemoryStore(), Lock.of()
    held = HeldTools(store)
    entries = [tool(f"crm.{name}", f"Edition {turn}.") for name in ("a", "b", "c") for turn in (1, 2)]
    for turn in range(12):
        if dice.random() < 0.6:
            listed = {entry.tool_id: entry for entry in dice.sample(entries, 3)}
            server = dice.choice(["crm", "mail"])
            await store.keep_listings([Listing(server=server, fetched_at=float(turn), entries=tuple(listed.values()))])
        if dice.random() < 0.6:
            line = lock_line(dice.choice(entries), "sales", server=dice.choice([None, "crm", "mail"]))
            lock = lock.granting([line]) if dice.random() < 0.7 else lock.without([line.tool])
        expected = {key for key in await store.live() if not lock.grants(*key)}
        found = await held.of(lock)
        assert (set(found), len(found)) == (expected, len(expected))
