"""A halt stops something, or is refused; it holds before the audit knows of it."""

import pytest

from pegboard.core.errors import StoreError
from pegboard.service.halts import Targets
from tests.crm import ENTRIES, tool
from tests.service.calls import Crm

pytestmark = pytest.mark.anyio

TARGETS = Targets(
    entries={entry.tool_id: entry for entry in (*ENTRIES, tool("crm.a:b", "Its id has a colon."))},
    servers=frozenset({"new"}),
)


@pytest.mark.parametrize(
    ("target", "stops"),
    [
        ("all", True),
        ("principal:anyone", True),
        ("principal:", False),
        (ENTRIES[0].tool_id, True),
        ("crm.nothing", False),
        ("crm.a:b", True),
        (f"namespace:{ENTRIES[0].namespace}", True),
        (f"namespace:{ENTRIES[0].namespace.partition('.')[0]}", True),
        ("namespace:crn", False),
        ("namespace:", False),
        (f"server:{ENTRIES[0].source_server}", True),
        ("server:new", True),
        ("server:old", False),
        (f"tool:{ENTRIES[0].tool_id}", False),
        ("", False),
    ],
)
def test_what_would_be_stopped_is_known_but_for_principals(target, stops):
    assert TARGETS.stops(target) is stops


async def test_a_halt_of_nothing_is_not_put_in_force():
    crm = await Crm().start()
    assert await crm.system.halts.halt("crm.nothing", why="a drill", by="dana") is None
    assert (await crm.system.catalog.policies.halts(), [kind for kind, _ in await crm.audited() if kind == "halt"]) == (
        (),
        [],
    )


async def test_a_halt_and_its_end_are_in_the_audit():
    crm = await Crm().start()
    one = await crm.system.halts.halt("server:crm", why="a drill", by="dana", seconds=60.0)
    assert (one.since, one.expires_at) == (crm.clock.time, crm.clock.time + 60.0)
    assert str((await crm.call()).verdict.kind) == "unknown_or_denied"
    assert await crm.system.halts.resume("server:crm", by="kim") == (True, ())
    assert await crm.system.halts.resume("server:crm", by="kim") == (False, ())
    told = [(kind, body["by"]) for kind, body in await crm.audited() if kind in ("halt", "resume")]
    assert told == [("halt", "dana"), ("resume", "kim")]


async def test_a_halt_holds_although_the_audit_cannot_be_written(monkeypatch):
    async def fail(events):
        raise StoreError("the disk is full")

    crm = await Crm().start()
    monkeypatch.setattr(crm.system.store.audit, "append", fail)
    with pytest.raises(StoreError):
        await crm.system.halts.halt("server:crm", why="a drill", by="dana")
    assert str((await crm.call()).verdict.kind) == "unknown_or_denied"
